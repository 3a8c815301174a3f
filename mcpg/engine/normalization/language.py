"""Language: whether a query is plain English, by the words that people use and the catalogue has.

Words are counted, not understood. A word is English when it is one of the language's function words
or of its most common words. It is foreign when neither English nor the catalogue knows it. Once
another language knows more of the words than English does, the text is taken to be in that one:
then what the catalogue knows is no evidence, and what the other language knows is foreign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.text import function_words_of, split_words, stem
from mcpg.text.background import share_of_texts
from mcpg.text.function_words import LANGUAGES
from mcpg.values import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_FOREIGN = 0.2
"""Of plain English, at most this share of the words is foreign."""

MOST_WORDS = 256
_ENGLISH = "english"
_LAST_OF_LATIN = 0x024F
_LATIN_ADDITIONAL = (0x1E00, 0x1EFF)


@value
class LanguageTest:
    """What the words of a text say about its language.

    Attributes:
        words: How many distinct words, without numbers and codes, were counted.
        english: The share of them that is English, in [0, 1].
        other: The share that the likeliest other language knows, in [0, 1].
        foreign: The share that is foreign, in [0, 1].
        is_latin: Whether all letters are of the Latin alphabet.
    """

    words: int
    english: float
    other: float
    foreign: float
    is_latin: bool

    @property
    def is_plain_english(self) -> bool:
        """Whether there is nothing to translate."""
        is_english = self.english >= self.other and self.foreign <= MOST_FOREIGN
        return self.is_latin and (is_english or not self.words)


def _nothing(_: str) -> bool:
    return False


def read_language(text: str, is_known: Callable[[str], bool] = _nothing) -> LanguageTest:
    """Count the words of *text*; *is_known* tells whether the catalogue holds a folded word."""
    distinct = dict.fromkeys(split_words(text))
    words = [word for word in distinct if _is_spoken(word)][:MOST_WORDS]
    if not words:
        return LanguageTest(0, 0.0, 0.0, 0.0, _is_latin(text))
    english = [_is_of(word, _ENGLISH) or _is_of(stem(word), _ENGLISH) for word in words]
    others = (language for language in LANGUAGES if language != _ENGLISH)
    other = max(_share([_is_of(word, language) for word in words]) for language in others)
    foreign = max(other, 1 - _share(english))
    if other <= _share(english):
        known = [one or is_known(word) for one, word in zip(english, words, strict=True)]
        foreign = 1 - _share(known)
    return LanguageTest(len(words), _share(english), other, foreign, _is_latin(text))


def _is_spoken(word: str) -> bool:
    """Return whether *word* is no number or code; vowel signs are no letters to `str.isalpha`."""
    return any(map(str.isalpha, word)) and not any(map(str.isdigit, word))


def _is_of(word: str, language: str) -> bool:
    return word in function_words_of(language) or share_of_texts(word, language) > 0


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


def _is_latin(text: str) -> bool:
    low, high = _LATIN_ADDITIONAL
    return all(
        ord(letter) <= _LAST_OF_LATIN or low <= ord(letter) <= high
        for letter in text
        if letter.isalpha()
    )
