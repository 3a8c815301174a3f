"""Fits of the model's two parts: fusion weights by coordinate ascent, calibration by regression.

Source: Metzler & Croft, "Linear feature-based models for information retrieval", Information
Retrieval 10(3), 2007: nDCG is not a smooth function of the weights, so each weight in turn is set
to the best value of a grid. Every step away from the initial weights has a cost that the gain must
exceed, so few queries cannot move them far.

A sample is the data of a search for one query, stored so that any model can rank it. nDCG only
depends on how many tools are ahead of each relevant tool. So a fit only needs contests, the
differences between features; and rivals that are ahead, or not, for all weights within bounds need
no further look. The contribution of intents is left out, because it depends on the order. Folds are
parts of the queries, each held out once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from math import exp, fsum, log, log2
from operator import itemgetter, mul

from mcpg.engine.loading import (
    BY_ORDER,
    CONTEXTUAL,
    FITTED,
    MOST_CONTEXT_WEIGHT,
    MOST_WEIGHT,
    contextual_weights,
)
from mcpg.evaluation.judged import Judgements, ResolvedJudgements
from mcpg.evaluation.metrics import ndcg_at, recall_at
from mcpg.index import Index
from mcpg.search.calibration import calibrate, weigh_inputs
from mcpg.search.features import MARGIN_DEPTH, Candidate, extract_features, fuse
from mcpg.search.model import FEATURES, Model, read_model
from mcpg.search.pipeline import Search, gather
from mcpg.search.query import Analysis
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL

DEPTH = 5
"""How many of the best matches a fit looks at."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A judged query, as a search sees it.

    Attributes:
        right: The documents that answer it.
        count: How many tools answer it, including tools that cannot be found.
    """

    analysis: Analysis
    candidates: list[Candidate]
    right: frozenset[int]
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class TopMatch:
    """One of the best matches of a query.

    Attributes:
        inputs: Inputs of the calibration, in the order of `INPUTS`.
        answerable: The same in the order of `ANSWERABLE_INPUTS`.
    """

    rank: int
    inputs: tuple[float, ...]
    answerable: tuple[float, ...]
    score: float
    is_right: bool


def look(
    query: str,
    index: Index,
    right: AbstractSet[int],
    *,
    count: int | None = None,
    hidden: AbstractSet[int] = frozenset(),
    uses_lexicon: bool = True,
    context_tools: Sequence[str] = (),
) -> Sample:
    """Return the candidates of a search for *query*.

    *right* are the documents that answer it, *count* is how many tools do, if more, and *hidden*
    documents are left out. With *uses_lexicon*, words also match related words and translations.
    *context_tools* are the ids of the tools in use.
    """
    request = SearchRequest(query, lexicon=uses_lexicon, context_tools=tuple(context_tools))
    analysis, pool = gather(Search(request, index, read_model(index), frozenset(hidden)), POOL)
    candidates = extract_features(pool.documents, analysis, index)
    known = max(len(right), count or 0)
    return Sample(analysis, candidates, frozenset(right - hidden), known, len(index))


def tops(sample: Sample, model: Model, depth: int = DEPTH) -> list[TopMatch]:
    """Return the best matches that *model* finds."""
    ranked = fuse(sample.candidates, model.weights, max(MARGIN_DEPTH, depth))
    calibrations = calibrate(ranked, sample.candidates, sample.analysis, model, sample.size)
    pairs = zip(ranked, calibrations, strict=True)
    return [
        TopMatch(
            rank, one.inputs, one.answerable, one.score, fused.candidate.document in sample.right
        )
        for rank, (fused, one) in enumerate(islice(pairs, depth))
    ]


DISCOUNTS = tuple(1 / log2(place + 2) for place in range(DEPTH))
"""The gain of a relevant tool at each rank."""

# Of equal scores, rounded to nine decimals, the smaller document number comes first.
_TIE = 5e-10


@dataclass(frozen=True, slots=True)
class RankingPair:
    """A relevant tool against its rivals.

    Attributes:
        worth: Its contribution to the objective at rank 1.
        ahead: How many rivals are ahead of it whatever the fitted weights are.
        leads: The lead of each other rival by features that are not fitted.
        columns: For each fitted feature, by how much each of these rivals has more of it.
    """

    worth: float
    ahead: int
    leads: tuple[float, ...]
    columns: tuple[tuple[float, ...], ...]


def build_ranking_pairs(
    sample: Sample,
    given: Sequence[float],
    share: float,
    *,
    fitted: Sequence[str] = FITTED,
    most: float = MOST_WEIGHT,
) -> Iterator[RankingPair]:
    """Return the contests of the relevant tools that can be among the first `DEPTH`.

    *given* are all weights, of which those that are not *fitted* count; *share* is what the query
    counts for in the objective, *most* the greatest weight that a fit gives.
    """
    places = [FEATURES.index(name) for name in fitted]
    own = [
        0.0 if name in fitted or name in BY_ORDER else weight
        for name, weight in zip(FEATURES, given, strict=True)
    ]
    ranked = fuse(sample.candidates, given, len(sample.candidates))
    rows = [(one.candidate.document, one.values) for one in ranked]
    ideal = sum(DISCOUNTS[: sample.count])
    for document, values in rows:
        if document in sample.right:
            rivals = [one for one in rows if one[0] != document]
            contest = _contest((document, values), rivals, own, places, share / ideal, most)
            if contest.ahead < DEPTH:
                yield contest


def _contest(
    relevant: tuple[int, Sequence[float]],
    rivals: Sequence[tuple[int, Sequence[float]]],
    fixed: Sequence[float],
    places: Sequence[int],
    worth: float,
    most: float,
) -> RankingPair:
    document, values = relevant
    ahead, leads, rows = 0, [], []
    for rival, has in rivals:
        more = [one - own for one, own in zip(has, values, strict=True)]
        lead = fsum(map(mul, more, fixed)) + (_TIE if rival < document else -_TIE)
        row = [more[place] for place in places]
        if lead + most * fsum(min(one, 0.0) for one in row) > 0:
            ahead += 1
        elif lead + most * fsum(max(one, 0.0) for one in row) > 0:
            leads.append(lead)
            rows.append(row)
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * len(places)
    return RankingPair(worth, ahead, tuple(leads), columns)


def number_groups(keys: Sequence[Collection[Hashable]]) -> list[int]:
    """Number the groups of items that share a key, directly or by way of others.

    Groups are numbered in the order of their first items.
    """
    parents = list(range(len(keys)))

    def root(item: int) -> int:
        while parents[item] != item:
            parents[item] = parents[parents[item]]
            item = parents[item]
        return item

    first: dict[Hashable, int] = {}
    for item, own in enumerate(keys):
        for key in own:
            one, other = root(first.setdefault(key, item)), root(item)
            parents[max(one, other)] = min(one, other)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(item), len(numbers)) for item in range(len(keys))]


def number_queries(queries: Iterable[tuple[str, Iterable[str]]]) -> list[int]:
    """Number the groups of queries, each with its answers, that ask the same or have the same."""
    return number_groups(
        [
            [
                ("query", " ".join(query.casefold().split())),
                *([("answers", *found)] if (found := sorted(set(answers))) else []),
            ]
            for query, answers in queries
        ]
    )


def assign_folds(groups: Sequence[int], count: int, seed: int = 0) -> list[int]:
    """Return each item its fold, from 0 to *count* - 1; no group is in two.

    In an order drawn by *seed*, the greatest groups first, each goes to the fold with the fewest
    items.
    """
    sizes = dict.fromkeys(groups, 0)
    for group in groups:
        sizes[group] += 1
    order = list(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - chance, not secrecy, is wanted
    order.sort(key=lambda group: -sizes[group])
    filled = [0] * count
    fold: dict[int, int] = {}
    for group in order:
        fold[group] = min(range(count), key=filled.__getitem__)
        filled[fold[group]] += sizes[group]
    return [fold[group] for group in groups]


GRID = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)

CONTEXT_GRID = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0, 3.0, 4.0)
"""The same of the features of tools in use."""

STARTS = 3
"""The number of starts of the ascent: the given weights, and others drawn by a seed."""

_ROUNDS = 4
_LEAST_GAIN = 1e-4
_WORTHS = (*DISCOUNTS, 0.0)


def ascend(
    contests: Sequence[RankingPair],
    start: Sequence[float],
    *,
    cost: float = 0.0,
    seed: int = 0,
    grid: Sequence[float] = GRID,
) -> tuple[float, ...]:
    """Return the fitted weights, in the order of *start*, that maximize the value of *contests*.

    They have values of the *grid*; the square of a step away from *start* has a *cost*. Further
    weights to begin with are drawn by *seed*.
    """
    draw = random.Random(seed)  # noqa: S311 - chance, not secrecy, is wanted
    starts = [list(start)]
    starts += [[draw.choice(grid) for _ in start] for _ in range(STARTS - 1)]
    climbs = [_Climb(contests, one, start, cost, grid) for one in starts]
    return tuple(max(climbs, key=_Climb.climb).weights)


def rate_contests(contests: Sequence[RankingPair], weights: Sequence[float]) -> float:
    """Return the value of *contests* under fitted *weights*; for one query, its nDCG@5."""
    return fsum(
        contest.worth
        * _WORTHS[min(contest.ahead + sum([lead > 0 for lead in _leads(contest, weights)]), DEPTH)]
        for contest in contests
    )


class _Climb:
    """One way up."""

    def __init__(
        self,
        contests: Sequence[RankingPair],
        begin: Sequence[float],
        home: Sequence[float],
        cost: float,
        grid: Sequence[float],
    ) -> None:
        self.weights = list(begin)
        self._grid = grid
        self._contests = contests
        self._home, self._cost = home, cost
        self._leads = [_leads(contest, begin) for contest in contests]

    def climb(self) -> float:
        reached = self._heights(0, [self.weights[0]])[0]
        for _ in range(_ROUNDS):
            before = reached
            for place in range(len(self.weights)):
                heights = self._heights(place, self._grid)
                best = max(heights)
                if best > reached + _LEAST_GAIN:
                    value = self._grid[heights.index(best)]
                    delta, self.weights[place] = value - self.weights[place], value
                    for contest, leads in zip(self._contests, self._leads, strict=True):
                        pairs = zip(leads, contest.columns[place], strict=True)
                        leads[:] = [lead + delta * more for lead, more in pairs]
                    reached = best
            if reached == before:
                break
        return reached

    def _heights(self, place: int, values: Sequence[float]) -> list[float]:
        """Return the objective at each of the *values* of one weight."""
        own = self.weights[place]
        deltas = [value - own for value in values]
        won: list[list[float]] = [[] for _ in values]
        for contest, leads in zip(self._contests, self._leads, strict=True):
            pairs = list(zip(leads, contest.columns[place], strict=True))
            for gains, delta in zip(won, deltas, strict=True):
                ahead = contest.ahead + sum([lead + delta * more > 0 for lead, more in pairs])
                gains.append(contest.worth * _WORTHS[min(ahead, DEPTH)])
        steps = [one - home for one, home in zip(self.weights, self._home, strict=True)]
        others = fsum(step * step for at, step in enumerate(steps) if at != place)
        tolls = [self._cost * (others + (value - self._home[place]) ** 2) for value in values]
        return [fsum(gains) - toll for gains, toll in zip(won, tolls, strict=True)]


def _leads(contest: RankingPair, weights: Sequence[float]) -> list[float]:
    rows = zip(*contest.columns, strict=True)
    return [
        lead + fsum(map(mul, row, weights)) for lead, row in zip(contest.leads, rows, strict=True)
    ]


BINS = 10

_MOST_ROUNDS = 50
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
    most: Sequence[float] = (),
) -> tuple[float, ...]:
    """Return the coefficients, the intercept first, of a logistic regression.

    If *most* is given, the probability of a row is the regression's times its value in *most*. The
    coefficients minimize the mean log loss and *ridge* times half the squared distance from
    *prior*, which assumes a normal distribution around it. By Newton's method; a step that
    increases the loss is halved.

    Source: le Cessie & van Houwelingen, "Ridge estimators in logistic regression", Applied
    Statistics 41(1), 1992.
    """
    fit = _Fit(rows, right, shares, prior, ridge, most or [1.0] * len(rows))
    found = list(prior)
    loss = fit.loss(found)
    for _ in range(_MOST_ROUNDS):
        step = solve(*fit.slope_and_curvature(found))
        ahead = [one - by for one, by in zip(found, step, strict=True)]
        for _ in range(_HALVINGS):
            if fit.loss(ahead) <= loss:
                break
            step = [by / 2 for by in step]
            ahead = [one - by for one, by in zip(found, step, strict=True)]
        found, loss = ahead, fit.loss(ahead)
        if max(map(abs, step)) < _CLOSE:
            break
    return tuple(found)


class _Fit:
    """The penalised log loss of a sample, and its derivatives."""

    def __init__(
        self,
        rows: Sequence[Sequence[float]],
        right: Sequence[bool],
        shares: Sequence[float],
        prior: Sequence[float],
        ridge: float,
        most: Sequence[float],
    ) -> None:
        total = fsum(shares) or 1.0
        self._rows = [(1.0, *row) for row in rows]
        self._columns = [[row[place] for row in self._rows] for place in range(len(prior))]
        self._shares = [share / total for share in shares]
        self._right, self._prior, self._ridge, self._most = right, prior, ridge, most

    def _probabilities(self, coefficients: Sequence[float]) -> list[float]:
        return [sigmoid(fsum(map(mul, row, coefficients))) for row in self._rows]

    def loss(self, coefficients: Sequence[float]) -> float:
        sure = map(mul, self._most, self._probabilities(coefficients))
        losses = map(log_loss, sure, self._right)
        pairs = zip(coefficients, self._prior, strict=True)
        squares = fsum((one - prior) * (one - prior) for one, prior in pairs)
        return fsum(map(mul, self._shares, losses)) + self._ridge * squares / 2

    def slope_and_curvature(
        self, coefficients: Sequence[float]
    ) -> tuple[list[list[float]], list[float]]:
        alone = self._probabilities(coefficients)
        sure = list(map(mul, self._most, alone))
        # The derivative of the product's logit by the regression's: 1 without *most*.
        moves = [(1 - own) / (1 - one) for own, one in zip(alone, sure, strict=True)]
        errors = [
            share * move * (one - hit)
            for share, move, one, hit in zip(self._shares, moves, sure, self._right, strict=True)
        ]
        slope = [
            fsum(map(mul, errors, column)) + self._ridge * (one - prior)
            for column, one, prior in zip(self._columns, coefficients, self._prior, strict=True)
        ]
        doubt = [
            share * move * move * one * (1 - one)
            for share, move, one in zip(self._shares, moves, sure, strict=True)
        ]
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
    """Return the probability, in (0, 1), of a logit."""
    return 1 / (1 + exp(-max(-_STEEPEST, min(_STEEPEST, logit))))


def log_loss(probability: float, is_right: bool) -> float:
    """Return the logarithmic loss of one probability; one of 0 or 1 counts as if almost so.

    Source: Gneiting & Raftery, "Strictly proper scoring rules, prediction, and estimation", Journal
    of the American Statistical Association 102, 2007.
    """
    sure = probability if is_right else 1 - probability
    return -log(max(sure, _SUREST))


def evenly(keys: Sequence[Hashable], mass: Callable[[Hashable], float]) -> list[float]:
    """Return the share of each sample: the *mass* of its key, divided among its samples."""
    counts = Counter(keys)
    return [mass(key) / counts[key] for key in keys]


def weighted_calibration_error(
    scores: Sequence[float], right: Sequence[bool], shares: Sequence[float]
) -> float:
    """Return the expected calibration error of weighted samples.

    The bins, in order of score, have equal shares, and equal scores are in one bin; see
    `reliability_bins`.
    """
    total = fsum(shares)
    errors: list[list[float]] = [[] for _ in range(BINS)]
    passed = 0.0
    rows = sorted(zip(scores, right, shares, strict=True))
    for _, alike in groupby(rows, key=itemgetter(0)):
        tied = list(alike)
        mass = fsum(share for _, _, share in tied)
        # The bin of their middle.
        place = int((passed + mass / 2) / total * BINS)
        errors[min(place, BINS - 1)] += [share * (score - hit) for score, hit, share in tied]
        passed += mass
    return fsum(abs(fsum(one)) for one in errors) / total


ANSWERLESS_SHARE = 0.2
"""The share of queries without an answer that scores are fitted for, if a file has fewer."""

LOWER = 0.05
"""The weight in a calibration of all matches of one rank below the best, whose weight is 1: the
first match matters most to users.
"""

MOST_QUERIES = 2_000
"""The most queries that are used: more take minutes, and teach next to nothing more."""

_JUDGED, _HIDDEN = "judged", "hidden"


@dataclass(frozen=True, slots=True)
class Case:
    """A judged query with two samples.

    Attributes:
        group: Number of its group: queries with the same text or the same tools.
        hidden: The sample of a catalog without the tools that answer it; `None` without any.
    """

    group: int
    sample: Sample
    hidden: Sample | None = None

    @property
    def is_answerable(self) -> bool:
        return self.sample.count > 0

    def list_samples(self) -> list[tuple[str, Sample]]:
        """Return its samples, by whether the answers were present or hidden."""
        hidden = [(_HIDDEN, self.hidden)] if self.hidden else []
        return [(_JUDGED, self.sample), *hidden]


@dataclass(frozen=True, slots=True)
class ScoredMatch:
    """The best match of one query under one model.

    Attributes:
        kind: Whether the query was asked as it is, or with its answers hidden.
    """

    kind: str
    score: float
    is_right: bool

    @property
    def loss(self) -> float:
        return log_loss(self.score, self.is_right)


def draw_judgements(judgements: Judgements, seed: int) -> Judgements:
    """Return *judgements*, or of very many `MOST_QUERIES` drawn by *seed*, in their order."""
    queries = judgements.queries
    if len(queries) <= MOST_QUERIES:
        return judgements
    chosen = random.Random(seed).sample(range(len(queries)), MOST_QUERIES)  # noqa: S311 - as in folds
    return replace(judgements, queries=tuple(queries[place] for place in sorted(chosen)))


def build_cases(
    resolved: ResolvedJudgements,
    index: Index,
    *,
    disabled: frozenset[int],
    uses_lexicon: bool = True,
) -> list[Case]:
    """Return the case of every query of a file, *uses_lexicon* as in `look`.

    Answers are hidden rather than removed, so words that only they have are still known.
    """
    groups = number_queries(
        [(one.judged.query, {*one.relevant, *one.unknown}) for one in resolved.queries]
    )
    cases = []
    for query, group in zip(resolved.queries, groups, strict=True):
        text, right = query.judged.query, frozenset(map(index.find_tool, query.relevant))
        looking = partial(
            look, text, index, uses_lexicon=uses_lexicon, context_tools=query.context_tools
        )
        sample = looking(right, count=query.relevant_count, hidden=disabled)
        hidden = looking(frozenset[int](), hidden=disabled | right) if right else None
        cases.append(Case(group, sample, hidden))
    return cases


def fit_weights(
    cases: Sequence[Case], home: Model, fitted: Sequence[float], *, belief: float, seed: int
) -> tuple[float, ...]:
    """Fit fusion weights on *cases*; if none has an answer, they do not change.

    *fitted*, the initial weights, count as *belief* queries; *home* has the others.
    """
    asked = [case.sample for case in cases if case.is_answerable]
    if not asked:
        return tuple(fitted)
    contests = [
        contest
        for one in asked
        for contest in build_ranking_pairs(one, home.weights, 1 / len(asked))
    ]
    return ascend(contests, fitted, cost=belief / len(asked), seed=seed)


def fit_contextual(
    cases: Sequence[Case], home: Model, *, belief: float, seed: int
) -> tuple[float, ...]:
    """Fit weights of `CONTEXTUAL` on the *cases* that name tools in use; see `fit_weights`.

    Without any, the weights of *home* do not change.
    """
    samples = [case.sample for case in cases if case.is_answerable]
    samples = [one for one in samples if one.analysis.used is not None]
    start = contextual_weights(home)
    if not samples:
        return start
    contests = [
        contest
        for one in samples
        for contest in build_ranking_pairs(
            *(one, home.weights, 1 / len(samples)), fitted=CONTEXTUAL, most=MOST_CONTEXT_WEIGHT
        )
    ]
    return ascend(contests, start, cost=belief / len(samples), seed=seed, grid=CONTEXT_GRID)


def fit_calibration(cases: Sequence[Case], model: Model, *, belief: float) -> tuple[float, ...]:
    """Fit the calibration to what *model* ranks highest; see `fit_weights`.

    The intercept comes first, then the coefficients in the order of `INPUTS`.
    """
    found = [
        (kind, top)
        for case in cases
        for kind, sample in case.list_samples()
        for top in tops(sample, model)
    ]
    shares = evenly([(kind, top.rank) for kind, top in found], _masses(cases).__getitem__)
    return logistic(
        [top.inputs for _, top in found],
        [top.is_right for _, top in found],
        shares,
        prior=(model.intercept, *model.coefficients),
        ridge=belief / len(cases),
        most=[
            sigmoid(weigh_inputs(top.answerable, model.answerable[0], model.answerable[1:]))
            for _, top in found
        ],
    )


def _masses(cases: Sequence[Case]) -> dict[object, float]:
    without = sum(not case.is_answerable for case in cases) / len(cases)
    hidden = max(0.0, ANSWERLESS_SHARE - without)
    return {
        (kind, rank): mass * (LOWER if rank else 1.0)
        for kind, mass in ((_JUDGED, 1 - hidden), (_HIDDEN, hidden))
        for rank in range(DEPTH)
    }


def best_scored(case: Case, model: Model) -> list[ScoredMatch]:
    """Return the best match of a case as it is, and with its answers hidden; none scores 0."""
    found = []
    for kind, sample in case.list_samples():
        best = [(top.score, top.is_right) for top in tops(sample, model, 1)]
        found.append(ScoredMatch(kind, *(best or [(0.0, False)])[0]))
    return found


def compute_shares(scored: Sequence[ScoredMatch], cases: Sequence[Case]) -> list[float]:
    """Return what each of the best matches of *cases* counts for."""
    return evenly([(one.kind, 0) for one in scored], _masses(cases).__getitem__)


def ranked_figures(case: Case, model: Model) -> tuple[float, float]:
    """Return nDCG@5 and recall@5 of a case that has an answer."""
    hits = [top.is_right for top in tops(case.sample, model)]
    return ndcg_at(hits, case.sample.count, DEPTH), recall_at(hits, case.sample.count, DEPTH)
