"""Spelling repair over the words of an index, from flat arrays.

Source: one edit by the deletions that two words share: Garbe, "1000x faster spelling correction",
2012 (SymSpell), after Mor & Fraenkel, "A hash code method for detecting and correcting spelling
errors", CACM 25(12), 1982. Two edits by counting shared pairs of characters: Ukkonen, "Approximate
string-matching with q-grams and maximal matches", Theoretical Computer Science 92, 1992.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from mcpg.index.layout import Items
from mcpg.index.tables import RowTable, TextTable
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import LONGEST_WORD

# A query has at least 4 characters to be repaired by one edit and 8 by two; what is shorter than
# these less the edits is never found.
SHORTEST_AT_ONE_EDIT = 3
SHORTEST_AT_TWO_EDITS = 6
# How many of a word's pairs of characters two edits take from it at most, by what they add to its
# length: an insertion takes one, a substitution or deletion two, a transposition of neighbours
# three.
_PAIRS_TAKEN = {-2: 4, -1: 5, 0: 6, 1: 4, 2: 2}
# A word that is few edits away is in all but these of any of the lists of those that hold a pair.
# The shortest lists, so many more than may lack it, leave few others.
_PAIRS_KEPT = 3


class Speller:
    """Finds the words of an index that are few edits away from a given word."""

    __slots__ = ("_deletion_words", "_deletions", "_pair_words", "_pairs", "_words")

    def __init__(
        self,
        words: TextTable,
        deletions: tuple[Items, Items],
        pairs: tuple[Items, RowTable],
    ) -> None:
        self._words = words
        self._deletions, self._deletion_words = deletions
        self._pairs, self._pair_words = pairs

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Return the least distance within `allowed_edits` and the other words there, sorted.

        The distance is 0 and the words are none when no other word is near enough.
        """
        if len(word) > LONGEST_WORD + 2:
            return 0, ()
        characters = frozenset(word)
        candidates = self._sharing_deletion, self._sharing_pairs
        for edits in range(1, allowed_edits(word) + 1):
            others = map(self._words.__getitem__, candidates[edits - 1](word))
            found = [
                other
                for other in others
                # An edit changes at most two of the characters that a word is made of.
                if len(characters.symmetric_difference(other)) <= 2 * edits
                and edit_distance(word, other, edits) == edits
            ]
            if found:
                return edits, tuple(sorted(found))
        return 0, ()

    def _sharing_deletion(self, word: str) -> set[int]:
        """Return the words that equal *word* once a character, or none, is left out of each."""
        deletions, count = self._deletions, len(self._deletions)
        numbers: set[int] = set()
        for key in map(hash_part, with_deletions(word)):
            start = end = bisect_left(deletions, key)
            while end < count and deletions[end] == key:  # most find none
                end += 1
            if start < end:
                numbers.update(self._deletion_words[start:end].tolist())
        return numbers

    def _sharing_pairs(self, word: str) -> Iterator[int]:
        """Yield words of like length: those that share enough pairs of characters with *word*."""
        pairs = [pair_key(0, pair) for pair in cut_pairs(word)]
        for more, taken in _PAIRS_TAKEN.items():
            shortest = sorted(self._holding(pairs, len(word) + more), key=len)
            shortest = shortest[: taken + _PAIRS_KEPT]
            needed = max(1, len(shortest) - taken)
            found = sorted(chain.from_iterable(shortest))
            repeats = zip(found, islice(found, needed - 1, None), strict=False)
            yield from {number for number, other in repeats if number == other}

    def _holding(self, pairs: Iterable[int], length: int) -> Iterator[Sequence[int]]:
        """Yield the words of *length* that hold each of *pairs*, which are keys without length."""
        keys, of_length = self._pairs, pair_key(length, "\0\0")
        start = bisect_left(keys, of_length)
        end = bisect_left(keys, pair_key(length + 1, "\0\0"), start)
        for pair in pairs:
            place = bisect_left(keys, of_length | pair, start, end)
            is_held = place < end and keys[place] == of_length | pair
            yield self._pair_words[place] if is_held else ()


def with_deletions(word: str) -> set[str]:
    """Return *word*, whole and without each of its characters."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


def hash_part(part: str) -> int:
    """Return the number that stands for a word, or for what is left of it."""
    return zlib.crc32(part.encode("utf-8", "surrogatepass"))


def cut_pairs(word: str) -> set[str]:
    """Return the pairs of neighbouring characters in *word*, padded at both ends."""
    padded = f"\0{word}\0"
    return {padded[place : place + 2] for place in range(len(padded) - 1)}


def pair_key(length: int, pair: str) -> int:
    """Return one number for a pair of characters (21 bits each) in words of *length*."""
    return length << 42 | ord(pair[0]) << 21 | ord(pair[1])
