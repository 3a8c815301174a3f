"""Spelling repair: words of a vocabulary within a bounded number of edits."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ONE_EDIT_FROM = 4
_TWO_EDITS_FROM = 8
# A substitution, insertion or deletion touches two of a word's pairs of characters, a
# transposition of neighbours three.
_PAIRS_PER_EDIT = 3


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


class SpellingIndex:
    """Finds the words of a vocabulary that are few edits away from a given word.

    Words are kept under their pairs of neighbouring characters. A word within *d* edits of
    another shares all but 3·d of its pairs with it, so that counting shared pairs leaves few
    words to compare and loses none.

    Source: q-gram filtering, Ukkonen, "Approximate string-matching with q-grams and maximal
    matches", Theoretical Computer Science 92, 1992.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_length: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for word in words:
            for pair in _pairs(word):
                self._by_length[len(word)][pair].append(word)

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Give the least distance within `allowed_edits` and the words there, in order.

        The distance is 0 and the words are none when no word is near enough.
        """
        for edits in range(1, allowed_edits(word) + 1):
            found = sorted(
                other
                for other in self._candidates(word, edits)
                if edit_distance(word, other, edits) is not None
            )
            if found:
                return edits, tuple(found)
        return 0, ()

    def _candidates(self, word: str, edits: int) -> Iterator[str]:
        """Give the words that share enough pairs with *word*."""
        pairs = _pairs(word)
        needed = max(1, len(pairs) - _PAIRS_PER_EDIT * edits)
        for length in range(len(word) - edits, len(word) + edits + 1):
            postings: dict[str, list[str]] = self._by_length.get(length, {})
            shared = Counter(chain.from_iterable(postings.get(pair, ()) for pair in pairs))
            yield from (other for other, count in shared.items() if count >= needed)


def _pairs(word: str) -> set[str]:
    padded = f"\0{word}\0"
    return {padded[index : index + 2] for index in range(len(padded) - 1)}
