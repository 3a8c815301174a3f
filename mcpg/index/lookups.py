"""Look-ups in an index: postings of terms, 3-grams of words, and words that are spelt alike.

Source: one edit by the deletions that two words share: Garbe, "1000x faster spelling correction",
2012 (SymSpell), after Mor & Fraenkel, "A hash code method for detecting and correcting spelling
errors", CACM 25(12), 1982. Two edits by counting shared pairs of characters: Ukkonen, "Approximate
string-matching with q-grams and maximal matches", Theoretical Computer Science 92, 1992.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import chain, islice
from typing import TypeAlias

from mcpg.index.layout import IMPACT_SCALE, Buffer, Items, Read, StaleIndexError
from mcpg.index.recipe import inverse_document_frequency
from mcpg.index.tables import SectionFile, span
from mcpg.text.spelling import allowed_edits, edit_distance
from mcpg.text.words import LONGEST_WORD

_Credited: TypeAlias = tuple[tuple[int, float], ...]

_SECTIONS = ("postings.at", "postings", "postings.impact", "postings.fields")
# How many postings are kept once they have been read, and the longest list of them that is.
_MOST_KEPT = 262_144
_LONGEST_KEPT = 1_024
_UNIT = 1 / IMPACT_SCALE
# Of how many words of tools it is kept in which fields these occur.
_MOST_FIELDS = 32_768
# How many best impacts are kept, and the most postings for a list of them.
_MOST_BEST = 131_072
_MOST_MERGED = 1_024
# To merge lists takes as long as to look so many times into each of them. Requests have endless
# words, so there is a bound.
_TIMES_UNMERGED = 3
_MOST_ASKED = 4_096


class PostingFile(SectionFile):
    """An index file whose postings are kept in dictionaries after their first use."""

    def __init__(self, data: Buffer, *, in_blocks: bool = False, read: Read | None = None) -> None:
        super().__init__(data, in_blocks=in_blocks, read=read)
        self._kept: dict[int, dict[int, int]] = {}
        self._left = _MOST_KEPT
        self._best: dict[_Credited, dict[int, float]] = {}
        # How often others were requested.
        self._asked: dict[_Credited, int] = {}
        self._best_left = _MOST_BEST
        self._masks: dict[int, dict[_Credited, int]] = {}
        self._masks_left = _MOST_FIELDS

    @cached_property
    def _posting_items(self) -> tuple[Items, Items, Items, Items]:
        starts, tools, impacts, fields = map(self.items, _SECTIONS)
        if not len(tools) == len(impacts) == len(fields):
            raise StaleIndexError("its postings are of unequal length")
        return starts, tools, impacts, fields

    def _find_postings(self, term: int) -> tuple[int, int]:
        starts, tools, _, _ = self._posting_items
        start, end = span(starts, term)
        if end > len(tools):
            raise StaleIndexError("a row leads out of its table")
        return start, end

    def postings(self, term: int) -> tuple[memoryview, memoryview, memoryview]:
        """Return the tools that contain a term in order, its impacts, and its fields.

        Impacts are saturated BM25F frequencies, in (0, `IMPACT_SCALE`]; bit *n* of the last is
        set for field *n* of `FIELDS`.
        """
        start, end = self._find_postings(term)
        _, tools, impacts, fields = self._posting_items
        return tools[start:end], impacts[start:end], fields[start:end]

    def impacts(self, term: int) -> dict[int, int] | None:
        """Return the impacts of a term by tool, in order; `None` if they are too many to keep.

        The result must not be changed.
        """
        known = self._kept.get(term)
        if known is None:
            start, end = self._find_postings(term)
            if end - start <= min(_LONGEST_KEPT, self._left):
                _, tools, impacts, _ = self._posting_items
                pairs = zip(tools[start:end].tolist(), impacts[start:end].tolist(), strict=True)
                known = self._kept[term] = dict(pairs)
                self._left -= len(known)
        return known

    def fields(self, tool: int, words: Iterable[_Credited]) -> int:
        """Return a bit for every field of *tool* with terms of *words*.

        Each word has its terms with the credit for each; bit *n* is for field *n* of `FIELDS`.
        """
        known = self._masks.get(tool) or {}
        mask = 0
        for credited in words:
            found = known.get(credited)
            mask |= self._mask_fields(tool, credited) if found is None else found
        return mask

    def _mask_fields(self, tool: int, credited: _Credited) -> int:
        mask = 0
        _, tools, _, fields = self._posting_items
        for term, _ in credited:
            start, end = self._find_postings(term)
            place = bisect_left(tools, tool, start, end)
            if place < end and tools[place] == tool:
                mask |= fields[place]
        if self._masks_left > 0:
            self._masks_left -= 1
            self._masks.setdefault(tool, {})[credited] = mask
        return mask

    def best_impacts(self, credited: _Credited) -> dict[int, float] | None:
        """Return the best impact, in [0, 1], of terms with the credit for each, by tool.

        It is `None` if they are too many to keep, and for the first few times: most terms are only
        requested once. The result must not be changed.
        """
        known = self._best.get(credited)
        if known is not None:
            return known
        times = self._asked.get(credited, 0)
        if times <= _TIMES_UNMERGED and len(self._asked) < _MOST_ASKED:
            self._asked[credited] = times + 1
        if times != _TIMES_UNMERGED:
            return None
        spans = [self._find_postings(term) for term, _ in credited]
        if sum([end - start for start, end in spans]) > min(_MOST_MERGED, self._best_left):
            return None
        best: dict[int, float] = {}
        get = best.get
        for term, credit in credited:
            unit = credit * _UNIT
            tools, impacts, _ = self.postings(term)
            for tool, impact in zip(tools.tolist(), impacts.tolist(), strict=True):
                weighed = unit * impact
                if weighed > get(tool, 0.0):
                    best[tool] = weighed
        self._best[credited] = best
        self._best_left -= len(best) + len(credited)
        return best


# Code points take up to 21 bits, so three of them fit one number of 64.
_BITS = 21
_PAD = "_"
# Words, and 3-grams, that are remembered; words of queries are endless, so there is a bound.
_MOST_WORDS = 16_384
# The number of tools whose 3-grams are kept after their first use; each takes some kilobytes.
_MOST_TOOLS = 4_096


def grams_of_word(word: str) -> list[int]:
    """Return the 3-grams of a folded *word*, padded at both ends, each packed into one number."""
    codes = list(map(ord, f"{_PAD}{word}{_PAD}"))
    return [
        first << 2 * _BITS | second << _BITS | third
        for first, second, third in zip(codes, codes[1:], codes[2:], strict=False)
    ]


class Grams:
    """The 3-grams of an index; `StaleIndexError` is raised where its sections do not fit."""

    def __init__(self, index: SectionFile) -> None:
        self._size = index.population
        self._grams = index.items("grams")
        self._holders = index.items("grams.tools")
        self._rows = index.rows("grams_of")
        self._norms = index.items("grams.norm")
        self._words: dict[str, dict[int, float]] = {}
        self._known: dict[int, tuple[int, float] | None] = {}
        self._tools: dict[int, list[int]] = {}
        if (len(self._holders), len(self._norms)) != (len(self._grams), len(index)):
            raise StaleIndexError("its 3-grams are of unequal length")

    def number(self, gram: int) -> int:
        """Return the number of a packed 3-gram that occurs."""
        return bisect_left(self._grams, gram)

    def frequency(self, gram: int) -> int:
        """Return how many tools have a packed 3-gram that occurs."""
        number = self.number(gram)
        if number == len(self._grams) or self._grams[number] != gram:
            raise StaleIndexError("it lacks a 3-gram of its tools")
        found: int = self._holders[number]
        return found

    def of_tools(self, rows: Sequence[Sequence[int]], norms: Sequence[float]) -> Grams:
        """Return the same 3-grams for other tools, by their *rows* and *norms*."""
        other = copy(self)
        vars(other).update(_tools=dict(enumerate(rows)), _norms=norms)
        return other

    def of_word(self, word: str) -> dict[int, float]:
        """Return the rarity, above 0, of the 3-grams of a folded *word* that occur, by number.

        The result must not be changed.
        """
        known = self._words.get(word)
        if known is None:
            looked_up = self._known
            found = (
                looked_up[gram] if gram in looked_up else self._find(gram)
                for gram in grams_of_word(word)
            )
            known = dict(one for one in found if one is not None)
            if len(self._words) < _MOST_WORDS:
                self._words[word] = known
        return known

    def _find(self, gram: int) -> tuple[int, float] | None:
        found, number = None, bisect_left(self._grams, gram)
        if number < len(self._grams) and self._grams[number] == gram:
            found = number, inverse_document_frequency(self._size, self._holders[number])
        if len(self._known) < _MOST_WORDS:
            self._known[gram] = found
        return found

    def of_tool(self, tool: int) -> Sequence[int]:
        known = self._tools.get(tool)
        if known is None:
            known = self._rows[tool].tolist()
            if len(self._tools) < _MOST_TOOLS:
                self._tools[tool] = known
        return known

    def norms(self, tools: Iterable[int]) -> list[float]:
        """Return the length, above 0, of each tool's vector of 3-gram rarities."""
        norms = list(map(self._norms.__getitem__, tools))
        if [norm for norm in norms if not norm > 0]:
            raise StaleIndexError("a tool of it has no 3-gram length")
        return norms


# A query needs at least 4 characters to be repaired by one edit and 8 by two; shorter words than
# these less the edits are never found.
SHORTEST_AT_ONE_EDIT = 3
SHORTEST_AT_TWO_EDITS = 6
# How many of a word's pairs of characters two edits take from it at most, by what they add to its
# length: an insertion takes one, a substitution or deletion two, a transposition of neighbors
# three.
_PAIRS_TAKEN = {-2: 4, -1: 5, 0: 6, 1: 4, 2: 2}
# A word that is few edits away is in all but these of the lists of words with a pair. The shortest
# lists, so many more than may lack it, leave few other words.
_PAIRS_KEPT = 3


class Speller:
    """Finds the words of an index that are few edits away from a given word."""

    def __init__(self, index: SectionFile) -> None:
        self._words = index.texts("words")
        self._deletions, self._deletion_words = map(index.items, ("deletions", "deletions.word"))
        self._pairs, self._pair_words = index.items("pairs.key"), index.rows("pairs")

    def nearest(self, word: str) -> tuple[int, tuple[str, ...]]:
        """Do as `Index.nearest`, which has the words sorted."""
        if len(word) > LONGEST_WORD + 2:
            return 0, ()
        characters = frozenset(word)
        candidates = self._sharing_deletion, self._sharing_pairs
        for edits in range(1, allowed_edits(word) + 1):
            others = map(self._words.__getitem__, candidates[edits - 1](word))
            found = [
                other
                for other in others
                # An edit changes at most two of the characters in a word.
                if len(characters.symmetric_difference(other)) <= 2 * edits
                and edit_distance(word, other, edits) == edits
            ]
            if found:
                return edits, tuple(sorted(found))
        return 0, ()

    def _sharing_deletion(self, word: str) -> set[int]:
        """Return the words that equal *word* after removing at most one character from each."""
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
        keys, pairs = self._pairs, [pair_key(0, pair) for pair in cut_pairs(word)]
        for more, taken in _PAIRS_TAKEN.items():
            of_length = pair_key(len(word) + more, "\0\0")
            start = bisect_left(keys, of_length)
            end = bisect_left(keys, pair_key(len(word) + more + 1, "\0\0"), start)
            holders: list[Sequence[int]] = []
            for pair in pairs:
                place = bisect_left(keys, of_length | pair, start, end)
                is_held = place < end and keys[place] == of_length | pair
                holders.append(self._pair_words[place] if is_held else ())
            shortest = sorted(holders, key=len)[: taken + _PAIRS_KEPT]
            needed = max(1, len(shortest) - taken)
            found = sorted(chain.from_iterable(shortest))
            repeats = zip(found, islice(found, needed - 1, None), strict=False)
            yield from {number for number, other in repeats if number == other}


def with_deletions(word: str) -> set[str]:
    """Return *word*, whole and without each of its characters."""
    return {word, *(word[:place] + word[place + 1 :] for place in range(len(word)))}


def hash_part(part: str) -> int:
    """Return the hash of a word, or of the rest of a word."""
    return zlib.crc32(part.encode("utf-8", "surrogatepass"))


def cut_pairs(word: str) -> set[str]:
    """Return the pairs of neighboring characters in *word*, padded at both ends."""
    padded = f"\0{word}\0"
    return {padded[place : place + 2] for place in range(len(padded) - 1)}


def pair_key(length: int, pair: str) -> int:
    """Return one number for a pair of characters (21 bits each) in words of *length*."""
    return length << 42 | ord(pair[0]) << 21 | ord(pair[1])
