"""Expansion: the tools that the graph's edges reach from the primary matches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from mcpg.engine.results import FocusedGraph, Via
from mcpg.values import DECIMALS, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from mcpg.index import Index

    _Edge: TypeAlias = tuple[float, bool, int, int, int, float]

RELATED, NEXT_STEP = "related", "nextStep"
_PHRASES = {RELATED: "related", NEXT_STEP: "a next step"}
# Places in an edge: minus its score, whether it is of the related kind, its target, its source,
# its number in the index, its weight.
_IS_RELATED, _TARGET = 1, 2


@value
class Reached:
    """A document that an edge of a primary match reaches.

    Attributes:
        document: Number of the document.
        score: Weight of the edge times the score of the match it leaves.
        via: The edge.
    """

    document: int
    score: float
    via: Via


def expand(
    primaries: Sequence[tuple[int, float]],
    index: Index,
    *,
    disabled: Collection[int],
    limit: int,
    within: Collection[int] | None = None,
) -> tuple[list[Reached], list[Reached]]:
    """Return at most *limit* related and *limit* next-step documents of the scored *primaries*.

    No primary and no *disabled* document is among them, none that is not *within* those, where they
    are given, and no document is in both: it goes where its edge is stronger, a next step before a
    related tool when both are equal.
    """
    taken = {document for document, _ in primaries}
    best: dict[float, _Edge] = {}
    for edge in _edges(primaries, index):
        target = edge[_TARGET]
        if target in taken or target in disabled or (within is not None and target not in within):
            continue
        if target not in best or edge < best[target]:
            best[target] = edge
    ordered = sorted(best.values())
    related = [edge for edge in ordered if edge[_IS_RELATED]][:limit]
    next_steps = [edge for edge in ordered if not edge[_IS_RELATED]][:limit]
    return (
        [_reached(edge, index) for edge in related],
        [_reached(edge, index) for edge in next_steps],
    )


def _edges(primaries: Sequence[tuple[int, float]], index: Index) -> Iterator[_Edge]:
    for document, score in primaries:
        for number, target, kind, weight in index.edges(document):
            reached = round(weight * score, DECIMALS)
            yield -reached, kind == RELATED, target, document, number, weight


def _reached(edge: _Edge, index: Index) -> Reached:
    negative, is_related, target, source, number, weight = edge
    kind = RELATED if is_related else NEXT_STEP
    reason = index.reason(number) or f"its document names it as {_PHRASES[kind]}"
    return Reached(target, -negative, Via(kind, index.tool_id(source), reason, weight))


def focused_graph(shown: Sequence[int], index: Index) -> FocusedGraph:
    """Count the shown tools, their groups, and the edges between all of these."""
    among = frozenset(shown)
    groups = [group for document in shown for group in index.groups(document)]
    targets = chain.from_iterable(map(index.targets, shown))
    links = sum(map(among.__contains__, targets))
    return FocusedGraph(len(shown) + len(set(groups)), len(groups) + links)
