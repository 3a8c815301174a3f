"""The measures of a ranking, against values worked out by hand and against their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.evaluation.metrics import (
    RANKING,
    JudgedMatch,
    QueryOutcome,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
)


def _judge(hits: list[bool]) -> QueryOutcome:
    matches = tuple(JudgedMatch(f"t{place}", 0.5, hit) for place, hit in enumerate(hits))
    return QueryOutcome("q", "wish", ("t",), ("t",), (), matches)


HITS = st.lists(st.booleans(), max_size=20)


def test_ndcg_by_hand() -> None:
    """Relevant tools at ranks 1 and 3, of three that there are."""
    dcg = 1 / math.log2(2) + 1 / math.log2(4)
    ideal = 1 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert ndcg_at([True, False, True], 3, 5) == pytest.approx(dcg / ideal)


def test_ndcg_knows_that_only_k_can_be_shown() -> None:
    """With more relevant tools than places, full places are perfect."""
    assert ndcg_at([True] * 5, 9, 5) == 1


@pytest.mark.parametrize(
    ("hits", "rank"), [([], None), ([False], None), ([True], 1), ([False, False, True, True], 3)]
)
def test_the_first_rank(hits: list[bool], rank: int | None) -> None:
    """The first relevant match counts, from 1."""
    assert _judge(hits).rank == rank
    assert reciprocal_rank(hits) == (1 / rank if rank else 0)


def test_recall_and_hits() -> None:
    """Recall counts tools, a hit counts whether there is one."""
    hits = [False, True, True]
    assert recall_at(hits, 4, 2) == 0.25
    assert recall_at(hits, 4, 3) == 0.5
    assert [RANKING[name](_judge(hits)) for name in ("hit@1", "hit@5")] == [0, 1]


@given(HITS, st.integers(1, 30), st.integers(1, 20))
def test_measures_stay_in_bounds(hits: list[bool], more: int, k: int) -> None:
    """Every measure is in [0, 1] whatever was found."""
    relevant = sum(hits) + more
    for value in (
        ndcg_at(hits, relevant, k),
        recall_at(hits, relevant, k),
        RANKING["hit@5"](_judge(hits)),
        reciprocal_rank(hits),
    ):
        assert 0 <= value <= 1


@given(HITS, st.integers(1, 20))
def test_a_better_order_is_never_worse(hits: list[bool], k: int) -> None:
    """Moving what is relevant to the front cannot lower the gain."""
    relevant = max(1, sum(hits))
    assert ndcg_at(sorted(hits, reverse=True), relevant, k) >= ndcg_at(hits, relevant, k)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 2.0), (0.95, 4.0), (0.0, 1.0), (1.0, 4.0), (0.25, 1.0)]
)
def test_percentiles_are_values_that_occurred(share: float, expected: float) -> None:
    """The nearest rank, not a point between two."""
    assert percentile([3.0, 1.0, 4.0, 2.0], share) == expected
