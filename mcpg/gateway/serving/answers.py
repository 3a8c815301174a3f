"""What searches and routes answer with, said ever more briefly until it has room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Severity
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.results import RankingMode
from mcpg.gateway.answerjson import score_json
from mcpg.gateway.serving import names
from mcpg.gateway.serving.wording import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Match, SearchResult
    from mcpg.jsontypes import JsonObject, JsonValue

    Find = Callable[[str], Tool | None]
    _Item = TypeVar("_Item")

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
    how = f"ask {names.DESCRIBE} about a tool"
    if counts:
        how = f"search for what comes before or after in words of its own, and {how}"
    if omitted:
        how = f"ask for fewer at a time or in narrower words, and {how}"
    return {"truncated": {"omitted": omitted, **counts, "howToGetTheRest": how}}
