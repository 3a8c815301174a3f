"""The dependencies of a plan's tasks, and the sources of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import product
from typing import Any, TypeAlias, TypeVar

from mcpg.plan import STAGE
from mcpg.plan.needs import PlanContext, ToolSet, strength
from mcpg.search.prerequisites import AUTHORITY, NEXT_STEP, PROVIDES
from mcpg.values import DECIMALS

Node = TypeVar("Node", bound=Hashable)


def acyclic(
    nodes: Sequence[Node], edges: Mapping[tuple[Node, Node], float], rank: Callable[[Node], Any]
) -> tuple[dict[tuple[Node, Node], float], list[tuple[Node, Node]]]:
    """Return the weighed *edges* without those that close cycles, and these.

    Of each strongly connected component the weakest edge goes, until each has one
    node. Of equally weak edges, the edge goes with nodes that *rank* last; ranks are unique.
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
    numbers: dict[Node, int] = {}
    waiting: dict[Node, None] = {}
    found: list[list[Node]] = []
    # The walk begins above all nodes, at a node outside of all components.
    lowest: dict[Node | None, int] = {None: -1}
    walk: list[tuple[Node | None, Iterator[Node]]] = [(None, iter(following))]
    while walk:
        node, ahead = walk[-1]
        for then in ahead:
            if then not in numbers:
                numbers[then] = lowest[then] = len(numbers)
                waiting[then] = None
                walk.append((then, iter(following[then])))
                break
            if then in waiting:
                lowest[node] = min(lowest[node], numbers[then])
        else:
            walk.pop()
            if node is None:
                break
            before = walk[-1][0]
            lowest[before] = min(lowest[before], lowest[node])
            component: list[Node] = []
            while lowest[node] == numbers[node] and node in waiting:
                component.append(waiting.popitem()[0])
            found += [component[::-1]] if component else []
    return found


def split_layers(
    nodes: Sequence[Node], edges: Collection[tuple[Node, Node]], rank: Callable[[Node], Any]
) -> list[list[Node]]:
    """Return the *nodes* in layers: each as early as its predecessors allow, by rank within.

    The edges close no cycle.
    """
    sorter = TopologicalSorter[Node](dict.fromkeys(nodes, ()))
    for first, then in edges:
        sorter.add(then, first)
    sorter.prepare()
    layers = []
    while sorter.is_active():
        layers.append(sorted(sorter.get_ready(), key=rank))
        sorter.done(*layers[-1])
    return layers


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


Pair: TypeAlias = tuple[int, int]

# The weight of a dependency that only names of arguments, or kinds of operations, suggest.
_BY_HANDLE = 0.5
_BY_STAGE = 0.05
_INFERRED = "inferred"
_BY_SCHEMA = AUTHORITY.index("schema")
UNEXPLAINED = "its document names this as a next step"
"""The reason of an edge if its document has none."""

_SURELY = 0.5


@dataclass(frozen=True, slots=True)
class TaskLink:
    """Why one tool runs before another.

    Attributes:
        kind: `nextStep`, `provides` or `stage`.
        weight: Strength in (0, 1].
        fields: Output fields of the first, "" if they are unknown, and the arguments of the
            other that they fill.
    """

    kind: str
    origin: str
    weight: float
    reason: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """The order of tools, with reasons.

    Attributes:
        links: Dependencies, by the tool that runs first and the tool that runs after it.
        broken: The links that closed a cycle.
        given: The links from tools in use, by tool in use and tool.
    """

    links: dict[Pair, TaskLink]
    broken: list[tuple[Pair, TaskLink]]
    given: dict[Pair, TaskLink]


def dependencies(
    tools: Sequence[int], surroundings: PlanContext, used: Collection[int] = ()
) -> TaskOrder:
    """Return the order of *tools*, with reasons, given that those *used* have run.

    Links of all other origins count before inferred ones: they break last in a cycle.
    """
    every_tool, used = (*tools, *used), frozenset(used)
    every = _all_links(every_tool, surroundings, used)
    found = _one_giver_each(
        {pair: link for pair, link in every.items() if pair[1] not in used}, surroundings, used
    )
    given = {pair: link for pair, link in found.items() if pair[0] in used}
    links = {pair: link for pair, link in found.items() if pair[0] not in used}
    ids = {tool: surroundings.index.tool_id(tool) for tool in tools}
    kept, broken = acyclic(
        tools, {pair: _standing(link) for pair, link in links.items()}, ids.__getitem__
    )
    removed = [(pair, links[pair]) for pair in broken]
    links = {pair: links[pair] for pair in kept}
    # Tools that read come before tools of their server that delete, unless links already
    # order the two.
    profiles = {tool: surroundings.profile(tool) for tool in tools}
    for tool, one in product(tools, tools):
        if (
            profiles[tool].deletes
            and profiles[one].changes < _SURELY
            and surroundings.index.source_id(one) == surroundings.index.source_id(tool)
            and not reaches(tool, one, links)
            and not reaches(one, tool, links)
        ):
            links[one, tool] = TaskLink(STAGE, _INFERRED, _BY_STAGE, "it reads; this deletes")
    return TaskOrder(links, removed, given)


def needless(
    tools: Collection[int],
    surroundings: PlanContext,
    used: Collection[int],
    *,
    asked: Collection[int],
) -> set[int]:
    """Return the *tools* that only give others values known from the tools in use.

    Known are the results of the tools in use, and the arguments of their calls.
    Tools that are *asked* for, that an author names, or that traces show are never needless.
    """
    every_tool, used = (*tools, *used), frozenset(used)
    links = _all_links(every_tool, surroundings, used)
    known: dict[int, set[str]] = {}
    for (first, then), link in links.items():
        if first in used:
            held = known.setdefault(then, set())
            held.update(one.name for one in surroundings.profile(first).required)
            held.update(argument for _, argument in link.fields)
    left = set(tools)
    while True:
        following: dict[int, list[bool]] = {}
        for (first, then), link in links.items():
            if first in left:
                is_given = then not in left or (
                    AUTHORITY.index(link.origin) <= _BY_SCHEMA
                    and then in known
                    and known[then].issuperset(argument for _, argument in link.fields)
                )
                following.setdefault(first, []).append(is_given)
        idle = {tool for tool, given in following.items() if all(given)} - {*asked}
        if not idle:
            return set(tools) - left
        left -= idle


def _all_links(
    tools: Sequence[int], surroundings: PlanContext, used: Collection[int]
) -> dict[Pair, TaskLink]:
    """Return why which of the *tools* run before which others, whatever closes cycles."""
    links: dict[Pair, TaskLink] = {}
    for pair, link in (
        *_iter_stated_links(tools, surroundings),
        *_iter_handle_links(tools, surroundings, used),
    ):
        # The link of higher rank counts, with the fields of both.
        held = links.get(pair, link)
        filled = {argument for _, argument in held.fields}
        further = [field for field in link.fields if field[1] not in filled]
        links[pair] = replace(max(held, link, key=_standing), fields=(*held.fields, *further))
    return links


def _one_giver_each(
    links: Mapping[Pair, TaskLink], surroundings: PlanContext, used: Collection[int]
) -> dict[Pair, TaskLink]:
    """Return *links* that give each argument once: from a tool in use before any other.

    Of the others, tools that read come before tools that change. A link that only gives the same
    arguments as another is left out.
    """
    givers: dict[tuple[int, str], list[Pair]] = {}
    for pair, link in links.items():
        for _, argument in link.fields:
            givers.setdefault((pair[1], argument), []).append(pair)

    def precedence(pair: Pair) -> tuple[bool, bool, float, float, str]:
        profile = surroundings.profile(pair[0])
        tool_id = surroundings.index.tool_id(pair[0])
        is_late, standing = profile.changes >= _SURELY, _standing(links[pair])
        return pair[0] not in used, is_late, -standing, profile.stage, tool_id

    best = {key: min(pairs, key=precedence) for key, pairs in givers.items()}
    kept = {}
    for pair, link in links.items():
        fields = tuple([one for one in link.fields if best[pair[1], one[1]] == pair])
        if fields or link.kind != PROVIDES:
            kept[pair] = replace(link, fields=fields)
    return kept


def _standing(link: TaskLink) -> float:
    return round(AUTHORITY.index(link.origin) + link.weight, DECIMALS)


def _iter_stated_links(
    tools: Sequence[int], surroundings: PlanContext
) -> Iterator[tuple[Pair, TaskLink]]:
    index, among = surroundings.index, frozenset(tools)
    for tool in tools:
        for number, target, kind, weight in index.edges(tool):
            if kind == NEXT_STEP and target in among and target != tool:
                link = TaskLink(
                    NEXT_STEP,
                    index.origin(number),
                    strength(number, weight, index),
                    index.reason(number) or UNEXPLAINED,
                    index.mapping(number)[1],
                )
                yield (tool, target), link
        for number, target, weight in index.provides(tool):
            if target in among and target != tool:
                _, fields = index.provision(number)
                shown = tuple([(given, argument) for given, argument, _ in fields])
                names = ", ".join(repr(argument) for _, argument in shown)
                reason = f"its result fills {names} there"
                yield (tool, target), TaskLink(PROVIDES, "schema", weight, reason, shown)


def _iter_handle_links(
    tools: Sequence[int], surroundings: PlanContext, used: Collection[int]
) -> Iterator[tuple[Pair, TaskLink]]:
    """Yield the tools that are named after the arguments of another tool of their server.

    Of several, the tool in use counts, or the first by its kind of work: a list before a
    single read.
    """
    profiles = {tool: surroundings.profile(tool) for tool in tools}
    asked = ToolSet(tools, profiles).asked
    index = surroundings.index
    standing = {one: (one not in used, profiles[one].stage, index.tool_id(one)) for one in tools}
    # Of the tools with one head on one server, no other than the first can be before another tool.
    heads: dict[tuple[str, str, bool], int] = {}
    for tool in sorted(tools, key=standing.__getitem__):
        for head in profiles[tool].nouns[-1:]:
            if head not in profiles[tool].asks:
                heads.setdefault((index.source_id(tool), head, tool in used), tool)
    for tool in tools:
        source, stage = index.source_id(tool), profiles[tool].stage
        for argument, stems, _ in profiles[tool].required:
            keys = product((source,), stems, (True, False))
            givers = [heads[one] for one in keys if one in heads]
            givers = [one for one in givers if profiles[one].stage < stage]
            if not givers:
                continue
            giver = min(givers, key=standing.__getitem__)
            weight = round(_BY_HANDLE * asked[profiles[giver].nouns[-1]], DECIMALS)
            reason = f"the argument {argument!r} is named after the result"
            link = TaskLink(PROVIDES, _INFERRED, max(0.01, weight), reason, (("", argument),))
            yield (giver, tool), link
