"""Answers to questions as JSON objects, for the command line and for MCP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from mcpg.gateway.json import diagnostics_json
from mcpg.values import TIME_DECIMALS, to_json

if TYPE_CHECKING:
    from mcpg.engine.ask import Answer, AskResult, Suggestion
    from mcpg.errors import Diagnostic
    from mcpg.json_types import JsonObject, JsonValue

    Command = Callable[[Suggestion], JsonValue]

SCHEMA = "mcpg/ask/1"

_SCORE_DECIMALS = 4
_ALWAYS = ("file", "score", "type", "symbol", "kind")


def ask_json(
    result: AskResult,
    command: Command,
    loading: Iterable[Diagnostic] = (),
    milliseconds: float | None = None,
) -> JsonObject:
    """Return the object that `ask` prints.

    Args:
        result: The answer.
        command: Writes a suggestion as what can be run.
        loading: Diagnostics of loading the catalogue.
        milliseconds: How long it took, `None` to leave it out.
    """
    members: JsonObject = {"schema": SCHEMA, **answer_members(result, command)}
    if milliseconds is not None:
        members["time"] = round(milliseconds, TIME_DECIMALS)
    return members | {"diagnostics": diagnostics_json((*loading, *result.diagnostics))}


def answer_members(result: AskResult, command: Command) -> JsonObject:
    """Return what every answer to a question holds, without schema, time and diagnostics."""
    homes = {"repo": result.repository, "branch": result.branch}
    omitted: JsonObject = {"omitted": result.omitted} if result.omitted else {}
    return {
        **{key: home for key, home in homes.items() if home},
        "query": result.query,
        "intent": result.decision.intent,
        "decision": to_json(result.decision, without={"intent"}) | _certainty(result),
        "parsed": to_json(result.parsed),
        "total": result.total,
        "results": [result_json(one) for one in result.results],
        **omitted,
        "suggestions": [command(one) for one in result.suggestions],
    }


def _certainty(result: AskResult) -> JsonObject:
    return {"probability": round(result.decision.probability, _SCORE_DECIMALS)}


def result_json(answer: Answer) -> JsonObject:
    """Return one result; what it does not have is left out."""
    members: JsonObject = to_json(answer) | {"score": round(answer.score, _SCORE_DECIMALS)}
    related: Sequence[JsonObject] = [
        {key: part for key, part in to_json(one).items() if part not in (None, "")}
        for one in answer.related
    ]
    members["related"] = [*related]
    return {
        key: part for key, part in members.items() if key in _ALWAYS or part not in (None, "", [])
    }
