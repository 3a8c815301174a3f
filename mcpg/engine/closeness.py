"""Closeness: how near a tool is to the query by its vector, and what that weighs in one query.

One vector represents a short request well and blurs a long one, and words that separate the tools
clearly need less help. So the weight depends on the query, by a log-linear model: the logarithm of
the weight is a linear function of a few inputs. Two scores whose weights have a ratio that is
log-linear are mixed by a logistic weight, as by the gate of a mixture of experts.

Source: Jacobs, Jordan, Nowlan & Hinton, "Adaptive mixtures of local experts", Neural Computation
3(1), 1991.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, log1p
from operator import mul
from typing import Any

from mcpg.engine.confidence import MARGIN_DEPTH
from mcpg.engine.query import Analysis
from mcpg.engine.vectors import VectorScores
from mcpg.values import DECIMALS

WEIGHT_INPUTS = ("contentWords", "graphMargin")
"""The inputs of the weight, in order: the logarithm of one more than the number of words of the
query that can find tools, known or not; the logarithm of the lead of the graph's best tool over its
tenth, by fused scores without intents."""

LEAST_WEIGHT, MOST_WEIGHT = 0.5, 12.0
"""Bounds of the weight; the greatest is half the weight of an exact name."""

_LEAST_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class ClosenessWeight:
    """The weight of closeness in one query, and why.

    Attributes:
        inputs: In the order of `WEIGHT_INPUTS`.
        intercept: The logarithm of the weight where every input is 0.
        coefficients: The coefficients of the inputs.
        weight: The exponential of their sum, within bounds.
    """

    inputs: tuple[float, ...]
    intercept: float
    coefficients: tuple[float, ...]
    weight: float


def weight_inputs(strengths: Sequence[float], analysis: Analysis) -> tuple[float, ...]:
    """Return the inputs of the weight; *strengths* are the graph's fused scores without intents."""
    words = sum(clause.origin == "query" for clause in analysis.clauses)
    greatest = [*sorted(strengths, reverse=True)[:MARGIN_DEPTH], 0.0]
    tenth = greatest[MARGIN_DEPTH - 1] if len(strengths) >= MARGIN_DEPTH else 0.0
    return log1p(words), log(max(greatest[0] - tenth, _LEAST_MARGIN))


def weigh(inputs: Sequence[float], fitted: Mapping[str, Any]) -> ClosenessWeight:
    """Return the weight that the *fitted* intercept and coefficients make of the *inputs*."""
    intercept = float(fitted["intercept"])
    coefficients = tuple(float(fitted["coefficients"][name]) for name in WEIGHT_INPUTS)
    exponent = intercept + fsum(map(mul, inputs, coefficients))
    bounded = min(max(exponent, log(LEAST_WEIGHT)), log(MOST_WEIGHT))
    return ClosenessWeight(tuple(inputs), intercept, coefficients, round(exp(bounded), DECIMALS))


def closeness(vector_scores: VectorScores, tool: int) -> float:
    """Return the standardised cosine of a tool as a share of the nearest one's, at least 0."""
    if not vector_scores.best:
        return 0.0
    return max(vector_scores.standard_score(tool), 0.0) / vector_scores.best
