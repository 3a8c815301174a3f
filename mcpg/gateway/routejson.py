"""A routing as a JSON object: the contract of `mcpg route --format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.answerjson import diagnostics_json, match_json, score_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.diagnostics import Diagnostic
    from mcpg.gateway.preference import Preference
    from mcpg.gateway.routing import RoutedCategory, RoutedMatch, RouteResult
    from mcpg.jsontypes import JsonObject, JsonValue


def route_json(result: RouteResult, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Give the object that `route` prints; *loading* is what loading noticed.

    A tool stands in it once as in an answer of `search`, under `suggestedMatches`; categories say
    what their tools are called.
    """
    return {
        "schema": "mcpg/route/1",
        "query": result.query,
        "normalizedQuery": result.normalized_query,
        "strategy": result.strategy,
        "rankingMode": result.ranking_mode,
        "preference": _preference(result.preference),
        "categories": [_category(one) for one in result.categories],
        "suggestedMatches": [_match(one) for one in result.suggested],
        "diagnostics": diagnostics_json((*loading, *result.diagnostics)),
    }


def routing_json(result: RouteResult) -> JsonObject:
    """Give the member that `explain --route` adds to its object: all of the routing but the tools.

    Numbers are at full precision, because the adjustments and the calibrated score add up to the
    score, unless that is cut to [0, 1].
    """
    weights = result.weights
    return {
        "preference": _preference(result.preference, with_words=True),
        "candidates": result.candidates,
        "categories": [_category(one) for one in result.categories],
        "tools": [
            {
                "toolId": one.match.tool_id,
                "score": one.score,
                "calibratedScore": one.match.score,
                "adjustments": _adjustments(one),
            }
            for one in result.suggested
        ],
        "weights": {
            "provenance": weights.provenance,
            "adjustments": dict(weights.adjustments),
            "odds": weights.odds,
        },
    }


def _preference(preference: Preference, *, with_words: bool = False) -> JsonObject:
    members: JsonObject = {
        "name": preference.name,
        "isAsked": preference.is_asked,
        "evidence": score_json(preference.evidence),
        "needed": score_json(preference.needed),
        "readOnlyTools": preference.read_only,
        "writingTools": preference.writing,
    }
    if with_words:
        members["words"] = [
            {
                "text": word.text,
                "readOnlyTools": word.read_only,
                "writingTools": word.writing,
                "evidence": word.evidence,
            }
            for word in preference.words
        ]
    return members


def _category(category: RoutedCategory) -> JsonObject:
    tools: list[JsonValue] = [
        {
            "toolId": one.match.tool_id,
            "sourceId": one.match.source_id,
            "toolName": one.match.tool_name,
            "score": score_json(one.score),
        }
        for one in category.matches
    ]
    return {
        "name": category.name,
        "score": score_json(category.score),
        "found": category.found,
        "tools": tools,
    }


def _match(one: RoutedMatch) -> JsonObject:
    """Give a tool as a search does, its score adjusted and the calibrated score beside it."""
    return match_json(one.match) | {
        "score": score_json(one.score),
        "calibratedScore": score_json(one.match.score),
        "adjustments": [
            {"name": part.name, "value": score_json(part.value)} for part in one.adjustments
        ],
    }


def _adjustments(one: RoutedMatch) -> list[JsonValue]:
    return [
        {"name": part.name, "weight": part.weight, "value": part.value} for part in one.adjustments
    ]
