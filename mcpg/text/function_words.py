"""Function words: the words that hold a sentence together and name nothing.

The rule is neutral to language. Each supported language has a list of function words kept by the
Snowball project. A text is taken to be in the language whose list it uses most, counted in running
words; only that language's list applies to it, so that *die* is a word in English and an article in
German. Nothing that names a tool's work stands in these lists.

Source: stop word profiles as language identification, Grefenstette, "Comparing two language
identification schemes", JADT 1995.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from mcpg.text.folding import fold, strip_accents

if TYPE_CHECKING:
    from collections.abc import Iterable

# Where lists tie, the first wins: a lone "in" is read as English.
LANGUAGES = (
    "english",
    "danish",
    "dutch",
    "finnish",
    "french",
    "german",
    "hungarian",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
)


@cache
def function_words_of(language: str) -> frozenset[str]:
    """Give the folded function words of *language*, a member of `LANGUAGES`."""
    file = resources.files("mcpg.text") / "data" / "function_words" / f"{language}.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(strip_accents(fold(line.split("'")[0])) for line in lines)


@cache
def _languages_by_word() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for number, language in enumerate(LANGUAGES):
        for word in function_words_of(language):
            table[word] = (*table.get(word, ()), number)
    return table


def language_of(words: Iterable[str]) -> str | None:
    """Name the language whose function words *words* uses most, `None` when it uses none."""
    votes = [0] * len(LANGUAGES)
    table = _languages_by_word()
    for word in words:
        for number in table.get(word, ()):
            votes[number] += 1
    best = max(votes)
    return LANGUAGES[votes.index(best)] if best else None


def function_words_in(words: Iterable[str]) -> frozenset[str]:
    """Give those of *words* that are function words in the language they are written in."""
    words = list(words)
    language = language_of(words)
    return function_words_of(language).intersection(words) if language else frozenset()
