"""Results of searches, routes and graphs as JSON objects: the contract of `--format json`.

The command line and the server of a gateway share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcpg.engine.prerequisites import PREREQUISITE
from mcpg.errors import Diagnostic, remedy_of
from mcpg.values import SHOWN_DECIMALS, to_json

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints, Tool
    from mcpg.engine import Match, Plan, SearchResult, Via
    from mcpg.gateway.routing.preference import Preference
    from mcpg.gateway.routing.route import RoutedCategory, RoutedMatch, RouteResult
    from mcpg.graph.schema import GraphSchema
    from mcpg.graph.search import Evidence, GraphMatch, GraphSearchResult
    from mcpg.graph.search.model import Role
    from mcpg.json_types import JsonObject, JsonValue


def search_json(result: SearchResult, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return the object that `search` prints; *loading* are diagnostics of loading."""
    return {"schema": "mcpg/search/1", **answer_json(result, loading)}


def answer_json(result: SearchResult, loading: Iterable[Diagnostic]) -> JsonObject:
    """Return what every answer to a query holds; *loading* are diagnostics of loading."""
    return {
        "query": result.query,
        "normalizedQuery": result.normalized_query,
        "strategy": result.strategy,
        "rankingMode": result.ranking_mode,
        "matches": [match_json(match) for match in result.matches],
        "relatedMatches": [match_json(match) for match in result.related_matches],
        "nextStepMatches": [match_json(match) for match in result.next_step_matches],
        "prerequisites": [match_json(match) for match in result.prerequisites],
        "diagnostics": diagnostics_json((*loading, *result.diagnostics)),
        "focusedGraph": to_json(result.focused_graph),
    }


def match_json(match: Match) -> JsonObject:
    """Return a match: the tool, its score, and what speaks for it."""
    tool = match.descriptor  # read from the index each time
    members: JsonObject = {
        **card_json(tool),
        "requiredArguments": list(tool.required_arguments),
        "score": score_json(match.score),
    }
    if match.via is None:
        members["evidence"] = to_json(match.evidence)
    else:
        members["via"] = via_json(match.via) | {"weight": score_json(match.via.weight)}
    return members | hints_json(tool.hints)


def via_json(via: Via) -> JsonObject:
    """Return the edge that leads to a match; of a prerequisite with its fields."""
    members: JsonObject = to_json(via, {"source": "from"}, ["fields"])
    if via.edge == PREREQUISITE:
        members["fields"] = [
            {"field": field, "argument": argument} for field, argument in via.fields
        ]
    return members


def hints_json(hints: Hints) -> JsonObject:
    """Return all hints; unset ones are `null`, but a tool is enabled by default."""
    flags = ("read_only", "idempotent", "destructive", "open_world", "enabled_by_default")
    return to_json(hints, {"examples": "usageExamples"}, flags) | {
        "isReadOnly": hints.read_only,
        "isIdempotent": hints.idempotent,
        "isDestructive": hints.destructive,
        "isOpenWorld": hints.open_world,
        "isEnabledByDefault": hints.enabled_by_default is not False,
    }


def plan_json(plan: Plan, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return the object that `plan` prints; *loading* are diagnostics of loading."""
    filled: dict[str, list[JsonValue]] = {}
    for one in plan.filled:
        filled.setdefault(one.task, []).append({"argument": one.argument, "value": one.value})
    tasks: list[JsonValue] = [
        {
            "id": task.id,
            "toolId": task.tool_id,
            "sourceId": task.source_id,
            "toolName": task.tool_name,
            "displayName": task.display_name,
            "summary": task.summary,
            "layer": task.layer,
            "isPrerequisite": task.is_prerequisite,
            "isDestructive": task.is_destructive,
            "score": score_json(task.score),
            "confidence": score_json(task.confidence),
            "dependsOn": [
                to_json(one) | {"weight": score_json(one.weight)} for one in task.depends_on
            ],
            "provided": [to_json(one) for one in task.provided],
            "alternatives": [
                to_json(one) | {"confidence": score_json(one.confidence)}
                for one in task.alternatives
            ],
            "filled": filled.get(task.id, []),
            "rationale": task.rationale,
        }
        for task in plan.tasks
    ]
    return {
        "schema": "mcpg/plan/1",
        "goal": plan.goal,
        "strategy": plan.strategy,
        "confidence": score_json(plan.confidence),
        "rationale": plan.rationale,
        "tasks": tasks,
        "layers": [list(layer) for layer in plan.layers],
        "intents": [to_json(one) for one in plan.intents],
        "missing": [to_json(one) for one in plan.missing],
        "broken": [to_json(one) | {"weight": score_json(one.weight)} for one in plan.broken],
        "diagnostics": diagnostics_json((*loading, *plan.diagnostics)),
    }


def diagnostics_json(items: Iterable[Diagnostic]) -> list[JsonValue]:
    """Return *items* as objects."""
    return [to_json(item) | {"remedy": remedy_of(item.code)} for item in items]


def score_json(score: float) -> float:
    """Return *score* with the six decimals that are printed."""
    return round(score, SHOWN_DECIMALS)


def card_json(tool: Tool) -> JsonObject:
    """Return what a tool is called and what it does."""
    return {
        "toolId": tool.id,
        "sourceId": tool.source_id,
        "toolName": tool.name,
        "displayName": tool.display_name,
        "description": tool.description,
    }


# Routing


def route_json(result: RouteResult, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return the object that `route` prints; *loading* are diagnostics of loading.

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
    """Return the member that `explain --route` adds to its object: all but the tools.

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
                "adjustments": [to_json(part) for part in one.adjustments],
            }
            for one in result.suggested
        ],
        "weights": {
            "provenance": weights.provenance,
            **to_json(weights, without={"provenance"}),
        },
    }


def _preference(preference: Preference, *, with_words: bool = False) -> JsonObject:
    names = {"read_only": "readOnlyTools", "writing": "writingTools"}
    return to_json(preference, names, () if with_words else ("words",)) | {
        "evidence": score_json(preference.evidence),
        "needed": score_json(preference.needed),
    }


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
    """Return a tool as a search does, its score adjusted and the calibrated score beside it."""
    return match_json(one.match) | {
        "score": score_json(one.score),
        "calibratedScore": score_json(one.match.score),
        "adjustments": [
            {"name": part.name, "value": score_json(part.value)} for part in one.adjustments
        ],
    }


# Graphs


def result_json(found: GraphSearchResult, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `graph search` prints; *noticed* is what loading noticed."""
    return {
        "schema": "mcpg/graph-search/1",
        "query": found.query,
        "mode": found.mode.value,
        "isFederated": found.is_federated,
        "endpoints": list(found.endpoints),
        "usedSchemaSearch": found.used_schema_search,
        "usedSchemaFallback": found.used_schema_fallback,
        "matches": [node_json(match) for match in found.matches],
        "relatedMatches": [node_json(match) for match in found.related],
        "nextStepMatches": [node_json(match) for match in found.next_steps],
        "generatedSparql": found.sparql,
        "expansionSparql": found.expansion_sparql,
        "diagnostics": diagnostics_json((*noticed, *found.diagnostics)),
    }


def schema_json(found: GraphSchema, noticed: Iterable[Diagnostic]) -> JsonObject:
    """Return the object that `graph schema` prints."""
    from mcpg.graph.sparql_worker import shortened  # noqa: PLC0415 - a search has no graph

    return {
        "schema": "mcpg/graph-schema/1",
        "triples": found.triples,
        "prefixes": dict(found.prefixes),
        "classes": [
            {"iri": one.iri, "name": shortened(one.iri), **to_json(one)} for one in found.classes
        ],
        "predicates": [
            {"iri": one.iri, "name": shortened(one.iri), **to_json(one)} for one in found.predicates
        ],
        "search": to_json(found.profile, {"iri": "predicate"}),
        "diagnostics": diagnostics_json(noticed),
    }


def node_json(match: GraphMatch) -> JsonObject:
    """Return a node that was found, and what speaks for it."""
    return {
        "node": match.node,
        "label": match.label,
        "description": match.description,
        "types": list(match.types),
        "role": match.role.value,
        "toolId": match.tool_id,
        "score": round(match.score, SHOWN_DECIMALS),
        "scoreKind": match.score_kind.value,
        "evidence": [_evidence_json(one, match.role) for one in match.evidence],
    }


def _evidence_json(evidence: Evidence, role: Role) -> JsonObject:
    members: JsonObject = {
        "predicate": evidence.predicate,
        "kind": evidence.kind,
        "score": round(evidence.score, SHOWN_DECIMALS),
        "related": evidence.related or None,
        "relatedLabel": evidence.related_label or None,
        "endpoint": evidence.endpoint or None,
        "sources": [to_json(one) for one in evidence.sources],
    }
    if role == "primary":
        members |= {
            "matchedText": evidence.text,
            "terms": list(evidence.terms),
            "via": evidence.via or None,
        }
    return members
