from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import lopsided
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpg.engine.loading import FITTED, MOST_WEIGHT, merge_fitted_weights, shipped_ranking
from mcpg.evaluation.fit import (
    DISCOUNTS,
    GRID,
    RankingPair,
    ascend,
    build_ranking_pairs,
    ranked_figures,
    rate_contests,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.evaluation.fit import Case
    from mcpg.evaluation.judged import Judgements

MODEL = shipped_ranking().model
WEIGHTS = st.lists(st.sampled_from(GRID), min_size=len(FITTED), max_size=len(FITTED))
START = [1.0] * len(FITTED)


def single(place: int, more: float, lead: float = 0.0) -> RankingPair:
    """Make a contest with one rival, who differs in one fitted feature."""
    columns = [(0.0,)] * len(FITTED)
    columns[place] = (more,)
    return RankingPair(1.0, 0, (lead,), tuple(columns))


def worth(contests: list[RankingPair], weights: list[float]) -> float:
    """Say what is won under *weights*."""
    won = []
    for contest in contests:
        rows = list(zip(*contest.columns, strict=True)) or [()] * len(contest.leads)
        ahead = contest.ahead + sum(
            lead + fsum(w * x for w, x in zip(weights, row, strict=False)) > 0
            for lead, row in zip(contest.leads, rows, strict=True)
        )
        won.append(contest.worth * (*DISCOUNTS, 0.0)[min(ahead, 5)])
    return fsum(won)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(weights=WEIGHTS)
def test_contests_are_worth_the_ndcg(
    weights: list[float], cases: Callable[[Judgements], list[Case]]
) -> None:
    """What contests are worth under any weights of the grid is the nDCG of the ranking itself."""
    model = MODEL._replace(weights=merge_fitted_weights(weights))
    for case in cases(lopsided.by_name(5)):
        found = list(build_ranking_pairs(case.sample, MODEL.weights, 1.0))
        assert worth(found, weights) == pytest.approx(ranked_figures(case, model)[0])
        assert rate_contests(found, weights) == pytest.approx(worth(found, weights))


def test_a_weight_is_found_that_puts_the_right_one_first() -> None:
    """Where a rival has less of a feature, its weight grows until that outweighs the lead."""
    found = ascend([single(2, -1.0, lead=1.2)], START)
    assert found[2] > 1.2
    assert [one for place, one in enumerate(found) if place != 2] == START[:-1]


def test_weights_that_win_everything_stay() -> None:
    """Nothing moves where nothing can be gained."""
    assert ascend([single(0, -1.0)], START) == tuple(START)


def test_a_step_must_be_worth_its_cost() -> None:
    """A cost above the gain keeps the weights where they are; one below does not."""
    contests = [single(1, -1.0, lead=1.2)]
    assert ascend(contests, START, cost=4.0) == tuple(START)
    assert ascend(contests, START, cost=0.1)[1] == 1.5


def test_the_weights_stay_on_the_grid_or_at_home() -> None:
    """A weight that is fitted is one of the grid, and the grid is what a bundle may carry."""
    assert max(GRID) == MOST_WEIGHT
    assert min(GRID) == 0
    start = [0.77] * len(FITTED)
    found = ascend([single(place, -1.0, lead=1.1) for place in range(3)], start)
    assert set(found) <= {*GRID, 0.77}


def test_a_seed_gives_one_result(cases: Callable[[Judgements], list[Case]]) -> None:
    """The same contests and the same seed give the same weights."""
    found = [
        contest
        for case in cases(lopsided.by_name(40))
        for contest in build_ranking_pairs(case.sample, MODEL.weights, 1 / 40)
    ]
    assert ascend(found, START, seed=3) == ascend(found, START, seed=3)
    assert worth(found, list(ascend(found, START))) > worth(found, START)


def test_a_tool_that_cannot_be_among_the_first_is_no_contest(
    cases: Callable[[Judgements], list[Case]],
) -> None:
    """What no weights can lift is left out."""
    contests = [
        contest
        for case in cases(lopsided.by_name(20))
        for contest in build_ranking_pairs(case.sample, MODEL.weights, 1.0)
    ]
    assert contests
    assert all(contest.ahead < 5 for contest in contests)
