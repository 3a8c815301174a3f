"""Spelling: how far words are apart, and how far a misspelling may be."""

from __future__ import annotations

_ONE_EDIT_FROM = 4
_TWO_EDITS_FROM = 8


def allowed_edits(word: str) -> int:
    """Give how many edits a misspelling of *word* may hold: 0 below 4 characters, 1, 2 from 8."""
    return (len(word) >= _ONE_EDIT_FROM) + (len(word) >= _TWO_EDITS_FROM)


def edit_distance(left: str, right: str, bound: int) -> int | None:
    """Give the number of edits between two words, `None` when it is above *bound*.

    Edits are insertion, deletion, substitution and transposition of neighbours, no character
    being edited twice (optimal string alignment).

    Source: Damerau, "A technique for computer detection and correction of spelling errors",
    CACM 7(3), 1964.
    """
    if abs(len(left) - len(right)) > bound:
        return None
    older: list[int] = []
    previous = list(range(len(right) + 1))
    for row_number, character in enumerate(left, start=1):
        row = [row_number]
        for column, other in enumerate(right, start=1):
            cost = min(
                previous[column] + 1, row[-1] + 1, previous[column - 1] + (character != other)
            )
            crossed = left[row_number - 2 : row_number] == right[column - 2 : column][::-1]
            if crossed and min(row_number, column) > 1:
                cost = min(cost, older[column - 2] + 1)
            row.append(cost)
        if min(row) > bound:
            return None
        older, previous = previous, row
    return previous[-1] if previous[-1] <= bound else None
