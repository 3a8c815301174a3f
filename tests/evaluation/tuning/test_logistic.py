from __future__ import annotations

import random
from math import isfinite, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.evaluation.fit import (
    evenly,
    log_loss,
    logistic,
    sigmoid,
    solve,
    weighted_calibration_error,
)
from mcpg.evaluation.metrics import expected_calibration_error, reliability_bins

NUMBERS = st.integers(-9, 9)


def drawn(coefficients: tuple[float, ...], count: int) -> tuple[list[list[float]], list[bool]]:
    """Draw samples from a logistic model."""
    draw = random.Random(0)
    rows = [[draw.uniform(-2, 2) for _ in coefficients[1:]] for _ in range(count)]
    logits = [
        coefficients[0] + sum(c * x for c, x in zip(coefficients[1:], row, strict=True))
        for row in rows
    ]
    return rows, [draw.random() < sigmoid(logit) for logit in logits]


@given(st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=3, max_size=3))
def test_what_is_solved_is_a_solution(rows: list[list[int]]) -> None:
    """Whatever regular system is solved, the solution fulfils it."""
    matrix = [[*row[:3]] for row in rows]
    for place, row in enumerate(matrix):
        row[place] += 40
    found = solve(matrix, [row[3] for row in rows])
    for row, value in zip(matrix, (row[3] for row in rows), strict=True):
        assert sum(a * x for a, x in zip(row, found, strict=True)) == pytest.approx(value)


def test_rows_are_swapped_where_a_pivot_is_nothing() -> None:
    """A system that needs its rows in another order is solved."""
    assert solve([[0, 2], [4, 0]], [2, 4]) == [1, 1]


def test_the_model_is_found_that_samples_were_drawn_from() -> None:
    """With many samples and a weak belief, the coefficients are those of the source."""
    truth = (-1.0, 2.0, 0.5)
    rows, right = drawn(truth, 4_000)
    found = logistic(rows, right, [1.0] * len(rows), prior=(0, 0, 0), ridge=1e-4)
    assert found == pytest.approx(truth, abs=0.2)


def test_a_strong_belief_outweighs_few_samples() -> None:
    """With a great ridge the prior stands, with none of it the samples do, and between, between."""
    rows, right = drawn((0.0, 2.0), 200)
    prior = (0.0, -1.0)
    weak, middle, strong = (
        logistic(rows, right, [1.0] * 200, prior=prior, ridge=ridge)[1]
        for ridge in (1e-4, 0.1, 1e4)
    )
    assert -1 < strong < -0.9
    assert strong < middle < weak


def test_samples_that_can_be_parted_give_finite_coefficients() -> None:
    """Where the data alone would have infinite coefficients, the prior holds them."""
    rows, right = [[-1.0], [1.0]] * 20, [False, True] * 20
    found = logistic(rows, right, [1.0] * 40, prior=(0.0, 0.0), ridge=1e-3)
    assert all(map(isfinite, found))
    assert found[1] > 1


def test_a_prior_far_off_is_left_behind() -> None:
    """A first step that overshoots is halved until the loss falls."""
    rows, right = drawn((0.0, 1.0), 500)
    found = logistic(rows, right, [1.0] * 500, prior=(6.0, -6.0), ridge=1e-6)
    assert found == pytest.approx((0.0, 1.0), abs=0.4)


def test_shares_count_as_repeats_do() -> None:
    """A sample of double share is two samples."""
    rows, right = drawn((0.3, 1.0), 60)
    doubled = logistic(
        [*rows, *rows[:30]], [*right, *right[:30]], [1.0] * 90, prior=(0, 0), ridge=0.01
    )
    shared = logistic(rows, right, [2.0] * 30 + [1.0] * 30, prior=(0, 0), ridge=0.01)
    assert doubled == pytest.approx(shared)


def test_nothing_to_learn_from_leaves_the_prior() -> None:
    """Without samples the prior is the answer."""
    assert logistic([], [], [], prior=(1.0, 2.0), ridge=0.1) == pytest.approx((1.0, 2.0))


def test_each_key_has_its_mass() -> None:
    """The samples of a key divide what the key counts for."""
    assert evenly("aab", lambda key: {"a": 1.0, "b": 3.0}[str(key)]) == [0.5, 0.5, 3.0]


def test_losses() -> None:
    """A sure and wrong answer costs much, but never without end."""
    assert log_loss(0.5, True) == pytest.approx(log(2))
    assert log_loss(1.0, True) == 0
    assert log_loss(1.0, False) == pytest.approx(-log(1e-9))
    assert sigmoid(-1e9) > 0
    assert sigmoid(1e9) == pytest.approx(1)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=8))
def test_equal_shares_give_the_usual_error(scored: list[tuple[float, bool]]) -> None:
    """Where all count the same, the error is that of an evaluation."""
    scored = scored * 10
    scores, right = zip(*scored, strict=True)
    usual = expected_calibration_error(reliability_bins(scored))
    shares = [0.25] * len(scored)
    assert weighted_calibration_error(scores, right, shares) == pytest.approx(usual)


def test_equal_scores_are_not_ordered_by_outcome() -> None:
    """Twenty scores of one half of which half are right have no error, whatever they count for."""
    right = [True, False] * 10
    for shares in ([1.0] * 20, [1.0, 1.0, 2.0, 2.0] * 5):
        assert weighted_calibration_error([0.5] * 20, right, shares) == pytest.approx(0)


def test_what_counts_for_more_errs_for_more() -> None:
    """An error counts by its share."""
    assert weighted_calibration_error([0.0, 1.0], [False, False], [3.0, 1.0]) == 0.25
