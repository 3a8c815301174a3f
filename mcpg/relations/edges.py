"""From a catalogue to its graph: groups, related tools and next steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcpg.build_cache import NO_MEMO, Memo
from mcpg.relations.infer import NextStepIndex, build_affinity, build_flow, groups_of, related_edges
from mcpg.relations.model import (
    Edge,
    EdgeKind,
    EdgeOrigin,
    Relations,
    ToolRelations,
    build_vocabulary,
    operation_of,
)

if TYPE_CHECKING:
    from mcpg.catalog.catalog import Catalog

RELATED_PER_TOOL = 4
NEXT_STEPS_PER_TOOL = 3
STATED = "stated by the author"
"""The reason of an edge that an author wrote."""


def relate(catalog: Catalog, memo: Memo = NO_MEMO) -> Relations:
    """Find the groups of every tool of *catalog* and its edges to other tools.

    What an author stated comes first with weight 1 and is never left out; inferred edges, the
    strongest first and ties by tool id, fill the room up to four related tools and three next
    steps. The result does not depend on the order of the tools. The work grows linearly with their
    number.

    Args:
        catalog: The tools and what authors state about them.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    tools = catalog.tools
    vocabulary = build_vocabulary(tools, memo)
    affinity = build_affinity(tools, vocabulary)
    operations = [operation_of(tool) for tool in tools]
    steps = NextStepIndex(affinity, build_flow(tools), operations)
    stated = authored_edges(catalog)
    by_tool: dict[str, ToolRelations] = {}
    for position, tool in enumerate(tools):
        near = affinity.near(position)
        related = related_edges(affinity, position, near, RELATED_PER_TOOL)
        following = steps.edges(position, near, NEXT_STEPS_PER_TOOL)
        by_tool[tool.id] = ToolRelations(
            groups_of(tool, position, vocabulary),
            _joined(stated[tool.id, EdgeKind.RELATED], related, RELATED_PER_TOOL),
            _joined(stated[tool.id, EdgeKind.NEXT_STEP], following, NEXT_STEPS_PER_TOOL),
        )
    return Relations(by_tool)


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


def _joined(stated: Mapping[str, Edge], inferred: Sequence[Edge], cap: int) -> tuple[Edge, ...]:
    """Put what was *stated* first, whole, and fill up to *cap* with what was not stated."""
    further = [edge for edge in inferred if edge.target not in stated]
    room = max(0, cap - len(stated))
    return (*stated.values(), *further[:room])
