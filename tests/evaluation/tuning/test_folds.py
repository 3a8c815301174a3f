from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mcpg.evaluation.fit import assign_folds, number_groups

KEYS = st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=20)


def test_what_shares_a_key_is_one_group() -> None:
    """Groups reach as far as keys do, by way of others too, and are numbered as they come."""
    assert number_groups(["a", "b", "ac", "", "cd", "d"]) == [0, 1, 0, 2, 0, 0]


@given(KEYS)
def test_a_key_is_in_one_group(keys: list[list[int]]) -> None:
    """No two groups share a key."""
    groups = number_groups(keys)
    owners = {(key, group) for own, group in zip(keys, groups, strict=True) for key in own}
    assert len(owners) == len({key for key, _ in owners})


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(2, 6), st.integers(0, 99))
def test_no_group_is_in_two_folds(groups: list[int], count: int, seed: int) -> None:
    """All of a group is held out at once, and a seed always draws the same folds."""
    folds = assign_folds(groups, count, seed)
    assert len(set(zip(groups, folds, strict=True))) == len(set(groups))
    assert set(folds) <= set(range(count))
    assert folds == assign_folds(groups, count, seed)


def test_folds_are_of_one_size() -> None:
    """Groups of one are dealt out evenly, whatever the seed."""
    for seed in range(5):
        assert set(Counter(assign_folds(range(50), 5, seed)).values()) == {10}


def test_seeds_draw_different_folds() -> None:
    """Another seed holds out other queries."""
    assert assign_folds(range(50), 5, 0) != assign_folds(range(50), 5, 1)
