"""Metrics of a ranking, of the calibration of its scores, and the significance of differences.

A ranking is a sequence of booleans, one a match: whether it is relevant. Calibration takes pairs of
a score in [0, 1] and whether the match is right.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby, product
from operator import itemgetter, mul
from typing import TypeAlias

from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.values import SHOWN_DECIMALS


def ndcg_at(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Return the normalized discounted cumulative gain of the first *k* matches.

    Source: Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM TOIS 20(4),
    2002; with the discount 1 / log2(rank + 1) that is usual since.
    """
    discounts = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
    return math.fsum(compress(discounts, hits)) / math.fsum(discounts[:relevant])


def recall_at(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Return the share of the relevant tools that are among the first *k* matches."""
    return sum(hits[:k]) / relevant


def reciprocal_rank(hits: Sequence[bool]) -> float:
    """Return 1 / rank of the first relevant match, 0 when there is none.

    Source: Voorhees: The TREC-8 question answering track report. TREC-8, 1999.
    """
    return next((1 / rank for rank, hit in enumerate(hits, start=1) if hit), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of *values*, at least one, that *share* of them do not exceed.

    Source: the nearest-rank method; Hyndman, Fan: Sample quantiles in statistical packages. The
    American Statistician 50(4), 1996, definition 1.
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


Scored: TypeAlias = "tuple[float, bool]"
"""A score and whether its match was right."""

BINS = 10

_CURVE_STEPS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a reliability diagram."""

    low: float
    high: float
    mean_score: float
    precision: float
    count: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What one would get by answering only from a score upwards.

    Attributes:
        coverage: Share that would be answered, above 0.
    """

    threshold: float
    coverage: float
    precision: float


def reliability_bins(scored: Sequence[Scored], bins: int = BINS) -> tuple[Bin, ...]:
    """Cut the pairs, in order of score, into *bins* of equal mass.

    Equal scores are in the bin of the middle one, because they have no order. So there are fewer
    bins if there are few different scores.

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
    found = []
    for part in filter(None, parts):
        scores, size = [score for score, _ in part], len(part)
        right = sum(hit for _, hit in part)
        found.append(Bin(scores[0], scores[-1], math.fsum(scores) / size, right / size, size))
    return tuple(found)


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Return the mean distance of score and precision over *bins*, weighed by their counts.

    Source: Naeini, Cooper, Hauskrecht: Obtaining well calibrated probabilities using Bayesian
    binning. AAAI 2015.
    """
    total = sum(one.count for one in bins)
    return math.fsum(abs(one.mean_score - one.precision) * one.count for one in bins) / total


def brier_score(scored: Sequence[Scored]) -> float:
    """Return the mean squared distance of score and outcome.

    Source: Brier: Verification of forecasts expressed in terms of probability. Monthly Weather
    Review 78(1), 1950.
    """
    return math.fsum((score - right) ** 2 for score, right in scored) / len(scored)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Return the chance that a positive score is above a negative one, ties counting half.

    `None` without positive or without negative scores.

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
    """Return precision and coverage at thresholds from 0 to 1 in equal steps.

    Thresholds that no score reaches are left out.

    Source: El-Yaniv, Wiener: On the foundations of noise-free selective classification. JMLR 11,
    2010; precision is 1 - risk.
    """
    points = []
    for threshold in (step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)):
        answered = [right for score, right in scored if score >= threshold]
        if answered:
            coverage, precision = len(answered) / len(scored), sum(answered) / len(answered)
            points.append(CurvePoint(threshold, coverage, precision))
    return tuple(points)


DEPTH = 10
"""The deepest rank that a metric considers, except for the mean reciprocal rank."""


@dataclass(frozen=True, slots=True)
class JudgedMatch:
    """A match, judged.

    Attributes:
        score: Its score, with `SHOWN_DECIMALS` decimals.
    """

    tool_id: str
    score: float
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The result of a search for one judged query.

    Attributes:
        judged: The tools that answer it, as its file names them.
        unknown: The names of no tool.
        context_tools: The ids of the tools in use, which also affected the ranking.
    """

    id: str
    query: str
    judged: tuple[str, ...]
    relevant: tuple[str, ...]
    unknown: tuple[str, ...]
    matches: tuple[JudgedMatch, ...]
    context_tools: tuple[str, ...] = ()

    @property
    def is_answerless(self) -> bool:
        return not self.judged

    @property
    def hits(self) -> list[bool]:
        """For each match whether it is relevant."""
        return [match.is_relevant for match in self.matches]

    @property
    def relevant_count(self) -> int:
        """How many tools answer it, including tools that cannot be found."""
        return len(self.relevant) + len(self.unknown)

    @property
    def rank(self) -> int | None:
        """The rank of the first relevant match, counted from 1."""
        return next((rank for rank, hit in enumerate(self.hits, start=1) if hit), None)

    @property
    def ndcg(self) -> float | None:
        if self.is_answerless:
            return None
        return round(ndcg_at(self.hits, self.relevant_count, 5), SHOWN_DECIMALS)

    @property
    def top_score(self) -> float:
        return self.matches[0].score if self.matches else 0.0

    @property
    def best_score(self) -> Scored:
        """The score of the best match and whether it was right."""
        return self.top_score, any(self.hits[:1])


RANKING: Mapping[str, Callable[[QueryOutcome], float]] = {
    "ndcg@5": lambda one: ndcg_at(one.hits, one.relevant_count, 5),
    "ndcg@10": lambda one: ndcg_at(one.hits, one.relevant_count, 10),
    "recall@1": lambda one: recall_at(one.hits, one.relevant_count, 1),
    "recall@5": lambda one: recall_at(one.hits, one.relevant_count, 5),
    "mrr": lambda one: reciprocal_rank(one.hits),
    "hit@1": lambda one: float(any(one.hits[:1])),
    "hit@5": lambda one: float(any(one.hits[:5])),
}
"""The figures of a ranking: means over the queries that a tool answers; more is better."""


def figures(outcomes: Sequence[QueryOutcome]) -> dict[str, float | None]:
    """Return every metric of the *outcomes*, with `SHOWN_DECIMALS` decimals.

    The keys are the metrics of `RANKING`, then `ece`, `brier`, `auroc` and `abstention`. Metrics
    without data are `None`.
    """
    answerable = [one for one in outcomes if not one.is_answerless]
    scored = [one.best_score for one in outcomes]
    right, wrong = split_scores(outcomes)
    answerless = [one for one in outcomes if one.is_answerless]
    made = {
        name: _mean([measure(one) for one in answerable]) for name, measure in RANKING.items()
    } | {
        "ece": expected_calibration_error(reliability_bins(scored)) if scored else None,
        "brier": brier_score(scored) if scored else None,
        "auroc": auroc(right, wrong),
        "abstention": _mean([float(is_abstaining(one)) for one in answerless]),
    }
    return {name: None if one is None else round(one, SHOWN_DECIMALS) for name, one in made.items()}


def split_scores(outcomes: Sequence[QueryOutcome]) -> tuple[list[float], list[float]]:
    """Return the best scores of the queries whose best match was right, and of all others."""
    scores: dict[bool, list[float]] = {True: [], False: []}
    for score, is_right in (one.best_score for one in outcomes):
        scores[is_right].append(score)
    return scores[True], scores[False]


def is_abstaining(outcome: QueryOutcome) -> bool:
    """Return whether the search reported low confidence, or found nothing."""
    return outcome.top_score < LOW_CONFIDENCE


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


RESAMPLES = 10_000
"""Random assignments of signs that are tried where all would be too many."""

_MOST_EXACT = 12
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Significance:
    """The result of a paired randomisation test.

    Attributes:
        p: Chance, in (0, 1], of a mean at least as far from 0 if signs were random.
        changed: How many of them differ.
    """

    difference: float
    p: float
    pairs: int
    changed: int


def paired_randomisation(differences: Sequence[float]) -> Significance:
    """Test whether the mean of *differences*, at least one, is 0.

    If two runs are equally good, each difference is equally likely with the opposite sign. With up
    to 12 differences all assignments of signs are counted, otherwise 10,000 random ones from a
    fixed seed, so that the result is the same every time.

    Sources: Smucker, Allan, Carterette: A comparison of statistical significance tests for
    information retrieval evaluation. CIKM 2007. Phipson, Smyth: Permutation p-values should never
    be zero. Statistical Applications in Genetics and Molecular Biology 9(1), 2010.
    """
    changed = [abs(one) for one in differences if one]
    total = math.fsum(differences)
    is_exact = len(changed) <= _MOST_EXACT
    if is_exact:
        every = product((1, -1), repeat=len(changed))
        sums = [math.fsum(map(mul, signs, changed)) for signs in every]
    else:
        draw, size = random.Random(0), len(changed)  # noqa: S311 - chance, not secrecy, is wanted
        whole = math.fsum(changed)
        masks = (f"{draw.getrandbits(size):0{size}b}" for _ in range(RESAMPLES))
        sums = [whole - 2 * math.fsum(compress(changed, map(int, mask))) for mask in masks]
    extreme = sum(abs(one) >= abs(total) - _TOLERANCE for one in sums)
    p = extreme / len(sums) if is_exact else (extreme + 1) / (len(sums) + 1)
    return Significance(total / len(differences), p, len(differences), len(changed))
