from __future__ import annotations

import struct
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpg.index.layout import (
    BLOCK_SIZE,
    FORMAT_VERSION,
    ITEM_SIZES,
    KEY_SIZE,
    Blocks,
    CheckedItems,
    Header,
    StaleIndexError,
    restamp_index,
    unpack,
)
from mcpg.index.tables import Section, pack

KEY = bytes(range(KEY_SIZE))
FILE = pack([Section("numbers", "I", b"\1\0\0\0"), Section("text", "B", b"abc")], Header(KEY, 7))
# Places in the header: byte order mark, format version, number of sections, number of blocks; where
# the table begins.
ORDER, VERSION, COUNT, BLOCKS, HEAD = 8, 12, 20, 96, 112


@st.composite
def sections(draw: st.DrawFn) -> list[Section]:
    """Make sections of any type and length with names of their own."""
    names = draw(st.lists(st.text("abc._", min_size=1, max_size=23), unique=True, max_size=5))
    types = [draw(st.sampled_from(sorted(ITEM_SIZES))) for _ in names]
    datas = [draw(st.binary(max_size=5)) * ITEM_SIZES[item_type] for item_type in types]
    return [Section(*parts) for parts in zip(names, types, datas, strict=True)]


@given(sections(), st.binary(min_size=32, max_size=32), st.integers(0, 2**32 - 1))
def test_what_is_packed_is_unpacked(made: list[Section], key: bytes, recipe: int) -> None:
    """Sections come back by name, whole, at places that their items can be read from."""
    header = Header(key, recipe, (5, -6, 7, 8))
    data = pack(made, header)
    found, entries = unpack(data)

    assert found == header
    assert len(data) % 8 == 0
    assert [Section(n, e.item_type, data[e.start : e.end]) for n, e in entries.items()] == made
    blocks = Blocks(memoryview(data))
    for entry in entries.values():
        assert entry.start % 8 == 0
        blocks.verify(entry.start, entry.end)


def test_a_stamp_can_be_changed_alone() -> None:
    """Another stamp of the source leaves everything else as it is."""
    data = restamp_index(FILE, (10, 20, 30, 40))

    assert unpack(data)[0] == Header(KEY, 7, (10, 20, 30, 40))
    assert unpack(data)[1] == unpack(FILE)[1]
    assert restamp_index(data, (0, 0, 0, 0)) == FILE


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (0, b"PK\3\4", "not an index"),
        (ORDER, struct.pack(">I" if sys.byteorder == "little" else "<I", 0x01020304), "byte order"),
        (VERSION, struct.pack("=I", FORMAT_VERSION + 1), f"format {FORMAT_VERSION + 1}"),
        (COUNT, struct.pack("=I", 0xFFFFFFFF), "cut short"),
        (COUNT, struct.pack("=I", 900), "one checksum"),
        (COUNT, struct.pack("=I", 3), "damaged"),
        (COUNT + 12, b"\xff", "damaged"),
    ],
)
def test_foreign_files_are_refused_with_a_reason(place: int, value: bytes, reason: str) -> None:
    """Another kind of file, machine or version is told before anything is read."""
    damaged = FILE[:place] + value + FILE[place + len(value) :]

    with pytest.raises(StaleIndexError, match=reason):
        unpack(damaged)


@pytest.mark.parametrize("data", [b"", b"m", FILE[:40], FILE[:-1], FILE + b"\0", b"\0" * 500])
def test_files_of_another_length_are_refused(data: bytes) -> None:
    """A file that was cut short or appended to is no index."""
    with pytest.raises(StaleIndexError):
        unpack(data)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ((b"numbers", b"I", 1 << 62, 4), "has an impossible place"),
        ((b"numbers", b"I", 0, 4), "has an impossible place"),
        ((b"numbers", b"I", BLOCK_SIZE, 1 << 63), "has an impossible place"),
        ((b"numbers", b"I", BLOCK_SIZE, 3), "makes no sense"),
        ((b"numbers", b"I", BLOCK_SIZE + 1, 4), "makes no sense"),
        ((b"numbers", b"x", BLOCK_SIZE, 4), "makes no sense"),
        ((b"text", b"I", BLOCK_SIZE, 4), "makes no sense"),
        ((b"numbers", b"I", BLOCK_SIZE, 12), "has an impossible place"),
    ],
)
def test_tables_that_make_no_sense_are_refused(
    entry: tuple[bytes, bytes, int, int], reason: str
) -> None:
    """Sections outside the file, overlapping, misplaced, cut or repeated are noticed."""
    damaged = bytearray(FILE)
    struct.pack_into("=23scQQ", damaged, HEAD, *entry)
    damaged = bytearray(_with_checksum(bytes(damaged)))

    with pytest.raises(StaleIndexError, match=reason):
        unpack(bytes(damaged))


def _with_checksum(data: bytes) -> bytes:
    """Give *data* the checksum that its header ought to have."""
    tables = data[HEAD:BLOCK_SIZE]
    checksum = zlib.crc32(tables, zlib.crc32(data[: HEAD - 8]))
    return data[: HEAD - 8] + struct.pack("=Q", checksum) + data[HEAD:]


def test_every_block_has_a_checksum() -> None:
    """A header that counts other blocks than its sections have is refused."""
    damaged = bytearray(FILE)
    struct.pack_into("=Q", damaged, BLOCKS, 2)

    with pytest.raises(StaleIndexError, match="one checksum for each block"):
        unpack(_with_checksum(bytes(damaged)))


@pytest.mark.parametrize("place", [0, BLOCK_SIZE - 1, BLOCK_SIZE, 2 * BLOCK_SIZE + 99])
def test_a_damaged_block_is_refused_alone(place: int) -> None:
    """A flipped bit shows in what is read of its block, and nowhere else."""
    numbers = bytes(range(250)) * 50
    file = bytearray(pack([Section("one", "B", b"x"), Section("all", "B", numbers)], Header(KEY)))
    entry = unpack(file)[1]["all"]
    file[entry.start + place] ^= 1
    data = memoryview(bytes(file))
    items = CheckedItems(data[entry.start : entry.end], entry, Blocks(data))
    other = (place + BLOCK_SIZE) % len(numbers)

    for _ in range(2):
        for key in (place, place - len(numbers), slice(place, None), slice(None)):
            with pytest.raises(StaleIndexError):
                items[key]
        assert items[other] == items[other - len(numbers)] == numbers[other]
        assert bytes(items[other : other + 1]) == numbers[other : other + 1]
        assert len(items[place:place]) == 0
    with pytest.raises(IndexError):
        items[len(numbers)]
    with pytest.raises(StaleIndexError):
        Blocks(data).verify(entry.start, entry.end)


@pytest.mark.parametrize("section", [Section("n", "I", b"abc"), Section("n" * 24, "B", b"")])
def test_what_is_no_section_is_not_packed(section: Section) -> None:
    """Half an item and too long a name are mistakes of the caller."""
    with pytest.raises(ValueError, match="is not an array"):
        pack([section], Header(KEY))
