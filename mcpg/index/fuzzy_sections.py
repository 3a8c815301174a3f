"""Making the sections that find like words: edits of the words that occur, and 3-grams of tools."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import fsum

from mcpg.catalog.model import Tool
from mcpg.index.decoded import grams_of_word
from mcpg.index.packing import Section, halves, rows_sections
from mcpg.index.scoring import inverse_document_frequency
from mcpg.index.speller import (
    SHORTEST_AT_ONE_EDIT,
    SHORTEST_AT_TWO_EDITS,
    hash_part,
    pair_key,
    cut_pairs,
    with_deletions,
)
from mcpg.text import split_words

# What a tool is stands at the beginning of its description.
_DESCRIPTION_LENGTH = 300
# Up to so many 3-grams, their numbers take two bytes each.
_MOST_SHORT = 1 << 16


def spelling_sections(words: Sequence[str]) -> Iterator[Section]:
    """Make the sections that `Speller` reads, of the sorted *words*."""
    yield from _deletion_sections(words)
    yield from _pair_sections(words)


def _deletion_sections(words: Sequence[str]) -> Iterator[Section]:
    found = sorted(
        hash_part(part) << 32 | number
        for number, word in enumerate(words)
        if len(word) >= SHORTEST_AT_ONE_EDIT
        for part in with_deletions(word)
    )
    hashes, numbers = halves(array("Q", found))
    yield Section("deletions", "I", hashes)
    yield Section("deletions.word", "I", numbers)


def _pair_sections(words: Sequence[str]) -> Iterator[Section]:
    holders: dict[int, list[int]] = {}
    for number, word in enumerate(words):
        if len(word) >= SHORTEST_AT_TWO_EDITS:
            for pair in cut_pairs(word):
                holders.setdefault(pair_key(len(word), pair), []).append(number)
    keys = sorted(holders)
    yield Section("pairs.key", "Q", array("Q", keys).tobytes())
    yield from rows_sections("pairs", map(holders.__getitem__, keys))


def described_words(tool: Tool) -> list[str]:
    """Return the words whose 3-grams stand for *tool*, each once."""
    title = "" if tool.display_name == tool.name else tool.display_name
    description = tool.description[:_DESCRIPTION_LENGTH]
    text = f"{tool.name} {title} {tool.source_id} {description}"
    return list(dict.fromkeys(split_words(text)))


class GramCollector:
    """The 3-grams of tools, noted one tool after the other."""

    def __init__(self) -> None:
        self._known = _WordGrams()
        self._held: list[array[int]] = []

    def add(self, described: Iterable[str]) -> None:
        """Note those of the next tool, of which these are the `described_words`."""
        grams = set[int]().union(*map(self._known.__getitem__, described))
        # A set takes ten times the memory of an array.
        self._held.append(array("I", grams))

    def sections(self) -> list[Section]:
        """Return `grams` sorted, how many tools hold each, and each tool's, once."""
        held, self._held = self._held, []
        return _gram_sections(held, self._known.numbers)


def _gram_sections(held: Sequence[array[int]], numbers: Mapping[int, int]) -> list[Section]:
    holders = Counter(chain.from_iterable(held))
    ordered = sorted(numbers)
    met = [numbers[gram] for gram in ordered]
    counts = [holders[number] for number in met]
    squares = [inverse_document_frequency(len(held), count) ** 2 for count in counts]
    kind = "H" if len(ordered) <= _MOST_SHORT else "I"
    final = array("I", bytes(4 * len(met)))
    for number, place in enumerate(met):
        final[place] = number
    rows = [array(kind, sorted(map(final.__getitem__, grams))) for grams in held]
    # `sum` adds in other ways from one Python to the next.
    norms = [fsum(map(squares.__getitem__, row)) ** 0.5 or 1.0 for row in rows]
    return [
        Section("grams", "Q", array("Q", ordered).tobytes()),
        Section("grams.tools", "I", array("I", counts).tobytes()),
        *rows_sections("grams_of", rows, kind),
        Section("grams.norm", "d", array("d", norms).tobytes()),
    ]


class _WordGrams(dict[str, tuple[int, ...]]):
    """For each word met, provisional numbers of its 3-grams.

    Attributes:
        numbers: The number of each 3-gram, in the order in which they are met.
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[int, int] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        numbers = self.numbers
        grams = [numbers.setdefault(gram, len(numbers)) for gram in grams_of_word(word)]
        found = self[word] = tuple(grams)
        return found
