"""Impacts and 3-grams of the documents of a pool, by numpy.

What the documents hold is laid end to end and compared with the query at once, so that a query of
many words, or of words with many related ones, takes hardly longer. Every number is equal, to the
last bit, to what `mcpg.engine.scores` and `mcpg.engine.features` compute one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mcpg.engine.index_arrays import get_arrays
from mcpg.engine.scores import GRAM_SCALE, SCALE, Variants
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError

# Beyond so many postings, their transpose takes longer than a search should: it is made only where
# a host prepares for many searches.
MOST_TRANSPOSED = 500_000


def prepare(index: Index) -> None:
    """Prepare for searches of a compiled *index*.

    Raises:
        StaleIndexError: The index is damaged.
    """
    get_arrays(index).terms()


def is_ready(index: Index) -> bool:
    """Return whether the terms of the tools of a compiled *index* are found by now, or soon."""
    arrays = get_arrays(index)
    return arrays.is_transposed or len(arrays.postings.columns[0]) <= MOST_TRANSPOSED


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
