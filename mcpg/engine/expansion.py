"""Expansion: the tools that the graph's edges reach from the primary matches."""

from __future__ import annotations

from mcpg.engine.results import FocusedGraph, Via
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.index import Index
    from mcpg.index.reader import IndexLink

RELATED, NEXT_STEP = "related", "nextStep"
_PHRASES = {RELATED: "related", NEXT_STEP: "a next step"}
DECIMALS = 9


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
    primaries: Sequence[tuple[int, float]], index: Index, *, include_disabled: bool, limit: int
) -> tuple[list[Reached], list[Reached]]:
    """Give at most *limit* related and *limit* next-step documents of the scored *primaries*.

    No primary is among them, and no document is in both: it goes where its edge is stronger, a
    next step before a related tool when both are equal.
    """
    taken = {document for document, _ in primaries}
    best: dict[int, Reached] = {}
    for reached in _reached(primaries, index):
        document = reached.document
        if document in taken or not (include_disabled or index.is_enabled(document)):
            continue
        if document not in best or _order(reached) < _order(best[document]):
            best[document] = reached
    ordered = sorted(best.values(), key=_order)
    return _of_kind(RELATED, ordered)[:limit], _of_kind(NEXT_STEP, ordered)[:limit]


def _of_kind(kind: str, ordered: Iterable[Reached]) -> list[Reached]:
    return [reached for reached in ordered if reached.via.edge == kind]


def _reached(primaries: Sequence[tuple[int, float]], index: Index) -> Iterator[Reached]:
    for document, score in primaries:
        source = index.tool_id(document)
        for link in index.links(document):
            if link.target is not None:
                yield Reached(link.target, round(link.weight * score, DECIMALS), _via(source, link))


def _via(source: str, link: IndexLink) -> Via:
    reason = link.reason or f"its document names it as {_PHRASES[link.kind]}"
    return Via(link.kind, source, reason, link.weight)


def _order(reached: Reached) -> tuple[float, bool, int, str]:
    is_related = reached.via.edge == RELATED
    return -reached.score, is_related, reached.document, reached.via.source


def focused_graph(shown: Sequence[int], index: Index) -> FocusedGraph:
    """Count the shown tools, their groups, and the edges between all of these."""
    among = frozenset(shown)
    groups = [group for document in shown for group in index.groups(document)]
    links = sum(link.target in among for document in shown for link in index.links(document))
    return FocusedGraph(len(shown) + len(set(groups)), len(groups) + links)
