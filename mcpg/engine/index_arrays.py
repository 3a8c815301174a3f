"""Arrays over the sections of an index, which the scorer and the features by numpy read.

The posting lists of a file tell which tools hold a term. What tells which terms a tool holds is
their transpose; it is made once, in some ten nanoseconds a posting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from mcpg.index import Index
from mcpg.index.layout import StaleIndexError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[Any]"
"""Whole numbers of 16, 32 or 64 bits."""


@dataclass(frozen=True, slots=True)
class NumberRows:
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
        _check_whole(self.postings, len(index.section("terms.tools")))
        self.grams = _table(index, "grams_of", "grams_of")

    @property
    def is_transposed(self) -> bool:
        """Whether the terms of each tool are there already."""
        return self._terms is not None

    def terms(self) -> NumberRows:
        """Return, for each tool, the terms that it holds, in order, and their impacts there.

        Raises:
            StaleIndexError: A posting leads to no tool.
        """
        with self._lock:
            if self._terms is None:
                self._terms = _transpose_postings(self.postings, self._tools)
            return self._terms


def _table(index: Index, rows: str, *columns: str) -> NumberRows:
    starts = np.asarray(index.section(f"{rows}.at"))
    parts = tuple([np.asarray(index.section(name)) for name in columns])
    least = min(map(len, parts))
    if (starts[:-1] > starts[1:]).any() or starts.max(initial=0) > least:
        raise StaleIndexError("a row leads out of its table")
    return NumberRows(starts, parts)


def _check_whole(table: NumberRows, rows: int) -> None:
    """Check that *table* has so many *rows*, and that each place of a column is in one of them.

    Raises:
        StaleIndexError: That is not so.
    """
    starts, places = table.starts, {*map(len, table.columns)}
    if len(starts) != rows + 1 or starts[0] or places != {int(starts[-1])}:
        raise StaleIndexError("a posting is in no row of its table")


def _transpose_postings(postings: NumberRows, tools: int) -> NumberRows:
    holders, impacts = postings.columns
    if holders.max(initial=0) >= tools:
        raise StaleIndexError("a posting leads to no tool")
    counts = np.bincount(holders, minlength=tools)
    lengths = np.diff(postings.starts)
    terms = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
    order = np.argsort(holders, kind="stable")
    starts = np.concatenate(([0], counts.cumsum()))
    return NumberRows(starts, (terms[order], impacts[order]))


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
