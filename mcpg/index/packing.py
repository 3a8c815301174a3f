"""Packing: from arrays and texts to the sections of an index, and from sections to a file."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

from mcpg.index.layout import (
    ALIGNMENT,
    BLOCK_SIZE,
    ENTRY,
    FIXED_SIZE,
    ITEM_SIZES,
    NONE,
    Buffer,
    Header,
    body_start,
    pack_head,
    unpack,
)
from mcpg.index.tables import MOST_PROBES

_CHUNK = 1 << 20


class Section(NamedTuple):
    """One named array of a file.

    Attributes:
        name: Its name, ASCII, up to 23 characters.
        item_type: Type of its items as in `struct`: `B`, `H`, `I`, `Q` or `d`.
        data: Its bytes, or the pieces of them.
    """

    name: str
    item_type: str
    data: Buffer | JoinedPieces | StoredPieces


def iter_pieces(data: Buffer | JoinedPieces | StoredPieces) -> Iterable[Buffer]:
    """Return *data*, or the pieces of it."""
    return (data,) if isinstance(data, (bytes, memoryview)) else data


class JoinedPieces(list[bytes]):
    """The pieces of data that is in memory; to join them would take as much again."""

    def __len__(self) -> int:
        return sum(map(len, self))


def pack(sections: Iterable[Section], header: Header) -> bytes:
    """Write a file of *sections*; they keep their order.

    A section that nobody else holds is released as soon as it is written.
    """
    table = SectionTable()
    pieces = deque(chain.from_iterable(map(table.write_section, sections)))
    file = BytesIO()
    file.write(table.head(header))
    while pieces:
        file.write(pieces.popleft())
    return file.getvalue()


class SectionTable:
    """The table of sections, and the checksums of blocks, of a file that is being written."""

    def __init__(self) -> None:
        self._entries: list[tuple[bytes, bytes, int]] = []
        self._size = 0
        self._checksums = array("I")
        self._last = 0
        """The CRC-32 of the last block, which has room left."""
        self._left = BLOCK_SIZE

    def write_section(self, section: Section) -> Iterator[Buffer]:
        """Note *section*, and yield the pieces of its data, up to where the next one begins."""
        name, size = section.name.encode("ascii"), ITEM_SIZES[section.item_type]
        length = len(section.data)
        if length % size or len(name) > 23:  # noqa: PLR2004 - as in the entry's format
            raise ValueError(f"section {section.name!r} is no array of {section.item_type!r}")
        self._entries.append((name, section.item_type.encode("ascii"), length))
        self._size += length + -length % ALIGNMENT
        for piece in (*iter_pieces(section.data), bytes(-length % ALIGNMENT)):
            self._add_checksums(memoryview(piece).cast("B"))
            yield piece

    def _add_checksums(self, view: memoryview) -> None:
        start = 0
        while start < len(view):
            part = view[start : start + self._left]
            self._last = crc32(part, self._last)
            start += len(part)
            self._left -= len(part)
            if not self._left:
                self._checksums.append(self._last)
                self._last, self._left = 0, BLOCK_SIZE

    def head(self, header: Header) -> bytes:
        """Return all that comes before the sections."""
        checksums = self._checksums + array("I", [self._last] if self._left < BLOCK_SIZE else [])
        start = body_start(len(self._entries), len(checksums))
        sizes = (length + -length % ALIGNMENT for _, _, length in self._entries)
        places = accumulate(sizes, initial=start)
        entries = zip(self._entries, places, strict=False)  # the last place is the end
        table = [ENTRY.pack(name, kind, place, length) for (name, kind, length), place in entries]
        tables = b"".join((*table, checksums.tobytes())).ljust(start - FIXED_SIZE, b"\0")
        return pack_head(header, tables, (len(table), start + self._size, len(checksums)))


def with_section(data: Buffer, section: Section) -> bytes:
    """Return the same file with *section* at its end, in place of one of that name."""
    header, entries = unpack(data)
    kept = [
        Section(name, entry.item_type, bytes(data[entry.start : entry.end]))
        for name, entry in entries.items()
        if name != section.name
    ]
    return pack([*kept, section], header)


def number_holders(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
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
    joined: list[bytes] = []
    kept: list[bytes] = []
    starts, end, first = array(offset_type, [0]), 0, 0
    for part in parts:
        kept.append(part)
        end += len(part)
        starts.append(end)
        if end - first >= _CHUNK:
            joined.append(b"".join(kept))
            kept.clear()
            first = end
    joined.append(b"".join(kept))
    return [
        Section(name, "B", joined[0] if len(joined) == 1 else JoinedPieces(joined)),
        Section(f"{name}.at", offset_type, starts.tobytes()),
    ]


def halves(numbers: array[int]) -> tuple[bytes, bytes]:
    """Return the higher and the lower 32 bits of each of *numbers*, which have 64."""
    parts = memoryview(numbers).cast("B").cast("I")
    is_little = sys.byteorder == "little"
    return parts[is_little::2].tobytes(), parts[not is_little :: 2].tobytes()


_IN_MEMORY = 8 << 20


class SpooledIndex:
    """The file that `pack` returns, in a temporary file until it has its place.

    What stands before the sections depends on all of them. The temporary file has no name, or loses
    it with the process.

    Args:
        sections: The sections; each is released before the next one is made.
        folder: Where the temporary file is.

    Raises:
        OSError: There is no room for the temporary file.
    """

    def __init__(self, sections: Iterable[Section], folder: str) -> None:
        from tempfile import SpooledTemporaryFile  # noqa: PLC0415 - slow, and a search writes none

        self._table = SectionTable()
        self._body = SpooledTemporaryFile(_IN_MEMORY, dir=folder)  # noqa: SIM115 - see `close`
        try:
            # A loop would hold each section while the next one is made.
            deque(map(self._write, sections), maxlen=0)
        except BaseException:
            self._body.close()
            raise

    def _write(self, section: Section) -> None:
        for piece in self._table.write_section(section):
            self._body.write(piece)

    def __enter__(self) -> Self:
        """Return the index, which is to be closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file."""
        self._body.close()

    def parts(self, header: Header) -> Iterator[bytes]:
        """Return the file with that *header*, in parts.

        Raises:
            OSError: The temporary file cannot be read.
        """
        yield self._table.head(header)
        self._body.seek(0)
        while part := self._body.read(_CHUNK):
            yield part


class StoredPieces:
    """Data that stands in a file, and is read when it is written to another one.

    Args:
        path: The file.
        start: Offset of its first byte.
        size: How many bytes it has.
    """

    def __init__(self, path: Path, start: int, size: int) -> None:
        self._path, self._start, self._size = path, start, size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            file.seek(self._start)
            left = self._size
            while left > 0:
                piece = file.read(min(left, _CHUNK))
                if not piece:
                    raise OSError(f"{self._path} ends early")
                left -= len(piece)
                yield piece
