"""Fusion: one score from named features, by a small linear model."""

from __future__ import annotations

from math import fsum
from operator import mul

from mcpg.engine.features import Candidate
from mcpg.engine.retrieval import POOL
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.features import Sight

# Scores are compared after rounding, so that a platform's floating point cannot reorder; `fsum`,
# here and elsewhere, because Python 3.12 sums floats otherwise than 3.11.
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

    What was seen comes in order of its lexical score. Where more is asked for than the `POOL` that
    every search looks at, the rest follows below, so that a limit only cuts.

    Shares of the query are divided by the greatest lexical score, so that weights mean the same
    in every catalogue and for every query.
    """
    if not sights:
        return []
    lexical = max([sight[1] for sight in sights]) or 1.0
    ranked = []
    for place, sight in enumerate(sights):
        values = _features(sight, lexical)
        score = round(fsum(map(mul, values, weights)), DECIMALS)
        is_beyond = place >= POOL and not sight[-1]
        ranked.append((is_beyond, -score, sight[0], values, sight))
    ranked.sort()
    return [
        Fused(Candidate(*sight), values, -negative)
        for _, negative, _, values, sight in ranked[:limit]
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
