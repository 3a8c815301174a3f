"""The scorer of `mcpg.engine.scores` for long posting lists, by numpy.

The lists of a query are laid end to end and added up at once, a few nanoseconds a posting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mcpg.engine.scores import SCALE, STEPS, best_impacts
from mcpg.index.layout import StaleIndexError

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from mcpg.engine.scores import Variants, Weighed
    from mcpg.index import Index

    Column: TypeAlias = tuple[NDArray[np.intp], NDArray[np.float64]]
    """Distinct documents, and what a word adds to each, above 0."""

# So many documents of one list tell what the worst wanted score is at least.
_SAMPLE = 1_024
# Fewer postings of several variants are merged one by one sooner.
_FEW = 256


def best_documents(
    words: Sequence[Weighed], index: Index, *, hidden: Collection[int], size: int
) -> list[int]:
    """Return the *size* documents that are not *hidden* with the best scores, the best first.

    *words* are in the order in which they are added up.

    Raises:
        StaleIndexError: The index is damaged.
    """
    best_of = _Best(index)
    columns = [best_of.column(variants) for _, variants, _ in words]
    documents = _checked(np.concatenate([held for held, _ in columns]), index)
    added = np.concatenate([one for _, one in columns])
    # Each weight is added to the sum of its bin in turn.
    scores: NDArray[np.float64] = np.bincount(documents, added).astype(np.float64, copy=False)
    if hidden:
        known = np.fromiter(hidden, np.intp, len(hidden))
        scores[known[known < len(scores)]] = 0.0
    found = np.flatnonzero(scores > _below_the_best(scores, columns, size))
    ranks = np.rint(scores[found] * STEPS)
    best: list[int] = found[np.lexsort((found, -ranks))[:size]].tolist()
    return best


class _Best:
    """Finds what the best of a word's variants adds to each document."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._scratch: NDArray[np.float64] | None = None

    def column(self, variants: Variants) -> Column:
        """Return the documents that hold one of *variants*, and what it adds to each."""
        if len(variants) == 1:
            return self._added(*variants[0])
        if sum([len(self._index.postings(term)[0]) for term, _ in variants]) < _FEW:
            best = best_impacts(variants, self._index)
            count = len(best)
            return np.fromiter(best, np.intp, count), np.fromiter(best.values(), np.float64, count)
        return self._merged([self._added(term, credit) for term, credit in variants])

    def _added(self, term: int, credit: float) -> Column:
        documents, impacts, _ = self._index.postings(term)
        return np.asarray(documents), np.multiply(impacts, credit * SCALE, dtype=np.float64)

    def _merged(self, columns: Iterable[Column]) -> Column:
        best = self._zeros()
        found = []
        for documents, added in columns:
            known = best[_checked(documents, self._index)]
            found.append(documents[known == 0.0])
            best[documents] = np.maximum(known, added)
        held = np.concatenate(found)
        merged = best[held]
        best[held] = 0.0
        return held, merged

    def _zeros(self) -> NDArray[np.float64]:
        """Return a zero for each document; who changes one sets it back."""
        if self._scratch is None:
            self._scratch = np.zeros(len(self._index))
        return self._scratch


def _checked(documents: NDArray[np.intp], index: Index) -> NDArray[np.intp]:
    if documents.size and documents.max() >= len(index):
        raise StaleIndexError("a posting leads to no tool")
    return documents


def _below_the_best(scores: NDArray[np.float64], columns: Iterable[Column], size: int) -> float:
    """Return a score, at least 0, below that of each of the best *size*."""
    for documents, _ in columns:
        if len(documents) >= size:
            sample = np.partition(scores[documents[: max(size, _SAMPLE)]], -size)
            return max(0.0, float(sample[-size]) - 2 / STEPS)
    return 0.0
