from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.values import DECIMALS, format_below, round_score, to_json


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value within another."""

    source: str
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """A dataclass with every kind of member that is written."""

    tool_id: str
    first_leaf: Leaf
    more: tuple[Leaf, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    remark: str | None = None


def test_values_become_json_in_the_order_of_their_members() -> None:
    """Names are in camelCase, values within are objects, tuples lists, keys of mappings kept."""
    written = to_json(Branch("a", Leaf("b"), (Leaf("c", is_long=True),), {"a_b": 0.5}))
    assert json.dumps(written) == (
        '{"toolId": "a", "firstLeaf": {"source": "b", "isLong": false}, '
        '"more": [{"source": "c", "isLong": true}], "weights": {"a_b": 0.5}, "remark": null}'
    )


def test_members_are_renamed_everywhere_and_left_out_at_the_top() -> None:
    """A JSON name counts for values within, too; what is left out is a member of the value."""
    written = to_json(Branch("a", Leaf("b")), {"source": "from"}, ("more", "weights", "is_long"))
    assert written == {"toolId": "a", "firstLeaf": {"from": "b", "isLong": False}, "remark": None}


ties = st.integers(0, 10**14).map(lambda number: (number + 0.5) / 10**DECIMALS)


@given(st.floats(0, 40) | st.floats(allow_nan=False) | ties)
def test_scores_are_rounded_as_python_rounds(score: float) -> None:
    """A score is rounded as by `round`, and so is a tie or a number that is no score."""
    assert repr(round_score(score)) == repr(round(score, DECIMALS))


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.3, "0.30"), (0.349, "0.349"), (0.346, "0.346"), (0.344, "0.34"), (0.0001, "<0.001")],
)
def test_a_score_has_the_digits_that_show_it_below(score: float, shown: str) -> None:
    """A score just below a threshold does not look like it."""
    assert format_below(score, 0.35) == f"{shown}, below 0.35"


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_score_below_another_is_shown_below_it(one: float, other: float) -> None:
    """No score is said to be below one that looks the same."""
    score, least = round_score(one), round(other, 2)
    if score < least:
        shown, _, bound = format_below(score, least).partition(", below ")
        assert float(shown.removeprefix("<")) <= float(bound)
        assert shown != bound
