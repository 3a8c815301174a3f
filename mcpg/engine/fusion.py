"""Fusion: one score from named features, by a small linear model."""

from __future__ import annotations

from heapq import nsmallest

from mcpg.engine.features import FEATURES
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.features import Candidate

# Scores are compared after rounding, so that a platform's floating point cannot reorder.
DECIMALS = 9


@value
class Fused:
    """A candidate with the score that decides the order.

    Attributes:
        candidate: The document and what was seen in it.
        values: Its features, in the order of `FEATURES`, scaled by the pool's greatest.
        score: The sum of features times weights.
    """

    candidate: Candidate
    values: tuple[float, ...]
    score: float


def fuse(candidates: Sequence[Candidate], weights: Sequence[float], limit: int) -> list[Fused]:
    """Give the best *limit* candidates; ties go to the smaller document number.

    Features of open range are divided by the greatest in the pool, so that weights mean the same
    in every catalogue.
    """
    if not candidates:
        return []
    lexical = max(candidate.lexical for candidate in candidates) or 1.0
    grams = max(candidate.grams for candidate in candidates) or 1.0
    sentence = max(candidate.sentence for candidate in candidates) or 1.0
    fused = (
        _fused(candidate, _features(candidate, lexical, grams, sentence), weights)
        for candidate in candidates
    )
    return nsmallest(limit, fused, key=lambda one: (-one.score, one.candidate.document))


def _features(one: Candidate, lexical: float, grams: float, sentence: float) -> tuple[float, ...]:
    return (
        one.lexical / lexical,
        one.lexical / lexical * one.name_coverage,
        one.opening / lexical,
        one.grams / grams,
        one.source / lexical,
        one.coverage,
        one.sentence / sentence,
        one.exact,
    )


def _fused(candidate: Candidate, values: tuple[float, ...], weights: Sequence[float]) -> Fused:
    parts = (one * weight for one, weight in zip(values, weights, strict=True))
    return Fused(candidate, values, round(sum(parts), DECIMALS))


def weights_by_name(weights: Sequence[float]) -> dict[str, float]:
    """Name the *weights* of a model."""
    return dict(zip(FEATURES, weights, strict=True))
