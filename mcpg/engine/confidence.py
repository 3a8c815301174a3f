"""Confidence: how sure the engine is that a match is wanted.

A logistic model of what the query and the match show of each other. No word, tool or language has
a coefficient of its own.
"""

from __future__ import annotations

from math import exp, fsum

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.analysis import Analysis
    from mcpg.engine.fusion import Fused
    from mcpg.engine.model import Model

LOW_CONFIDENCE = 0.35
"""Below this score the best match is reported as doubtful."""

INPUTS = ("coverage", "nameCoverage", "unknownShare", "lead", "exactName")
"""The inputs of the calibration, in the order in which models list their coefficients."""

DECIMALS = 9
# A lead of twice the next score is as clear as a lead can be.
_MAX_LEAD = 2.0


@value
class Calibration:
    """From evidence to a probability, for one match.

    Attributes:
        inputs: In the order of `INPUTS`: the share of the query, weighed by rarity, that the match
            holds; the share of its own name that the query holds; the share of the query that no
            tool holds; its fused score over the best other one, at most 2; 1 when the query spells
            its name.
        score: The probability that the match is wanted, in [0, 1].
    """

    inputs: tuple[float, ...]
    score: float


def calibrate(ranked: Sequence[Fused], analysis: Analysis, model: Model) -> list[Calibration]:
    """Give each of the *ranked* candidates its probability; it never rises down the ranks."""
    unknown = fsum(clause.weight for clause in analysis.clauses if clause.role == "unknown")
    calibrations: list[Calibration] = []
    lowest = 1.0
    for rank, one in enumerate(ranked):
        candidate = one.candidate
        inputs = (
            candidate.coverage,
            candidate.name_coverage,
            unknown / analysis.total_weight,
            _lead(ranked, rank),
            candidate.exact,
        )
        lowest = min(lowest, probability(inputs, model))
        calibrations.append(Calibration(inputs, lowest))
    return calibrations


def probability(inputs: Sequence[float], model: Model) -> float:
    """Give the model's probability, in [0, 1], for the *inputs* of one match."""
    products = (one * weight for one, weight in zip(inputs, model.coefficients, strict=True))
    return round(1 / (1 + exp(-model.intercept - fsum(products))), DECIMALS)


def _lead(ranked: Sequence[Fused], rank: int) -> float:
    other = ranked[0] if rank else ranked[1] if len(ranked) > 1 else None
    beaten = other.score if other else 0.0
    return min(ranked[rank].score / beaten, _MAX_LEAD) if beaten > 0 else _MAX_LEAD
