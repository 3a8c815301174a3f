"""What a graph of tools is made of: degrees, components, hubs, groups.

Everything here takes one pass over the edges, which a few lines do as well as a library of graphs
that would have to be installed and filled first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from mcpg.documents.facts import facts_of
from mcpg.relations.model import EdgeKind, EdgeOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcpg.documents.model import Link, ToolDocument

SMALLEST_GROUP = 3
"""How many members a group has at least to be called dense."""

_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number is spread over the tools.

    Attributes:
        smallest: The smallest value.
        median: The median.
        mean: The mean.
        largest: The largest value.
    """

    smallest: int = 0
    median: float = 0.0
    mean: float = 0.0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges of one kind.

    Attributes:
        kind: What they say.
        count: How many there are.
        authored: How many of them an author wrote.
        weight: Their mean weight.
    """

    kind: str
    count: int
    authored: int
    weight: float


@dataclass(frozen=True, slots=True)
class Hub:
    """A tool and its edges.

    Attributes:
        tool: Its id.
        incoming: How many edges reach it.
        outgoing: How many edges leave it.
    """

    tool: str
    incoming: int
    outgoing: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group and how closely its members are linked.

    Attributes:
        name: Its id.
        members: How many tools it has.
        edges: How many ordered pairs of its members an edge joins.
        density: Share of all ordered pairs of members that is, in [0, 1].
    """

    name: str
    members: int
    edges: int
    density: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a graph is made of.

    Attributes:
        tools: How many tools there are.
        sources: How many sources they come from.
        groups: How many groups they are in.
        things: How many topics and things documents name.
        pages: How many documents are of no tool; their edges are not counted.
        kinds: The edges of each kind, related first.
        dangling: How many edges reach neither a tool nor a page of the graph.
        incoming: How many edges reach a tool.
        outgoing: How many edges leave a tool.
        degree: Both together.
        components: Sizes of the parts that no edge joins with another, largest first; tools
            without an edge are parts of their own.
        orphans: Ids of the tools without an edge to or from another, sorted.
        hubs: The tools with most edges, first of all by their number.
        densest: The groups of at least `SMALLEST_GROUP` tools with the highest density.
    """

    tools: int
    sources: int
    groups: int
    things: int
    pages: int
    kinds: tuple[Edges, ...]
    dangling: int
    incoming: Spread
    outgoing: Spread
    degree: Spread
    components: tuple[int, ...]
    orphans: tuple[str, ...]
    hubs: tuple[Hub, ...]
    densest: tuple[Group, ...]


def statistics_of(
    documents: Mapping[str, ToolDocument], pages: Sequence[ToolDocument] = (), *, top: int = 10
) -> Statistics:
    """Count what the graph of *documents* and *pages* is made of.

    Args:
        documents: Documents by tool id, links resolved.
        pages: Documents of no tool.
        top: The most hubs and groups to name.
    """
    ids = sorted(documents)
    by_uri = {documents[tool].uri: number for number, tool in enumerate(ids)}
    known = {page.uri for page in pages} | by_uri.keys()
    edges = [
        (number, by_uri.get(link.target, -1), link)
        for number, tool in enumerate(ids)
        for link in documents[tool].links
    ]
    joined = [(source, target) for source, target, _ in edges if target >= 0 and source != target]
    outgoing, incoming = _degrees(len(ids), joined)
    degree = [sum(pair) for pair in zip(incoming, outgoing, strict=True)]
    hubs = sorted(range(len(ids)), key=lambda number: (-degree[number], ids[number]))
    groups = _members(ids, documents)
    return Statistics(
        tools=len(ids),
        sources=len({documents[tool].tool.source_id for tool in ids}),
        groups=len(groups),
        things=len(set(_things((*documents.values(), *pages)))),
        pages=len(pages),
        kinds=tuple(_kinds([link for _, _, link in edges])),
        dangling=sum(link.target not in known for _, _, link in edges),
        incoming=spread_of(incoming),
        outgoing=spread_of(outgoing),
        degree=spread_of(degree),
        components=component_sizes(len(ids), joined),
        orphans=tuple(tool for number, tool in enumerate(ids) if not degree[number]),
        hubs=tuple(
            Hub(ids[number], incoming[number], outgoing[number])
            for number in hubs[:top]
            if degree[number]
        ),
        densest=tuple(densest_groups(groups, joined)[:top]),
    )


def spread_of(values: Sequence[int]) -> Spread:
    """Give how *values* are spread; all zeros for none."""
    if not values:
        return Spread()
    mean = round(fmean(values), _DECIMALS)
    return Spread(min(values), float(median(values)), mean, max(values))


def component_sizes(nodes: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Give the sizes of the weakly connected components of a graph, largest first.

    By union-find with path halving: Tarjan & van Leeuwen, "Worst-case analysis of set union
    algorithms", Journal of the ACM 31(2), 1984.

    Args:
        nodes: How many nodes there are, numbered from 0.
        edges: Pairs of nodes.
    """
    parents = list(range(nodes))

    def root(node: int) -> int:
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for source, target in edges:
        low, high = sorted((root(source), root(target)))
        parents[high] = low
    return tuple(sorted(Counter(map(root, range(nodes))).values(), reverse=True))


def densest_groups(
    members: Mapping[str, Sequence[int]], edges: Iterable[tuple[int, int]]
) -> list[Group]:
    """Give the groups of at least `SMALLEST_GROUP` members, the densest first.

    Args:
        members: The nodes of each group.
        edges: Pairs of nodes; a pair that comes twice counts once.
    """
    of_node: dict[int, set[str]] = {}
    for name, nodes in members.items():
        if len(nodes) >= SMALLEST_GROUP:
            for node in nodes:
                of_node.setdefault(node, set()).add(name)
    inside: Counter[str] = Counter()
    for source, target in set(edges):
        inside.update(of_node.get(source, set()) & of_node.get(target, set()))
    found = [
        Group(name, size, inside[name], round(inside[name] / (size * (size - 1)), _DECIMALS))
        for name, nodes in members.items()
        if (size := len(nodes)) >= SMALLEST_GROUP
    ]
    return sorted(found, key=lambda group: (-group.density, -group.members, group.name))


def _degrees(nodes: int, edges: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    outgoing, incoming = [0] * nodes, [0] * nodes
    for source, target in edges:
        outgoing[source] += 1
        incoming[target] += 1
    return outgoing, incoming


def _members(ids: Iterable[str], documents: Mapping[str, ToolDocument]) -> dict[str, list[int]]:
    members: dict[str, list[int]] = {}
    for number, tool in enumerate(ids):
        for name in dict.fromkeys(documents[tool].groups):
            members.setdefault(name, []).append(number)
    return members


def _things(documents: Iterable[ToolDocument]) -> Iterator[str]:
    for document in documents:
        if document.further:
            facts = facts_of(document.further)
            yield from (entity.id or entity.label for entity in (*facts.about, *facts.mentions))


def _kinds(links: Sequence[Link]) -> Iterator[Edges]:
    for kind in EdgeKind:
        own = [link for link in links if link.kind is kind]
        authored = sum(link.origin is EdgeOrigin.AUTHORED for link in own)
        weight = fmean(link.weight for link in own) if own else 0.0
        yield Edges(kind.value, len(own), authored, round(weight, _DECIMALS))
