"""A directed acyclic graph of tasks: cycles broken, layers, one stable order.

Sources: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1,
1972 (strongly connected components); Kahn, "Topological sorting of large networks",
Communications of the ACM 5, 1962.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def acyclic(
    nodes: Sequence[Node],
    edges: Mapping[tuple[Node, Node], float],
    rank: Callable[[Node], Any],
) -> tuple[dict[tuple[Node, Node], float], list[tuple[Node, Node]]]:
    """Return the *edges* without those that close cycles, and these.

    Of each strongly connected component the weakest edge goes, until there is none of several
    nodes. Of equally weak edges the one goes whose nodes rank last.

    Args:
        nodes: All nodes.
        edges: The weight of each edge, from its first node to the one that comes after it.
        rank: What orders the nodes; no two have the same rank.
    """
    kept = {pair: weight for pair, weight in edges.items() if pair[0] != pair[1]}
    broken: list[tuple[Node, Node]] = []
    waiting = [list(nodes)]
    while waiting:
        part = waiting.pop()
        for component in components(part, kept):
            members = frozenset(component)
            if len(members) == 1:
                continue
            within = [pair for pair in kept if pair[0] in members and pair[1] in members]
            weakest = min(kept[pair] for pair in within)
            faint = [pair for pair in within if kept[pair] == weakest]
            pair = max(faint, key=lambda pair: (rank(pair[1]), rank(pair[0])))
            del kept[pair]
            broken.append(pair)
            waiting.append(component)
    return kept, sorted(broken, key=lambda pair: (rank(pair[0]), rank(pair[1])))


def components(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """Return the strongly connected components of *nodes*, without recursion."""
    following: dict[Node, list[Node]] = {node: [] for node in nodes}
    for first, then in edges:
        if first in following and then in following:
            following[first].append(then)
    search = _DepthFirst(following)
    for node in following:
        if node not in search.numbers:
            search.run(node)
    return search.found


class _DepthFirst(Generic[Node]):
    """A depth-first search that finds strongly connected components."""

    def __init__(self, following: Mapping[Node, Sequence[Node]]) -> None:
        self._following = following
        self.numbers: dict[Node, int] = {}
        self._lowest: dict[Node, int] = {}
        self._open: dict[Node, None] = {}
        self._walk: list[tuple[Node, Iterator[Node]]] = []
        self.found: list[list[Node]] = []

    def run(self, root: Node) -> None:
        """Find the components of all that *root* reaches."""
        self._enter(root)
        while self._walk:
            node, ahead = self._walk[-1]
            then = next(ahead, None)
            if then is None:
                self._leave(node)
            elif then not in self.numbers:
                self._enter(then)
            elif then in self._open:
                self._lowest[node] = min(self._lowest[node], self.numbers[then])

    def _enter(self, node: Node) -> None:
        self.numbers[node] = self._lowest[node] = len(self.numbers)
        self._open[node] = None
        self._walk.append((node, iter(self._following[node])))

    def _leave(self, node: Node) -> None:
        self._walk.pop()
        if self._walk:
            before = self._walk[-1][0]
            self._lowest[before] = min(self._lowest[before], self._lowest[node])
        if self._lowest[node] != self.numbers[node]:
            return
        component: list[Node] = []
        while node in self._open:
            component.append(self._open.popitem()[0])
        self.found.append(component[::-1])


def split_layers(
    nodes: Sequence[Node], edges: Collection[tuple[Node, Node]], rank: Callable[[Node], Any]
) -> list[list[Node]]:
    """Return the *nodes* in layers: each as early as what comes before it allows, by rank within.

    The edges close no cycle.
    """
    missing = dict.fromkeys(nodes, 0)
    following: dict[Node, list[Node]] = {node: [] for node in nodes}
    for first, then in edges:
        missing[then] += 1
        following[first].append(then)
    depth = dict.fromkeys(nodes, 0)
    free = [(rank(node), node) for node in nodes if not missing[node]]
    heapify(free)
    layers: dict[int, list[Node]] = {}
    while free:
        _, node = heappop(free)
        layers.setdefault(depth[node], []).append(node)
        for then in following[node]:
            depth[then] = max(depth[then], depth[node] + 1)
            missing[then] -= 1
            if not missing[then]:
                heappush(free, (rank(then), then))
    return [sorted(layers[place], key=rank) for place in sorted(layers)]


def reaches(first: Node, last: Node, edges: Iterable[tuple[Node, Node]]) -> bool:
    """Return whether *edges* lead from *first* to *last*."""
    following: dict[Node, list[Node]] = {}
    for one, then in edges:
        following.setdefault(one, []).append(then)
    waiting, seen = [first], {first}
    while waiting:
        for then in following.get(waiting.pop(), ()):
            if then == last:
                return True
            if then not in seen:
                seen.add(then)
                waiting.append(then)
    return False
