"""Impacts and 3-grams of the documents of a pool, for long queries, by numpy.

The rows of a table that a query needs are laid end to end and read at once. Every number is equal,
to the last bit, to what `mcpg.engine.scores` and `mcpg.engine.features` compute one by one.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from mcpg.engine.scores import SCALE
from mcpg.index.layout import StaleIndexError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from mcpg.engine.scores import Variants
    from mcpg.index import Index

    Numbers: TypeAlias = NDArray[np.intp]


def pool_impacts(
    words: Sequence[Variants], pool: Sequence[int], index: Index
) -> list[dict[int, float]]:
    """Return, for each word, the best credited impact of its variants in those of the *pool*.

    Raises:
        StaleIndexError: The index is damaged.
    """
    pairs = np.fromiter(chain.from_iterable(chain.from_iterable(words)), np.float64)
    units = pairs[1::2] * SCALE
    places, ends = _places("postings", pairs[::2].astype(np.intp), index)
    is_wanted = np.zeros(len(index), np.bool_)
    try:
        is_wanted[pool] = True
        hits = np.flatnonzero(is_wanted[np.asarray(index.section("postings"))[places]])
    except IndexError as fault:
        raise StaleIndexError("a name or a posting leads to no tool") from fault
    lists, places = np.searchsorted(ends, hits, side="right"), places[hits]
    documents = np.asarray(index.section("postings"))[places]
    credited = units[lists] * np.asarray(index.section("postings.impact"))[places]
    numbers = np.repeat(np.arange(len(words)), [len(variants) for variants in words])[lists]
    found: list[dict[int, float]] = [{} for _ in words]
    rows = numbers.tolist(), documents.tolist(), credited.tolist()
    for number, document, impact in zip(*rows, strict=True):
        best = found[number]
        if impact > best.get(document, 0.0):
            best[document] = impact
    return found


def gram_products(products: Mapping[int, int], pool: Sequence[int], index: Index) -> list[int]:
    """Return, for each document of the *pool*, the sum of the *products* of its 3-grams.

    Raises:
        StaleIndexError: The index is damaged.
    """
    count = len(products)
    weights = np.zeros(len(index.section("grams")), np.int64)
    weights[np.fromiter(products, np.intp, count)] = np.fromiter(products.values(), np.int64, count)
    places, ends = _places("grams_of", np.array(pool, np.intp), index)
    try:
        held = weights[np.asarray(index.section("grams_of"))[places]]
    except IndexError as fault:
        raise StaleIndexError("a tool has a 3-gram that is not there") from fault
    sums = np.concatenate(([0], held.cumsum()))
    found: list[int] = np.diff(sums[ends], prepend=0).tolist()
    return found


def _places(name: str, numbers: Numbers, index: Index) -> tuple[Numbers, Numbers]:
    """Return where the items of some rows of a table stand, and how many there are up to each end.

    Raises:
        StaleIndexError: A row leads out of the table.
    """
    starts = np.asarray(index.section(f"{name}.at"))
    try:
        begins, stops = starts[numbers].astype(np.intp), starts[numbers + 1].astype(np.intp)
    except IndexError as fault:
        raise StaleIndexError("a number leads out of its table") from fault
    if (begins > stops).any() or stops.max(initial=0) > len(index.section(name)):
        raise StaleIndexError("a row leads out of its table")
    lengths = stops - begins
    ends = lengths.cumsum()
    places = np.repeat(stops - ends, lengths)
    places += np.arange(len(places))
    return places, ends
