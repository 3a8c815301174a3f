"""A logistic regression whose prior does not depend on the units of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 60
CLOSE = 1e-9


def standardised_logistic(
    rows: Sequence[Sequence[float]],
    right: Sequence[bool],
    shares: Sequence[float],
    *,
    ridge: float,
    most: Sequence[float] = (1.0,),
) -> tuple[float, ...]:
    """Return the coefficients, the intercept first, of a logistic regression, by Newton's method.

    Where *most* is given, the probability of a row is that of the regression times one of *most*.
    Inputs are first brought to mean 0 and variance 1. With no evidence the intercept is the share
    of what is right, as a logit, and the coefficients are 0; how much that is believed is *ridge*,
    in units of the mean log loss.
    """
    inputs, wanted = np.array(rows), np.array(right, dtype=float)
    weights = np.array(shares) / np.sum(shares)
    means = weights @ inputs
    scales = np.sqrt(weights @ (inputs - means) ** 2)
    scales[scales == 0] = 1.0
    moved = np.column_stack((np.ones(len(inputs)), (inputs - means) / scales))
    share = weights @ wanted
    prior = np.concatenate(([np.log(share / (1 - share))], np.zeros(len(means))))
    found = prior.copy()
    for _ in range(ROUNDS):
        alone = 1 / (1 + np.exp(-moved @ found))
        chances = alone * np.array(most)
        move = (1 - alone) / (1 - chances)
        slope = moved.T @ (weights * move * (chances - wanted)) + ridge * (found - prior)
        bend = (moved * (weights * move**2 * chances * (1 - chances))[:, None]).T @ moved
        step = np.linalg.solve(bend + ridge * np.eye(len(found)), slope)
        found -= step
        if np.abs(step).max() < CLOSE:
            break
    coefficients = found[1:] / scales
    return float(found[0] - coefficients @ means), *map(float, coefficients)
