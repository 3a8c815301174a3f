"""What a search made of judged queries, and the figures that sum it up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.evaluation.calibration import (
    auroc,
    brier_score,
    expected_calibration_error,
    reliability_bins,
)
from mcpg.evaluation.metrics import first_rank, hit_at, ndcg_at, recall_at, reciprocal_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcpg.evaluation.calibration import Scored

SCORE_DECIMALS = 6
"""Decimals of the scores and figures of a report."""

DEPTH = 10
"""The deepest rank that a figure looks at, but for the mean reciprocal rank."""


@dataclass(frozen=True, slots=True)
class Found:
    """A match, judged.

    Attributes:
        tool_id: The tool.
        score: Its score, with `SCORE_DECIMALS` decimals.
        is_relevant: Whether a person says that it answers the query.
    """

    tool_id: str
    score: float
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search made of one judged query.

    Attributes:
        id: Name of the query.
        query: The query.
        judged: What its file calls the tools that answer it.
        relevant: The ids of these tools.
        unknown: Those of the names that mean no tool.
        matches: What was found, best first.
    """

    id: str
    query: str
    judged: tuple[str, ...]
    relevant: tuple[str, ...]
    unknown: tuple[str, ...]
    matches: tuple[Found, ...]

    @property
    def is_answerless(self) -> bool:
        """Whether a person said that no tool answers it."""
        return not self.judged

    @property
    def hits(self) -> list[bool]:
        """For each match whether it is relevant."""
        return [match.is_relevant for match in self.matches]

    @property
    def relevant_count(self) -> int:
        """How many tools answer it, those that cannot be found among them."""
        return len(self.relevant) + len(self.unknown)

    @property
    def rank(self) -> int | None:
        """Rank of the first relevant match, counted from 1."""
        return first_rank(self.hits)

    @property
    def ndcg(self) -> float | None:
        """The nDCG@5, `None` when no tool answers the query."""
        if self.is_answerless:
            return None
        return round(ndcg_at(self.hits, self.relevant_count, 5), SCORE_DECIMALS)

    @property
    def top_score(self) -> float:
        """Score of the best match, 0 when there is none."""
        return self.matches[0].score if self.matches else 0.0

    @property
    def scored(self) -> Scored:
        """The score of the best match and whether it was right."""
        return self.top_score, any(self.hits[:1])


RANKING: Mapping[str, Callable[[Outcome], float]] = {
    "ndcg@5": lambda one: ndcg_at(one.hits, one.relevant_count, 5),
    "ndcg@10": lambda one: ndcg_at(one.hits, one.relevant_count, 10),
    "recall@1": lambda one: recall_at(one.hits, one.relevant_count, 1),
    "recall@5": lambda one: recall_at(one.hits, one.relevant_count, 5),
    "mrr": lambda one: reciprocal_rank(one.hits),
    "hit@1": lambda one: hit_at(one.hits, 1),
    "hit@5": lambda one: hit_at(one.hits, 5),
}
"""The figures of a ranking: means over the queries that a tool answers; more is better."""


def figures(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    """Give every figure of the *outcomes*, with `SCORE_DECIMALS` decimals.

    The keys are those of `RANKING`, then `ece`, `brier`, `auroc` and `abstention`. What there is
    nothing to measure by is `None`.
    """
    made = ranking_figures(outcomes) | trust_figures(outcomes)
    return {name: None if one is None else round(one, SCORE_DECIMALS) for name, one in made.items()}


def ranking_figures(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    """Give the figures of `RANKING`."""
    answerable = [one for one in outcomes if not one.is_answerless]
    return {name: _mean([measure(one) for one in answerable]) for name, measure in RANKING.items()}


def trust_figures(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    """Give the figures of the scores: how far they may be trusted."""
    scored = [one.scored for one in outcomes]
    right, wrong = split_scores(outcomes)
    answerless = [one for one in outcomes if one.is_answerless]
    return {
        "ece": expected_calibration_error(reliability_bins(scored)) if scored else None,
        "brier": brier_score(scored) if scored else None,
        "auroc": auroc(right, wrong),
        "abstention": _mean([float(is_abstaining(one)) for one in answerless]),
    }


def split_scores(outcomes: Sequence[Outcome]) -> tuple[list[float], list[float]]:
    """Give the best scores of the queries whose best match was right, and of all others."""
    pick = partial(_scores_of, [one.scored for one in outcomes])
    return pick(is_right=True), pick(is_right=False)


def is_abstaining(outcome: Outcome) -> bool:
    """Tell whether the search said that it is not sure, or said nothing."""
    return outcome.top_score < LOW_CONFIDENCE


def _scores_of(scored: Sequence[Scored], *, is_right: bool) -> list[float]:
    return [score for score, right in scored if right is is_right]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
