"""Confidence: how sure the engine is that a match is wanted.

A first model: logistic in what the query and the match show of each other. Its coefficients were
fitted on judged queries, answerable and not, of several public catalogues; no word, tool or
language has a coefficient of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine.analysis import Analysis, Clause
    from mcpg.engine.bm25f import FieldedScorer
    from mcpg.engine.ranking import Ranked

LOW_CONFIDENCE = 0.35
"""Below this score the best match is reported as doubtful."""

DECIMALS = 9
INTERCEPT = -2.52
COEFFICIENTS = {
    "coverage": 2.27,
    "nameCoverage": 0.88,
    "unknownShare": -2.66,
    "lead": 1.06,
    "exactName": 3.0,
}
# A lead of twice the next score is as clear as a lead can be.
_MAX_LEAD = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """From evidence to a probability, for one match.

    Attributes:
        inputs: The model's features, by name: `coverage` is the share of the query, weighed by
            rarity, that the match holds; `nameCoverage` the share of its own name that the query
            holds; `unknownShare` the share of the query that no tool holds; `lead` its fused score
            over the best other one, at most 2; `exactName` 1 when the query spells its name.
        score: The probability that the match is wanted, in [0, 1].
    """

    inputs: dict[str, float]
    score: float


def calibrate(
    ranked: Sequence[Ranked], analysis: Analysis, scorer: FieldedScorer
) -> tuple[Calibration, ...]:
    """Give each of the *ranked* documents its probability; it never rises down the ranks."""
    inputs = [
        _inputs(one, lead, analysis, scorer)
        for one, lead in zip(ranked, _leads(ranked), strict=True)
    ]
    scores = accumulate(map(probability, inputs), min)
    return tuple(Calibration(*pair) for pair in zip(inputs, scores, strict=True))


def probability(inputs: dict[str, float]) -> float:
    """Give the model's probability, in [0, 1], for the *inputs* of one match."""
    logit = INTERCEPT + sum(COEFFICIENTS[name] * value for name, value in inputs.items())
    return round(1 / (1 + math.exp(-logit)), DECIMALS)


def _leads(ranked: Sequence[Ranked]) -> Iterator[float]:
    for rank, one in enumerate(ranked):
        other = ranked[0] if rank else ranked[1] if len(ranked) > 1 else None
        beaten = other.fused if other else 0.0
        yield min(one.fused / beaten, _MAX_LEAD) if beaten else _MAX_LEAD


def _inputs(
    ranked: Ranked, lead: float, analysis: Analysis, scorer: FieldedScorer
) -> dict[str, float]:
    asked = [clause for clause in analysis.clauses if clause.origin == "query"]
    total = analysis.total_weight or 1.0
    credit = sum(_credit(clause, ranked.document, scorer) * clause.weight for clause in asked)
    unknown = sum(clause.weight for clause in asked if clause.role == "unknown")
    return {
        "coverage": credit / total,
        "nameCoverage": ranked.name_coverage,
        "unknownShare": unknown / total,
        "lead": lead,
        "exactName": ranked.exact,
    }


def _credit(clause: Clause, document: int, scorer: FieldedScorer) -> float:
    """Give the credit of the best variant of *clause* that *document* holds, 0 without one."""
    return max(
        (credit for term, credit in clause.variants if document in scorer.impacts(term)),
        default=0.0,
    )
