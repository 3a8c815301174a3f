"""Phrases: aliases of several words, found in longer requests.

A phrase is compared word by word, stop words among them: "what time is it" has hardly another word.
An alias of one word is none, for a request that opens with it may want anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from mcpg.index.reader import Index
from mcpg.text import iter_words

FEWEST_WORDS = 2
"""Fewer words are no phrase."""

# A longer alias is found as a whole request only.
_MOST_WORDS = 16


def split_phrase(text: str) -> list[str]:
    """Return the words of *text* in order, without whole identifiers."""
    return [word.text for word in iter_words(text) if not word.is_compound]


def extract_phrases(aliases: Iterable[str]) -> Iterator[str]:
    """Return the phrases among the *aliases* of one tool."""
    for words in map(split_phrase, aliases):
        if FEWEST_WORDS <= len(words) <= _MOST_WORDS:
            yield " ".join(words)


def find_opening_phrase(words: Sequence[str], index: Index) -> tuple[int, tuple[int, ...]]:
    """Return the number of words of the longest phrase that opens *words*, and its tools."""
    openings = list(accumulate(words[:_MOST_WORDS], "{} {}".format))
    for count in range(len(openings), FEWEST_WORDS - 1, -1):
        tools = index.with_phrase(openings[count - 1])
        if tools:
            return count, tools
    return 0, ()
