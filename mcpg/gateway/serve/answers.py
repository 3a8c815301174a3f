"""The names of the meta-tools, which no tool behind the gateway may bear as its id."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.json_text import repair_surrogates
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.results import RankingMode
from mcpg.errors import Code, Severity, UsageError
from mcpg.gateway.json import score_json
from mcpg.text.safeyaml import UNSAFE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from mcpg.catalog.model import Tool
    from mcpg.engine import Match, SearchResult
    from mcpg.errors import Diagnostic
    from mcpg.json_types import JsonObject, JsonValue

    Find = Callable[[str], Tool | None]
    _Item = TypeVar("_Item")

SEARCH = "gateway_tools_search"
ROUTE = "gateway_tools_route"
DESCRIBE = "gateway_tool_describe"
INVOKE = "gateway_tool_invoke"
GRAPH_SCHEMA = "gateway_graph_schema_describe"
GRAPH_SEARCH = "gateway_graph_schema_search"
GRAPH_EXPORT = "gateway_graph_export"

EVERYDAY = (SEARCH, ROUTE, DESCRIBE, INVOKE)
"""What every client sees, in the order in which they are used."""

GRAPH_TOOLS = (GRAPH_SCHEMA, GRAPH_SEARCH, GRAPH_EXPORT)
"""What a client sees of the graph, where it is asked for."""

META_TOOLS: tuple[str, ...] = (*EVERYDAY, *GRAPH_TOOLS)
"""All of them, reserved whether they are shown or not, so that ids do not hang on options."""

# SECTION wording: Texts of strangers made fit to stand among our own words, and measured.


_LONGEST_NAME = 32
_MARK = "…"


def line(text: str, characters: int) -> str:
    """Bring *text* to one line of at most *characters*; what hides or steers is left out."""
    return cut(" ".join(UNSAFE.sub(" ", text).split()), characters)


def prose(text: str, characters: int) -> str:
    """Shorten *text* to at most *characters*, and leave out what hides or steers; lines stay."""
    lines = (UNSAFE.sub(" ", one.replace("\t", " ")).rstrip() for one in text.splitlines())
    return cut("\n".join(lines), characters)


def cut(text: str, characters: int) -> str:
    """Shorten *text* to at most *characters*, at a word's end where one is near."""
    if len(text) <= characters:
        return text
    kept = text[: max(0, characters - 1)]
    head, _, tail = kept.rpartition(" ")
    return f"{(head if head and len(tail) < characters // 4 else kept).rstrip()}{_MARK}"


def source_name(source_id: str) -> str:
    """Give the name of a source as our own sentences bear it.

    Whoever names a server must not be able to speak to a model in our words: nothing but letters,
    digits, `_` and `-` is left.
    """
    return normalize(source_id, SOURCE_FALLBACK)[:_LONGEST_NAME]


def listed(items: Iterable[str], most: int) -> str:
    """Join *items* by commas, and say how many more there are than *most*."""
    known = list(items)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def counted(number: int, one: str) -> str:
    """Give *number* and its noun."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def written(value: JsonValue) -> str:
    """Write *value* as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def size(value: JsonValue) -> int:
    """Give the bytes of *value* as JSON."""
    return len(written(value).encode("utf-8", "surrogatepass"))


def whole(value: JsonValue) -> JsonValue:
    """Give *value* with halves of characters replaced, which JSON in UTF-8 cannot hold."""
    try:
        written(value).encode()
    except UnicodeEncodeError:
        return repair_surrogates(value, "", [])
    return value


# SECTION answers: What searches and routes answer with, said ever more briefly until it has room.


_NEIGHBOURS = 3
_ARGUMENTS = 16
_NAME = 64
_NOTES, _NOTE = 4, 240
_NO_MATCH = (
    "No tool here fits. Say the task in other words; if that finds nothing either, no tool here "
    "does it."
)
_DOUBTFUL = (
    "No match is sure: the best has {score:.2f}, where 1 is certain. Read the descriptions before "
    "you take one, search again in other words, or do without; do not call a tool on a guess."
)
_BROWSING = "There is no word to look for: these are tools by name. Say what is to be done."


@dataclass(frozen=True, slots=True)
class Brevity:
    """How much is said: characters of a description, the share of matches, whether neighbours."""

    description: int
    matches: float
    neighbours: bool


# Descriptions shrink first, then what only comes along goes, then matches from the end.
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
    """Give answers to a search, from the fullest to the barest.

    Args:
        result: What was found.
        find: Gives a tool of the catalogue by its id.
    """
    for brevity in LADDER:
        kept = share(result.matches, brevity)
        answer: JsonObject = {"matches": [match_answer(match, find, brevity) for match in kept]}
        related, following = (
            _comers(matches, brevity)
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
    """Give the first of *matches*, at least one, as many as *brevity* leaves."""
    return matches[: max(1, int(len(matches) * brevity.matches))]


def match_answer(match: Match, find: Find, brevity: Brevity) -> JsonObject:
    """Give what a model needs to know of one match to choose it."""
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


def _comers(matches: Sequence[Match], brevity: Brevity) -> list[JsonValue]:
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
    """Say in words what a low score means."""
    if not best:
        return {"advice": _NO_MATCH}
    score = best[0].score
    return {} if score >= LOW_CONFIDENCE else {"advice": _DOUBTFUL.format(score=score)}


def notes(diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Give what the search noticed and a model should heed."""
    told: list[JsonValue] = [
        line(item.message, _NOTE)
        for item in diagnostics
        if item.severity != Severity.INFO and item.code != Code.LOW_CONFIDENCE
    ]
    return {"notes": told[:_NOTES]} if told else {}


def truncated(omitted: int, brevity: Brevity, more: Mapping[str, int] | None = None) -> JsonObject:
    """Report that something was left out, and how to get it; nothing where all was said.

    Args:
        omitted: How many matches were left out.
        brevity: How much was said of the others.
        more: How much else was left out, by the name of its count.
    """
    counts: JsonObject = {name: count for name, count in (more or {}).items() if count}
    if not omitted and not counts and brevity.description:
        return {}
    how = f"ask {DESCRIBE} about a tool"
    if counts:
        how = f"search for what comes before or after in words of its own, and {how}"
    if omitted:
        how = f"ask for fewer at a time or in narrower words, and {how}"
    return {"truncated": {"omitted": omitted, **counts, "howToGetTheRest": how}}


# SECTION budget: Answers held to a budget of bytes: less is said, in a fixed order, until it fits.


SMALLEST_BUDGET = 2048
"""The least budget in bytes: what is said of an answer that does not fit must fit itself."""

_NOTE_BYTES = 400


def told(answer: JsonValue) -> JsonObject:
    """Give *answer* as the result of a tool call: structured, and as text for older clients."""
    answer = whole(answer)
    return {
        "content": [{"type": "text", "text": written(answer)}],
        "structuredContent": answer,
        "isError": False,
    }


def failed(message: str, structured: JsonObject | None = None) -> JsonObject:
    """Give the result of a tool call that says why there is none."""
    result: JsonObject = {"content": [_text(whole(message))], "isError": True}
    return result if structured is None else {**result, "structuredContent": whole(structured)}


def first_that_fits(answers: Iterable[JsonObject], budget: int) -> JsonObject:
    """Give the first of *answers*, from the fullest to the barest, whose result has room.

    Args:
        answers: At least one; they are made one after the other.
        budget: Bytes of the whole result as JSON.

    Returns:
        The result of a tool call. When not even the barest has room, it says so.
    """
    for answer in answers:
        result = told(answer)
        if size(result) <= budget:
            return result
    return failed(f"the answer has no room in {budget:,} bytes, however little it says")


def passed_on(result: JsonObject, budget: int, *, structured_needed: bool) -> JsonObject:
    """Hold a tool's own result to *budget*; what is left out is said.

    The structured content goes first, since its text says the same to most models; then blocks
    that are no text; then what is too much of the text, from its end.

    Args:
        result: The result of a tool call.
        budget: Bytes of the whole result as JSON.
        structured_needed: Whether clients refuse a success without structured content; then a
            result whose structured content has no room becomes an error that says so.
    """
    if size(result) <= budget:
        return result
    blocks = [block for block in _listed(result["content"]) if isinstance(block, dict)]
    structured = result.get("structuredContent")
    is_error = bool(result.get("isError"))
    notes = []
    if structured is not None:
        texts = [block for block in blocks if block.get("type") == "text"]
        blocks = blocks if texts else [_text(written(structured)), *blocks]
        notes.append(f"the structured result was left out ({size(structured):,} bytes)")
        is_error = is_error or structured_needed
    kept, more = _trimmed(blocks, budget - _NOTE_BYTES)
    said = f"[mcpg: {'; '.join((*notes, *more))}: a result may have {budget:,} bytes. {_REMEDY}]"
    return {"content": [*kept, _text(said)], "isError": is_error}


_REMEDY = "Ask for less, as the tool's arguments allow"


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _text(text: JsonValue) -> JsonObject:
    return {"type": "text", "text": text}


def _trimmed(blocks: list[JsonObject], room: int) -> tuple[list[JsonValue], list[str]]:
    """Give what of *blocks* has room, and what was done to them."""
    kept: list[JsonValue] = []
    cut, dropped = 0, 0
    for block in blocks:
        need = size(block) + 1
        text = block.get("text")
        if need > room and isinstance(text, str) and room > size(_text("")):
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
    """Give as much of *text* as has *room* bytes once it is a JSON string."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]


# SECTION options: How a gateway is served.


class Exposure(StrEnum):
    """What clients see."""

    META = "meta"
    """The meta-tools alone."""
    ALL = "all"
    """Every enabled tool as well, under its id."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How a gateway is served.

    Attributes:
        expose: What clients see.
        graph_tools: Whether the meta-tools of the graph are among it.
        endpoints: SPARQL endpoints that a search of the graph may ask when it is told to.
        answer_bytes: Budget of the answer of a meta-tool, as JSON.
        result_bytes: Budget of a result that is passed on, as JSON.
        search: What every search is asked beside its query, such as `strategy`.
        route: What every route is asked, likewise.
        told: Gets one line for each request, without what was asked; `None` for nobody.
        noticed: Gets what was noticed of the sources whenever that may be news; `None` for nobody.

    Raises:
        UsageError: A budget is too small for any answer, or endpoints are allowed to tools that
            are not shown.
    """

    expose: Exposure = Exposure.META
    graph_tools: bool = False
    endpoints: tuple[str, ...] = ()
    answer_bytes: int = 32 << 10
    result_bytes: int = 256 << 10
    search: Mapping[str, Any] = field(default_factory=dict)
    route: Mapping[str, Any] = field(default_factory=dict)
    told: Callable[[str], None] | None = None
    noticed: Callable[[tuple[Diagnostic, ...]], None] | None = None

    def __post_init__(self) -> None:
        if min(self.answer_bytes, self.result_bytes) < SMALLEST_BUDGET:
            raise UsageError(
                f"no answer has room in less than {SMALLEST_BUDGET:,} bytes",
                remedy="allow more, or leave it out",
            )
        if self.endpoints and not self.graph_tools:
            raise UsageError(
                "endpoints are asked by the tools of the graph, which are not shown",
                remedy="show them, too (--graph-tools)",
            )
