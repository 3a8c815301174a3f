from __future__ import annotations

import pytest

from mcpg.text import language_of, split_words, stop_words_in, stop_words_of
from mcpg.text.lexicon import FOREIGN
from mcpg.text.words import LANGUAGES


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("where is the parcel that I sent", "english"),
        ("wo ist das Paket, das ich geschickt habe", "german"),
        ("où est le colis que je vous ai envoyé", "french"),
        ("dónde está el paquete que te envié", "spanish"),
        ("где моя посылка и когда она будет", "russian"),
        ("parcel", None),
        ("dog pictures", None),
    ],
)
def test_language_is_told_by_its_function_words(sentence: str, language: str | None) -> None:
    """The language whose function words a text uses most is its language."""
    assert language_of(split_words(sentence)) == language


def test_another_languages_function_words_are_content() -> None:
    """The word "die" is an article in German and a verb in English."""
    assert "die" in stop_words_in(["die", "lieferung", "und", "das"])
    assert "die" not in stop_words_in(["the", "processes", "that", "die"])


@pytest.mark.parametrize("language", sorted(FOREIGN.union(LANGUAGES)))
def test_every_language_has_its_list(language: str) -> None:
    """Each supported language ships a list of folded words."""
    words = stop_words_of(language)

    assert len(words) > 40
    assert all(word == word.casefold() for word in words)


@pytest.mark.parametrize(
    "word",
    ["dashboard", "filter", "user", "page", "search", "find", "get", "list", "show", "status"],
)
def test_tool_vocabulary_is_never_a_function_word(word: str) -> None:
    """Words that name a tool's work or its objects are in no list."""
    assert word not in stop_words_of("english")


def test_one_function_word_counts_for_the_expected_language() -> None:
    """A single word tells a language only where that language is expected anyway."""
    assert language_of(["my", "parcel"]) is None
    assert language_of(["my", "parcel"], "english") == "english"
    assert language_of(["dog", "pictures"], "english") is None
    assert language_of(["dog", "pictures"], "danish") == "danish"
    assert language_of(["wo", "ist", "das", "paket"], "english") == "german"


def test_no_list_has_no_words() -> None:
    """A language without a list, or none at all, has no stop words."""
    assert stop_words_of(None) == stop_words_of("klingon") == frozenset()
