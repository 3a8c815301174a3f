from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text.spelling import allowed_edits, edit_distance

WORDS = st.text(alphabet="abcde", max_size=9)


def reference_distance(left: str, right: str) -> int:
    """Restate optimal string alignment as its recurrence, for comparison."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        costs = [
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (left[i - 1] != right[j - 1]),
        ]
        if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
            costs.append(distance(i - 2, j - 2) + 1)
        return min(costs)

    return distance(len(left), len(right))


@given(WORDS, WORDS, st.integers(0, 4))
def test_distance_agrees_with_its_recurrence(left: str, right: str, bound: int) -> None:
    """The bounded distance is the plain one, or nothing above the bound."""
    plain = reference_distance(left, right)

    assert edit_distance(left, right, bound) == (plain if plain <= bound else None)


@pytest.mark.parametrize(
    ("left", "right", "bound", "distance"),
    [
        ("xmanifestwindowrollbackevidence", "ymanifestwindowrollbackevidencez", 1, None),
        ("xmanifestwindowrollbackevidence", "ymanifestwindowrollbackevidencez", 2, 2),
        ("A" + "m" * 70 + "Z", "B" + "m" * 70 + "Y", 2, 2),
        ("contcat", "contact", 1, 1),
    ],
)
def test_known_distances(left: str, right: str, bound: int, distance: int | None) -> None:
    """Long words and transpositions are measured as documented."""
    assert edit_distance(left, right, bound) == distance


def test_bound_grows_with_length() -> None:
    """Short words are never repaired, longer ones by one edit, long ones by two."""
    assert [allowed_edits("x" * length) for length in (3, 4, 7, 8)] == [0, 1, 1, 2]
