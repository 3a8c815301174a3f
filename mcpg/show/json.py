"""Results as the JSON objects that the command line prints: with the diagnostics of loading.

Each result has a method `to_dict`; here the diagnostics of loading come first. The command line and
the server of a gateway share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mcpg.errors import Diagnostic
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import TIME_DECIMALS, round_shown_score, to_json

if TYPE_CHECKING:
    from mcpg.ask.model import AskResult, Suggestion
    from mcpg.review.compare import RankingComparison
    from mcpg.search.trace import Explanation, MatchExplanation


class Result(Protocol):
    """A result with a JSON object that ends with its diagnostics."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object."""


def result_json(result: Result, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return *result* as a JSON object with the diagnostics of *loading* first."""
    members: dict[str, Any] = result.to_dict()
    return members | {"diagnostics": [*diagnostics_json(loading), *members["diagnostics"]]}


def diagnostics_json(items: Iterable[Diagnostic]) -> list[JsonValue]:
    """Return *items* as objects."""
    return [item.to_dict() for item in items]


def ask_json(
    result: AskResult,
    command: Callable[[Suggestion], JsonValue],
    loading: Iterable[Diagnostic] = (),
    milliseconds: float | None = None,
) -> JsonObject:
    """Return the object that `ask` prints."""
    members: dict[str, Any] = {"schema": result.to_dict()["schema"]}
    members |= answer_members(result, command)
    if milliseconds is not None:
        members["time"] = round(milliseconds, TIME_DECIMALS)
    return members | {"diagnostics": diagnostics_json((*loading, *result.diagnostics))}


def answer_members(result: AskResult, command: Callable[[Suggestion], JsonValue]) -> JsonObject:
    """Return the members of every answer to a question, without schema, time and diagnostics.

    *command* writes a suggestion as a command to run.
    """
    members = {
        name: part
        for name, part in result.to_dict().items()
        if name not in ("schema", "diagnostics")
    }
    return members | {"suggestions": [command(one) for one in result.suggestions]}


class ComparedCatalogue(NamedTuple):
    """One of the two catalogs."""

    name: str
    loading: tuple[Diagnostic, ...] = ()


def compare_json(
    comparison: RankingComparison, before: ComparedCatalogue, after: ComparedCatalogue
) -> JsonObject:
    """Return the object that `explain --compare` prints, its numbers at full precision."""
    now = _describe_side(after, comparison.now, comparison.size_now)
    tools: list[JsonValue] = [
        {
            "toolId": change.tool_id,
            "then": _describe_place(change.then, change.status_then),
            "now": _describe_place(change.now, change.status_now),
            "fusedDelta": change.fused_delta,
            "features": [to_json(one) for one in change.features],
            "terms": [to_json(one) for one in change.terms],
        }
        for change in comparison.tools
    ]
    return {
        "schema": "mcpg/explain-compare/1",
        "query": comparison.now.result.query,
        "strategy": comparison.now.result.strategy,
        "then": _describe_side(before, comparison.then, comparison.size_then),
        "now": now,
        "tools": tools,
        "words": [
            {
                "text": change.text,
                "then": change.then.to_dict() if change.then else None,
                "now": change.now.to_dict() if change.now else None,
            }
            for change in comparison.words
        ],
        "onlyThen": list(comparison.only_then),
        "onlyNow": list(comparison.only_now),
        "diagnostics": now["diagnostics"],
    }


def _describe_side(side: ComparedCatalogue, explanation: Explanation, size: int) -> JsonObject:
    return {
        "bundle": side.name,
        "tools": size,
        "rankingMode": explanation.result.ranking_mode,
        "language": explanation.language,
        "model": explanation.model.to_dict() if explanation.model else None,
        "diagnostics": diagnostics_json((*side.loading, *explanation.result.diagnostics)),
    }


def _describe_place(match: MatchExplanation | None, standing: str) -> JsonObject:
    return {
        "standing": standing,
        "rank": match.rank if match else None,
        "score": round_shown_score(match.score) if match else None,
        "fusedScore": match.fused_score if match else None,
    }
