"""Whether scores are the probabilities that they claim to be.

Every function takes pairs of a score in [0, 1] and whether what got it was right.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Scored: TypeAlias = "tuple[float, bool]"
"""A score and whether what got it was right."""

BINS = 10
"""Bins of a reliability diagram."""

_CURVE_STEPS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a reliability diagram.

    Attributes:
        low: Smallest score in it.
        high: Largest score in it.
        mean_score: Mean of its scores.
        precision: Share of it that was right.
        count: How many fell into it.
    """

    low: float
    high: float
    mean_score: float
    precision: float
    count: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What one would get by answering only from a score upwards.

    Attributes:
        threshold: That score.
        coverage: Share that would be answered, above 0.
        precision: Share of the answers that would be right.
    """

    threshold: float
    coverage: float
    precision: float


def reliability_bins(scored: Sequence[Scored], bins: int = BINS) -> tuple[Bin, ...]:
    """Cut the pairs, in order of score, into *bins* of equal mass.

    Equal scores are in one bin, where the middle one lies: nothing tells which of them come first.
    So there are fewer bins when there are few different scores.

    Source: Nguyen, O'Connor: Posterior calibration and exploratory analysis for natural language
    processing models. EMNLP 2015 (adaptive binning).
    """
    starts = [number * len(scored) // bins for number in range(bins)]
    parts: list[list[Scored]] = [[] for _ in starts]
    passed = 0
    for _, alike in groupby(sorted(scored), key=itemgetter(0)):
        tied = list(alike)
        parts[bisect_right(starts, passed + len(tied) / 2) - 1] += tied
        passed += len(tied)
    return tuple(map(_bin, filter(None, parts)))


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Give the mean distance of score and precision over *bins*, weighed by their counts.

    Source: Naeini, Cooper, Hauskrecht: Obtaining well calibrated probabilities using Bayesian
    binning. AAAI 2015.
    """
    total = sum(one.count for one in bins)
    return math.fsum(abs(one.mean_score - one.precision) * one.count for one in bins) / total


def brier_score(scored: Sequence[Scored]) -> float:
    """Give the mean squared distance of score and outcome.

    Source: Brier: Verification of forecasts expressed in terms of probability. Monthly Weather
    Review 78(1), 1950.
    """
    return math.fsum((score - right) ** 2 for score, right in scored) / len(scored)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Give the chance that a positive score is above a negative one, ties counting half.

    `None` when there are no positive or no negative scores.

    Source: Hanley, McNeil: The meaning and use of the area under a receiver operating
    characteristic (ROC) curve. Radiology 143(1), 1982: it is the Mann-Whitney statistic.
    """
    if not positive or not negative:
        return None
    pairs = sorted([(score, 1) for score in positive] + [(score, 0) for score in negative])
    rank_sum, before = 0.0, 0
    for _, tied in groupby(pairs, key=itemgetter(0)):
        group = [label for _, label in tied]
        rank_sum += sum(group) * (before + (len(group) + 1) / 2)
        before += len(group)
    wins = rank_sum - len(positive) * (len(positive) + 1) / 2
    return wins / (len(positive) * len(negative))


def precision_coverage(scored: Sequence[Scored]) -> tuple[CurvePoint, ...]:
    """Give precision and coverage at thresholds from 0 to 1 in equal steps.

    Thresholds that no score reaches are left out.

    Source: El-Yaniv, Wiener: On the foundations of noise-free selective classification. JMLR 11,
    2010, where precision is 1 - risk.
    """
    points = (_point(scored, step / _CURVE_STEPS) for step in range(_CURVE_STEPS + 1))
    return tuple(point for point in points if point.coverage)


def _bin(part: Sequence[Scored]) -> Bin:
    scores = [score for score, _ in part]
    right = sum(hit for _, hit in part)
    return Bin(scores[0], scores[-1], math.fsum(scores) / len(part), right / len(part), len(part))


def _point(scored: Sequence[Scored], threshold: float) -> CurvePoint:
    answered = [right for score, right in scored if score >= threshold]
    precision = sum(answered) / len(answered) if answered else 0.0
    return CurvePoint(threshold, len(answered) / len(scored), precision)
