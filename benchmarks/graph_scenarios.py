"""Replays recorded scenarios of searches of the graph: by tools, by JSON-LD, at endpoints."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph

from mcpg.graph.parsing import RdfFormat, triples_in
from mcpg.graph.search import (
    GraphMatch,
    GraphSearcher,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    SearchProfile,
)
from mcpg.graph.search.model import Expansion, Relationship, TextPredicate
from mcpg.graph.terms import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mcpg

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from sparqlserver import serving

Case = dict[str, Any]

STRATEGIES = {"graph_api", "schema_profile", "kb_focused_schema"}


def evidence(result: GraphSearchResult, member: str) -> set[str]:
    """Return what the evidence of the best match has as *member*."""
    return {getattr(one, member) for match in result.matches[:1] for one in match.evidence}


CHECKS: dict[str, Callable[[GraphSearchResult, Any], bool]] = {
    "evidence_count_above": lambda r, v: len(r.matches[0].evidence) > v,
    "evidence_predicate": lambda r, v: v in evidence(r, "predicate"),
    "via_predicate": lambda r, v: v in evidence(r, "via"),
    "is_federated": lambda r, v: r.is_federated is v,
    "sparql_contains": lambda r, v: all(one in r.sparql for one in v),
    "expansion_sparql_contains": lambda r, v: all(one in r.expansion_sparql for one in v),
    "result_count": lambda r, v: len(r.matches) == v,
}
NAMED: dict[str, Callable[[list[str], list[str], list[str], Any], bool]] = {
    "top1": lambda found, _, __, v: found[:1] == [v],
    "in_top": lambda found, _, __, v: set(v) <= set(found),
    "related_includes": lambda _, related, __, v: set(v) <= set(related),
    "related_equals": lambda _, related, __, v: v == related,
    "next_includes": lambda _, __, following, v: set(v) <= set(following),
    "next_equals": lambda _, __, following, v: v == following,
}


def concerns(case: Case) -> bool:
    """Tell whether *case* searches the graph."""
    return case["strategy"] in STRATEGIES


def missing(case: Case) -> list[str]:
    """Name what *case* needs and a profile does not have."""
    profile = case.get("profile", {})
    paths = any("path" in one for one in profile.get("relationship_predicates", ()))
    return ["facets"] * ("facets" in profile) + ["predicate paths"] * paths


def failures(case: Case, engine_of: Callable[[Case], mcpg.Engine], tools: list[Case]) -> list[str]:
    """Answer *case* and name the expectations that fail."""
    if "jsonld" in case:
        names = {tool["document"]["node"]: tool["name"] for tool in tools if "document" in tool}
        result = of_jsonld(case)
    else:
        documents = engine_of(case).documents
        result = GraphSearcher(documents.values()).search(request_of(case, ()))
        names = {
            match.node: documents[match.tool_id].tool.name
            for match in (*result.matches, *result.related, *result.next_steps)
            if match.tool_id
        }
    return [
        f"{name}={v}" for name, v in case["expect"].items() if not holds(result, names, name, v)
    ]


def holds(result: GraphSearchResult, names: Mapping[str, str], name: str, value: Any) -> bool:
    """Tell whether an expectation holds."""
    if name in NAMED:
        lists = (result.matches, result.related, result.next_steps)
        return NAMED[name](*(named(one, names) for one in lists), value)
    return CHECKS.get(name, lambda _, __: True)(result, value)


def named(matches: tuple[GraphMatch, ...], names: Mapping[str, str]) -> list[str]:
    """Give *matches* by the names that the scenarios have."""
    return [names.get(match.node, match.node) for match in matches]


def of_jsonld(case: Case) -> GraphSearchResult:
    """Search the graph of *case*, and its services, which are served on this machine."""
    with ExitStack() as stack:
        served = [
            stack.enter_context(serving(turtle_of(data))).url
            for data in case.get("services", {}).values()
        ]
        triples = triples_in(turtle_of(case["jsonld"]), RdfFormat.TURTLE, "the scenario")
        searcher = GraphSearcher.over(triples, profile=profile_of(case["profile"]), allowed=served)
        return searcher.search(request_of(case, tuple(served)))


def turtle_of(data: dict[str, Any]) -> str:
    """Give JSON-LD as Turtle."""
    quads = pyoxigraph.parse(json.dumps(data), format=pyoxigraph.RdfFormat.JSON_LD)
    triples = [quad.triple for quad in quads]
    written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.TURTLE)
    return (written or b"").decode()


def request_of(case: Case, endpoints: tuple[str, ...]) -> GraphSearchRequest:
    """Ask what *case* asks."""
    told = case.get("federation", {})
    is_federated = bool(endpoints) or bool(told.get("use"))
    mode = Mode.SCHEMA_AWARE
    return GraphSearchRequest(
        case["query"], case["expect"]["k"], mode, is_federated, True, endpoints
    )


def profile_of(told: dict[str, Any]) -> SearchProfile:
    """Return a recorded profile."""
    prefixes = {**PREFIXES, **told["prefixes"]}

    def iri(name: str) -> str:
        prefix, _, rest = name.partition(":")
        return f"{prefixes[prefix]}{rest}"

    return SearchProfile(
        types=tuple(map(iri, told["type_filters"])),
        texts=tuple(TextPredicate(iri(one), w) for one, w in told["text_predicates"].items()),
        relationships=tuple(
            Relationship(iri(one["predicate"]), one["weight"], tuple(map(iri, one["targets"])))
            for one in told["relationship_predicates"]
        ),
        expansions=tuple(
            Expansion(
                iri(one["predicate"]),
                one["score"],
                "related" if one["role"] == "Related" else "next",
            )
            for one in told["expansion_predicates"]
        ),
        related_limit=told["max_related"],
        next_limit=told["max_next"],
    )
