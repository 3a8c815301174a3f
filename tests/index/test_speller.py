from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.index.document_terms import spelling_sections
from mcpg.index.lookups import Speller
from mcpg.index.tables import SectionFile, texts_sections
from mcpg.text.spelling import allowed_edits, edit_distance

WORDS = st.text(alphabet="abcde", max_size=11)


def make_speller(words: list[str]) -> Speller:
    """Make the speller of *words* from the sections that a file would hold."""
    sections = [*texts_sections("words", sorted(words)), *spelling_sections(sorted(words))]
    file = object.__new__(SectionFile)
    file._texts, file._rows = {}, {}
    file._items = {one.name: memoryview(one.data).cast(one.item_type) for one in sections}
    return Speller(file)


def by_comparing_all(words: list[str], word: str) -> tuple[int, tuple[str, ...]]:
    """Say what `nearest` says, by brute force."""
    for edits in range(1, allowed_edits(word) + 1):
        found = sorted(one for one in words if edit_distance(word, one, edits) == edits)
        if found:
            return edits, tuple(found)
    return 0, ()


@given(st.lists(WORDS, max_size=40, unique=True), WORDS)
def test_all_that_is_nearest_is_found(words: list[str], word: str) -> None:
    """Neither deletions nor pairs lose a word within the allowed edits."""
    assert make_speller(words).nearest(word) == by_comparing_all(words, word)


@given(WORDS, st.data())
def test_edited_words_are_found(word: str, data: st.DataObject) -> None:
    """A word with random edits finds what brute force finds, itself excepted."""
    edited = list(word)
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(edited)))
        edited[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.text("abcdé", max_size=2)
        )
    asked = "".join(edited)

    assert make_speller([word]).nearest(asked) == by_comparing_all([word], asked)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("shipmnt", (1, ("shipment",))),
        ("hsipment", (1, ("shipment",))),
        ("shipmentt", (1, ("shipment", "shipments"))),
        ("hsipmnet", (2, ("shipment",))),
        ("sh", (0, ())),
        ("shp", (0, ())),
        ("тсатус", (1, ("статус",))),
        ("invoice", (0, ())),
        ("x" * 100_000, (0, ())),
        ("\ud800shipment", (1, ("shipment",))),
    ],
)
def test_known_repairs(word: str, expected: tuple[int, tuple[str, ...]]) -> None:
    """Slips of the finger are repaired in any script; short words and strangers are left alone."""
    words = ["shipment", "shipments", "ship", "статус", "3d"]

    assert make_speller(words).nearest(word) == expected


def test_a_known_word_is_not_its_own_repair() -> None:
    """Asked for a word that occurs, the speller gives its neighbours."""
    assert make_speller(["order", "orders"]).nearest("order") == (1, ("orders",))


def test_an_empty_vocabulary_repairs_nothing() -> None:
    """Without words there is no repair."""
    assert make_speller([]).nearest("shipmnet") == (0, ())
