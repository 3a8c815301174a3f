"""Character 3-grams of tools: what is alike in words that share no stem.

Source: McNamee & Mayfield, "Character n-gram tokenization for European language text retrieval",
Information Retrieval 7, 2004; weights after Sparck Jones, 1972, as in the rest of the index.
"""

from __future__ import annotations

from bisect import bisect_left

from mcpg.index.layout import Section, StaleIndexError
from mcpg.index.rarity import inverse_document_frequency
from mcpg.index.tables import rows_sections
from mcpg.text import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcpg.catalog.model import Tool
    from mcpg.index.reader import Index

# Code points take up to 21 bits, so three of them fit one number of 64.
_BITS = 21
_PAD = "_"
# What a tool is stands at the beginning of its description.
_DESCRIPTION_LENGTH = 300
# Words, and 3-grams, that are remembered; words of queries are endless, so there is a bound.
_MOST_WORDS = 16_384
# Tools whose 3-grams are kept once they have been read; each takes some kilobytes.
_MOST_TOOLS = 4_096


def grams_of_word(word: str) -> list[int]:
    """Give the 3-grams of a folded *word*, padded at both ends, each packed into one number."""
    codes = list(map(ord, f"{_PAD}{word}{_PAD}"))
    return [
        first << 2 * _BITS | second << _BITS | third
        for first, second, third in zip(codes, codes[1:], codes[2:], strict=False)
    ]


def described_words(tool: Tool) -> list[str]:
    """Give the words whose 3-grams stand for *tool*, each once."""
    title = "" if tool.display_name == tool.name else tool.display_name
    description = tool.description[:_DESCRIPTION_LENGTH]
    text = f"{tool.name} {title} {tool.source_id} {description}"
    return list(dict.fromkeys(split_words(text)))


def gram_sections(described: Iterable[Iterable[str]]) -> list[Section]:
    """Give the sections of 3-grams: `grams` sorted, how many tools hold each, and each tool's.

    Args:
        described: For each tool its `described_words`.
    """
    from array import array  # noqa: PLC0415 - needed to build, not to search
    from collections import Counter  # noqa: PLC0415 - as above
    from itertools import chain  # noqa: PLC0415 - as above
    from math import fsum  # noqa: PLC0415 - as above

    known = _GramsOfWords()
    held = [frozenset[int]().union(*map(known.__getitem__, words)) for words in described]
    holders = Counter(chain.from_iterable(held))
    ordered = sorted(holders)
    numbers = {gram: number for number, gram in enumerate(ordered)}
    counts = [holders[gram] for gram in ordered]
    squares = [inverse_document_frequency(len(held), count) ** 2 for count in counts]
    rows = [sorted(map(numbers.__getitem__, grams)) for grams in held]
    # `sum` adds in other ways from one Python to the next.
    norms = [fsum(map(squares.__getitem__, row)) ** 0.5 or 1.0 for row in rows]
    return [
        Section("grams", "Q", array("Q", ordered).tobytes()),
        Section("grams.tools", "I", array("I", counts).tobytes()),
        *rows_sections("grams_of", rows),
        Section("grams.norm", "d", array("d", norms).tobytes()),
    ]


class _GramsOfWords(dict[str, tuple[int, ...]]):
    """The 3-grams of each word met."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        grams = self[word] = tuple(grams_of_word(word))
        return grams


class Grams:
    """The 3-grams of an index."""

    def __init__(self, index: Index) -> None:
        """Find the sections.

        Raises:
            StaleIndexError: They do not fit each other.
        """
        self._size = len(index)
        self._grams = index.section("grams")
        self._holders = index.section("grams.tools")
        self._rows = index.rows("grams_of")
        self._norms = index.section("grams.norm")
        self._words: dict[str, tuple[tuple[int, float], ...]] = {}
        self._known: dict[int, tuple[int, float] | None] = {}
        self._tools: dict[int, list[int]] = {}
        if (len(self._holders), len(self._norms)) != (len(self._grams), self._size):
            raise StaleIndexError("its 3-grams are of unequal length")

    def of_word(self, word: str) -> Sequence[tuple[int, float]]:
        """Give number and rarity, above 0, of those 3-grams of a folded *word* that occur."""
        known = self._words.get(word)
        if known is None:
            known = tuple(self._found(word))
            if len(self._words) < _MOST_WORDS:
                self._words[word] = known
        return known

    def _found(self, word: str) -> Iterator[tuple[int, float]]:
        for gram in grams_of_word(word):
            found = self._known[gram] if gram in self._known else self._find(gram)
            if found:
                yield found

    def _find(self, gram: int) -> tuple[int, float] | None:
        """Look up number and rarity of a 3-gram, `None` for one that does not occur."""
        found = None
        number = bisect_left(self._grams, gram)
        if number < len(self._grams) and self._grams[number] == gram:
            found = number, inverse_document_frequency(self._size, self._holders[number])
        if len(self._known) < _MOST_WORDS:
            self._known[gram] = found
        return found

    def of_tool(self, tool: int) -> Sequence[int]:
        """Give the numbers of the distinct 3-grams of a tool, in order."""
        known = self._tools.get(tool)
        if known is None:
            known = self._rows[tool].tolist()
            if len(self._tools) < _MOST_TOOLS:
                self._tools[tool] = known
        return known

    def norm(self, tool: int) -> float:
        """Give the length, above 0, of a tool's vector of 3-gram rarities."""
        norm: float = self._norms[tool]
        return norm
