"""The paired randomisation test."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.evaluation.metrics import RESAMPLES, paired_randomisation


def test_small_samples_are_counted_out() -> None:
    """Of the eight signs of three equal gains, two are as far from nothing."""
    found = paired_randomisation([0.5, 0.5, 0.5, 0.0])
    assert found.p == 2 / 8
    assert (found.pairs, found.changed) == (4, 3)
    assert found.difference == pytest.approx(0.375)


def test_no_difference_is_chance() -> None:
    """Where nothing changed, nothing can be concluded."""
    assert paired_randomisation([0.0] * 50).p == 1


def test_many_equal_gains_are_no_chance() -> None:
    """Forty gains and no loss do not come about by chance."""
    assert paired_randomisation([0.1] * 40).p < 0.001


@pytest.mark.untraced
def test_noise_is_called_noise() -> None:
    """Gains and losses alike give a large p, and the same one every time."""
    draw = random.Random(1)
    differences = [draw.uniform(-1, 1) for _ in range(100)]
    centred = [one - sum(differences) / 100 for one in differences]
    assert paired_randomisation(centred).p > 0.9
    assert paired_randomisation(differences) == paired_randomisation(differences)


def counted_out(differences: list[float]) -> float:
    """Return the share of all signs by which the sum is at least as far from 0."""
    sums = {0.0: 1}
    for one in differences:
        sums = Counter(
            {
                total: sums.get(total - one, 0) + sums.get(total + one, 0)
                for total in {known + sign * one for known in sums for sign in (1, -1)}
            }
        )
    least = abs(sum(differences))
    return sum(count for total, count in sums.items() if abs(total) >= least) / sum(sums.values())


@given(st.lists(st.sampled_from([-2.0, -1.0, 1.0, 2.0, 3.0]), min_size=13, max_size=40))
def test_random_signs_give_what_all_signs_would(differences: list[float]) -> None:
    """Of more differences than are counted out, p is within five standard errors of the truth."""
    exact = counted_out(differences)
    error = (exact * (1 - exact) / RESAMPLES) ** 0.5
    assert paired_randomisation(differences).p == pytest.approx(
        exact, abs=5 * error + 2 / RESAMPLES
    )


@given(st.lists(st.integers(-4, 4).map(lambda number: number / 4), min_size=1, max_size=10))
def test_the_sign_of_the_difference_does_not_matter(differences: list[float]) -> None:
    """Better and worse are judged alike, and p is a probability above 0."""
    found = paired_randomisation(differences)
    assert found.p == paired_randomisation([-one for one in differences]).p
    assert 0 < found.p <= 1
