"""How near tools are to a query in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from mcpg.index import Index
from mcpg.search.query import Analysis
from mcpg.search.retrieval import ARRAYS
from mcpg.text.meaning import LENGTH, measure_length, sum_vectors

# Requests of more words say what they mean; a probability has so many steps.
_MOST_WORDS = 12
_STEPS = 64
_ALL = 0.999


def compare_meanings(
    pool: Sequence[int], coverages: Sequence[float], analysis: Analysis, index: Index
) -> list[float]:
    """Return, for each document, the cosine of its meaning and that of the words asked for.

    It is 0 where either is unknown. Where a document holds all words, by the *coverages* of the
    query, nothing is left open that it would count for, and for none it is compared.
    """
    asked = [one for one in analysis.clauses if one.origin == "query" and one.meanings]
    query: Sequence[int] = ()
    if len(asked) <= _MOST_WORDS and max(coverages, default=1.0) < _ALL:
        query = sum_vectors(
            (stem, round(_STEPS * probability) or 1)
            for clause in asked
            for stem, probability in clause.meanings
        )
    length = LENGTH * measure_length(query)
    if not length:
        return [0.0] * len(pool)
    arrays = ARRAYS.imported
    if arrays:
        products: list[int] = arrays.multiply_meanings(query, pool, index)
    else:
        products = [sum(map(mul, query, row)) for row in index.read_meanings(pool)]
    return [product / length for product in products]
