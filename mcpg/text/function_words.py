"""Function words: the words that hold a sentence together and name nothing.

The rule is neutral to language. Each supported language has a list of function words kept by the
Snowball project. A text is taken to be in the language whose list it uses most, counted in running
words; only that language's list applies to it, so that *die* is a word in English and an article in
German. Nothing that names a tool's work stands in these lists.

Source: stop word profiles as language identification, Grefenstette, "Comparing two language
identification schemes", JADT 1995.
"""

from __future__ import annotations

import os

from mcpg.text.spelling import edit_distance, signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Where lists tie, the first wins.
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

_FILE = os.path.join(os.path.dirname(__file__), "data", "function_words.txt")  # noqa: PTH118, PTH120 - pathlib costs a cold search more than the list

_lists: dict[str, frozenset[str]] = {}
_languages: dict[str, tuple[int, ...]] = {}
_by_length: dict[str, dict[int, list[tuple[str, int]]]] = {}


def function_words_of(language: str) -> frozenset[str]:
    """Give the folded function words of *language*, a member of `LANGUAGES`."""
    if not _lists:
        _lists.update(_read())
    return _lists[language]


def language_of(words: Iterable[str], expected: str | None = None) -> str | None:
    """Name the language whose function words *words* uses most, `None` when that cannot be told.

    One function word is no evidence, for every language has some that are names of things in
    another ("dog" is "though" in Danish); it counts only for the language that is *expected*.
    """
    votes = [0] * len(LANGUAGES)
    table = _languages or _read_languages()
    for word in words:
        for number in table.get(word, ()):
            votes[number] += 1
    best = max(votes)
    if expected and votes[LANGUAGES.index(expected)] == best > 0:
        return expected
    return LANGUAGES[votes.index(best)] if best > 1 else None


def function_words_in(words: Iterable[str], expected: str | None = None) -> frozenset[str]:
    """Give those of *words* that are function words in the language they are written in.

    *expected* is the language that one function word is enough to tell.
    """
    words = list(words)
    language = language_of(words, expected)
    return function_words_of(language).intersection(words) if language else frozenset()


def is_near_function_word(word: str, language: str, distance: int) -> bool:
    """Tell whether at most *distance* edits, at least 1, make *word* a function word."""
    mine = signature(word)
    by_length = _by_length.get(language) or _sort_by_length(language)
    return any(
        (mine ^ theirs).bit_count() <= 2 * distance
        and edit_distance(word, other, distance) is not None
        for length in range(len(word) - distance, len(word) + distance + 1)
        for other, theirs in by_length.get(length, ())
    )


def _sort_by_length(language: str) -> dict[int, list[tuple[str, int]]]:
    rows: dict[int, list[tuple[str, int]]] = {}
    for word in sorted(function_words_of(language)):
        rows.setdefault(len(word), []).append((word, signature(word)))
    return _by_length.setdefault(language, rows)


def _read() -> dict[str, frozenset[str]]:
    with open(_FILE, encoding="utf-8") as lines:  # noqa: PTH123 - as above
        lists = [line.split() for line in lines if not line.startswith("#")]
    return {language: frozenset(words) for language, *words in lists}


def _read_languages() -> dict[str, tuple[int, ...]]:
    """Fill the table of the languages of each word."""
    table: dict[str, tuple[int, ...]] = {}
    for number, language in enumerate(LANGUAGES):
        for word in function_words_of(language):
            table[word] = (*table.get(word, ()), number)
    _languages.update(table)
    return _languages
