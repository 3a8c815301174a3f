"""Logistic regression with a prior, and how good its probabilities are."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from math import exp, fsum, log
from operator import itemgetter, mul
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

BINS = 10
"""Bins of the expected calibration error."""

_ROUNDS = 50
_HALVINGS = 20
_CLOSE = 1e-9
_STEEPEST = 40.0
_SUREST = 1e-9


def logistic(
    rows: Sequence[Sequence[float]],
    right: Sequence[bool],
    shares: Sequence[float],
    *,
    prior: Sequence[float],
    ridge: float,
) -> tuple[float, ...]:
    """Give the coefficients, the intercept first, of a logistic regression.

    They minimise the mean log loss and *ridge* times half the squared distance from *prior*: the
    coefficients are believed to be normally distributed around those. By Newton's method, a step
    that leads up is halved.

    Source: le Cessie & van Houwelingen, "Ridge estimators in logistic regression", Applied
    Statistics 41(1), 1992.

    Args:
        rows: The inputs of each sample.
        right: Whether each is of the positive class.
        shares: What each counts for; only their proportions matter.
        prior: The coefficients without any sample.
        ridge: How much they are believed, in units of the mean log loss.
    """
    fit = _Fit(rows, right, shares, prior, ridge)
    found = list(prior)
    loss = fit.loss(found)
    for _ in range(_ROUNDS):
        step = _downhill(fit, found, loss)
        found = [one - by for one, by in zip(found, step, strict=True)]
        loss = fit.loss(found)
        if max(map(abs, step)) < _CLOSE:
            break
    return tuple(found)


def _downhill(fit: _Fit, found: Sequence[float], loss: float) -> list[float]:
    """Give Newton's step from *found*, halved until it does not lead above *loss*."""
    step = solve(*fit.slope_and_curvature(found))
    for _ in range(_HALVINGS):
        if fit.loss([one - by for one, by in zip(found, step, strict=True)]) <= loss:
            break
        step = [by / 2 for by in step]
    return step


class _Fit:
    """The penalised log loss of a sample, and its derivatives."""

    def __init__(
        self,
        rows: Sequence[Sequence[float]],
        right: Sequence[bool],
        shares: Sequence[float],
        prior: Sequence[float],
        ridge: float,
    ) -> None:
        total = fsum(shares) or 1.0
        self._rows = [(1.0, *row) for row in rows]
        self._columns = [[row[place] for row in self._rows] for place in range(len(prior))]
        self._shares = [share / total for share in shares]
        self._right, self._prior, self._ridge = right, prior, ridge

    def _probabilities(self, coefficients: Sequence[float]) -> list[float]:
        return [sigmoid(fsum(map(mul, row, coefficients))) for row in self._rows]

    def _distances(self, coefficients: Sequence[float]) -> list[float]:
        return [one - prior for one, prior in zip(coefficients, self._prior, strict=True)]

    def loss(self, coefficients: Sequence[float]) -> float:
        """Give the value."""
        losses = map(log_loss, self._probabilities(coefficients), self._right)
        squares = fsum(one * one for one in self._distances(coefficients))
        return fsum(map(mul, self._shares, losses)) + self._ridge * squares / 2

    def slope_and_curvature(
        self, coefficients: Sequence[float]
    ) -> tuple[list[list[float]], list[float]]:
        """Give the second derivatives and the first."""
        sure = self._probabilities(coefficients)
        errors = [
            share * (one - hit)
            for share, one, hit in zip(self._shares, sure, self._right, strict=True)
        ]
        slope = [
            fsum(map(mul, errors, column)) + self._ridge * distance
            for column, distance in zip(self._columns, self._distances(coefficients), strict=True)
        ]
        doubt = [share * one * (1 - one) for share, one in zip(self._shares, sure, strict=True)]
        weighed = [list(map(mul, doubt, column)) for column in self._columns]
        curvature = [[0.0] * len(slope) for _ in slope]
        for place, one in enumerate(weighed):
            for other in range(place + 1):
                product = fsum(map(mul, one, self._columns[other]))
                curvature[place][other] = curvature[other][place] = product
            curvature[place][place] += self._ridge
        return curvature, slope


def solve(matrix: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Solve a system of linear equations by elimination with pivots; *matrix* is regular."""
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    size = len(rows)
    for place in range(size):
        pivot = max(range(place, size), key=lambda at: abs(rows[at][place]))
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in rows[place + 1 :]:
            factor = row[place] / rows[place][place]
            row[place:] = [
                one - factor * other
                for one, other in zip(row[place:], rows[place][place:], strict=True)
            ]
    found = [0.0] * size
    for place in reversed(range(size)):
        known = fsum(map(mul, rows[place][place + 1 : size], found[place + 1 :]))
        found[place] = (rows[place][size] - known) / rows[place][place]
    return found


def sigmoid(logit: float) -> float:
    """Give the probability, in (0, 1), of a logit."""
    return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, logit))))


def log_loss(probability: float, is_right: bool) -> float:
    """Give the logarithmic loss of one probability; one of 0 or 1 counts as if almost so.

    Source: Gneiting & Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal
    of the American Statistical Association 102, 2007.
    """
    sure = probability if is_right else 1 - probability
    return -log(max(sure, _SUREST))


def evenly(keys: Sequence[Hashable], mass: Callable[[Hashable], float]) -> list[float]:
    """Give each sample its share: the *mass* of its key, divided among those of the same key."""
    counts = Counter(keys)
    return [mass(key) / counts[key] for key in keys]


def weighted_calibration_error(
    scores: Sequence[float], right: Sequence[bool], shares: Sequence[float], bins: int = BINS
) -> float:
    """Give the expected calibration error of samples that do not all count the same.

    The bins, in order of score, hold equal shares, and equal scores are in one bin; see
    `reliability_bins`.
    """
    total = fsum(shares)
    errors: list[list[float]] = [[] for _ in range(bins)]
    passed = 0.0
    rows = sorted(zip(scores, right, shares, strict=True))
    for _, alike in groupby(rows, key=itemgetter(0)):
        tied = list(alike)
        mass = fsum(share for _, _, share in tied)
        # Where their middle lies.
        place = int((passed + mass / 2) / total * bins)
        errors[min(place, bins - 1)] += [share * (score - hit) for score, hit, share in tied]
        passed += mass
    return fsum(abs(fsum(one)) for one in errors) / total
