"""Kinds of operations, and questions."""

from __future__ import annotations

import importlib.util
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.text import lexicon
from mcpg.text.lexicon import (
    MOST_AGREEMENT,
    OPERATION_KINDS,
    find_ratios,
    is_question,
    operation_agreement,
    reading_likelihood,
    shares_by,
)

shares = st.lists(st.integers(0, 255), min_size=5, max_size=5)


def kind_of(*stems: str) -> str:
    """Return the most likely kind of what *stems* name."""
    found = shares_by((find_ratios(one), 1.0) for one in stems)
    return OPERATION_KINDS[found.index(max(found))]


@pytest.mark.parametrize(
    ("stem", "kind"),
    [
        ("list", "read many"),
        ("creat", "create"),
        ("add", "create"),
        ("updat", "change"),
        ("delet", "delete"),
        ("remov", "delete"),
    ],
)
def test_a_verb_names_a_kind_of_operation(stem: str, kind: str) -> None:
    """What a verb most often does in public APIs is what it names."""
    assert kind_of(stem) == kind


def test_a_word_that_opens_no_operation_says_nothing() -> None:
    """An unknown word has no ratios, and what nothing is known of agrees with everything alike."""
    reads = shares_by([(find_ratios("list"), 1.0)])

    assert find_ratios("walrus") == find_ratios("") == ()
    assert shares_by([]) == shares_by([((), 1.0)]) == ()
    assert shares_by([((), 1.0), (find_ratios("list"), 1.0)]) == reads
    assert operation_agreement((), b"\1\0\0\0\0") == operation_agreement(reads, bytes(5)) == 0.0
    assert reading_likelihood(bytes(5)) == 0.0


def test_a_tool_of_the_same_kind_agrees() -> None:
    """To delete agrees with deleting, and least with reading."""
    delete, remove, get = (
        shares_by([(find_ratios(one), 1.0)]) for one in ("delet", "remov", "get")
    )

    assert operation_agreement(delete, remove) > 0 > operation_agreement(delete, get)
    assert reading_likelihood(get) > 0 > reading_likelihood(delete)


@given(asked=shares.filter(any), done=shares)
def test_agreement_is_bounded(asked: list[int], done: list[int]) -> None:
    """Whatever is known of both, agreement and reading are in the documented range."""
    total = sum(asked)

    assert (
        -MOST_AGREEMENT
        <= operation_agreement(tuple(one / total for one in asked), bytes(done))
        <= MOST_AGREEMENT
    )
    assert -MOST_AGREEMENT <= reading_likelihood(done) <= MOST_AGREEMENT


def test_a_hint_of_reading_makes_reading_likelier() -> None:
    """The annotation of a tool counts beside the words of its name."""
    by_name = shares_by([(find_ratios("check"), 1.0)])
    hinted = [
        shares_by([(find_ratios("check"), 1.0), (lexicon.ratios_of_hint(hint), 1.0)])
        for hint in (True, False)
    ]

    assert (
        reading_likelihood(hinted[0]) > reading_likelihood(by_name) > reading_likelihood(hinted[1])
    )


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("what time is it", None),
        ("in which folder am i", "english"),
        ("is my copy clean", "english"),
        ("wer arbeitet hier", "german"),
        ("donde estan mis archivos", "spanish"),
        ("qui est connecte", "french"),
        ("где мои файлы", "russian"),
        ("天气 怎么样 如何", "chinese"),
    ],
)
def test_words_that_ask_make_a_question(query: str, language: str | None) -> None:
    """A question is recognised by its opening, or in some languages by any word."""
    assert is_question(query.split(), language)


@pytest.mark.parametrize("query", ["show me what is staged", "do it what i say", "find by who"])
def test_an_order_is_no_question(query: str) -> None:
    """A word that asks later in an English request makes no question of it."""
    assert not is_question(query.split(), "english")


def test_the_first_uses_may_be_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that read the table at one time leave the kinds as they are."""
    spec = importlib.util.find_spec(lexicon.__name__)
    assert spec is not None
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    both, read = Barrier(2), fresh.operation_shares

    def at_once(stem: str) -> list[float]:
        found = read(stem)
        both.wait(60)
        return found

    monkeypatch.setattr(fresh, "operation_shares", at_once)
    threads = [
        Thread(target=fresh.reading_likelihood, args=(bytes([1] * len(OPERATION_KINDS)),))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()

    assert fresh.shares_by([(find_ratios("get"), 1.0)]) == shares_by([(find_ratios("get"), 1.0)])
    assert fresh.reading_likelihood(bytes([9, 9, 1, 1, 1])) == reading_likelihood(
        bytes([9, 9, 1, 1, 1])
    )
