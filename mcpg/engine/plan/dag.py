"""A directed acyclic graph of tasks: cycles broken, layers, one stable order.

Sources: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1,
1972 (strongly connected components); Kahn, "Topological sorting of large networks",
Communications of the ACM 5, 1962.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeVar

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
    nodes = list(nodes)
    following: dict[Node, list[Node]] = {node: [] for node in nodes}
    for first, then in edges:
        if first in following and then in following:
            following[first].append(then)
    numbers: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    found: list[list[Node]] = []
    for root in nodes:
        if root in numbers:
            continue
        walk = [(root, iter(following[root]))]
        numbers[root] = lowest[root] = len(numbers)
        open_nodes.append(root)
        is_open.add(root)
        while walk:
            node, ahead = walk[-1]
            for then in ahead:
                if then not in numbers:
                    numbers[then] = lowest[then] = len(numbers)
                    open_nodes.append(then)
                    is_open.add(then)
                    walk.append((then, iter(following[then])))
                    break
                if then in is_open:
                    lowest[node] = min(lowest[node], numbers[then])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    place = open_nodes.index(node)
                    found.append(open_nodes[place:])
                    is_open.difference_update(open_nodes[place:])
                    del open_nodes[place:]
    return found


def layers_of(
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
