"""Responses of meta-tools: shortened step by step until they fit a budget of bytes.

Also the names of the meta-tools, which are reserved as tool ids, the options of a server, and the
sanitising of untrusted text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.json_text import repair_surrogates
from mcpg.catalog.model import Tool
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.results import RankingMode
from mcpg.errors import Code, Diagnostic, Severity, UsageError
from mcpg.gateway.json import score_json
from mcpg.json_types import JsonObject, JsonValue
from mcpg.text.safeyaml import UNSAFE

if TYPE_CHECKING:
    from mcpg.engine import Match, SearchResult

    Find = Callable[[str], Tool | None]
    _Item = TypeVar("_Item")
    _Json = TypeVar("_Json", bound=JsonValue)

SEARCH = "gateway_tools_search"
ROUTE = "gateway_tools_route"
DESCRIBE = "gateway_tool_describe"
INVOKE = "gateway_tool_invoke"
GRAPH_SCHEMA = "gateway_graph_schema_describe"
GRAPH_SEARCH = "gateway_graph_schema_search"
GRAPH_EXPORT = "gateway_graph_export"

EVERYDAY = (SEARCH, ROUTE, DESCRIBE, INVOKE)
"""Meta-tools that every client sees, in order of use."""

GRAPH_TOOLS = (GRAPH_SCHEMA, GRAPH_SEARCH, GRAPH_EXPORT)
"""Optional meta-tools of the graph."""

META_TOOLS: tuple[str, ...] = (*EVERYDAY, *GRAPH_TOOLS)
"""All meta-tools, reserved whether shown or not, so that ids do not depend on options."""

_LONGEST_NAME = 32
_MARK = "…"


def line(text: str, characters: int) -> str:
    """Return *text* as one line of at most *characters*, without control characters."""
    return cut(" ".join(UNSAFE.sub(" ", text).split()), characters)


def prose(text: str, characters: int) -> str:
    """Return at most *characters* of *text*, without control characters; lines are kept."""
    lines = (UNSAFE.sub(" ", one.replace("\t", " ")).rstrip() for one in text.splitlines())
    return cut("\n".join(lines), characters)


def cut(text: str, characters: int) -> str:
    """Return at most *characters* of *text*, cut at the end of a word where one is near."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters - 1)]
    head, _, tail = kept.rpartition(" ")
    return f"{(head if head and len(tail) < characters // 4 else kept).rstrip()}{_MARK}"


def source_name(source_id: str) -> str:
    """Return the name of a source, reduced to letters, digits, `_` and `-`.

    Names stand in our descriptions, so they must not inject text into them.
    """
    return normalize(source_id, SOURCE_FALLBACK)[:_LONGEST_NAME]


def listed(items: Iterable[str], most: int) -> str:
    """Return the first *most* of *items*, joined by commas, and the number of the others."""
    known = list(items)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def counted(number: int, one: str) -> str:
    """Return *number* and its noun: `1 tool`, `2 tools`."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def written(value: JsonValue) -> str:
    """Return *value* as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: JsonValue) -> int:
    """Return the size of *value* as JSON, in bytes."""
    return len(written(value).encode("utf-8", "surrogatepass"))


def repaired(value: _Json) -> _Json:
    """Return *value* with lone surrogates replaced, which UTF-8 cannot encode."""
    try:
        written(value).encode()
    except UnicodeEncodeError:
        return cast("_Json", repair_surrogates(value, "", []))
    return value


_NEIGHBOURS = 3
_ARGUMENTS = 16
_NAME = 64
_NOTES, _NOTE = 4, 240
_NO_MATCH = (
    "No tool matches. Rephrase the task; if that finds nothing either, no tool here can do it."
)
_DOUBTFUL = (
    "Low confidence: the best match scores {score:.2f}, where 1 is certain. Read the descriptions, "
    "add detail to the query and search again, or do without; do not call a tool on a guess."
)
_BROWSING = "The query is empty: these are tools by name. Describe the task."


@dataclass(frozen=True, slots=True)
class Brevity:
    """Level of detail: characters of a description, share of matches, whether with neighbours."""

    description: int
    matches: float
    neighbours: bool


# Descriptions shrink first, then neighbours are dropped, then matches from the end.
LADDER = (
    Brevity(300, 1, neighbours=True),
    Brevity(160, 1, neighbours=True),
    Brevity(80, 1, neighbours=False),
    Brevity(0, 1, neighbours=False),
    Brevity(80, 0.5, neighbours=False),
    Brevity(0, 0.5, neighbours=False),
    Brevity(0, 0.25, neighbours=False),
    Brevity(0, 0.1, neighbours=False),
    Brevity(0, 0, neighbours=False),
)


def search_answers(result: SearchResult, find: Find) -> Iterator[JsonObject]:
    """Yield answers to a search, from the fullest to the shortest.

    Args:
        result: The search result.
        find: Returns a tool of the catalogue by its id.
    """
    for brevity in LADDER:
        kept = share(result.matches, brevity)
        answer: JsonObject = {"matches": [match_answer(match, find, brevity) for match in kept]}
        related, following = (
            _neighbours(matches, brevity)
            for matches in (result.related_matches, result.next_step_matches)
        )
        answer |= {"related": related} if related else {}
        answer |= {"nextSteps": following} if following else {}
        is_browsing = result.ranking_mode == RankingMode.BROWSE
        answer |= {"advice": _BROWSING} if is_browsing else advice(result.matches[:1])
        answer |= notes(result.diagnostics)
        more = {
            "omittedRelated": len(result.related_matches) - len(related),
            "omittedNextSteps": len(result.next_step_matches) - len(following),
        }
        yield answer | truncated(len(result.matches) - len(kept), brevity, more)


def share(matches: Sequence[_Item], brevity: Brevity) -> Sequence[_Item]:
    """Return the first of *matches*, at least one: the share that *brevity* keeps."""
    return matches[: max(1, int(len(matches) * brevity.matches))]


def match_answer(match: Match, find: Find, brevity: Brevity) -> JsonObject:
    """Return what a model needs to choose a match."""
    tool = find(match.tool_id)
    required = tool.required_arguments if tool is not None else ()
    left_out = len(required) - _ARGUMENTS
    return {
        "toolId": match.tool_id,
        "sourceId": line(match.source_id, _NAME),
        **_described(match, brevity),
        "score": score_json(match.score),
        "isConfident": match.score >= LOW_CONFIDENCE,
        "requiredArguments": [line(name, _NAME) for name in required[:_ARGUMENTS]],
        **({"omittedArguments": left_out} if left_out > 0 else {}),
    }


def _described(match: Match, brevity: Brevity) -> JsonObject:
    if not brevity.description:
        return {}
    return {"description": line(match.summary or match.display_name, brevity.description)}


def _neighbours(matches: Sequence[Match], brevity: Brevity) -> list[JsonValue]:
    if not brevity.neighbours:
        return []
    return [
        {
            "toolId": match.tool_id,
            **_described(match, Brevity(brevity.description // 2, 1, neighbours=True)),
            "because": line(match.via.reason if match.via else "", _NOTE),
        }
        for match in matches[:_NEIGHBOURS]
    ]


def advice(best: Sequence[Match]) -> JsonObject:
    """Return advice for a low score or no match, empty otherwise."""
    if not best:
        return {"advice": _NO_MATCH}
    score = best[0].score
    return {} if score >= LOW_CONFIDENCE else {"advice": _DOUBTFUL.format(score=score)}


def notes(diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Return the warnings and errors of a search that matter to a model."""
    messages: list[JsonValue] = [
        line(item.message, _NOTE)
        for item in diagnostics
        if item.severity != Severity.INFO and item.code != Code.LOW_CONFIDENCE
    ]
    return {"notes": messages[:_NOTES]} if messages else {}


def truncated(omitted: int, brevity: Brevity, more: Mapping[str, int] | None = None) -> JsonObject:
    """Return the member `truncated`: what was omitted and how to get it, empty if nothing was.

    Args:
        omitted: Number of omitted matches.
        brevity: Level of detail of the others.
        more: Further numbers of omitted items, by member name.
    """
    counts: JsonObject = {name: count for name, count in (more or {}).items() if count}
    if not omitted and not counts and brevity.description:
        return {}
    how = f"call {DESCRIBE} for a tool"
    if counts:
        how = f"search for related tools and next steps separately, and {how}"
    if omitted:
        how = f"lower the limit or narrow the query, and {how}"
    return {"truncated": {"omitted": omitted, **counts, "howToGetTheRest": how}}


SMALLEST_BUDGET = 2048
"""Minimum budget in bytes, in which the error for a response without room fits."""

_NOTE_BYTES = 400


def text_block(text: JsonValue) -> JsonObject:
    """Return *text* as a content block of MCP."""
    return {"type": "text", "text": text}


def succeeded(answer: JsonValue) -> JsonObject:
    """Return *answer* as a tool result: structured, and as text for older clients."""
    answer = repaired(answer)
    return {
        "content": [text_block(written(answer))],
        "structuredContent": answer,
        "isError": False,
    }


def failed(message: str, structured: JsonObject | None = None) -> JsonObject:
    """Return a tool result with an error message."""
    result: JsonObject = {"content": [text_block(repaired(message))], "isError": True}
    return result if structured is None else {**result, "structuredContent": repaired(structured)}


def first_that_fits(answers: Iterable[JsonObject], budget: int) -> JsonObject:
    """Return the first of *answers*, from the fullest to the shortest, that fits *budget*.

    Args:
        answers: At least one; taken one by one.
        budget: Bytes of the whole result as JSON.

    Returns:
        A tool result; an error if not even the shortest fits.
    """
    for answer in answers:
        result = succeeded(answer)
        if size(result) <= budget:
            return result
    return failed(f"the shortest response exceeds {budget:,} bytes")


def passed_on(result: JsonObject, budget: int, *, structured_needed: bool) -> JsonObject:
    """Return a tool's own result cut to *budget*, with a note of what was omitted.

    Structured content is dropped first, since the text repeats it for most models; then blocks
    other than text; then the end of the text.

    Args:
        result: The result of a tool call.
        budget: Bytes of the whole result as JSON.
        structured_needed: Whether clients refuse a success without structured content; then a
            result whose structured content does not fit becomes an error.
    """
    if size(result) <= budget:
        return result
    blocks = [block for block in as_list(result["content"]) if isinstance(block, dict)]
    structured = result.get("structuredContent")
    is_error = bool(result.get("isError"))
    notes = []
    if structured is not None:
        texts = [block for block in blocks if block.get("type") == "text"]
        blocks = blocks if texts else [text_block(written(structured)), *blocks]
        notes.append(f"the structured result was left out ({size(structured):,} bytes)")
        is_error = is_error or structured_needed
    kept, more = _trimmed(blocks, budget - _NOTE_BYTES)
    note = (
        f"[mcpg: {'; '.join((*notes, *more))}: results are limited to {budget:,} bytes. {_REMEDY}]"
    )
    return {"content": [*kept, text_block(note)], "isError": is_error}


_REMEDY = "Narrow the request by the tool's arguments"


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return *value*, or an empty list if it is not a list."""
    return value if isinstance(value, list) else []


def _trimmed(blocks: list[JsonObject], room: int) -> tuple[list[JsonValue], list[str]]:
    """Return the blocks that fit *room* bytes, and notes of what was omitted."""
    kept: list[JsonValue] = []
    cut, dropped = 0, 0
    for block in blocks:
        need = size(block) + 1
        text = block.get("text")
        if need > room and isinstance(text, str) and room > size(text_block("")):
            part = _prefix(text, room - size({**block, "text": ""}) - 1)
            cut += len(text) - len(part)
            block = {**block, "text": part}  # noqa: PLW2901 - what is left of it
            need = size(block) + 1
        if need > room:
            dropped += 1
            continue
        room -= need
        kept.append(block)
    notes = [f"{cut:,} characters of text were cut off"] if cut else []
    notes += [f"{dropped:,} blocks were left out"] if dropped else []
    return kept, notes


def _prefix(text: str, room: int) -> str:
    """Return the longest prefix of *text* that fits *room* bytes as a JSON string."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


class Exposure(StrEnum):
    """The tools that clients see."""

    META = "meta"
    """Only the meta-tools."""
    ALL = "all"
    """Also every enabled tool, under its id."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Options of a server.

    Attributes:
        expose: The tools that clients see.
        graph_tools: Whether these include the meta-tools of the graph.
        endpoints: SPARQL endpoints that a graph search may query on request.
        answer_bytes: Maximum size of a meta-tool's result, in bytes of JSON.
        result_bytes: Maximum size of a called tool's result, in bytes of JSON.
        search: Keyword arguments of every search, such as `strategy`.
        route: Keyword arguments of every route.
        log: Called with one line for each request, without its arguments; `None` for no log.
        on_diagnostics: Called with the diagnostics of the sources whenever they may have changed.

    Raises:
        UsageError: A budget is too small, or endpoints are allowed without the graph tools.
    """

    expose: Exposure = Exposure.META
    graph_tools: bool = False
    endpoints: tuple[str, ...] = ()
    answer_bytes: int = 32 << 10
    result_bytes: int = 256 << 10
    search: Mapping[str, Any] = field(default_factory=dict)
    route: Mapping[str, Any] = field(default_factory=dict)
    log: Callable[[str], None] | None = None
    on_diagnostics: Callable[[tuple[Diagnostic, ...]], None] | None = None

    def __post_init__(self) -> None:
        if min(self.answer_bytes, self.result_bytes) < SMALLEST_BUDGET:
            raise UsageError(
                f"the minimum size of a response is {SMALLEST_BUDGET:,} bytes",
                remedy="raise the limit, or omit it",
            )
        if self.endpoints and not self.graph_tools:
            raise UsageError(
                "endpoints are queried by the graph tools, which are not enabled",
                remedy="enable them with --graph-tools",
            )
