"""Graphs, their schema and their searches as JSON objects."""

from __future__ import annotations

from collections.abc import Iterable

from mcpg.errors import Diagnostic
from mcpg.gateway.json import diagnostics_json
from mcpg.graph.schema import GraphSchema
from mcpg.graph.search import Evidence, GraphMatch, GraphSearchResult
from mcpg.graph.search.model import Role
from mcpg.graph.sparql_worker import shortened
from mcpg.json_types import JsonObject
from mcpg.values import SHOWN_DECIMALS, to_json


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
    if role is Role.PRIMARY:
        members |= {
            "matchedText": evidence.text,
            "terms": list(evidence.terms),
            "via": evidence.via or None,
        }
    return members
