"""Fusion: one score from named features, by a small linear model."""

from __future__ import annotations

from math import fsum
from operator import mul

from mcpg.engine.features import Candidate
from mcpg.engine.intents import spread
from mcpg.engine.retrieval import POOL
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from mcpg.engine.features import Sight

    # Whether it is beyond the pool, its negative rounded score, document, features, sight, score.
    _Ranked: TypeAlias = tuple[bool, float, int, tuple[float, ...], Sight, float]

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

    The first `POOL` that were seen are what every search looks at. Where more is asked for, the
    rest follows below, so that a limit only cuts. Among the first, a query of several intents has
    them spread: what each adds to those above it counts, and of ties the one that is better
    without comes first.

    Shares of the query are divided by the greatest lexical score, so that weights mean the same
    in every catalogue and for every query.
    """
    if not sights:
        return []
    lexical = max([sight[1] for sight in sights]) or 1.0
    ranked = []
    for place, sight in enumerate(sights):
        values = feature_values(sight, lexical)
        score = fsum(map(mul, values, weights))
        is_beyond = place >= POOL and not sight[-1]
        ranked.append((is_beyond, -round(score, DECIMALS), sight[0], values, sight, score))
    ranked.sort()
    if not sights[0][-2]:
        return [
            Fused(Candidate(*sight), values, -negative)
            for _, negative, _, values, sight, _ in ranked[:limit]
        ]
    return _spread(ranked, weights[-1], limit)


def _spread(ranked: Sequence[_Ranked], weight: float, limit: int) -> list[Fused]:
    """Give the best *limit* of the *ranked*, those that are not beyond spread over the intents."""
    within = [one for one in ranked if not one[0]]
    answered = [sight[-2] for _, _, _, _, sight, _ in within]
    chosen = []
    for place, added, score in spread([one[-1] for one in within], answered, weight, limit):
        _, _, _, values, sight, _ = within[place]
        chosen.append(Fused(Candidate(*sight), (*values[:-1], added), score))
    beyond = ranked[len(within) : len(within) + limit - len(chosen)]
    return chosen + [
        Fused(Candidate(*sight), values, -negative) for _, negative, _, values, sight, _ in beyond
    ]


def feature_values(sight: Sight, lexical: float) -> tuple[float, ...]:
    """Give the features of what was seen; its intents add nothing before it has a place."""
    _, own, _, name_coverage, opening, gram, cosine, source, coverage, best_sentence, _, exact = (
        sight
    )
    return (
        own / lexical,
        own / lexical * name_coverage,
        opening / lexical,
        gram,
        cosine,
        source / lexical,
        coverage,
        best_sentence / lexical,
        exact,
        0.0,
    )
