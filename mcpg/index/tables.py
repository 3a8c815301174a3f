"""The sections of an index: items, rows of numbers, texts by number, numbers by text."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from mcpg.index.layout import (
    ABSENT,
    ALIGNMENT,
    BLOCK_SIZE,
    ENTRY,
    FIXED_SIZE,
    ITEM_SIZES,
    NONE,
    OPTIONAL_SECTIONS,
    SECTIONS,
    Blocks,
    Buffer,
    CheckedItems,
    Entry,
    Header,
    Items,
    Read,
    StaleIndexError,
    body_start,
    pack_head,
    unpack,
)

CHECKED_SIZE = 32 << 20
"""Up to this size, without records, every section is compared with its checksum before use."""

# To compare so many bytes takes as long as a few dozen questions for one item.
_READ_WHOLE = 10 * BLOCK_SIZE
# Records have a checksum each, because a search reads few of many.
_CHECKED_IN_PARTS = ("records", "records.at", "records.crc", "records.dictionary")

MOST_PROBES = 64
"""The most slots that are looked into: texts that are made to share a hash would otherwise take
time with the square of their number."""

# How many texts are decoded for each that is wanted, at most, to decode them all at once.
_MOST_SPREAD = 4
# Texts of a table that are all decoded, at some hundred bytes each.
_MOST_DECODED = 32_768


def span(starts: Items, number: int) -> tuple[int, int]:
    """Return begin and end of row *number*."""
    try:
        start, end = starts[number], starts[number + 1]
    except IndexError as fault:
        raise StaleIndexError("a number leads out of its table") from fault
    if start > end:
        raise StaleIndexError("its rows are out of order")
    return start, end


class RowTable:
    """Rows of numbers."""

    __slots__ = ("_end", "_items", "_starts")

    def __init__(self, items: Items, starts: Items) -> None:
        self._items = items
        self._starts = starts
        self._end = len(items)

    def __len__(self) -> int:
        return max(0, len(self._starts) - 1)

    def __getitem__(self, number: int) -> memoryview:
        starts = self._starts
        try:
            start, end = starts[number], starts[number + 1]
        except IndexError as fault:
            raise StaleIndexError("a number leads out of its table") from fault
        if not start <= end <= self._end:
            raise StaleIndexError("a row leads out of its table")
        return self._items[start:end]

    def run(self, first: int, end: int) -> tuple[bytes, list[int]]:
        """Return the bytes of the rows from number *first* up to *end*, and the start of each.

        The last place is their end.
        """
        starts: list[int] = self._starts[first : end + 1].tolist()
        if len(starts) != end + 1 - first:
            raise StaleIndexError("a number leads out of its table")
        offset = starts[0]
        places = [start - offset for start in starts]
        if starts[-1] > self._end or starts != sorted(starts):
            raise StaleIndexError("a row leads out of its table")
        return bytes(self._items[offset : starts[-1]]), places

    def concatenate_rows(self, numbers: Iterable[int]) -> list[int]:
        found: list[int] = []
        for number in numbers:
            found += self[number]
        return found


class TextTable:
    """Texts by number."""

    __slots__ = ("_rows",)

    def __init__(self, data: Items, starts: Items) -> None:
        self._rows = RowTable(data, starts)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> str:
        try:
            return str(self._rows[number], "utf-8", "surrogatepass")
        except UnicodeDecodeError as fault:
            raise StaleIndexError("a text is broken") from fault

    def __iter__(self) -> Iterator[str]:
        return iter(self._run(0, len(self)))

    def some(self, numbers: Sequence[int]) -> list[str]:
        """Return the texts of *numbers*; if these are close, that is faster than one by one."""
        first, end = min(numbers, default=0), max(numbers, default=-1) + 1
        if end - first > _MOST_SPREAD * len(numbers):
            return [self[number] for number in numbers]
        texts = self._run(first, end)
        return [texts[number - first] for number in numbers]

    def _run(self, first: int, end: int) -> list[str]:
        data, places = self._rows.run(first, end)
        try:
            if data.isascii():
                text = data.decode("ascii")
                return [text[start:stop] for start, stop in pairwise(places)]
            return [
                str(data[start:stop], "utf-8", "surrogatepass") for start, stop in pairwise(places)
            ]
        except UnicodeDecodeError as fault:
            raise StaleIndexError("a text is broken") from fault


class KeyTable(TextTable):
    """Distinct texts by number, in order, and their numbers by text.

    Numbers are found through a hash table with open addressing: each is in the first free slot from
    the text's CRC-32. At least half of the slots are free. A text whose first 64 slots are all
    taken is in no slot, and is found by bisection.
    """

    __slots__ = ("_numbers", "_slots")

    def __init__(self, data: Items, starts: Items, slots: Items) -> None:
        super().__init__(data, starts)
        self._slots = slots
        self._numbers: dict[str, int] = {}

    def read_ahead(self) -> None:
        """Decode all texts, unless they are too many to keep: the file is not read later."""
        if len(self) <= _MOST_DECODED:
            self._numbers = {text: number for number, text in enumerate(self)}

    def find(self, text: str) -> int:
        """Return the number of *text*, `ABSENT` when it is not there."""
        if self._numbers:
            return self._numbers.get(text, ABSENT)
        key = text.encode("utf-8", "surrogatepass")
        slots, rows = self._slots, self._rows
        last = len(slots) - 1
        first = crc32(key)
        for place in range(first, first + min(last, MOST_PROBES)):
            number: int = slots[place & last]
            if number == NONE:
                return ABSENT
            if rows[number] == key:
                return number
        number = bisect_left(self, text)
        return number if number < len(self) and self[number] == text else ABSENT


class SectionFile:
    """The sections of an index file, as items and tables, read on demand.

    Every answer is right, or `StaleIndexError` is raised because the file is damaged, or not a
    whole index of this version. May be shared between threads.

    Args:
        data: The file.
        in_blocks: Whether it is checked block by block as it is read, which suits few queries,
            instead of section by section.
        read: Returns a number of bytes of the file from an offset, if *data* has room for all of it
            but only contains its head yet; requires *in_blocks*.
    """

    def __init__(self, data: Buffer, *, in_blocks: bool = False, read: Read | None = None) -> None:
        self._data = memoryview(data)
        self.header, self._entries = unpack(self._data)
        for name, item_type in SECTIONS.items():
            if name not in self._entries or self._entries[name].item_type not in item_type:
                raise StaleIndexError(f"it has no section {name!r}")
        for name, item_type in OPTIONAL_SECTIONS.items():
            if name in self._entries and self._entries[name].item_type != item_type:
                raise StaleIndexError(f"its section {name!r} has items of another type")
        searched = sum(entry.end - entry.start for entry in self._entries.values())
        searched -= self._size("records")
        self._in_blocks = in_blocks
        self.is_checked = in_blocks or searched <= CHECKED_SIZE
        self._blocks = Blocks(self._data, read)
        self._items: dict[str, Items] = {}
        self._views: dict[str, memoryview] = {}
        self._texts: dict[str, TextTable] = {}
        self._keys: dict[str, KeyTable] = {}
        self._rows: dict[str, RowTable] = {}

    @property
    def data(self) -> memoryview:
        if self._in_blocks:
            self._blocks.check(self._blocks.start, len(self._data))
        return self._data

    @property
    def size(self) -> int:
        return len(self._data)

    def verify(self, *, records: bool = True) -> None:
        """Check every section, or all except *records*.

        A damaged section is a `StaleIndexError`.
        """
        for name, entry in self._entries.items():
            if records or name not in _CHECKED_IN_PARTS:
                self._check(name, entry, self._blocks.verify)

    def _check(self, name: str, entry: Entry, check: Callable[[int, int], None]) -> None:
        try:
            check(entry.start, entry.end)
        except StaleIndexError as fault:
            raise StaleIndexError(f"its section {name!r} is damaged") from fault

    def has_section(self, name: str) -> bool:
        return name in self._entries

    def section(self, name: str) -> memoryview:
        """Return the items of the section called *name*, compared with their checksum.

        Records are compared when each is read.
        """
        view = self._views.get(name)
        if view is None:
            if self._in_blocks:
                self._check(name, self._entry(name), self._blocks.check)
            elif self.is_checked and name not in _CHECKED_IN_PARTS:
                # A block may have been damaged since another section of it was compared.
                self._check(name, self._entry(name), self._blocks.verify)
            view = self._views[name] = self._view(name)
        return view

    def items(self, name: str) -> Items:
        """Return the items of the section called *name*; damage may show when some are read."""
        items = self._items.get(name)
        if items is None:
            if not self._in_blocks or self._size(name) <= _READ_WHOLE:
                items = self.section(name)
            else:
                items = CheckedItems(self._view(name), self._entry(name), self._blocks)
            self._items[name] = items
        return items

    def _entry(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise StaleIndexError(f"it has no section {name!r}")
        return entry

    def _view(self, name: str) -> memoryview:
        entry = self._entry(name)
        return self._data[entry.start : entry.end].cast("B").cast(entry.item_type)  # type: ignore[call-overload, no-any-return]

    def texts(self, name: str) -> TextTable:
        table = self._texts.get(name)
        if table is None:
            table = self._texts[name] = TextTable(self.items(name), self.items(f"{name}.at"))
        return table

    def keys(self, name: str) -> KeyTable:
        table = self._keys.get(name)
        if table is None:
            parts = self.items(name), self.items(f"{name}.at"), self.items(f"{name}.slots")
            table = self._keys[name] = KeyTable(*parts)
        return table

    def rows(self, name: str) -> RowTable:
        table = self._rows.get(name)
        if table is None:
            table = self._rows[name] = RowTable(self.items(name), self.items(f"{name}.at"))
        return table

    def _size(self, name: str) -> int:
        entry = self._entry(name)
        return entry.end - entry.start

    def _item(self, name: str, number: int) -> int:
        items = self._items.get(name)
        try:
            item: int = (self.items(name) if items is None else items)[number]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault
        return item

    def _some(self, name: str, numbers: Iterable[int]) -> list[Any]:
        items = self.items(name)
        try:
            return [items[number] for number in numbers]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault

    def __len__(self) -> int:
        """Return the number of tools."""
        return self._size("enabled")

    @property
    def population(self) -> int:
        """The number of tools that the rarity of words and 3-grams is measured in."""
        return len(self)


_CHUNK = 1 << 20


class Section(NamedTuple):
    """One named array of a file: a name of up to 23 ASCII characters, and an item type of `struct`.

    The type is `B`, `H`, `I`, `Q` or `d`.
    """

    name: str
    item_type: str
    data: Buffer | JoinedPieces | StoredPieces


def array_section(name: str, item_type: str, values: Iterable[float]) -> Section:
    """Make the section of these items."""
    return Section(name, item_type, array(item_type, values).tobytes())


def iter_pieces(data: Buffer | JoinedPieces | StoredPieces) -> Iterable[Buffer]:
    """Return *data*, or the pieces of it."""
    return (data,) if isinstance(data, (bytes, memoryview)) else data


class JoinedPieces(list[bytes]):
    """The pieces of data in memory; joining them would double the memory."""

    def __len__(self) -> int:
        return sum(map(len, self))


def pack(sections: Iterable[Section], header: Header) -> bytes:
    """Write a file of *sections*; they keep their order.

    A section without other references is released as soon as it is written.
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
        # The CRC-32 of the last block, and how much room it has left.
        self._last, self._left = 0, BLOCK_SIZE

    def write_section(self, section: Section) -> Iterator[Buffer]:
        name, size = section.name.encode("ascii"), ITEM_SIZES[section.item_type]
        length = len(section.data)
        if length % size or len(name) > 23:  # noqa: PLR2004 - as in the entry's format
            raise ValueError(f"section {section.name!r} is not an array of {section.item_type!r}")
        self._entries.append((name, section.item_type.encode("ascii"), length))
        self._size += length + -length % ALIGNMENT
        for piece in (*iter_pieces(section.data), bytes(-length % ALIGNMENT)):
            view, start = memoryview(piece).cast("B"), 0
            while start < len(view):
                part = view[start : start + self._left]
                self._last = crc32(part, self._last)
                start += len(part)
                self._left -= len(part)
                if not self._left:
                    self._checksums.append(self._last)
                    self._last, self._left = 0, BLOCK_SIZE
            yield piece

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
    """Return the same file with *section* at its end, replacing a section of that name."""
    header, entries = unpack(data)
    kept = [
        Section(name, entry.item_type, bytes(data[entry.start : entry.end]))
        for name, entry in entries.items()
        if name != section.name
    ]
    return pack([*kept, section], header)


def number_holders(texts_of: Iterable[Iterable[str]]) -> tuple[list[str], list[list[int]]]:
    """Return all texts, sorted, and for each the numbers of its holders."""
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
    return [Section(name, item_type, items.tobytes()), Section(f"{name}.at", "I", starts.tobytes())]


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


@contextmanager
def spool_sections(
    sections: Iterable[Section], folder: str
) -> Iterator[Callable[[Header], Iterator[bytes]]]:
    """Store the file that `pack` returns in a temporary file until it is moved.

    The head depends on all sections, each of which is released before the next is made. The
    temporary file, in *folder*, has no name or is deleted with the process. The yielded function
    returns the file with a header, in parts.
    """
    from tempfile import SpooledTemporaryFile  # noqa: PLC0415 - slow, and a search writes none

    table = SectionTable()
    with SpooledTemporaryFile(_IN_MEMORY, dir=folder) as body:

        def parts(header: Header) -> Iterator[bytes]:
            yield table.head(header)
            body.seek(0)
            while part := body.read(_CHUNK):
                yield part

        # A loop would keep each section while the next is made.
        deque(map(body.write, chain.from_iterable(map(table.write_section, sections))), maxlen=0)
        yield parts


class StoredPieces:
    """Data of *size* bytes in a file, which is read when it is written to another one."""

    def __init__(self, path: Path, start: int, size: int) -> None:
        self.path, self.start, self.size = path, start, size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            file.seek(self.start)
            left = self.size
            while left > 0:
                piece = file.read(min(left, _CHUNK))
                if not piece:
                    raise OSError(f"{self.path} ends early")
                left -= len(piece)
                yield piece
