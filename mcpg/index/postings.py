"""Which tools hold a term, how strongly, and in which fields."""

from __future__ import annotations

from bisect import bisect_left

from mcpg.index.layout import StaleIndexError
from mcpg.index.tables import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.index.reader import Index

_SECTIONS = ("postings", "postings.impact", "postings.fields")
# How many postings are kept once they have been read, and the longest list of them that is.
_MOST_KEPT = 262_144
_LONGEST_KEPT = 1_024


class Postings:
    """The postings of an index."""

    def __init__(self, index: Index) -> None:
        """Find the sections.

        Raises:
            StaleIndexError: They do not fit each other.
        """
        self._starts = index.section("postings.at")
        self._tools, self._impacts, self._fields = map(index.section, _SECTIONS)
        self._kept: dict[int, dict[int, int]] = {}
        self._left = _MOST_KEPT
        if not len(self._tools) == len(self._impacts) == len(self._fields):
            raise StaleIndexError("its postings are of unequal length")

    def count(self, term: int) -> int:
        """Give the number of tools that hold a term."""
        start, end = span(self._starts, term)
        return end - start

    def of_term(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Give the tools that hold a term in order, its impacts there, and in which fields."""
        start, end = span(self._starts, term)
        if end > len(self._tools):
            raise StaleIndexError("a row leads out of its table")
        return self._tools[start:end], self._impacts[start:end], self._fields[start:end]

    def impacts(self, term: int) -> dict[int, int] | None:
        """Give the impacts of a term by tool, in order; `None` where they are too many to keep.

        What is given must not be changed.
        """
        known = self._kept.get(term)
        if known is None and self.count(term) <= min(_LONGEST_KEPT, self._left):
            tools, impacts, _ = self.of_term(term)
            known = self._kept[term] = dict(zip(tools.tolist(), impacts.tolist(), strict=True))
            self._left -= len(known)
        return known


def posting(index: Index, term: int, document: int) -> tuple[int, int]:
    """Give impact and field mask of *term* in *document*, zeros when it does not occur there."""
    documents, impacts, fields = index.postings(term)
    place = bisect_left(documents, document)
    if place == len(documents) or documents[place] != document:
        return 0, 0
    return impacts[place], fields[place]


def impact_of(index: Index, term: int, document: int) -> int:
    """Give the impact of *term* in *document*, 0 when it does not occur there."""
    return posting(index, term, document)[0]


def add_fields(index: Index, term: int, asked: Iterable[int], masks: dict[int, int]) -> None:
    """Add, for each document *asked* about, a bit for every field in which *term* occurs there."""
    documents, _, fields = index.postings(term)
    end = len(documents)
    for document in asked:
        place = bisect_left(documents, document)
        if place < end and documents[place] == document:
            masks[document] |= fields[place]
