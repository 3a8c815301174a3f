"""What a search answers with, as JSON objects: the contract of `mcpg search --format json`.

The command line and the server of a gateway say the same in the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.remedies import remedy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import Hints, Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Match, SearchResult
    from mcpg.jsontypes import JsonObject, JsonValue

SCORE_DECIMALS = 6


def search_json(result: SearchResult, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Give the object that `search` prints; *loading* is what loading noticed."""
    return {"schema": "mcpg/search/1", **answer_json(result, loading)}


def answer_json(result: SearchResult, loading: Iterable[Diagnostic]) -> JsonObject:
    """Give what every answer to a query holds; *loading* is what loading noticed."""
    return {
        "query": result.query,
        "normalizedQuery": result.normalized_query,
        "strategy": result.strategy,
        "rankingMode": result.ranking_mode,
        "matches": [match_json(match) for match in result.matches],
        "relatedMatches": [match_json(match) for match in result.related_matches],
        "nextStepMatches": [match_json(match) for match in result.next_step_matches],
        "diagnostics": diagnostics_json((*loading, *result.diagnostics)),
        "focusedGraph": {
            "nodes": result.focused_graph.nodes,
            "edges": result.focused_graph.edges,
        },
    }


def match_json(match: Match) -> JsonObject:
    """Give a match: the tool, its score, and what speaks for it."""
    members: JsonObject = {
        **card_json(match.descriptor),
        "requiredArguments": list(match.descriptor.required_arguments),
        "score": score_json(match.score),
    }
    if match.via is None:
        evidence = match.evidence
        members["evidence"] = {
            "terms": list(evidence.terms),
            "missing": list(evidence.missing),
            "fields": list(evidence.fields),
        }
    else:
        members["via"] = {
            "edge": match.via.edge,
            "from": match.via.source,
            "reason": match.via.reason,
            "weight": score_json(match.via.weight),
        }
    return members | hints_json(match.descriptor.hints)


def hints_json(hints: Hints) -> JsonObject:
    """Give all hints; what nobody said is `null`, but a tool is enabled until a hint says no."""
    return {
        "aliases": list(hints.aliases),
        "keywords": list(hints.keywords),
        "categories": list(hints.categories),
        "tags": list(hints.tags),
        "dataSources": list(hints.data_sources),
        "usageExamples": [
            {"input": one.input, "output": one.output, "description": one.description}
            for one in hints.examples
        ],
        "costTier": hints.cost_tier,
        "latencyTier": hints.latency_tier,
        "isReadOnly": hints.read_only,
        "isIdempotent": hints.idempotent,
        "isDestructive": hints.destructive,
        "isOpenWorld": hints.open_world,
        "isEnabledByDefault": hints.enabled_by_default is not False,
    }


def diagnostics_json(items: Iterable[Diagnostic]) -> list[JsonValue]:
    """Give *items* as objects."""
    return [
        {
            "code": item.code,
            "severity": item.severity,
            "message": item.message,
            "place": item.place,
            "remedy": remedy_of(item.code),
        }
        for item in items
    ]


def score_json(score: float) -> float:
    """Give *score* with the six decimals that are printed."""
    return round(score, SCORE_DECIMALS)


def card_json(tool: Tool) -> JsonObject:
    """Give what a tool is called and what it does."""
    return {
        "toolId": tool.id,
        "sourceId": tool.source_id,
        "toolName": tool.name,
        "displayName": tool.display_name,
        "description": tool.description,
    }
