from __future__ import annotations

import pytest

from mcpg.text import detect_language, get_stop_words, split_words, stop_words_in
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
    assert detect_language(split_words(sentence)) == language


def test_another_languages_function_words_are_content() -> None:
    """The word "die" is an article in German and a verb in English."""
    assert "die" in stop_words_in(["die", "lieferung", "und", "das"])
    assert "die" not in stop_words_in(["the", "processes", "that", "die"])


@pytest.mark.parametrize("language", sorted(FOREIGN.union(LANGUAGES)))
def test_every_language_has_its_list(language: str) -> None:
    """Each supported language ships a list of folded words."""
    words = get_stop_words(language)

    assert len(words) > 40
    assert all(word == word.casefold() for word in words)


@pytest.mark.parametrize(
    "word",
    ["dashboard", "filter", "user", "page", "search", "find", "get", "list", "show", "status"],
)
def test_tool_vocabulary_is_never_a_function_word(word: str) -> None:
    """Words that name a tool's work or its objects are in no list."""
    assert word not in get_stop_words("english")


def test_one_function_word_counts_for_the_expected_language() -> None:
    """A single word tells a language only where that language is expected anyway."""
    assert detect_language(["my", "parcel"]) is None
    assert detect_language(["my", "parcel"], "english") == "english"
    assert detect_language(["dog", "pictures"], "english") is None
    assert detect_language(["dog", "pictures"], "danish") == "danish"
    assert detect_language(["wo", "ist", "das", "paket"], "english") == "german"


def test_no_list_has_no_words() -> None:
    """A language without a list, or none at all, has no stop words."""
    assert get_stop_words(None) == get_stop_words("klingon") == frozenset()
