"""What stands in one place of an index: one term in one document."""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.index.reader import Index


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
