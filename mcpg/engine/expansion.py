"""Expansion: the tools that the graph's edges reach from the primary matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.engine.results import FocusedGraph, Via
from mcpg.relations.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from mcpg.documents.model import Link
    from mcpg.index import Index


@dataclass(frozen=True, slots=True)
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
    primaries: Sequence[tuple[int, float]], index: Index, eligible: Container[int], limit: int
) -> tuple[tuple[Reached, ...], tuple[Reached, ...]]:
    """Give at most *limit* related and *limit* next-step documents of the scored *primaries*.

    No primary is among them, and no document is in both: it goes where its edge is stronger, a
    next step before a related tool when both are equal.
    """
    taken = {document for document, _ in primaries}
    best: dict[int, Reached] = {}
    for reached in _reached(primaries, index):
        known = best.get(reached.document)
        if reached.document in taken or reached.document not in eligible:
            continue
        if known is None or _order(reached) < _order(known):
            best[reached.document] = reached
    ordered = sorted(best.values(), key=_order)
    return tuple(
        tuple(reached for reached in ordered if reached.via.edge == kind)[:limit]
        for kind in (EdgeKind.RELATED, EdgeKind.NEXT_STEP)
    )  # type: ignore[return-value]


def _reached(primaries: Sequence[tuple[int, float]], index: Index) -> Iterator[Reached]:
    for document, score in primaries:
        source = index.documents[document]
        for link in source.links:
            target = index.numbers_by_uri.get(link.target)
            if target is not None:
                yield Reached(target, round(link.weight * score, 9), _via(source.tool.id, link))


def _via(source: str, link: Link) -> Via:
    reason = link.reason or f"its document names it as {_PHRASES[link.kind]}"
    return Via(link.kind, source, reason, link.weight)


_PHRASES = {EdgeKind.RELATED: "related", EdgeKind.NEXT_STEP: "a next step"}


def _order(reached: Reached) -> tuple[float, bool, int, str]:
    is_related = reached.via.edge == EdgeKind.RELATED
    return -reached.score, is_related, reached.document, reached.via.source


def focused_graph(shown: Iterable[int], index: Index) -> FocusedGraph:
    """Count the shown tools, their groups, and the edges between all of these."""
    documents = [index.documents[number] for number in shown]
    uris = {document.uri for document in documents}
    memberships = sum(len(document.groups) for document in documents)
    links = sum(link.target in uris for document in documents for link in document.links)
    groups = {group for document in documents for group in document.groups}
    return FocusedGraph(len(documents) + len(groups), memberships + links)
