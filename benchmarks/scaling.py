"""A logistic regression whose prior does not depend on the units of the inputs."""

from __future__ import annotations

from math import fsum, log
from operator import mul
from typing import TYPE_CHECKING

from mcpg.tuning.fit import logistic

if TYPE_CHECKING:
    from collections.abc import Sequence


def standardised_logistic(
    rows: Sequence[Sequence[float]],
    right: Sequence[bool],
    shares: Sequence[float],
    *,
    ridge: float,
) -> tuple[float, ...]:
    """Return the coefficients, the intercept first, of a logistic regression.

    Inputs are first brought to mean 0 and variance 1. With no evidence the intercept is the share
    of what is right, as a logit, and the coefficients are 0; how much that is believed is *ridge*,
    in units of the mean log loss.
    """
    total = fsum(shares)
    weights = [share / total for share in shares]
    columns = list(zip(*rows, strict=True))
    means = [fsum(map(mul, weights, column)) for column in columns]
    scales = [
        fsum(weight * (one - mean) ** 2 for weight, one in zip(weights, column, strict=True)) ** 0.5
        or 1.0
        for column, mean in zip(columns, means, strict=True)
    ]
    moved = [
        [(one - mean) / scale for one, mean, scale in zip(row, means, scales, strict=True)]
        for row in rows
    ]
    share = fsum(weight for weight, hit in zip(weights, right, strict=True) if hit)
    prior = (log(share / (1 - share)), *[0.0] * len(means))
    intercept, *found = logistic(moved, right, weights, prior=prior, ridge=ridge)
    coefficients = [one / scale for one, scale in zip(found, scales, strict=True)]
    return intercept - fsum(map(mul, coefficients, means)), *coefficients
