"""The scorer of `mcpg.search.retrieval` for long posting lists, by numpy.

The lists of a query are laid end to end and added up at once, a few nanoseconds a posting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mcpg.index import Index
from mcpg.index.layout import IMPACT_SCALE, StaleIndexError
from mcpg.values import DECIMALS

Numbers: TypeAlias = NDArray[Any]
"""Whole numbers of 16, 32 or 64 bits."""

# As there, which imports this module.
_Variants: TypeAlias = tuple[tuple[int, float], ...]
_Word: TypeAlias = tuple[float, float, _Variants, int]
_MergedLists: TypeAlias = Mapping[_Variants, Mapping[int, float]]
_SCALE = 1 / IMPACT_SCALE
_STEPS: int = 10**DECIMALS

# Returns the documents that contain a term, and its impacts in them.
_PostingsReader: TypeAlias = Callable[[int], Sequence[Numbers]]


class PostingLists(NamedTuple):
    """The posting lists of a compiled index, laid end to end.

    Attributes:
        starts: The start of the list of each term, then the end of the last list.
    """

    starts: Numbers
    documents: Numbers
    impacts: Numbers

    def read(self, term: int) -> tuple[Numbers, Numbers]:
        """Return the documents that contain *term*, and its impacts in them."""
        start, end = self.starts[term], self.starts[term + 1]
        return self.documents[start:end], self.impacts[start:end]


# The index itself is not kept, or it would be kept for ever.
_KNOWN: WeakKeyDictionary[Index, PostingLists] = WeakKeyDictionary()


def get_postings(index: Index) -> PostingLists:
    """Return the posting lists of a compiled *index*; looked up once."""
    known = _KNOWN.get(index)
    if known is None:
        names = "postings.at", "postings", "postings.impact"
        known = PostingLists(*[np.asarray(index.section(name)) for name in names])
        starts, lengths = known.starts, {len(known.documents), len(known.impacts)}
        if (starts[:-1] > starts[1:]).any() or starts.max(initial=0) > min(lengths):
            raise StaleIndexError("a row leads out of its table")
        terms = len(index.section("terms.tools"))
        if len(starts) != terms + 1 or starts[0] or lengths != {int(starts[-1])}:
            raise StaleIndexError("a posting is in no row of its table")
        _KNOWN[index] = known
    return known


def multiply_meanings(query: Sequence[int], tools: Sequence[int], index: Index) -> list[int]:
    """Return the products of *query* and the vectors of the meanings of *tools*."""
    vectors: Numbers = np.frombuffer(index.section("tools.meaning"), np.int8)
    if len(vectors) != len(index) * len(query):
        raise StaleIndexError("its vectors of meaning are of unequal length")
    rows = vectors.reshape(-1, len(query))[tools].astype(np.int64)
    products: list[int] = (rows @ np.array(query, np.int64)).tolist()
    return products


# Documents of one list that give a lower bound of the worst wanted score.
_SAMPLE = 1_024
# Fewer postings of several variants are merged one by one sooner.
_FEW = 256
# Arrays of zeros that are kept: to ask the system for memory each time takes as long as to add.
_MOST_KEPT = 4
_kept: list[NDArray[np.float64]] = []


def best_documents(
    words: Sequence[_Word], lists: _MergedLists, index: Index, *, hidden: Collection[int], size: int
) -> list[int]:
    """Return the *size* documents that are not *hidden* with the best scores, the best first.

    *words* are in the order in which they are added up.
    """
    if index.is_compiled:
        list_of: _PostingsReader = get_postings(index).read
    else:
        list_of = lambda term: [np.asarray(part) for part in index.postings(term)[:2]]  # noqa: E731 - as above
    columns = [_word_impacts(word, list_of, lists, index) for word in words]
    documents = _check_documents(np.concatenate([column.documents for column in columns]), index)
    lengths = [len(column.documents) for column in columns]
    units = np.repeat([column.unit for column in columns], lengths)
    scores = _zeros(index)
    # Earlier columns are added first.
    np.add.at(scores, documents, units * np.concatenate([column.impacts for column in columns]))
    if hidden:
        scores[np.fromiter(hidden, np.intp, len(hidden))] = 0.0
    # The best are above the least of as many documents of one word.
    least, long = 0.0, next((one.documents for one in columns if len(one.documents) >= size), None)
    if long is not None:
        sample = np.partition(scores[long[: max(size, _SAMPLE)]], -size)
        least = max(0.0, float(sample[-size]) - 2 / _STEPS)
    found = np.flatnonzero(scores > least)
    ranks = np.rint(scores[found] * _STEPS)
    if len(found) > size:
        is_among = ranks >= np.partition(ranks, -size)[-size]
        found, ranks = found[is_among], ranks[is_among]
    best: list[int] = found[np.argsort(-ranks, kind="stable")[:size]].tolist()
    scores.fill(0.0)
    _keep(scores)
    return best


class WordImpacts(NamedTuple):
    """The contributions of one word.

    Attributes:
        impacts: The contribution to each document, above 0, in units.
    """

    documents: Numbers
    impacts: NDArray[Any]
    unit: float


def _word_impacts(
    word: _Word, list_of: _PostingsReader, lists: _MergedLists, index: Index
) -> WordImpacts:
    """Return the documents that contain a variant of *word*, and the best contribution to each."""
    _, share, variants, postings = word
    if len(variants) > 1 and postings < _FEW:
        best = lists[variants]
        count = len(best)
        impacts = np.fromiter(best.values(), np.float64, count)
        return WordImpacts(np.fromiter(best, np.intp, count), impacts, share)
    if len(variants) == 1:
        ((term, credit),) = variants
        documents, held = list_of(term)
        return WordImpacts(documents, held, credit * _SCALE)
    zeros = _zeros(index)
    found = []
    for term, credit in variants:
        documents, held = list_of(term)
        known = zeros[_check_documents(documents, index)]
        found.append(documents[known == 0.0])
        zeros[documents] = np.maximum(known, np.multiply(held, credit * _SCALE, dtype=np.float64))
    holders = np.concatenate(found)
    merged = zeros[holders]
    zeros[holders] = 0.0
    _keep(zeros)
    return WordImpacts(holders, merged, share)


def _zeros(index: Index) -> NDArray[np.float64]:
    """Return a zero for each document; reset arrays go to `_keep`."""
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
