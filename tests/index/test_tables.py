from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hostile import words_of_one_crc
from hypothesis import given
from hypothesis import strategies as st

from mcpg.index.layout import ABSENT, NONE, StaleIndexError
from mcpg.index.tables import (
    KeyTable,
    RowTable,
    TextTable,
    keys_sections,
    rows_sections,
    texts_sections,
)

if TYPE_CHECKING:
    from mcpg.index.tables import Section

ANY_TEXT = st.text(st.characters(), max_size=8)


def views(sections: list[Section]) -> list[memoryview]:
    """Read the sections of a table as its reader does."""
    return [memoryview(one.data).cast(one.item_type) for one in sections]


def texts_of(texts: list[str]) -> TextTable:
    """Make a table of *texts*."""
    return TextTable(*views(texts_sections("texts", texts)))


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=4), max_size=6))
def test_rows_come_back(rows: list[list[int]]) -> None:
    """Rows of any length, empty ones too, are read as they were written."""
    table = RowTable(*views(rows_sections("rows", rows)))

    assert [list(table[number]) for number in range(len(table))] == rows


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=4), min_size=1), st.data())
def test_rows_are_joined_in_the_order_asked(rows: list[list[int]], data: st.DataObject) -> None:
    """Several rows in one are these rows, one after the other; there is none beyond the last."""
    table = RowTable(*views(rows_sections("rows", rows)))
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1)))

    assert table.concatenate_rows(numbers) == [item for number in numbers for item in rows[number]]
    with pytest.raises(StaleIndexError):
        table.concatenate_rows([*numbers, len(rows)])


@given(st.lists(ANY_TEXT, max_size=6))
def test_texts_come_back(texts: list[str]) -> None:
    """Texts of any characters, halves of surrogate pairs too, are read as they were written."""
    assert list(texts_of(texts)) == texts


@given(st.lists(ANY_TEXT, min_size=1), st.data())
def test_several_texts_are_those_of_their_numbers(texts: list[str], data: st.DataObject) -> None:
    """Texts that are read at once, close or far apart, are the same as each by itself."""
    held = texts_of(texts)
    numbers = data.draw(st.lists(st.integers(0, len(texts) - 1)))

    assert held.some(numbers) == [held[number] for number in numbers]


@given(st.lists(ANY_TEXT, max_size=20, unique=True), ANY_TEXT)
def test_keys_are_found(texts: list[str], other: str) -> None:
    """Every text of a table of keys is found at its place, and no other text is."""
    texts.sort()
    table = KeyTable(*views(keys_sections("keys", texts)))

    assert list(table) == texts
    assert [table.find(text) for text in texts] == list(range(len(texts)))
    assert (table.find(other) == ABSENT) == (other not in texts)


def test_texts_of_one_hash_stand_near_it() -> None:
    """Texts that share a CRC-32 are all found, and none is looked for in more than 64 slots."""
    texts = sorted(words_of_one_crc(500))
    sections = views(keys_sections("keys", texts))
    size = len(sections[2])
    taken = {place for place, number in enumerate(sections[2]) if number != NONE}

    assert len({crc32(text.encode()) for text in texts}) == 1
    assert {(place - crc32(texts[0].encode())) % size for place in taken} == set(range(64))
    table = KeyTable(*sections)
    assert [table.find(text) for text in texts] == list(range(500))
    assert [table.find(text) for text in words_of_one_crc(510)[500:]] == [ABSENT] * 10


@pytest.mark.parametrize("slots", [b"", bytes(4), bytes(8), bytes(12), b"\1" * 16])
def test_a_search_among_damaged_slots_ends(slots: bytes) -> None:
    """Slots that are too few, all taken, or lead nowhere give no endless search."""
    text, starts, _ = views(keys_sections("keys", ["one"]))
    table = KeyTable(text, starts, memoryview(slots).cast("I"))

    with suppress(StaleIndexError):
        assert table.find("other") == ABSENT


@pytest.mark.parametrize(
    ("starts", "number"),
    [([], 0), ([0], 0), ([0, 2], 1), ([2, 1], 0), ([0, 9], 0)],
)
def test_rows_that_are_not_there_are_refused(starts: list[int], number: int) -> None:
    """Numbers and rows beyond the table, and rows that end before they begin, are damage."""
    raw = b"".join(start.to_bytes(4, "little") for start in starts)
    table = RowTable(memoryview(b"abc"), memoryview(raw).cast("I"))

    with pytest.raises(StaleIndexError):
        table[number]
    with pytest.raises(StaleIndexError):
        table.run(number, number + 1)


def test_broken_texts_are_refused() -> None:
    """Bytes that are no UTF-8 are damage."""
    table = TextTable(memoryview(b"\xff"), memoryview(b"\0\0\0\0\1\0\0\0").cast("I"))

    with pytest.raises(StaleIndexError, match="broken"):
        table[0]
