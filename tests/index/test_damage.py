from __future__ import annotations

import sys
from array import array
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from builders import make_tool
from hypothesis import given
from hypothesis import strategies as st

from mcpg.bundle import assemble
from mcpg.index import tables
from mcpg.index.compile import compile_index
from mcpg.index.layout import (
    FIXED_SIZE,
    OPTIONAL_SECTIONS,
    SECTIONS,
    Header,
    StaleIndexError,
    compress_record,
    head_size,
    unpack,
)
from mcpg.index.lookups import Grams
from mcpg.index.reader import Index
from mcpg.index.tables import Section, pack
from mcpg.search.array_scores import multiply_meanings
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REFUSED = "refused"


@pytest.fixture(scope="module")
def foreign() -> bytes:
    """Return the bytes of an index of tools that are described in Spanish."""
    tools = (
        make_tool("crear", description="Crear una carpeta nueva en el directorio del usuario."),
        make_tool("borrar", description="Borrar un archivo de la carpeta que el usuario indica."),
    )
    return compile_index(assemble(SourceBatch(tools=tools)).documents)


def questions(index: Index) -> Iterator[Callable[[], Any]]:
    """Return everything that an index can be asked."""
    of_tools = index.tool_id, index.tool_name, index.display_name, index.summary, index.source_id
    of_tools += index.is_enabled, index.record, index.markdown
    of_tools += index.groups, index.name_terms, index.edges
    yield from asked(of_tools, range(min(3, len(index))))
    of_terms = index.term, index.document_frequency, index.max_impact, index.word_of_term
    yield from asked((*of_terms, lambda term: [*map(bytes, index.postings(term))]), range(4))
    of_texts = index.find_stem, index.find_identifier, index.exact, index.find_tool
    texts = "shipment", "trackshipment", "a", "refund"
    yield from asked((*of_texts, index.find_word, index.nearest), texts)
    yield lambda: index.nearest("hsipmnets")
    yield lambda: index.completions("ship", 3)
    yield lambda: index.term_of_word(index.find_word("shipment") + 1)
    yield lambda: [index.language, list(index.iter_disabled_tools())]
    yield lambda: [*Grams(index).of_word("shipments"), *Grams(index).of_tool(0)]
    yield lambda: [Grams(index).norms([0]), index.reason(0)]
    yield lambda: [index.group(0), list(index.members(0))]
    yield from asked((index.with_phrase, index.meant_by), ("стан посилки", "folder", "create"))
    yield lambda: [index.has_phrases, list(map(bytes, index.operations(range(len(index)))))]
    yield lambda: index.foreign_languages
    # A record is checked when it is read.
    yield from asked([index.section], [name for name in SECTIONS if name[:7] != "records"])


def asked(
    asks: Iterable[Callable[[Any], Any]], things: Iterable[Any]
) -> Iterator[Callable[[], Any]]:
    """Give every question about every thing."""
    return (partial(ask, thing) for thing in things for ask in asks)


def answers(data: bytes, opened: Callable[[bytes], Index] = Index) -> list[Any]:
    """Ask everything of an index; a question that it refuses to answer is `REFUSED`."""

    def answer(ask: Callable[[], Any]) -> Any:
        try:
            found = ask()
        except StaleIndexError:
            return REFUSED
        return list(found) if isinstance(found, memoryview) else found

    try:
        return [answer(ask) for ask in questions(opened(data))]
    except StaleIndexError:
        return []


def in_blocks(data: bytes) -> Index:
    """Open an index that compares its blocks one by one, as they are read."""
    return Index(data, in_blocks=True)


def read_in_blocks(data: bytes) -> Index:
    """Open one that first reads them."""
    memory = memoryview(bytearray(len(data)))
    memory[:FIXED_SIZE] = data[:FIXED_SIZE]
    head = head_size(memory)
    memory[:head] = data[:head]
    return Index(memory, in_blocks=True, read=lambda start, size: data[start : start + size])


@pytest.mark.untraced
@pytest.mark.parametrize("opened", [Index, read_in_blocks])
def test_a_flipped_bit_anywhere_never_gives_a_wrong_answer(
    data: bytes, opened: Callable[[bytes], Index]
) -> None:
    """Wherever a byte is damaged, every answer is the right one or a refusal."""
    right = answers(data)
    assert answers(data, opened) == right
    assert REFUSED not in right
    for place in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        pairs = zip(answers(bytes(damaged), opened), right, strict=False)
        assert all(one in (REFUSED, other) for one, other in pairs), place


def test_a_file_cut_anywhere_is_refused(data: bytes) -> None:
    """However much of a file is there, less than all is no index."""
    for length in range(len(data)):
        with pytest.raises(StaleIndexError):
            Index(data[:length])


@given(st.binary(max_size=300))
def test_foreign_files_are_refused(data: bytes) -> None:
    """Files of other programs are no index."""
    with pytest.raises(StaleIndexError):
        Index(data)


def assert_well_formed(found: list[Any], right: list[Any]) -> None:
    """Assert that each answer is a refusal or has the type of the right one."""
    if len(found) == len(right):  # else the file has another number of tools
        pairs = zip(found, right, strict=True)
        assert all(one == REFUSED or type(one) is type(other) for one, other in pairs)


@given(st.data())
def test_lies_with_a_right_checksum_do_no_harm(data: bytes, draw: st.DataObject) -> None:
    """A file that was made to mislead gives answers of the right types, or refusals."""
    header, entries = unpack(data)
    sections = {
        name: Section(name, entry.item_type, data[entry.start : entry.end])
        for name, entry in entries.items()
    }
    for name in draw.draw(st.lists(st.sampled_from(sorted(sections)), min_size=1, max_size=3)):
        old = sections[name]
        lie = _lie(draw, old.data, memoryview(old.data).cast(old.item_type).itemsize)
        sections[name] = Section(name, old.item_type, lie)

    for opened in (Index, in_blocks, read_in_blocks):
        found = answers(pack(sections.values(), header), opened)
        assert_well_formed(found, answers(data))


def _lie(draw: st.DataObject, data: bytes, size: int) -> bytes:
    """Make other bytes in place of *data*: fewer, repeated, moved, or any at all."""
    item = st.binary(min_size=size, max_size=size)
    items = [data[start : start + size] for start in range(0, len(data), size)]
    drawn = draw.draw(
        st.one_of(
            st.just(items[: len(items) // 2]),
            st.just(items * 2),
            st.just(items[::-1]),
            st.lists(item, min_size=len(items), max_size=len(items)),
            st.lists(item, max_size=9),
        )
    )
    return b"".join(drawn)


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_a_missing_section_is_noticed_at_once(data: bytes, name: str) -> None:
    """An index that lacks a section, or has it with other items, is not opened."""
    header, entries = unpack(data)
    others = [
        Section(one, entry.item_type, data[entry.start : entry.end])
        for one, entry in entries.items()
        if one != name
    ]

    with pytest.raises(StaleIndexError, match=f"no section {name!r}"):
        Index(pack(others, header))
    with pytest.raises(StaleIndexError, match=f"no section {name!r}"):
        Index(
            pack([*others, Section(name, "H" if "H" not in SECTIONS[name] else "B", b"")], header)
        )


@pytest.mark.untraced
def test_damage_in_a_large_file_does_no_harm(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where checksums are not compared before use, answers still have the right types."""
    monkeypatch.setattr(tables, "CHECKED_SIZE", 0)
    right = answers(data)
    for place in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 0x80 >> place % 8
        assert_well_formed(answers(bytes(damaged)), right)


def test_a_record_is_checked_before_it_is_read(data: bytes) -> None:
    """One damaged record leaves the others readable."""
    place = unpack(data)[1]["records"].start + 3
    index = Index(data[:place] + b"\0" + data[place + 1 :])

    with pytest.raises(StaleIndexError, match="damaged"):
        index.record(0)
    assert index.record(1).uri == "urn:hidden"


def repacked(data: bytes, **changed: bytes) -> Index:
    """Put other bytes into sections, dots in their names written as underlines."""
    header, entries = unpack(data)
    return Index(
        pack(
            [
                Section(
                    name,
                    entry.item_type,
                    changed.get(name.replace(".", "_"), data[entry.start : entry.end]),
                )
                for name, entry in entries.items()
            ],
            header,
        )
    )


def test_a_record_of_something_else_is_refused(data: bytes) -> None:
    """A record with a right checksum that is no document is damage as well."""
    record = b"[]"
    kept = compress_record(record, b"")
    starts = b"".join(place.to_bytes(8, sys.byteorder) for place in (0, *[len(kept)] * 3))
    checksum = crc32(record).to_bytes(4, sys.byteorder) + bytes(8)
    index = repacked(data, records=kept, records_at=starts, records_crc=checksum)

    with pytest.raises(StaleIndexError, match="broken"):
        index.record(0)


def test_postings_of_unequal_length_are_refused(data: bytes) -> None:
    """Every posting has its impact and its fields."""
    index = repacked(data, postings_impact=b"")

    with pytest.raises(StaleIndexError, match="unequal"):
        index.postings(0)


def test_a_language_that_is_no_name_is_refused(data: bytes) -> None:
    """The language is told in ASCII."""
    with pytest.raises(StaleIndexError, match="language"):
        _ = repacked(data, language=b"\xff").language


@pytest.mark.parametrize("shares", [b"", b"\xff\xff", bytes(99)])
def test_operations_of_unequal_length_are_refused(data: bytes, shares: bytes) -> None:
    """Every tool has a probability of each kind of operation."""
    with pytest.raises(StaleIndexError, match="operations"):
        repacked(data, tools_operation=shares).operations([0])


@pytest.mark.parametrize("vectors", [b"", bytes(128), bytes(128 * 99)])
def test_vectors_of_unequal_length_are_refused(data: bytes, vectors: bytes) -> None:
    """Every tool has a vector of its meaning, for arrays as well."""
    index = repacked(data, tools_meaning=vectors)

    with pytest.raises(StaleIndexError, match="meaning"):
        index.read_meanings([0])
    with pytest.raises(StaleIndexError, match="meaning"):
        multiply_meanings([1] * 128, [0], index)


@pytest.mark.parametrize("means", [b"", bytes(8), bytes(8 * 99)])
def test_means_of_other_fields_are_refused(data: bytes, means: bytes) -> None:
    """Each field has one mean."""
    with pytest.raises(StaleIndexError, match="means"):
        repacked(data, fields_mean=means).field_means()


@pytest.mark.parametrize("norm", [0.0, -1.0, nan])
def test_a_tool_without_a_length_is_refused(data: bytes, norm: float) -> None:
    """The length of a vector of 3-grams can divide."""
    norms = array("d", [norm] * len(Index(data))).tobytes()

    with pytest.raises(StaleIndexError, match="length"):
        repacked(data, grams_norm=norms).grams.norms([0])


def test_a_language_that_is_unknown_is_refused(data: bytes) -> None:
    """The language is one with stop words."""
    with pytest.raises(StaleIndexError, match="language"):
        _ = repacked(data, language=b"klingon").language


@pytest.mark.untraced
def test_damage_in_the_meanings_of_words_does_no_harm(foreign: bytes) -> None:
    """Damage in a table that only a catalogue in another language has is noticed."""
    entries = unpack(foreign)[1]
    right = answers(foreign)
    assert Index(foreign).meant_by("folder")
    for name, entry in entries.items():
        for place in range(entry.start, entry.end if name.startswith("meanings") else 0, 7):
            damaged = bytearray(foreign)
            damaged[place] ^= 1 << place % 8
            pairs = zip(answers(bytes(damaged)), right, strict=True)
            assert all(one in (REFUSED, other) for one, other in pairs), place


@pytest.mark.parametrize("name", sorted(OPTIONAL_SECTIONS))
def test_an_optional_section_of_another_type_is_refused(foreign: bytes, name: str) -> None:
    """A section that not every index has is read as what it is, or not at all."""
    header, entries = unpack(foreign)
    others = [
        Section(one, entry.item_type, foreign[entry.start : entry.end])
        for one, entry in entries.items()
        if one != name
    ]

    with pytest.raises(StaleIndexError, match=f"section {name!r}"):
        Index(pack([*others, Section(name, "d", b"")], header))


def test_headers_are_values() -> None:
    """What a file says of itself can be compared."""
    assert Header(b"k") == Header(b"k", 0, (0, 0, 0, 0)) != Header(b"l")
