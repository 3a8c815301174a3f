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
# Arrays of zeros that are kept: to ask the system for memory each time takes as long as to add.
_MOST_KEPT = 4
_kept: list[NDArray[np.float64]] = []


def best_documents(
    words: Sequence[Weighed], index: Index, *, hidden: Collection[int], size: int
) -> list[int]:
    """Return the *size* documents that are not *hidden* with the best scores, the best first.

    *words* are in the order in which they are added up.

    Raises:
        StaleIndexError: The index is damaged.
    """
    columns = [_column(variants, index) for _, variants, _ in words]
    documents = _checked(np.concatenate([held for held, _ in columns]), index)
    scores = _zeros(index)
    # What stands earlier is added earlier.
    np.add.at(scores, documents, np.concatenate([added for _, added in columns]))
    if hidden:
        scores[np.fromiter(hidden, np.intp, len(hidden))] = 0.0
    found = np.flatnonzero(scores > _below_the_best(scores, columns, size))
    ranks = np.rint(scores[found] * STEPS)
    best: list[int] = found[np.lexsort((found, -ranks))[:size]].tolist()
    scores.fill(0.0)
    _keep(scores)
    return best


def _column(variants: Variants, index: Index) -> Column:
    """Return the documents that hold one of a word's *variants*, and what the best adds to each."""
    if len(variants) == 1:
        return _added(*variants[0], index)
    if sum([len(index.postings(term)[0]) for term, _ in variants]) < _FEW:
        best = best_impacts(variants, index)
        count = len(best)
        return np.fromiter(best, np.intp, count), np.fromiter(best.values(), np.float64, count)
    return _merged([_added(term, credit, index) for term, credit in variants], index)


def _added(term: int, credit: float, index: Index) -> Column:
    documents, impacts, _ = index.postings(term)
    return np.asarray(documents, np.intp), np.multiply(impacts, credit * SCALE, dtype=np.float64)


def _merged(columns: Iterable[Column], index: Index) -> Column:
    """Return the documents of all *columns*, and the most that any of these adds to each."""
    best = _zeros(index)
    found = []
    for documents, added in columns:
        known = best[_checked(documents, index)]
        found.append(documents[known == 0.0])
        best[documents] = np.maximum(known, added)
    held = np.concatenate(found)
    merged = best[held]
    best[held] = 0.0
    _keep(best)
    return held, merged


def _zeros(index: Index) -> NDArray[np.float64]:
    """Return a zero for each document; who has set them back gives them to `_keep`."""
    try:
        zeros = _kept.pop()
    except IndexError:
        return np.zeros(len(index))
    return zeros if len(zeros) == len(index) else np.zeros(len(index))


def _keep(zeros: NDArray[np.float64]) -> None:
    if len(_kept) < _MOST_KEPT:
        _kept.append(zeros)


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
