"""Search results and lists of tools as text: aligned, one line a tool."""

from __future__ import annotations

from collections.abc import Sequence

from mcpg.cli.terminal import cut, one_line, pad, width

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Protocol

    from mcpg.catalog.model import Tool
    from mcpg.engine import Match, SearchResult

    class View(Protocol):
        """What text is laid out for."""

        @property
        def columns(self) -> int:
            """Columns that a line may take."""

        def paint(self, text: str, style: str) -> str:
            """Put *text* in a style where colour is wanted."""


_ID_LIMIT = 44
_GAP = "  "


def search_text(result: SearchResult, output: View) -> str:
    """Return the matches, then what must run before them, what is related, and what comes next."""
    expanded = (*result.prerequisites, *result.related_matches, *result.next_step_matches)
    columns = id_columns([*result.matches, *expanded])
    browsing = result.ranking_mode == "browse"  # the engine itself is not needed to print
    blocks = [
        [
            match_line(match, output, columns, rank, shows_score=not browsing)
            for rank, match in enumerate(result.matches, start=1)
        ],
        reached_lines("prerequisites", result.prerequisites, output, columns),
        reached_lines("related", result.related_matches, output, columns),
        reached_lines("next steps", result.next_step_matches, output, columns),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def reached_lines(
    heading: str, matches: Sequence[Match], output: View, columns: int | None = None
) -> list[str]:
    """Return the lines about matches that an edge brought in, each with its reason."""
    if not matches:
        return []
    columns = columns or id_columns(matches)
    lines = [output.paint(heading, "bold")]
    for match in matches:
        lines.append(match_line(match, output, columns, None, shows_score=True))
        if match.via:
            link = "before" if match.via.edge == "prerequisite" else "from"
            reason = one_line(f"{link} {match.via.source}: {match.via.reason}")
            indent = " " * 14
            lines.append(indent + output.paint(cut(reason, output.columns - 14), "dim"))
    return lines


def list_text(tools: Sequence[Tool], output: View) -> str:
    """Return one line a tool: id, source, what it is."""
    ids = _columns_of([tool.id for tool in tools])
    sources = _columns_of([one_line(tool.source_id) for tool in tools])
    return "\n".join(_tool_line(tool, output, ids, sources) for tool in tools)


def score_text(score: float) -> str:
    """Return *score* as it is printed."""
    return f"{score:.6f}"


def match_line(
    match: Match, output: View, columns: int, rank: int | None, *, shows_score: bool
) -> str:
    """Return one line about *match*: rank, score, id in so many *columns*, and what it is."""
    lead = f"{rank or '':>2}{_GAP}"
    if shows_score:
        lead += f"{score_text(match.score)}{_GAP}"
    name = output.paint(pad(one_line(match.tool_id), columns), "cyan")
    room = output.columns - len(lead) - max(columns, width(match.tool_id)) - len(_GAP)
    return f"{lead}{name}{_GAP}{cut(summary_of_match(match), room)}".rstrip()


def _tool_line(tool: Tool, output: View, ids: int, sources: int) -> str:
    name = pad(one_line(tool.id), ids)
    source = pad(cut(one_line(tool.source_id), sources), sources)
    room = output.columns - width(name) - width(source) - 2 * len(_GAP)
    text = cut(summary(tool), room)
    return f"{output.paint(name, 'cyan')}{_GAP}{source}{_GAP}{text}".rstrip()


def summary(tool: Tool) -> str:
    """Return one line on what *tool* is: its title where that adds something, its description."""
    names = {tool.name, tool.id}
    return _summary(tool.display_name, tool.description, names, is_enabled=tool.enabled)


def summary_of_match(match: Match) -> str:
    """Return one line on what the tool of *match* is, as `summary` does."""
    names = {match.tool_name, match.tool_id}
    return _summary(match.display_name, match.summary, names, is_enabled=match.is_enabled)


def _summary(title: str, description: str, names: set[str], *, is_enabled: bool) -> str:
    title, description = one_line(title), one_line(description)
    state = "" if is_enabled else "(disabled) "
    if title in names or not title:
        return f"{state}{description}"
    return f"{state}{title}: {description}" if description else f"{state}{title}"


def id_columns(matches: Sequence[Match]) -> int:
    """Return the columns that the ids of *matches* take, within bounds."""
    return _columns_of([match.tool_id for match in matches])


def _columns_of(texts: Sequence[str]) -> int:
    return min(_ID_LIMIT, max((width(text) for text in texts), default=0))
