"""Infer the relations of a catalog: groups, related tools and next steps.

Relations within a server depend only on counts within the server, so its edges and groups do not
change with the rest of the catalog. Relations between servers depend only on the fields that flow
between their tools.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache
from mcpg.catalog.catalog import Catalog
from mcpg.relations.edges import (
    Coverage,
    Edge,
    EdgeKind,
    EdgeOrigin,
    Relations,
    ToolRelations,
)
from mcpg.relations.provisions import Provision, build_field_index
from mcpg.relations.server_relations import EDGES_PER_TOOL, relate_server

EDGES_ABROAD = 2
"""The most next steps in other servers that are derived for a tool."""

STATED = "stated by the author"


@dataclass(frozen=True, slots=True)
class InferredRelations:
    """The relations of a catalog, and the provisions of each tool, in its order."""

    relations: Relations
    provisions: Sequence[Sequence[Provision]]


def infer(catalog: Catalog, memo: BuildCache = NO_BUILD_CACHE) -> InferredRelations:
    """Find the groups of every tool of *catalog* and its edges to other tools.

    An author's edges come first with weight 1 and are never left out. Inferred edges within the
    server, the strongest first and ties by tool id, fill up to five related tools and five next
    steps, with up to two more next steps in other servers. The result does not depend on the order
    of the tools or on *memo*, the results of an earlier run. The work grows linearly with the
    number of tools.
    """
    tools = catalog.tools
    fields = build_field_index(tools)
    provisions = fields.provisions()
    stated = authored_edges(catalog)
    touched = {
        end
        for edges in stated.values()
        for one in edges.values()
        for end in (one.source, one.target)
    }
    servers: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for position, tool in enumerate(tools):
        places = servers[tool.source_id]
        places[position] = len(places)
    found: dict[str, ToolRelations] = {}
    for places in servers.values():
        # Provisions without a step between.
        flows = [
            [
                one
                for one in provisions[position]
                if one.coverage is not Coverage.OPTIONAL and not fields.skips_a_step(position, one)
            ]
            for position in places
        ]
        inner = [
            [replace(one, target=places[one.target]) for one in row if one.target in places]
            for row in flows
        ]
        server = relate_server([tools[position] for position in places], inner, memo)
        for position, place in places.items():
            derived, tool_id = server.relations[place], tools[position].id
            related = derived.related
            if place in server.reserves and tool_id not in touched:
                related = (server.reserves[place],)
            abroad = [
                one.make_edge(tool_id, tools[one.target].id)
                for one in flows[place]
                if one.target not in places
            ]
            found[tool_id] = ToolRelations(
                derived.groups,
                _put_together(stated[tool_id, EdgeKind.RELATED], related),
                _put_together(stated[tool_id, EdgeKind.NEXT_STEP], derived.next_steps, abroad),
            )
    return InferredRelations(Relations({tool.id: found[tool.id] for tool in tools}), provisions)


def authored_edges(catalog: Catalog) -> Mapping[tuple[str, EdgeKind], dict[str, Edge]]:
    """Return the edges that authors asserted, by tool id and kind, then by target in their order.

    Every tool and kind has an entry; an edge to the tool itself or to no tool is left out.
    """
    ids = {tool.id for tool in catalog.tools}
    stated: defaultdict[tuple[str, EdgeKind], dict[str, Edge]] = defaultdict(dict)
    for assertion in catalog.assertions:
        source, target = assertion.source, assertion.target
        if source != target and {source, target} <= ids:
            kind = EdgeKind(assertion.kind)
            edge = Edge(kind, source, target, 1.0, STATED, EdgeOrigin.AUTHORED)
            stated[source, kind].setdefault(target, edge)
    return stated


def _put_together(
    stated: Mapping[str, Edge], derived: Iterable[Edge], abroad: Iterable[Edge] = ()
) -> tuple[Edge, ...]:
    """Put all *stated* edges first, and fill up with other edges."""
    home = [edge for edge in derived if edge.target not in stated]
    further = [edge for edge in abroad if edge.target not in stated]
    further.sort(key=_rank)
    kept = home[: max(0, EDGES_PER_TOOL - len(stated))] + further[:EDGES_ABROAD]
    return (*stated.values(), *sorted(kept, key=_rank))


def _rank(edge: Edge) -> tuple[float, str]:
    return -edge.weight, edge.target
