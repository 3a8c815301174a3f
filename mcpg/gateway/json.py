"""Results as the JSON objects that the command line prints: with the diagnostics of loading.

Each result has a method `to_dict`; here the diagnostics of what was loaded for it come first. The
command line and the server of a gateway share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from mcpg.engine import Explanation, Plan, SearchResult
from mcpg.errors import Diagnostic
from mcpg.values import TIME_DECIMALS

if TYPE_CHECKING:
    from mcpg.engine.ask import AskResult, Suggestion
    from mcpg.gateway.routing.route import RouteResult
    from mcpg.graph.schema import GraphSchema
    from mcpg.graph.search import GraphSearchResult
    from mcpg.json_types import JsonObject, JsonValue

Result: TypeAlias = (
    "SearchResult | Explanation | Plan | RouteResult | GraphSearchResult | GraphSchema"
)


def result_json(result: Result, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return *result* as a JSON object whose diagnostics begin with those of *loading*."""
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
    """Return the object that `ask` prints.

    Args:
        result: The answer.
        command: Writes a suggestion as what can be run.
        loading: Diagnostics of loading the catalogue.
        milliseconds: How long it took, `None` to leave it out.
    """
    members: dict[str, Any] = {"schema": result.to_dict()["schema"]}
    members |= answer_members(result, command)
    if milliseconds is not None:
        members["time"] = round(milliseconds, TIME_DECIMALS)
    return members | {"diagnostics": diagnostics_json((*loading, *result.diagnostics))}


def answer_members(result: AskResult, command: Callable[[Suggestion], JsonValue]) -> JsonObject:
    """Return what every answer to a question holds, without schema, time and diagnostics.

    *command* writes a suggestion as what can be run.
    """
    members = {
        name: part
        for name, part in result.to_dict().items()
        if name not in ("schema", "diagnostics")
    }
    return members | {"suggestions": [command(one) for one in result.suggestions]}
