"""How near tools are to a query in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, log1p
from operator import mul

from mcpg.index import Index
from mcpg.search.query import Analysis
from mcpg.search.retrieval import ARRAYS
from mcpg.text.meaning import LENGTH, measure_length, sum_vectors

# Longer requests are clear by their words; a probability has so many steps.
_MOST_WORDS = 12
_STEPS = 64
_NOTHING = 1e-3
# How openness falls with the words of a request, and with the lead of the best tool.
_OPEN, _OPEN_BY_WORD, _OPEN_BY_LEAD, _LEAST_LEAD = 3.7, 1.4, 0.8, 1.0


def compare_meanings(
    pool: Sequence[int], unheld: float, analysis: Analysis, index: Index
) -> list[float]:
    """Return, for each document, the cosine of its meaning and the meaning of the requested words.

    It is 0 if either is unknown. *unheld* is the least share of the query that a document of the
    search lacks: if a document lacks nothing, no meanings are compared.
    """
    asked = [one for one in analysis.clauses if one.origin == "query" and one.meanings]
    query: Sequence[int] = ()
    if len(asked) <= _MOST_WORDS and unheld > _NOTHING:
        query = sum_vectors(
            (stem, round(_STEPS * probability) or 1)
            for clause in asked
            for stem, probability in clause.meanings
        )
    length = LENGTH * measure_length(query)
    if not length:
        return [0.0] * len(pool)
    arrays = ARRAYS.loaded_scorer
    if arrays:
        products: list[int] = arrays.multiply_meanings(query, pool, index)
    else:
        products = [sum(map(mul, query, row)) for row in index.read_meanings(pool)]
    return [product / length for product in products]


def measure_openness(unheld: float, words: int, lead: float) -> float:
    """Return how much of a request of so many *words* meaning may decide, in [0, 1].

    It is the share that the best tool by all else lacks, *unheld*. Many words leave less open than
    few, and the greater the *lead* of that tool over the tenth, the less is open.
    """
    log_lead = log(max(lead, _LEAST_LEAD))
    exponent = _OPEN - _OPEN_BY_WORD * log1p(words) - _OPEN_BY_LEAD * log_lead
    return max(0.0, unheld) * exp(min(exponent, 0.0))
