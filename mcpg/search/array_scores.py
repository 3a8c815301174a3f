"""The scorer of `mcpg.search.scores` for long posting lists, by numpy.

The lists of a query are laid end to end and added up at once, a few nanoseconds a posting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mcpg.index import Index
from mcpg.index.layout import StaleIndexError
from mcpg.search.scores import GRAM_SCALE, SCALE, STEPS, MergedLists, Variants, Weighed

Numbers: TypeAlias = NDArray[Any]
"""Whole numbers of 16, 32 or 64 bits."""

# Gives the documents that hold a term, and its impacts there.
_PostingsReader: TypeAlias = Callable[[int], Sequence[Numbers]]

# Beyond so many postings, their transpose takes longer than a search should: it is made only where
# a host prepares for many searches.
MOST_TRANSPOSED = 500_000


class NumberRows(NamedTuple):
    """Rows of numbers, laid end to end.

    Attributes:
        starts: Where each row begins, and behind the last where it ends.
        columns: The numbers of all rows; each row has one place in every column.
    """

    starts: Numbers
    columns: tuple[Numbers, ...]

    def row(self, number: int) -> list[Numbers]:
        start, end = self.starts[number], self.starts[number + 1]
        return [column[start:end] for column in self.columns]

    def rows(self, numbers: Sequence[int]) -> tuple[tuple[Numbers, ...], Numbers]:
        """Return some rows end to end, column by column, and the place behind each of them.

        Raises:
            StaleIndexError: There is no such row.
        """
        places = np.array(numbers, np.intp)
        try:
            begins, ends = self.starts[places], self.starts[places + 1]
        except IndexError as fault:
            raise StaleIndexError("a number leads out of its table") from fault
        spans = list(zip(begins.tolist(), ends.tolist(), strict=True))
        joined = [
            np.concatenate([column[:0], *(column[start:end] for start, end in spans)])
            for column in self.columns
        ]
        return tuple(joined), (ends - begins).cumsum()


class IndexArrays:
    """The arrays of one compiled index; made once, and shared between threads.

    Attributes:
        postings: For each term, the tools that hold it and its impacts there.
        grams: The 3-grams of each tool.
    """

    def __init__(self, index: Index) -> None:
        """Find the sections.

        Raises:
            StaleIndexError: A row leads out of its table, or a posting is in none.
        """
        # The index itself is not kept, or it would be kept for ever.
        self._tools = len(index)
        self._lock = Lock()
        self._terms: NumberRows | None = None
        self.postings = _table(index, "postings", "postings", "postings.impact")
        starts, lengths = self.postings.starts, {*map(len, self.postings.columns)}
        terms = len(index.section("terms.tools"))
        if len(starts) != terms + 1 or starts[0] or lengths != {int(starts[-1])}:
            raise StaleIndexError("a posting is in no row of its table")
        self.grams = _table(index, "grams_of", "grams_of")

    @property
    def is_ready(self) -> bool:
        """Whether the terms of the tools are there by now, or soon."""
        return self._terms is not None or len(self.postings.columns[0]) <= MOST_TRANSPOSED

    def terms(self) -> NumberRows:
        """Return, for each tool, the terms that it holds, in order, and their impacts there.

        Raises:
            StaleIndexError: A posting leads to no tool.
        """
        with self._lock:
            if self._terms is None:
                holders, impacts = self.postings.columns
                if holders.max(initial=0) >= self._tools:
                    raise StaleIndexError("a posting leads to no tool")
                counts = np.bincount(holders, minlength=self._tools)
                lengths = np.diff(self.postings.starts)
                terms = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
                order = np.argsort(holders, kind="stable")
                starts = np.concatenate(([0], counts.cumsum()))
                self._terms = NumberRows(starts, (terms[order], impacts[order]))
            return self._terms


def _table(index: Index, rows: str, *columns: str) -> NumberRows:
    starts = np.asarray(index.section(f"{rows}.at"))
    parts = tuple([np.asarray(index.section(name)) for name in columns])
    least = min(map(len, parts))
    if (starts[:-1] > starts[1:]).any() or starts.max(initial=0) > least:
        raise StaleIndexError("a row leads out of its table")
    return NumberRows(starts, parts)


_KNOWN: WeakKeyDictionary[Index, IndexArrays] = WeakKeyDictionary()


def get_arrays(index: Index) -> IndexArrays:
    """Return the arrays of a compiled *index*.

    Raises:
        StaleIndexError: It is damaged.
    """
    known = _KNOWN.get(index)
    if known is None:
        known = _KNOWN[index] = IndexArrays(index)
    return known


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
    if index.is_compiled:
        list_of: _PostingsReader = get_arrays(index).postings.row
    else:
        list_of = lambda term: [np.asarray(part) for part in index.postings(term)[:2]]  # noqa: E731 - beside the other
    columns = [_word_impacts(word, list_of, lists) for word in words]
    documents = _check_documents(np.concatenate([column.documents for column in columns]), index)
    lengths = [len(column.documents) for column in columns]
    units = np.repeat([column.unit for column in columns], lengths)
    scores = _zeros(index)
    # What stands earlier is added earlier.
    np.add.at(scores, documents, units * np.concatenate([column.impacts for column in columns]))
    if hidden:
        scores[np.fromiter(hidden, np.intp, len(hidden))] = 0.0
    found = np.flatnonzero(scores > _below_the_best(scores, columns, size))
    ranks = np.rint(scores[found] * STEPS)
    if len(found) > size:
        is_among = ranks >= np.partition(ranks, -size)[-size]
        found, ranks = found[is_among], ranks[is_among]
    best: list[int] = found[np.argsort(-ranks, kind="stable")[:size]].tolist()
    scores.fill(0.0)
    _keep(scores)
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


def _word_impacts(word: Weighed, list_of: _PostingsReader, lists: MergedLists) -> WordImpacts:
    """Return the documents that hold a variant of *word*, and what the best adds to each."""
    _, share, variants, postings = word
    if len(variants) > 1 and postings < _FEW:
        best = lists[variants]
        count = len(best)
        impacts = np.fromiter(best.values(), np.float64, count)
        return WordImpacts(np.fromiter(best, np.intp, count), impacts, share)
    if len(variants) == 1:
        ((term, credit),) = variants
        documents, held = list_of(term)
        return WordImpacts(documents, held, credit * SCALE)
    zeros = _zeros(lists.index)
    found = []
    for term, credit in variants:
        documents, held = list_of(term)
        known = zeros[_check_documents(documents, lists.index)]
        found.append(documents[known == 0.0])
        zeros[documents] = np.maximum(known, np.multiply(held, credit * SCALE, dtype=np.float64))
    holders = np.concatenate(found)
    merged = zeros[holders]
    zeros[holders] = 0.0
    _keep(zeros)
    return WordImpacts(holders, merged, share)


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


def pool_impacts(
    words: Sequence[Variants], pool: Sequence[int], index: Index
) -> list[dict[int, float]]:
    """Return, for each word, the best credited impact of its variants in those of the *pool*.

    Raises:
        StaleIndexError: The index is damaged.
    """
    asked: dict[int, list[tuple[int, float]]] = {}
    for number, variants in enumerate(words):
        for term, credit in variants:
            asked.setdefault(term, []).append((number, credit * SCALE))
    (terms, impacts), ends = get_arrays(index).terms().rows(pool)
    # Which of the terms that are asked for each is, from 1; 0 for none of them.
    which = np.zeros(len(index.section("terms.tools")), np.int32)
    which[np.fromiter(asked, np.intp, len(asked))] = np.arange(1, len(asked) + 1)
    found_terms = which[terms]
    hits = np.flatnonzero(found_terms)
    rows = (
        found_terms[hits].tolist(),
        np.searchsorted(ends, hits, side="right").tolist(),
        impacts[hits].tolist(),
    )
    found: list[dict[int, float]] = [{} for _ in words]
    units = list(asked.values())
    for term, place, impact in zip(*rows, strict=True):
        document = pool[place]
        for number, unit in units[term - 1]:
            best, credited = found[number], unit * impact
            if credited > best.get(document, 0.0):
                best[document] = credited
    return found


def gram_products(
    rarities: Mapping[int, float],
    weighed: Sequence[float],
    pool: Sequence[int],
    index: Index,
) -> list[int]:
    """Return, for each document of the *pool*, the sum of the products of its 3-grams.

    The product of one is its rarity times its number in *weighed*, in whole steps.

    Raises:
        StaleIndexError: The index is damaged.
    """
    count = len(rarities)
    rare = np.fromiter(rarities.values(), np.float64, count)
    products = np.zeros(len(index.section("grams")), np.int64)
    products[np.fromiter(rarities, np.intp, count)] = np.array(weighed) * rare * GRAM_SCALE
    (grams,), ends = get_arrays(index).grams.rows(pool)
    try:
        sums = products[grams].cumsum()
    except IndexError as fault:
        raise StaleIndexError("a tool has a 3-gram that is not there") from fault
    found: list[int] = np.diff(np.concatenate(([0], sums))[ends], prepend=0).tolist()
    return found
