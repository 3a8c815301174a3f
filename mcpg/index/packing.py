"""Packing: from arrays and texts to the sections of an index, and from sections to a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING
from zlib import crc32

from mcpg.index.layout import (
    ALIGNMENT,
    BLOCK_SIZE,
    BYTE_ORDER,
    CHECKSUM,
    ENTRY,
    FIXED_SIZE,
    FORMAT_VERSION,
    HEADER,
    ITEM_SIZES,
    MAGIC,
    NONE,
    Header,
    block_table,
    blocks_of,
    body_start,
    head_checksum,
    unpack,
)
from mcpg.index.tables import MOST_PROBES
from mcpg.values import value

if TYPE_CHECKING:
    from mcpg.index.layout import Buffer, Stamp


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
    data: Buffer


def pack(sections: Iterable[Section], header: Header) -> bytes:
    """Write a file of *sections*; they keep their order.

    A section that nobody else holds is released as soon as it is written.
    """
    names: list[tuple[bytes, bytes]] = []
    parts: list[Buffer] = []
    for section in sections:
        name, size = section.name.encode("ascii"), ITEM_SIZES[section.item_type]
        if len(section.data) % size or len(name) > 23:  # noqa: PLR2004 - as in the entry's format
            raise ValueError(f"section {section.name!r} is no array of {section.item_type!r}")
        names.append((name, section.item_type.encode("ascii")))
        parts.append(section.data)
    padded = [len(part) + -len(part) % ALIGNMENT for part in parts]
    blocks = blocks_of(sum(padded))
    start = body_start(len(parts), blocks)
    places = accumulate(padded, initial=start)
    entries = zip(names, places, map(len, parts), strict=False)  # the last place is the end
    table = [ENTRY.pack(name, kind, place, length) for (name, kind), place, length in entries]
    checksums = _block_checksums(_aligned(parts))
    tables = b"".join((*table, checksums)).ljust(start - FIXED_SIZE, b"\0")
    file = BytesIO()
    file.write(_head(header, tables, (len(table), start + sum(padded), blocks)))
    parts.reverse()
    while parts:
        file.writelines(_aligned([parts.pop()]))
    return file.getvalue()


def _aligned(parts: Iterable[Buffer]) -> Iterator[Buffer]:
    """Yield *parts*, each with what fills it up to where the next one begins."""
    for part in parts:
        yield part
        yield bytes(-len(part) % ALIGNMENT)


def _block_checksums(parts: Iterable[Buffer]) -> bytes:
    """Return the CRC-32 of each block of *parts*, which stand one after the other."""
    checksums, checksum, left = array("I"), 0, BLOCK_SIZE
    for part in parts:
        view = memoryview(part)
        start = 0
        while start < len(view):
            piece = view[start : start + left]
            checksum = crc32(piece, checksum)
            start += len(piece)
            left -= len(piece)
            if not left:
                checksums.append(checksum)
                checksum, left = 0, BLOCK_SIZE
    if left < BLOCK_SIZE:
        checksums.append(checksum)
    return checksums.tobytes()


def restamped(data: Buffer, stamp: Stamp) -> bytes:
    """Return the same file with another stamp of its source."""
    return b"".join(restamped_parts(data, stamp))


def restamped_parts(data: Buffer, stamp: Stamp) -> tuple[bytes, memoryview]:
    """Return in two parts what `restamped` does; the second is no copy."""
    header, entries = unpack(data)
    start, checksums = block_table(memoryview(data))
    sizes = len(entries), len(data), len(checksums)
    stamped = Header(header.key, header.recipe, stamp)
    return _head(stamped, bytes(data[FIXED_SIZE:start]), sizes), memoryview(data)[start:]


def with_section(data: Buffer, section: Section) -> bytes:
    """Return the same file with *section* at its end, in place of one of that name."""
    header, entries = unpack(data)
    kept = [
        Section(name, entry.item_type, bytes(data[entry.start : entry.end]))
        for name, entry in entries.items()
        if name != section.name
    ]
    return pack([*kept, section], header)


def _head(header: Header, tables: bytes, sizes: tuple[int, int, int]) -> bytes:
    """Return all that comes before the sections of a file.

    Args:
        header: What the file says of itself.
        tables: The table of sections and the checksums of blocks, up to the first section.
        sizes: Number of sections, length of the file, and number of blocks.
    """
    count, length, blocks = sizes
    versions = (BYTE_ORDER, FORMAT_VERSION, header.recipe)
    fixed = HEADER.pack(MAGIC, *versions, count, length, *header.stamp, header.key, blocks)
    return fixed + CHECKSUM.pack(head_checksum(fixed, tables)) + tables


def numbered(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
    """Return all texts, sorted, and for each the numbers of those that hold it."""
    holders: dict[str, list[int]] = {}
    for number, texts in enumerate(texts_of):
        for text in dict.fromkeys(texts):
            holders.setdefault(text, []).append(number)
    texts = sorted(holders)
    return texts, [holders[text] for text in texts]


def rows_sections(name: str, rows: Iterable[Sequence[int]], item_type: str = "I") -> list[Section]:
    """Make the sections of `Rows`: *name* and *name*`.at`."""
    items, starts = array(item_type), array("I", [0])
    for row in rows:
        items.extend(row)
        starts.append(len(items))
    return [
        Section(name, item_type, items.tobytes()),
        Section(f"{name}.at", "I", starts.tobytes()),
    ]


def texts_sections(name: str, texts: Iterable[str]) -> list[Section]:
    """Make the sections of `Texts`: *name* and *name*`.at`."""
    return bytes_sections(name, (text.encode("utf-8", "surrogatepass") for text in texts))


def keys_sections(name: str, texts: Sequence[str]) -> list[Section]:
    """Make the sections of `Keys`, whose texts are sorted: *name*, *name*`.at`, *name*`.slots`."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = 1 << (2 * len(parts)).bit_length()
    slots = array("I", [NONE]) * size
    for number, part in enumerate(parts):
        first = crc32(part)
        for place in range(first, first + MOST_PROBES):
            if slots[place & (size - 1)] == NONE:
                slots[place & (size - 1)] = number
                break
    return [*bytes_sections(name, parts), Section(f"{name}.slots", "I", slots.tobytes())]


def bytes_sections(name: str, parts: Iterable[bytes], offset_type: str = "I") -> list[Section]:
    """Make the sections of rows of bytes: *name* and *name*`.at`."""
    kept, starts, end = [], array(offset_type, [0]), 0
    for part in parts:
        kept.append(part)
        end += len(part)
        starts.append(end)
    return [
        Section(name, "B", b"".join(kept)),
        Section(f"{name}.at", offset_type, starts.tobytes()),
    ]
