"""Confidence: how sure the engine is that a match is wanted.

A first model: logistic in how much of the query, weighed by rarity, the match answers. It is
the same for every catalogue and query, and rises with the fused score, so that it keeps the order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.engine.ranking import Ranked

LOW_CONFIDENCE = 0.35
"""Below this score the best match is reported as doubtful."""

DECIMALS = 9

INTERCEPT = -3.0
COEFFICIENTS = {"answeredShare": 6.0, "exactName": 3.0}


def features(ranked: Ranked) -> dict[str, float]:
    """Give the inputs of the model, by name."""
    return {"answeredShare": ranked.lexical, "exactName": ranked.exact}


def confidence(inputs: dict[str, float]) -> float:
    """Give the probability, in [0, 1], that a match with these inputs is wanted."""
    if not any(inputs.values()):
        return 0.0
    logit = INTERCEPT + sum(COEFFICIENTS[name] * value for name, value in inputs.items())
    return round(1 / (1 + math.exp(-logit)), DECIMALS)
