"""The layout of an index file: a header, a table of sections, and the sections themselves.

    header    magic, byte order, versions, length, what it was built from, checksum
    table     for each section its name, place, length, item type and checksum
    sections  flat arrays and texts, each at a multiple of 8 bytes

Numbers stand in the byte order of the machine that wrote the file; another machine tells by the
byte order mark that the file is not for it. Nothing in the file is ever executed or unpickled.
"""

from __future__ import annotations

import struct
import zlib

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    Buffer: TypeAlias = "bytes | memoryview"

MAGIC = b"mcpg-idx"
FORMAT_VERSION = 4
"""Goes up whenever sections, or the rules by which texts are cut into them, change."""

ITEM_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8, "d": 8}
KEY_SIZE = 32
NO_STAMP = (0, 0)

_BYTE_ORDER = 0x01020304
_ALIGNMENT = 8
_MOST_SECTIONS = 1024
# magic, byte order, format version, recipe, number of sections, file length,
# size and time of the source, content key; then the checksum of all this and of the table
_HEADER = struct.Struct("=8sIIIIQQq32s")
_CHECKSUM = struct.Struct("=Q")
# name, item type, place, length, checksum
_ENTRY = struct.Struct("=23scQQQ")
_HEAD_SIZE = _HEADER.size + _CHECKSUM.size


class StaleIndexError(Exception):
    """An index that cannot be used: damaged, foreign, of another version or of other content.

    It never leaves the package: whoever opens an index builds it anew.
    """


@value
class Section:
    """One named array of a file.

    Attributes:
        name: Its name, ASCII, up to 23 characters.
        item_type: Type of its items as in `struct`: `B`, `H`, `I`, `Q` or `d`.
        data: Its bytes.
    """

    name: str
    item_type: str
    data: bytes


@value
class Header:
    """What a file says of itself.

    Attributes:
        key: SHA-256 of what it was built from.
        recipe: Checksum of whatever else its content depends on.
        stamp: Size and modification time, in nanoseconds, of the file it was built from.
    """

    key: bytes
    recipe: int = 0
    stamp: tuple[int, int] = NO_STAMP


@value
class Entry:
    """Where a section stands in a file.

    Attributes:
        item_type: Type of its items as in `struct`.
        start: Offset of its first byte.
        end: Offset after its last byte.
        checksum: CRC-32 of its bytes.
    """

    item_type: str
    start: int
    end: int
    checksum: int


def pack(sections: Iterable[Section], header: Header) -> bytes:
    """Write a file of *sections*; they keep their order."""
    sections = list(sections)
    place = _aligned(_HEAD_SIZE + len(sections) * _ENTRY.size)
    parts, table = [], []
    for section in sections:
        table.append(_entry(section, place))
        parts.append(section.data + bytes(-len(section.data) % _ALIGNMENT))
        place += len(parts[-1])
    gap = bytes(-(_HEAD_SIZE + len(table) * _ENTRY.size) % _ALIGNMENT)
    return b"".join((_head(header, b"".join(table), place), *table, gap, *parts))


def restamped(data: bytes, stamp: tuple[int, int]) -> bytes:
    """Give the same file with another stamp of its source."""
    header, _ = unpack(data)
    count = _HEADER.unpack_from(data)[4]
    table = bytes(data[_HEAD_SIZE : _HEAD_SIZE + count * _ENTRY.size])
    head = _head(Header(header.key, header.recipe, stamp), table, len(data))
    return head + data[_HEAD_SIZE:]


def unpack(data: Buffer) -> tuple[Header, dict[str, Entry]]:
    """Read header and table of a file, and check that they are whole and make sense.

    Raises:
        StaleIndexError: They do not, or the file is of another kind, version or machine.
    """
    if len(data) < _HEAD_SIZE or bytes(data[: len(MAGIC)]) != MAGIC:
        raise StaleIndexError("it is no index")
    _, order, version, recipe, count, length, size, time, key = _HEADER.unpack_from(data)
    if order != _BYTE_ORDER:
        raise StaleIndexError("it was written by a machine of another byte order")
    if version != FORMAT_VERSION:
        raise StaleIndexError(f"it has format {version}, not {FORMAT_VERSION}")
    if length != len(data) or count > _MOST_SECTIONS:
        raise StaleIndexError("it is cut short or has grown")
    table = bytes(data[_HEAD_SIZE : _HEAD_SIZE + count * _ENTRY.size])
    (checksum,) = _CHECKSUM.unpack_from(data, _HEADER.size)
    if len(table) != count * _ENTRY.size or checksum != _checksum(data[: _HEADER.size], table):
        raise StaleIndexError("its header is damaged")
    return Header(key, recipe, (size, time)), _entries(table, length)


def crc(data: Buffer) -> int:
    """Give the CRC-32 of *data*."""
    return zlib.crc32(data)


def _head(header: Header, table: bytes, length: int) -> bytes:
    count = len(table) // _ENTRY.size
    versions = (_BYTE_ORDER, FORMAT_VERSION, header.recipe)
    fixed = _HEADER.pack(MAGIC, *versions, count, length, *header.stamp, header.key)
    return fixed + _CHECKSUM.pack(_checksum(fixed, table))


def _checksum(fixed: Buffer, table: bytes) -> int:
    return zlib.crc32(table, zlib.crc32(fixed))


def _entry(section: Section, place: int) -> bytes:
    size = ITEM_SIZES[section.item_type]
    name = section.name.encode("ascii")
    if len(section.data) % size or len(name) > 23:  # noqa: PLR2004 - as in the entry's format
        raise ValueError(f"section {section.name!r} is no array of {section.item_type!r}")
    kind = section.item_type.encode("ascii")
    return _ENTRY.pack(name, kind, place, len(section.data), crc(section.data))


def _entries(table: bytes, length: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    free = _aligned(_HEAD_SIZE + len(table))
    for raw, kind, start, size, checksum in _ENTRY.iter_unpack(table):
        name, item_type = raw.rstrip(b"\0").decode("latin-1"), kind.decode("latin-1")
        item_size = ITEM_SIZES.get(item_type)
        if not item_size or size % item_size or start % _ALIGNMENT or name in entries:
            raise StaleIndexError(f"its section {name!r} makes no sense")
        if start < free or start + size > length:
            raise StaleIndexError(f"its section {name!r} lies where it cannot")
        free = start + size
        entries[name] = Entry(item_type, start, free, checksum)
    return entries


def _aligned(place: int) -> int:
    return place + -place % _ALIGNMENT


def check(data: Buffer, name: str, entry: Entry) -> None:
    """Compare a section's bytes with its checksum.

    Raises:
        StaleIndexError: They differ.
    """
    if crc(data[entry.start : entry.end]) != entry.checksum:
        raise StaleIndexError(f"its section {name!r} is damaged")


def section_sizes(entries: Mapping[str, Entry]) -> dict[str, int]:
    """Give the length of every section in bytes, by name."""
    return {name: entry.end - entry.start for name, entry in entries.items()}
