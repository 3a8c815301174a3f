"""What comes with the matches: related nodes and next steps, by registered edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.graph.search.display import displayed
from mcpg.graph.search.model import Evidence, GraphMatch, Role, ScoreKind
from mcpg.graph.search.profile import NEXT
from mcpg.graph.search.queries import description_query, expansion_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.graph.search.display import Display
    from mcpg.graph.search.local import LocalGraph

    Edge = tuple[str, str, str]


def expanded(graph: LocalGraph, primaries: Sequence[GraphMatch]) -> tuple[str, list[GraphMatch]]:
    """Give the query that looks for what comes with *primaries*, and what it finds.

    Related nodes and next steps, each kind the best first, by the best score that an edge hands on;
    what is a match already is neither, nor is a node of which the graph says nothing. A node that
    both kinds of edges lead to is both.
    """
    if not primaries or not graph.profile.expansions:
        return "", []
    query = expansion_query(graph.profile, [match.node for match in primaries])
    edges = [(row["node"], row["predicate"], row["related"]) for row in graph.rows(query)]
    best = _best(graph, primaries, edges)
    known = displayed(graph.rows(description_query(sorted({node for _, node in best}))))
    best = {key: edge for key, edge in best.items() if key[1] in known}
    chosen = [*_chosen(graph, best, Role.RELATED), *_chosen(graph, best, Role.NEXT)]
    return query, [_match(known[node], node, role, best[role, node]) for role, node in chosen]


def _best(
    graph: LocalGraph, primaries: Sequence[GraphMatch], edges: Iterable[Edge]
) -> dict[tuple[Role, str], Evidence]:
    """Give the strongest edge that leads to each node in each role."""
    matches = {match.node: match for match in primaries}
    kinds = {one.iri: one for one in graph.profile.expansions}
    found: dict[tuple[Role, str], Evidence] = {}
    for source, predicate, target in edges:
        if target in matches:
            continue
        kind, match = kinds[predicate], matches[source]
        role = Role.NEXT if kind.role == NEXT else Role.RELATED
        edge = Evidence(
            predicate,
            match.label,
            "edge",
            match.score * kind.weight,
            related=source,
            related_label=match.label,
        )
        known = found.get((role, target))
        if known is None or edge.score > known.score:
            found[role, target] = edge
    return found


def _chosen(
    graph: LocalGraph, best: dict[tuple[Role, str], Evidence], role: Role
) -> list[tuple[Role, str]]:
    """Give the best in *role*, as many as the profile allows."""
    profile = graph.profile
    limit = profile.next_limit if role is Role.NEXT else profile.related_limit
    ranked = sorted((-edge.score, node) for (kind, node), edge in best.items() if kind is role)
    return [(role, node) for _, node in ranked[:limit]]


def _match(display: Display, node: str, role: Role, edge: Evidence) -> GraphMatch:
    return GraphMatch(
        node,
        display.label,
        display.description,
        display.types,
        role,
        edge.score,
        ScoreKind.HANDED_ON,
        (edge,),
    )
