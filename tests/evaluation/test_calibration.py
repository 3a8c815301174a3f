"""Whether scores are probabilities: the measures against definitions and an independent count."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.evaluation.metrics import (
    auroc,
    brier_score,
    expected_calibration_error,
    precision_coverage,
    reliability_bins,
)

SCORE = st.integers(0, 100).map(lambda number: number / 100)
SCORED = st.lists(st.tuples(SCORE, st.booleans()), min_size=1, max_size=60)


@given(SCORED, st.integers(1, 15))
def test_bins_share_all_pairs_in_order(scored: list[tuple[float, bool]], bins: int) -> None:
    """Every pair is in one bin, and scores rise from bin to bin; no score is in two bins."""
    made = reliability_bins(scored, bins)
    assert sum(one.count for one in made) == len(scored)
    assert all(one.low <= one.high for one in made)
    assert all(one.high < other.low for one, other in pairwise(made))
    assert all(one.low - 1e-9 <= one.mean_score <= one.high + 1e-9 for one in made)


@given(st.lists(SCORE, unique=True, min_size=1, max_size=60), st.integers(1, 15))
def test_bins_are_about_alike(scores: list[float], bins: int) -> None:
    """Where all scores differ, the counts of the bins differ by one at most."""
    counts = [one.count for one in reliability_bins([(one, True) for one in scores], bins)]
    assert len(counts) == min(bins, len(scores))
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("right", range(21))
def test_equal_scores_err_by_the_share_that_is_right(right: int) -> None:
    """Nothing tells equal scores apart, so their order adds nothing to the error."""
    scored = [(0.5, place < right) for place in range(20)]
    bins = reliability_bins(scored)
    assert expected_calibration_error(bins) == pytest.approx(abs(0.5 - right / 20))
    assert [one.count for one in bins] == [20]


def test_perfect_scores_have_no_error() -> None:
    """Sure and right, sure and wrong: nothing to complain about."""
    scored = [(1.0, True)] * 7 + [(0.0, False)] * 3
    assert expected_calibration_error(reliability_bins(scored)) == 0
    assert brier_score(scored) == 0


def test_errors_by_hand() -> None:
    """Two bins: 0.2 said and half right, 0.9 said and none right."""
    scored = [(0.2, False), (0.2, True), (0.9, False), (0.9, False)]
    assert expected_calibration_error(reliability_bins(scored, 2)) == pytest.approx(0.6)
    assert brier_score(scored) == pytest.approx((0.04 + 0.64 + 0.81 + 0.81) / 4)


@given(st.lists(SCORE, min_size=1, max_size=30), st.lists(SCORE, min_size=1, max_size=30))
def test_auroc_counts_pairs(positive: list[float], negative: list[float]) -> None:
    """It is the share of pairs in which the positive one is higher, ties counting half."""
    wins = sum((one > other) + (one == other) / 2 for one in positive for other in negative)
    assert auroc(positive, negative) == pytest.approx(wins / len(positive) / len(negative))


def test_auroc_needs_both_kinds() -> None:
    """Without right or without wrong answers there is nothing to tell apart."""
    assert auroc([], [0.5]) is None
    assert auroc([0.5], []) is None


@given(SCORED)
def test_the_curve_starts_with_everything(scored: list[tuple[float, bool]]) -> None:
    """At threshold 0 all is answered; at each of 21 thresholds what scores as much or more."""
    points = precision_coverage(scored)
    thresholds = [step / 20 for step in range(21)]
    answered = [[right for score, right in scored if score >= one] for one in thresholds]

    assert (points[0].threshold, points[0].coverage) == (0, 1)
    assert [(one.threshold, one.coverage, one.precision) for one in points] == [
        (
            threshold,
            pytest.approx(len(rights) / len(scored)),
            pytest.approx(sum(rights) / len(rights)),
        )
        for threshold, rights in zip(thresholds, answered, strict=True)
        if rights
    ]
