"""Search results as text (aligned, one line a tool, two on a narrow terminal) and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mcpg.cli.terminal import Screen, cut, json_text, one_line, one_lines, pad, width
from mcpg.errors import Diagnostic
from mcpg.index.layout import SUMMARY_LENGTH
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.text.json_values import JsonObject
from mcpg.values import score_text

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.cli.open_bundle import IndexedTool
    from mcpg.cli.render import RecordListing
    from mcpg.engine import Match, SearchResult
    from mcpg.show.blocks import Table


_ID_LIMIT, _SOURCE_LIMIT = 44, 16
_GAP = "  "
_INDENT = " " * 12  # where the ids of matches with a number begin
_LEAST_ROOM = 24  # for a description beside the id

WITH_SOURCE = 80
"""Columns from which lists of tools name their sources."""


NO_TOOL = "there is no tool to search: name other sources with --bundle"


def nothing_found_text(min_score: float | None, *, abstain: bool, is_filtered: bool) -> str:
    """Return the message that no tool was found, with advice."""
    if min_score:
        gate, remedy = f"with a score of {min_score:g}", "lower --min-score"
    elif abstain or min_score is not None:
        gate, remedy = "surely enough", "leave out --abstain"
    elif is_filtered:
        return "no tool matches: leave out a filter, or try other words"
    else:
        return "no tool matches: try other words, or `mcpg list` for all tools"
    return f"no tool matches {gate}: add detail to the query, or {remedy}"


class MatchRows:
    """Lays out lines about matches in the same columns."""

    def __init__(
        self, matches: Sequence[Match], output: Screen, *, shows_score: bool = True
    ) -> None:
        self._output = output
        self._shows_score = shows_score
        ids = [width(one_line(match.tool_id)) for match in matches]
        self._ids = min(_ID_LIMIT, max(ids, default=0))
        sources = {one_line(match.source_id) for match in matches}
        widest = max(map(width, sources), default=0)
        has_room = output.row_columns >= WITH_SOURCE
        self._sources = min(_SOURCE_LIMIT, max(len("source"), widest)) if has_room else 0

    def head(self) -> str:
        names = [" #", *(["score "] if self._shows_score else []), pad("tool", self._ids)]
        if self._sources:
            names.append(pad("source", self._sources))
        line = _GAP.join([*names, "description"])
        if width(line) > self._output.row_columns:  # descriptions have lines of their own
            line = cut(_GAP.join(names).rstrip(), self._output.row_columns)
        return self._output.paint(line, "dim")

    def draw_ranked(self, matches: Iterable[tuple[Match, float]]) -> Iterator[str]:
        for rank, (match, score) in enumerate(matches, start=1):
            yield from self._lines(f"{rank:>2}", score if self._shows_score else None, match)

    def draw_reached(self, heading: str, matches: Sequence[Match]) -> list[str]:
        """Return the lines about matches that an edge led to, with its strength and its reason."""
        if not matches:
            return []
        lines = [self._output.paint(f"{heading} (strength of the link)", "bold")]
        for match in matches:
            if match.via is None:
                continue
            lines += self._lines("  ", match.via.weight, match)
            link = "before" if match.via.edge == "prerequisite" else "from"
            reason = one_line(f"{link} {match.via.source}: {match.via.reason}")
            room = self._output.row_columns - len(_INDENT)
            lines.append(_INDENT + self._output.paint(cut(reason, room), "dim"))
        return lines

    def _lines(self, rank: str, number: float | None, match: Match) -> Iterator[str]:
        lead = f"{rank}{_GAP}" if number is None else f"{rank}{_GAP}{score_text(number):<6}{_GAP}"
        name = one_line(match.tool_id)
        source = ""
        if self._sources:
            source = _GAP + pad(cut(one_line(match.source_id), self._sources), self._sources)
        room = self._output.row_columns - len(lead) - max(self._ids, width(name)) - len(_GAP)
        room -= len(source)
        text = self._output.shorten(match.summary)
        if room > SUMMARY_LENGTH <= len(text):  # the rest is in the record, which takes longer
            text = match.view.description
        names = {match.tool_name, match.tool_id}
        title = one_line(match.display_name)
        summary = _summarize(title, one_line(text), names, is_enabled=match.is_enabled)
        gap = " " * (self._ids - width(name))
        painted = lead + self._output.paint(name, "cyan") + gap + source
        if room >= _LEAST_ROOM or not summary:
            yield f"{painted}{_GAP}{cut(summary, room)}".rstrip()
            return
        yield painted.rstrip()
        yield " " * len(lead) + cut(summary, self._output.row_columns - len(lead))


def summaries(tools: Iterable[Tool | IndexedTool], output: Screen) -> list[str]:
    """Return one line on each of *tools*: a title if that adds something, and its text.

    The lines of a whole catalog are made at once.
    """
    tools = list(tools)
    titles = one_lines([tool.display_name for tool in tools])
    texts = one_lines([output.shorten(tool.description) for tool in tools])
    return [
        _summarize(title, text, {tool.name, tool.id}, is_enabled=tool.enabled)
        for tool, title, text in zip(tools, titles, texts, strict=True)
    ]


def _summarize(title: str, description: str, names: set[str], *, is_enabled: bool) -> str:
    state = "" if is_enabled else "(disabled) "
    if title in names or not title:
        return f"{state}{description}"
    return f"{state}{title}: {description}" if description else f"{state}{title}"


def result_text(
    result: SearchResult,
    form: str,
    output: Screen,
    loading: Iterable[Diagnostic] = (),
    *,
    schemas: bool = False,
) -> str:
    """Return *result* in a *form*, a choice of `LIST_FORMAT`.

    JSON begins with the diagnostics of *loading*; it and its lines may have input *schemas*.
    """
    if form == "text":
        before, after, related = _choose_expansions(result)
        browsing = result.ranking_mode == "browse"  # the engine itself is not needed to print
        shown = (*result.matches, *before, *after, *related)
        rows = MatchRows(shown, output, shows_score=not browsing)
        matches = list(rows.draw_ranked((match, match.score) for match in result.matches))
        blocks = [
            [rows.head(), *matches] if matches else [],
            rows.draw_reached("prerequisites", before),
            rows.draw_reached("related", related),
            rows.draw_reached("next steps", after),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block)
    if form == "json":
        from mcpg.show.json import result_json  # noqa: PLC0415 - text does without

        members = result_json(result, loading)
        return json_text(members | (_with_schemas(result) if schemas else {}))
    from mcpg.cli.render import listing_text  # noqa: PLC0415 - as above

    records = _with_schemas(result)["matches"] if schemas else None
    return listing_text(matches_listing(result.matches, records), form, output)


def _choose_expansions(result: SearchResult) -> Iterator[tuple[Match, ...]]:
    """Yield prerequisites, next steps and related tools for people: no more than matches in all.

    Edges from a doubtful match lead to tools that are still more doubtful.
    """
    sure = {match.tool_id for match in result.matches if match.score >= LOW_CONFIDENCE}
    sure |= {match.tool_id for match in result.prerequisites}
    room = len(result.matches)
    for matches in (result.prerequisites, result.next_step_matches, result.related_matches):
        chosen = [match for match in matches if match.via and match.via.source in sure][:room]
        room -= len(chosen)
        yield tuple(chosen)


def _with_schemas(result: SearchResult) -> dict[str, list[JsonObject]]:
    lists = {
        "matches": result.matches,
        "relatedMatches": result.related_matches,
        "nextStepMatches": result.next_step_matches,
        "prerequisites": result.prerequisites,
    }
    return {
        name: [one.to_dict() | {"inputSchema": one.view.input_schema} for one in matches]
        for name, matches in lists.items()
    }


def matches_listing(
    matches: Sequence[Match], records: Sequence[JsonObject] | None = None
) -> RecordListing:
    """Return *matches* as a list; its *records* come from the matches unless given."""
    from mcpg.cli.render import RecordListing  # noqa: PLC0415 - as above

    records = [match.to_dict() for match in matches] if records is None else records
    members = ("toolId", "sourceId", "toolName", "displayName", "score", "description")
    return RecordListing(records, members, "toolId", lambda: _matches_table(matches))


def _matches_table(matches: Sequence[Match]) -> Table:
    from mcpg.show.blocks import CodeSpan, Column, Styled, Table  # noqa: PLC0415 - as above

    columns = (
        Column("#", is_number=True),
        *(Column("score", is_number=True), Column("tool", is_whole=True), Column("source")),
        Column("description"),
    )
    rows = tuple(
        (
            str(rank),
            score_text(match.score),
            Styled(CodeSpan(match.tool_id), "cyan"),
            CodeSpan(match.source_id),
            CodeSpan(match.view.description),
        )
        for rank, match in enumerate(matches, start=1)
    )
    return Table("Matches", columns, rows, has_heads=True)
