"""Fusion: one score from named features, by a small linear model."""

from __future__ import annotations

from bisect import bisect_right
from math import fsum
from operator import mul

from mcpg.engine.features import Candidate
from mcpg.engine.intents import spread
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from mcpg.engine.features import Sight

    # Its tier, its negative rounded score, document, features, sight, score.
    _Ranked: TypeAlias = tuple[int, float, int, tuple[float, ...], Sight, float]

# Scores are compared after rounding, so that a platform's floating point cannot reorder; `fsum`,
# here and elsewhere, because Python 3.12 sums floats otherwise than 3.11.
DECIMALS = 9


@value
class Fused:
    """A candidate with the score that decides the order.

    Attributes:
        candidate: The document and what was seen in it.
        values: Its features, in the order of `FEATURES`; shares of the query are divided by the
            greatest lexical score of the first tier.
        score: The sum of features times weights.
    """

    candidate: Candidate
    values: tuple[float, ...]
    score: float


def fuse(
    sights: Sequence[Sight], weights: Sequence[float], limit: int, ends: Sequence[int] = ()
) -> list[Fused]:
    """Give the best *limit* of what was seen; ties go to the smaller document number.

    Tiers of a pool, which end at *ends*, stay one below the other. In the first, a query of several
    intents has the documents spread: what each adds to those above it counts, and of ties the one
    that is better without comes first.

    Shares of the query are divided by the greatest lexical score of the first tier, so that weights
    mean the same in every catalogue, for every query and whatever is asked for.
    """
    if not sights:
        return []
    lexical = greatest_lexical(sights[: ends[0]] if ends else sights)
    ranked = []
    for place, sight in enumerate(sights):
        values = feature_values(sight, lexical)
        score = fsum(map(mul, values, weights))
        tier = bisect_right(ends, place)
        ranked.append((tier, -round(score, DECIMALS), sight[0], values, sight, score))
    ranked.sort()
    if not sights[0][-2]:
        return [
            Fused(Candidate(*sight), values, -negative)
            for _, negative, _, values, sight, _ in ranked[:limit]
        ]
    return _spread(ranked, weights[-1], limit)


def _spread(ranked: Sequence[_Ranked], weight: float, limit: int) -> list[Fused]:
    """Return the best *limit* of the *ranked*, the first tier spread over the intents."""
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


def greatest_lexical(sights: Iterable[Sight]) -> float:
    """Return the greatest lexical score of what was seen, 1 where there is none."""
    return max([sight[1] for sight in sights], default=0.0) or 1.0


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
