"""Cases: judged queries made ready for a fit, and what a model makes of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.evaluation.metrics import ndcg_at, recall_at
from mcpg.tuning.ascent import ascend
from mcpg.tuning.contests import contests_of
from mcpg.tuning.folds import grouped
from mcpg.tuning.logistic import evenly, log_loss, logistic
from mcpg.tuning.samples import DEPTH, look, tops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine.model import Model
    from mcpg.evaluation.judged import Judgements
    from mcpg.evaluation.resolved import Resolved, ResolvedQuery
    from mcpg.index import Index
    from mcpg.tuning.samples import Sample, Top

ANSWERLESS_SHARE = 0.3
"""The share of queries without an answer that scores are made for, where a file has fewer."""

LOWER = 0.05
"""What all matches of one rank below the best count for in a calibration, where the best are 1:
what users look at first is to be right before all."""

MOST_QUERIES = 2_000
"""The most queries that are looked at: more would take minutes, and teach next to nothing more."""

_JUDGED, _HIDDEN = "judged", "hidden"


@dataclass(frozen=True, slots=True)
class Case:
    """A judged query, looked at twice.

    Attributes:
        group: Number of its group: those that ask the same, or for the same tools.
        sample: The query as it is.
        hidden: The same, had the catalogue none of the tools that answer it; `None` when there is
            none anyway.
    """

    group: int
    sample: Sample
    hidden: Sample | None = None

    @property
    def is_answerable(self) -> bool:
        """Whether a tool answers it."""
        return self.sample.count > 0


@dataclass(frozen=True, slots=True)
class Scored:
    """The best match of one query under one model.

    Attributes:
        kind: Whether the query was asked as it is, or with its answers hidden.
        score: Its score.
        is_right: Whether it answers the query.
    """

    kind: str
    score: float
    is_right: bool

    @property
    def loss(self) -> float:
        """Its logarithmic loss."""
        return log_loss(self.score, self.is_right)


def drawn(judgements: Judgements, seed: int) -> Judgements:
    """Give *judgements*, or of very many `MOST_QUERIES`, drawn by *seed*.

    They keep their order.
    """
    queries = judgements.queries
    if len(queries) <= MOST_QUERIES:
        return judgements
    chosen = random.Random(seed).sample(range(len(queries)), MOST_QUERIES)  # noqa: S311 - as in folds
    return replace(judgements, queries=tuple(queries[place] for place in sorted(chosen)))


def cases_of(resolved: Resolved, index: Index, *, disabled: frozenset[int]) -> list[Case]:
    """Look at every query of a file.

    Its answers are hidden rather than taken out, so words that stand in them alone are still known.
    """
    groups = grouped([_keys(one) for one in resolved.queries])
    return [
        _case(one, group, index, disabled)
        for one, group in zip(resolved.queries, groups, strict=True)
    ]


def _keys(query: ResolvedQuery) -> list[tuple[str, ...]]:
    asked = " ".join(query.judged.query.casefold().split())
    tools = tuple(sorted({*query.relevant, *query.unknown}))
    return [("query", asked), *([("tools", *tools)] if tools else [])]


def _case(query: ResolvedQuery, group: int, index: Index, disabled: frozenset[int]) -> Case:
    text, right = query.judged.query, frozenset(map(index.find_tool, query.relevant))
    sample = look(text, index, right, count=query.relevant_count, hidden=disabled)
    if not right:
        return Case(group, sample)
    return Case(group, sample, look(text, index, frozenset(), hidden=disabled | right))


def fit_weights(
    cases: Sequence[Case], home: Model, fitted: Sequence[float], *, belief: float, seed: int
) -> tuple[float, ...]:
    """Fit fusion weights on *cases*; where none has an answer, they stay as they are.

    Args:
        cases: The queries; those without an answer count for nothing.
        home: The model whose other weights stand.
        fitted: Its fitted weights, which are the first guess.
        belief: How many queries this guess is worth.
        seed: Draws further guesses.
    """
    asked = [case.sample for case in cases if case.is_answerable]
    if not asked:
        return tuple(fitted)
    contests = [
        contest for one in asked for contest in contests_of(one, home.weights, 1 / len(asked))
    ]
    return ascend(contests, fitted, cost=belief / len(asked), seed=seed)


def fit_calibration(cases: Sequence[Case], model: Model, *, belief: float) -> tuple[float, ...]:
    """Fit the calibration to what *model* ranks highest; see `fit_weights`.

    The intercept comes first, then the coefficients in the order of `INPUTS`.
    """
    found = [
        (kind, top)
        for case in cases
        for kind, sample in _samples(case)
        for top in tops(sample, model)
    ]
    mass = _masses(cases)
    shares = evenly([(kind, top.rank) for kind, top in found], lambda key: mass[key])
    return logistic(
        [top.inputs for _, top in found],
        [top.is_right for _, top in found],
        shares,
        prior=(model.intercept, *model.coefficients),
        ridge=belief / len(cases),
    )


def _masses(cases: Sequence[Case]) -> dict[object, float]:
    """Give what all samples of one kind and rank count for."""
    without = sum(not case.is_answerable for case in cases) / len(cases)
    hidden = max(0.0, ANSWERLESS_SHARE - without)
    return {
        (kind, rank): mass * (LOWER if rank else 1.0)
        for kind, mass in ((_JUDGED, 1 - hidden), (_HIDDEN, hidden))
        for rank in range(DEPTH)
    }


def _samples(case: Case) -> list[tuple[str, Sample]]:
    hidden = [(_HIDDEN, case.hidden)] if case.hidden else []
    return [(_JUDGED, case.sample), *hidden]


def best_scored(case: Case, model: Model) -> list[Scored]:
    """Give the best match of a case as it is, and with its answers hidden; none scores 0."""
    return [_best(kind, tops(sample, model, 1)) for kind, sample in _samples(case)]


def _best(kind: str, found: Sequence[Top]) -> Scored:
    return Scored(kind, found[0].score, found[0].is_right) if found else Scored(kind, 0.0, False)


def shares_of(scored: Sequence[Scored], cases: Sequence[Case]) -> list[float]:
    """Give what each of the best matches of *cases* counts for."""
    mass = _masses(cases)
    return evenly([(one.kind, 0) for one in scored], lambda key: mass[key])


def ranked_figures(case: Case, model: Model) -> tuple[float, float]:
    """Give nDCG@5 and recall@5 of a case that has an answer."""
    hits = [top.is_right for top in tops(case.sample, model)]
    return ndcg_at(hits, case.sample.count, DEPTH), recall_at(hits, case.sample.count, DEPTH)
