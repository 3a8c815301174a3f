from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text import iter_words, joined, split_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getCurrentTime", ["get", "current", "time"]),
        ("list_pull-requests", ["list", "pull", "requests"]),
        ("HTTPServer", ["http", "server"]),
        ("step12 sha256", ["step", "12", "sha", "256"]),
        ("СтатусЗаказа", ["статус", "заказа"]),
        ("région Straße", ["region", "strasse"]),
        ("ﬁle ＡＰＩ", ["file", "api"]),
        ("don't it's l'ordre", ["don", "it", "l", "ordre"]),
        ("東京の天気", ["東京", "京の", "の天", "天気"]),
        ("GitHub课程v2", ["git", "hub", "课程", "v2"]),
        ("", []),
        ("HTTP2Server⑴ x--y", ["http", "2", "server", "1", "x", "y"]),
        ("ßa東b", ["ssa", "東", "b"]),
        ("!?… 🧨", []),
    ],
)
def test_words_are_cut_at_seams(text: str, expected: list[str]) -> None:
    """Spaces, case, digits, underscores and scripts without spaces show where a word ends."""
    assert split_words(text) == expected


@pytest.mark.parametrize("code", ["1z999", "a1b2c3", "s3", "ec2", "mp3", "3d"])
def test_codes_stay_whole(code: str) -> None:
    """A code that mixes letters and digits is one word."""
    assert split_words(code) == [code]


def test_identifiers_appear_whole_as_well() -> None:
    """A compound identifier is found by its parts and by itself."""
    found = list(iter_words("call gitCommit now"))

    assert [word.text for word in found if word.whole] == ["gitcommit"]
    assert [word.text for word in found if not word.whole] == ["call", "git", "commit", "now"]


def test_marks_of_indian_scripts_are_kept() -> None:
    """Vowel signs are letters, not accents."""
    assert split_words("हिन्दी") == ["हिन्दी"]


@given(st.text(max_size=60))
def test_any_text_is_cut_without_failing(text: str) -> None:
    """Whatever the text, words are never blank and never longer than their bound."""
    assert all(0 < len(word.text) <= 64 for word in iter_words(text))


@given(st.text(max_size=60))
def test_cutting_ignores_case_of_plain_words(text: str) -> None:
    """Folding is done before words are compared: upper-case text has the same plain words."""
    plain = " ".join(word for word in text.lower().split() if word.isascii() and word.isalpha())

    assert split_words(plain) == split_words(plain.title())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.4.17", ["2.4.17"]),
        ("2024-05-01", ["2024-05-01"]),
        ("CVE-2024-1234", ["cve", "cve-2024-1234"]),
        ("gpt-4", ["gpt", "gpt-4"]),
        ("v1.2", ["v1.2"]),
        ("⒈", ["1."]),
    ],
)
def test_literals_stay_whole(text: str, expected: list[str]) -> None:
    """Versions, dates and numbered codes are one word: a near miss shares nothing with them."""
    assert split_words(text) == expected


@pytest.mark.parametrize("name", ["git_commit", "gitCommit", "Git-Commit", "git commit"])
def test_every_way_to_write_a_name_has_one_key(name: str) -> None:
    """Joined forms are equal whatever the separators and the case."""
    assert joined(name) == "gitcommit"


def test_memory_for_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut is forgotten when there is too much of it; long texts are not kept at all."""
    monkeypatch.setattr(words, "_MOST_REMEMBERED", 2)
    monkeypatch.setattr(words, "_words", {})

    assert split_words("one two three four five") == ["one", "two", "three", "four", "five"]
    assert split_words("x" * 100_000) == ["x" * 64]
    assert len(words._words) <= 2
