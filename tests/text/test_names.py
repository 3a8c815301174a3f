from __future__ import annotations

import pytest

from mcpg.text import lexicon


@pytest.mark.parametrize(
    "name",
    ["tokyo", "munich", "new york", "montag", "москва", "東京", "schmidt", "Turkey", "May"],
)
def test_names_of_individuals_are_listed(name: str) -> None:
    """A place, a person or a day is known, in the languages with a table."""
    assert lexicon.is_name(name)


@pytest.mark.parametrize("word", ["turkey", "may", "mobile", "reading", "order", "git", "the", ""])
def test_an_ordinary_word_is_no_name(word: str) -> None:
    """What is a name with a capital only is listed with one."""
    assert not lexicon.is_name(word)


def test_names_are_no_frequent_english_words() -> None:
    """A name in small letters is never one of the most frequent words, or one of tools."""
    table = lexicon._table("names.words")
    names = (table.word(number) for number in range(len(table)))
    frequent = [name for name in names if lexicon.zipf_frequency(name, lexicon.ENGLISH) >= 6]
    assert not frequent


def test_adjectives_and_adverbs_are_modifiers() -> None:
    """Nouns and verbs are not, whatever else they may be."""
    assert all(map(lexicon.is_modifier, ("late", "inside", "big")))
    assert not any(map(lexicon.is_modifier, ("order", "open", "time", "list", "tokyo")))
