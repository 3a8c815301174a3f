"""Confidence: the probability that a match is wanted, from what it and the query share.

Coefficients are not specific to a word, tool or language.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import copysign, exp, expm1, fsum, log, log1p
from operator import itemgetter, mul
from typing import NamedTuple

from mcpg.search.features import MARGIN_DEPTH, Candidate, RankedCandidate
from mcpg.search.model import FEATURES, Model
from mcpg.search.query import Analysis
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL, RELATED_CREDIT
from mcpg.values import SHOWN_DECIMALS, round_score

LOW_CONFIDENCE = 0.35
"""Below this score the best match is reported as doubtful."""

# Beyond it, a probability differs from 0 or 1 by nothing that is shown.
_STEEPEST = 40.0
_NEAREST = 5
# Copies of a tool have the same strength.
_SAME = 1e-9
# Spelt-out names lead by more than any other evidence; a lead is capped here.
_WIDEST = 5.0
# Of a request of so many words or more, several tools answer a part each: a lead over the next
# proves nothing.
_LONG = 9
# What the others reach of the best one's values where there are enough of them: medians over sets
# of judged queries.
_USUAL_GRAMS, _USUAL_MEANING, _USUAL_STRENGTH = 0.7, 0.8, 0.45
# The contribution of an intent depends on the matches above. The kind of operation does not
# identify its object, and the tools in use do not describe the request.
_without_lead = itemgetter(
    *map(
        FEATURES.index,
        ("operation", "question", "contextEdge", "contextWalk", "contextSource", "intent"),
    )
)


class Calibration(NamedTuple):
    """From evidence to a probability, for one match.

    Attributes:
        inputs: In the order of `INPUTS`.
        answerable: In the order of `ANSWERABLE_INPUTS`; none where vectors rank.
        score: The probability that the match is wanted, in [0, 1].
    """

    inputs: tuple[float, ...]
    answerable: tuple[float, ...]
    score: float


def calibrate(
    ranked: Sequence[RankedCandidate],
    candidates: Sequence[Candidate],
    analysis: Analysis,
    model: Model,
    tools: int,
    limit: int | None = None,
) -> list[Calibration]:
    """Return the probability of each of the *ranked* candidates; it never rises down the ranks.

    *ranked* are the best of the pool's *candidates*, at least 10 if the pool has as many. The first
    *limit* are calibrated, `None` for all. *tools* is the size of the catalog.
    """
    evidence = CalibrationInputs(ranked, candidates, analysis, model, tools)
    calibrations: list[Calibration] = []
    lowest = 1.0
    for fused in ranked[:limit]:
        inputs = evidence.compute(fused.candidate, evidence.strength(fused))
        answerable = evidence.compute_answerable(fused.candidate)
        lowest = min(lowest, logistic(compute_logit(inputs, answerable, model)))
        calibrations.append(Calibration(inputs, answerable, lowest))
    return calibrations


def compute_logit(inputs: Sequence[float], answerable: Sequence[float], model: Model) -> float:
    """Return the logit of the product of two probabilities.

    The first is that the catalog answers the request at all, the second that this tool does then.
    """
    chosen = weigh_inputs(inputs, model.intercept, model.coefficients)
    first, *others = model.answerable
    return -log(expm1(log1p(exp(-chosen)) + log1p(exp(-weigh_inputs(answerable, first, others)))))


def weigh_inputs(inputs: Sequence[float], intercept: float, coefficients: Sequence[float]) -> float:
    """Return `intercept + inputs . coefficients`, within bounds that `exp` takes."""
    logit = intercept + fsum(map(mul, inputs, coefficients))
    return copysign(_STEEPEST, logit) if abs(logit) > _STEEPEST else logit


def logistic(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), in [0, 1].

    Source: Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, 1999.
    """
    return round_score(1 / (1 + exp(-logit)))


def worth_offering(scores: Sequence[float], request: SearchRequest) -> int:
    """Return how many of the *scores*, which never rise, are worth offering to *request*.

    They are compared as they are shown, with six decimals.
    """
    if request.abstain and (not scores or scores[0] < LOW_CONFIDENCE):
        return 0
    if not request.min_score:
        return len(scores)
    return sum(round(score, SHOWN_DECIMALS) >= request.min_score for score in scores)


def _among(found: Sequence[float], count: int, usual: float, tools: int) -> list[float]:
    """Return the *count* greatest values of *found*, padded if there are fewer.

    A tool that was not found counts as 0. A tool that a small catalog lacks counts as the *usual*
    share of the greatest value: a lead over nothing is not evidence.
    """
    greatest = sorted(found, reverse=True)[:count]
    if len(greatest) == count:
        return greatest
    greatest += [0.0] * (min(tools, count) - len(greatest))
    return greatest + [usual * max(greatest, default=0.0)] * (count - len(greatest))


class CalibrationInputs:
    """Computes the inputs of the calibration for the matches of one search."""

    def __init__(
        self,
        ranked: Sequence[RankedCandidate],
        candidates: Sequence[Candidate],
        analysis: Analysis,
        model: Model,
        tools: int,
    ) -> None:
        self._weights = _without_lead(model.weights)
        # Whatever the limit, a match is compared with the same others.
        grams = _among([one.grams for one in candidates[:POOL]], _NEAREST, _USUAL_GRAMS, tools)
        self._nearest = fsum(grams) / _NEAREST
        near = _among([one.nearness for one in candidates[:POOL]], _NEAREST, _USUAL_MEANING, tools)
        self._meaning = fsum(near) / _NEAREST
        strengths = list(map(self.strength, ranked[:MARGIN_DEPTH]))
        self._strengths = _among(strengths, MARGIN_DEPTH, _USUAL_STRENGTH, tools)
        self._named = sum(one.exact == 1.0 for one in candidates[:POOL])
        self._length = log1p(len(analysis.words))
        # For each word of the query, what it adds to a sum; the context's come after.
        asked = [clause for clause in analysis.clauses if clause.origin == "query"]
        self._words = [clause.weight for clause in asked]
        self._contents = [clause.content for clause in asked]
        self._answers = [
            one.weight * one.repairs[0].similarity if one.repairs else 0.0 for one in asked
        ]
        self._related = [
            RELATED_CREDIT * one.weight * one.related_variants[0][1]
            if one.related_variants
            else 0.0
            for one in asked
        ]
        self._shortness = max(0.0, 1 - (len(asked) - 1) / (_LONG - 1))

    def strength(self, fused: RankedCandidate) -> float:
        """Return the fused score of the features that count in a lead."""
        return fused.score - fsum(map(mul, _without_lead(fused.values), self._weights))

    def compute(self, candidate: Candidate, strength: float) -> tuple[float, ...]:
        """Return the inputs of one match of that *strength*, in the order of `INPUTS`."""
        held = list(compress(self._contents, candidate.impacts))
        content = max(held or self._contents, default=1.0)
        others = [one for one in self._strengths if abs(one - strength) > _SAME] or [strength]
        return (
            content * (candidate.grams - self._nearest),
            candidate.nearness - self._meaning,
            content * _soften(strength - self._strengths[-1]),
            content * self._shortness * _soften(strength - others[0]),
            self._length,
            candidate.related_name,
            candidate.operation,
            self._exact(candidate),
        )

    def compute_answerable(self, candidate: Candidate) -> tuple[float, ...]:
        """Return the same in the order of `ANSWERABLE_INPUTS`."""
        impacts = candidate.impacts
        parts = list(compress(self._answers, impacts))
        related = {place for place, _ in candidate.gains if not impacts[place]}
        # A related word answers a missing word in part.
        answered = fsum([*parts, *(self._related[place] for place in related)])
        missing = [
            weight
            for place, weight in enumerate(self._words)
            if not impacts[place] and place not in related
        ]
        heaviest = max(missing, default=0.0)
        return (
            log1p(fsum(compress(self._contents, impacts))),
            self._length,
            heaviest / (answered + heaviest or 1.0),
            self._exact(candidate),
        )

    def _exact(self, candidate: Candidate) -> float:
        """Return how much of the query names the tool, shared by all that it names."""
        return candidate.exact / max(1, self._named)


def _soften(lead: float) -> float:
    return log1p(min(max(lead, 0.0), _WIDEST))
