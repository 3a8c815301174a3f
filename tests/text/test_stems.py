from __future__ import annotations

import pytest

from mcpg.text import stem, strip_accents, words
from mcpg.text.words import fold


@pytest.mark.parametrize(
    ("one", "other"),
    [("files", "file"), ("messages", "message"), ("issues", "issue"), ("databases", "database")],
)
def test_inflections_share_a_stem(one: str, other: str) -> None:
    """Singular and plural are one term."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["ids", "cafés", "i18ns", "посилки", "天気", "2024"])
def test_short_and_foreign_words_stay(word: str) -> None:
    """English rules would cut the first three: too short, not ASCII, not all letters."""
    assert stem(word) == word


def test_accents_are_folded_where_they_are_accents() -> None:
    """Latin accents go; letters that merely look accented in Cyrillic stay."""
    assert strip_accents("résumé") == "resume"
    assert strip_accents("їжак") == "їжак"
    assert fold("ＭＡＳＳＥ Straße") == "masse strasse"


def test_memory_for_stems_is_bounded() -> None:
    """Stems are forgotten when there are too many of them."""
    assert stem.cache_parameters()["maxsize"] == words._MOST_STEMS
