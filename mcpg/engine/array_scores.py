"""The scorer of `mcpg.engine.scores` for long posting lists, by numpy.

The lists of a query are laid end to end and added up at once, a few nanoseconds a posting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcpg.engine.index_arrays import get_arrays
from mcpg.engine.scores import SCALE, STEPS, MergedLists, Weighed
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcpg.engine.index_arrays import Numbers

# So many documents of one list tell what the worst wanted score is at least.
_SAMPLE = 1_024
# Fewer postings of several variants are merged one by one sooner.
_FEW = 256
# Arrays of zeros that are kept: to ask the system for memory each time takes as long as to add.
_MOST_KEPT = 4
_kept: list[NDArray[np.float64]] = []


def best_documents(
    words: Sequence[Weighed], lists: MergedLists, *, hidden: Collection[int], size: int
) -> list[int]:
    """Return the *size* documents that are not *hidden* with the best scores, the best first.

    *words* are in the order in which they are added up.

    Raises:
        StaleIndexError: The index is damaged.
    """
    index = lists.index
    list_of = _postings_reader(index)
    columns = [_column(word, list_of, lists) for word in words]
    documents = _check_documents(np.concatenate([column.documents for column in columns]), index)
    lengths = [len(column.documents) for column in columns]
    units = np.repeat([column.unit for column in columns], lengths)
    scores = _zeros(index)
    # What stands earlier is added earlier.
    np.add.at(scores, documents, units * np.concatenate([column.impacts for column in columns]))
    if hidden:
        scores[np.fromiter(hidden, np.intp, len(hidden))] = 0.0
    best = _best(scores, np.flatnonzero(scores > _below_the_best(scores, columns, size)), size)
    scores.fill(0.0)
    _keep(scores)
    return best


def _best(scores: NDArray[np.float64], found: NDArray[np.intp], size: int) -> list[int]:
    """Return the *size* documents with the best scores of those *found*, which are in order."""
    ranks = np.rint(scores[found] * STEPS)
    if len(found) > size:
        is_among = ranks >= np.partition(ranks, -size)[-size]
        found, ranks = found[is_among], ranks[is_among]
    best: list[int] = found[np.argsort(-ranks, kind="stable")[:size]].tolist()
    return best


class WordImpacts(NamedTuple):
    """What one word adds.

    Attributes:
        documents: Distinct documents.
        impacts: What it adds to each, above 0, in units.
        unit: What one of these is.
    """

    documents: Numbers
    impacts: NDArray[Any]
    unit: float


def _postings_reader(index: Index) -> Callable[[int], Sequence[Numbers]]:
    """Return what gives the documents that hold a term, and its impacts there."""
    if index.is_compiled:
        return get_arrays(index).postings.row
    return lambda term: [np.asarray(part) for part in index.postings(term)[:2]]


def _column(
    word: Weighed, list_of: Callable[[int], Sequence[Numbers]], lists: MergedLists
) -> WordImpacts:
    """Return the documents that hold a variant of *word*, and what the best adds to each."""
    _, share, variants, postings = word
    if len(variants) > 1 and postings < _FEW:
        best = lists[variants]
        count = len(best)
        impacts = np.fromiter(best.values(), np.float64, count)
        return WordImpacts(np.fromiter(best, np.intp, count), impacts, share)
    columns = []
    for term, credit in variants:
        documents, held = list_of(term)
        columns.append(WordImpacts(documents, held, credit * SCALE))
    return columns[0] if len(columns) == 1 else _merge_columns(columns, share, lists.index)


def _merge_columns(columns: Iterable[WordImpacts], share: float, index: Index) -> WordImpacts:
    """Return the documents of all *columns*, and the most that any of these has of each."""
    best = _zeros(index)
    found = []
    for documents, impacts, unit in columns:
        known = best[_check_documents(documents, index)]
        found.append(documents[known == 0.0])
        best[documents] = np.maximum(known, np.multiply(impacts, unit, dtype=np.float64))
    held = np.concatenate(found)
    merged = best[held]
    best[held] = 0.0
    _keep(best)
    return WordImpacts(held, merged, share)


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


def _check_documents(documents: Numbers, index: Index) -> Numbers:
    if documents.size and documents.max() >= len(index):
        raise StaleIndexError("a posting leads to no tool")
    return documents


def _below_the_best(
    scores: NDArray[np.float64], columns: Iterable[WordImpacts], size: int
) -> float:
    """Return a score, at least 0, below that of each of the best *size*."""
    for documents, _, _ in columns:
        if len(documents) >= size:
            sample = np.partition(scores[documents[: max(size, _SAMPLE)]], -size)
            return max(0.0, float(sample[-size]) - 2 / STEPS)
    return 0.0
