"""Meanings: the English words that the foreign words of a catalogue stand for.

A catalogue in another language has a table from English stems to its own terms, with
probabilities: the translations of the lexicon, the other way round. It is no text of the tools,
so it changes neither their lengths nor how rare their words are. An English catalogue has none.

The language of a tool is detected by its title and its description.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from mcpg.catalog.model import Tool
from mcpg.index.layout import NONE
from mcpg.index.packing import Section, keys_sections, rows_sections, texts_sections
from mcpg.index.reader import MEANINGS, PROBABILITY_BITS
from mcpg.text import fold, language_of, lexicon, split_words, stem, stop_words_of, strip_accents
from mcpg.text.words import LANGUAGES, is_unspaced

# Rarer meanings of a word are left out.
_LEAST_PROBABILITY = 0.1
# So many words at the beginning tell the language of a text.
_TELLING_WORDS = 16


class ForeignTool(NamedTuple):
    """A tool in another language.

    Attributes:
        language: The language, a member of `mcpg.text.lexicon.FOREIGN`.
        words: Its words as the index has them, without those of hints, which may be in any
            language.
        text: Its `join_title_and_description`.
    """

    language: str
    words: frozenset[str]
    text: str


def join_title_and_description(tool: Tool) -> str:
    """Return the title and the description of *tool*."""
    return f"{tool.display_name} {tool.description}"


def detect_foreign_language(tool: Tool) -> str | None:
    """Return the language of *tool* if it is a member of `lexicon.FOREIGN`, else `None`."""
    text = join_title_and_description(tool)
    spoken = split_words(text)
    if language_of(spoken) == lexicon.ENGLISH:
        return None
    is_accented = strip_accents(text) != text
    return lexicon.foreign_language(spoken[:_TELLING_WORDS], is_accented=is_accented)


def meaning_sections(
    found: Sequence[ForeignTool], term_of: Callable[[str], int], stems: Iterable[tuple[str, int]]
) -> Iterator[Section]:
    """Make the sections of English stems and of the meanings of foreign words.

    Args:
        found: The tools in other languages than English; without any, nothing has a meaning.
        term_of: Returns the number of a word's term.
        stems: The stems of words that occur, with the numbers of their terms.
    """
    rows: dict[str, dict[int, float]] = {}
    for language, cut, words in _translatable(found):
        for other, probability in _meanings(cut, language):
            row = rows.setdefault(other, {})
            for term in map(term_of, words):
                row[term] = max(probability, row.get(term, 0.0))
    yield from _stem_sections(dict.fromkeys(rows, NONE) | dict(stems))
    if not found:
        return
    meant = sorted(rows)
    yield from texts_sections(f"{MEANINGS}.languages", sorted({one.language for one in found}))
    yield from keys_sections(MEANINGS, meant)
    yield from rows_sections(f"{MEANINGS}.terms", (_pack_meanings(rows[one]) for one in meant), "Q")


def _stem_sections(terms: Mapping[str, int]) -> Iterator[Section]:
    """Make the sections of those stems that the lexicon numbers; *terms* are those of all stems.

    A search has the numbers of related words, and needs no text of them then.
    """
    numbers = lexicon.numbers_of_stems()
    numbered = sorted((numbers[stem], term) for stem, term in terms.items() if stem in numbers)
    yield Section("stems", "H", array("H", (number for number, _ in numbered)).tobytes())
    yield Section("stems.term", "I", array("I", (term for _, term in numbered)).tobytes())


def _pack_meanings(row: dict[int, float]) -> list[int]:
    scale = (1 << PROBABILITY_BITS) - 1
    ranked = sorted(row.items(), key=lambda one: (-one[1], one[0]))
    return [term << PROBABILITY_BITS | round(probability * scale) for term, probability in ranked]


def _translatable(found: Sequence[ForeignTool]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield language, word, and the words of the index that stand for it, each once."""
    frequencies = Counter(word for one in found for word in one.words)
    known: set[tuple[str, str]] = set()
    for language, words, text in found:
        stop_words = stop_words_of(language) if language in LANGUAGES else frozenset()
        unspaced = _segment_unspaced(text, language) if language in lexicon.UNSPACED else set()
        for word in sorted(words.difference(stop_words).union(unspaced)):
            held = (word,) if word in words else _rarest_pair(word, frequencies)
            if held and (language, word) not in known:
                known.add((language, word))
                yield language, word, held


def _segment_unspaced(text: str, language: str) -> set[str]:
    """Return the words of *text* in a script that is written without spaces."""
    runs = (
        "".join(letters)
        for token in text.split()
        for unspaced, letters in groupby(strip_accents(fold(token)), is_unspaced)
        if unspaced
    )
    return {word for run in runs for word in lexicon.segment(run, language)}


def _rarest_pair(word: str, frequencies: Counter[str]) -> tuple[str, ...]:
    """Return the pair of characters that tells most of *word* which the index has in pairs."""
    pairs = [word[place : place + 2] for place in range(len(word) - 1)]
    held = [pair for pair in pairs if frequencies[pair]]
    return (min(held, key=frequencies.__getitem__),) if held else ()


def _meanings(word: str, language: str) -> list[tuple[str, float]]:
    """Return the English stems other than its own that *word* most probably stands for."""
    _, found = lexicon.translations(word, language, repairs=False)
    own = stem(word)
    return [one for one in found if one[1] >= _LEAST_PROBABILITY and one[0] != own]
