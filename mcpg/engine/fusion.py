"""Fusion: one score from named features, by a small linear model."""

from __future__ import annotations

from operator import mul

from mcpg.engine.features import Candidate
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.features import Sight

# Scores are compared after rounding, so that a platform's floating point cannot reorder.
DECIMALS = 9


@value
class Fused:
    """A candidate with the score that decides the order.

    Attributes:
        candidate: The document and what was seen in it.
        values: Its features, in the order of `FEATURES`; shares of the query are divided by the
            greatest lexical score of the pool.
        score: The sum of features times weights.
    """

    candidate: Candidate
    values: tuple[float, ...]
    score: float


def fuse(sights: Sequence[Sight], weights: Sequence[float], limit: int) -> list[Fused]:
    """Give the best *limit* of what was seen; ties go to the smaller document number.

    Shares of the query are divided by the greatest lexical score, so that weights mean the same
    in every catalogue and for every query.
    """
    if not sights:
        return []
    lexical = max([sight[1] for sight in sights]) or 1.0
    ranked = []
    for sight in sights:
        values = _features(sight, lexical)
        score = round(sum(map(mul, values, weights)), DECIMALS)
        ranked.append((-score, sight[0], values, sight))
    ranked.sort()
    return [
        Fused(Candidate(*sight), values, -negative) for negative, _, values, sight in ranked[:limit]
    ]


def _features(sight: Sight, lexical: float) -> tuple[float, ...]:
    _, own, _, name_coverage, opening, gram, source, coverage, best_sentence, exact = sight
    return (
        own / lexical,
        own / lexical * name_coverage,
        opening / lexical,
        gram,
        source / lexical,
        coverage,
        best_sentence / lexical,
        exact,
    )
