"""Confidence: how sure the engine is that a match is wanted.

A logistic model of what the query and the match show of each other. No word, tool or language has
a coefficient of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import copysign, exp, fsum, log1p
from operator import itemgetter, mul
from typing import NamedTuple

from mcpg.search.features import Candidate, RankedCandidate
from mcpg.search.model import FEATURES, Model
from mcpg.search.query import Analysis
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL, RELATED_CREDIT
from mcpg.values import SHOWN_DECIMALS, round_score

LOW_CONFIDENCE = 0.35
"""Below this score the best match is reported as doubtful."""

MARGIN_DEPTH = 10
"""The rank whose fused score others are measured against."""

# Beyond it, a probability differs from 0 or 1 by nothing that is shown.
_STEEPEST = 40.0
_NEAREST = 5
# Names that are spelt out lead by more than any evidence does; so much lead is as clear as any.
_WIDEST = 5.0
# What the others reach of the best one's values where there are enough of them: medians over the
# sets of judged queries that the model was fitted on.
_USUAL_COSINE, _USUAL_GRAMS, _USUAL_STRENGTH = 0.4, 0.7, 0.45
_KNOWN = ("exact", "stem", "translation")
# What a tool adds for an intent depends on the matches above it, what kind of operation it does
# says nothing of what it does that to, and the tools in use say nothing of what is asked.
_without_lead = itemgetter(
    *map(
        FEATURES.index,
        ("operation", "question", "contextEdge", "contextWalk", "contextSource", "intent"),
    )
)


class Calibration(NamedTuple):
    """From evidence to a probability, for one match.

    Attributes:
        inputs: In the order of `INPUTS`, the first three times the content of the most telling word
            of the query that it holds, or of all where it holds none, for filler leads by nothing:
            its cosine with the query less the mean of those looked at; its cosine of 3-grams less
            the mean of the five greatest; the logarithm of one more than its fused score less that
            of the tenth, both without what they add for intents and kinds of operations, at most 5;
            that of one more than the number of the query's words that it holds, stop words
            aside; what share of them that is; the share of the query, by weight, that it answers,
            where a related word counts in part; the logarithm of one more than the number of the
            query's words, stop words among them; the cube of the share, of what it holds of the
            query, that it holds by repair alone, for a few slips are nothing and nothing but slips
            is noise; what related words add to its lexical score, and to the coverage of its name;
            the share of the query that its opening words take when they are the tool's whole name;
            1 when the query spells its name, else the share that an alias which opens it is.
        score: The probability that the match is wanted, in [0, 1].
    """

    inputs: tuple[float, ...]
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

    *ranked* are the best of the pool's *candidates*, at least 10 where there are so many; of these
    *limit* are calibrated, `None` for all. *tools* is the size of the catalogue.
    """
    evidence = CalibrationInputs(ranked, candidates, analysis, model, tools)
    calibrations: list[Calibration] = []
    lowest = 1.0
    for fused in ranked[:limit]:
        inputs = evidence.compute(fused.candidate, evidence.strength(fused))
        lowest = min(lowest, logistic(inputs, model.intercept, model.coefficients))
        calibrations.append(Calibration(inputs, lowest))
    return calibrations


def logistic(inputs: Sequence[float], intercept: float, coefficients: Sequence[float]) -> float:
    """Return 1 / (1 + exp(-logit)), in [0, 1], with `logit = intercept + inputs . coefficients`.

    Source: Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, 1999.
    """
    logit = intercept + fsum(map(mul, inputs, coefficients))
    if abs(logit) > _STEEPEST:
        logit = copysign(_STEEPEST, logit)
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
    """Return the *count* greatest of what was *found*, with others to make up the number.

    A tool that was not found counts 0. One that a small catalogue does not have counts the *usual*
    share of the greatest: to be better than nothing says nothing.
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
        pool = candidates[:POOL]
        cosines = _among([one.cosine for one in pool], POOL, _USUAL_COSINE, tools)
        grams = _among([one.grams for one in pool], _NEAREST, _USUAL_GRAMS, tools)
        self._mean = fsum(cosines) / POOL
        self._nearest = fsum(grams) / _NEAREST
        strengths = list(map(self.strength, ranked[:MARGIN_DEPTH]))
        self._floor = _among(strengths, MARGIN_DEPTH, _USUAL_STRENGTH, tools)[-1]
        self._length = log1p(len(analysis.words))
        # For each word of the query, what it adds to a sum; the context's come after.
        self._words: list[float] = []
        self._contents: list[float] = []
        self._known: list[float] = []
        self._held: list[float] = []
        self._related: list[float] = []
        for clause in analysis.clauses:
            if clause.origin == "query":
                weight, repairs, near = clause.weight, clause.repairs, clause.related_variants
                is_known = repairs and not repairs[0].distance and repairs[0].kind in _KNOWN
                self._words.append(weight)
                self._contents.append(clause.content)
                self._known.append(weight if is_known else 0.0)
                self._held.append(weight * repairs[0].similarity if repairs else 0.0)
                self._related.append(RELATED_CREDIT * weight * near[0][1] if near else 0.0)
        self._weight = fsum(self._words) or 1.0

    def strength(self, fused: RankedCandidate) -> float:
        """Return the fused score of the features that a lead may consist of."""
        return fused.score - fsum(map(mul, _without_lead(fused.values), self._weights))

    def compute(self, candidate: Candidate, strength: float) -> tuple[float, ...]:
        """Return the inputs of one match of that *strength*, in the order of `INPUTS`."""
        impacts = candidate.impacts
        held = list(compress(self._words, impacts))
        if held:
            content = max(compress(self._contents, impacts))
            share = len(held) / len(self._words)
            repaired = (1 - fsum(compress(self._known, impacts)) / fsum(held)) ** 3
        else:
            content, share, repaired = max(self._contents, default=1.0), 0.0, 0.0
        answered = list(compress(self._held, impacts))
        if candidate.gains:
            # Where the tool lacks a word, one that is related to it answers it in part.
            answered += [self._related[place] for place, _ in candidate.gains if not impacts[place]]
        return (
            content * (candidate.cosine - self._mean),
            content * (candidate.grams - self._nearest),
            content * log1p(min(max(strength - self._floor, 0.0), _WIDEST)),
            log1p(len(held)),
            share,
            fsum(answered) / self._weight,
            self._length,
            repaired,
            candidate.related,
            candidate.related_name,
            candidate.opening,
            candidate.exact,
        )
