"""Reading the sections of an index: items, rows of numbers, texts by number, numbers by text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

from mcpg.index.layout import (
    ABSENT,
    BLOCK_SIZE,
    NONE,
    OPTIONAL_SECTIONS,
    SECTIONS,
    Blocks,
    Buffer,
    CheckedItems,
    Entry,
    Items,
    Read,
    StaleIndexError,
    unpack,
)

CHECKED_SIZE = 32 << 20
"""Up to this size, without records, every section is compared with its checksum before use."""

# To compare so many bytes takes as long as a few dozen questions for one item.
_READ_WHOLE = 10 * BLOCK_SIZE
# Records bear a checksum each, because a search reads few of many.
_CHECKED_IN_PARTS = ("records", "records.at", "records.crc", "records.dictionary")

MOST_PROBES = 64
"""The most slots that are looked into: texts that are made to share a hash would otherwise take
time with the square of their number."""

# How many texts are decoded for each that is wanted, at most, to decode them all at once.
_MOST_SPREAD = 4
# Texts of a table that are all decoded, at some hundred bytes each.
_MOST_DECODED = 32_768


def span(starts: Items, number: int) -> tuple[int, int]:
    """Return begin and end of row *number*.

    Raises:
        StaleIndexError: The table has no such row, or the row ends before it begins.
    """
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
        """Return the rows of bytes from number *first* up to *end* in one, and where each begins.

        The last place is where they end.
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
        """Return what is in the rows of *numbers*, one row after the other."""
        found: list[int] = []
        items, starts, last = self._items, self._starts, self._end
        for number in numbers:
            try:
                start, end = starts[number], starts[number + 1]
            except IndexError as fault:
                raise StaleIndexError("a number leads out of its table") from fault
            if not start <= end <= last:
                raise StaleIndexError("a row leads out of its table")
            found += items[start:end]
        return found

    def holds(self, number: int, key: bytes) -> bool:
        """Return whether row *number* is *key*; most others have another length."""
        starts = self._starts
        try:
            start, end = starts[number], starts[number + 1]
        except IndexError as fault:
            raise StaleIndexError("a number leads out of its table") from fault
        if not start <= end <= self._end:
            raise StaleIndexError("a row leads out of its table")
        return end - start == len(key) and self._items[start:end] == key


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
        """Return the texts of *numbers*; where these are close, that is quicker than one by one."""
        first, end = min(numbers, default=0), max(numbers, default=-1) + 1
        if end - first > _MOST_SPREAD * len(numbers):
            return [self[number] for number in numbers]
        texts = self._run(first, end)
        return [texts[number - first] for number in numbers]

    def _run(self, first: int, end: int) -> list[str]:
        """Return the texts from number *first* up to *end*."""
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

    def beginning_with(self, prefix: str) -> Iterator[str]:
        """Return the texts of a sorted table that begin with *prefix*, in order."""
        for number in range(bisect_left(self, prefix), len(self)):
            text = self[number]
            if not text.startswith(prefix):
                return
            yield text


class KeyTable(TextTable):
    """Distinct texts by number, in order, and their numbers by text.

    Numbers are found through a hash table with open addressing: each stands in the first free
    slot from the one that the text's CRC-32 points at. Half of the slots at least are free. A text
    whose first 64 slots are all taken is in none, and found by its place in the order.
    """

    __slots__ = ("_numbers", "_slots")

    def __init__(self, data: Items, starts: Items, slots: Items) -> None:
        super().__init__(data, starts)
        self._slots = slots
        self._numbers: dict[str, int] = {}

    def read_ahead(self) -> None:
        """Decode all texts, unless they are too many to keep: then none is looked up in the file.

        Raises:
            StaleIndexError: One of them is broken.
        """
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
            if rows.holds(number, key):
                return number
        number = bisect_left(self, text)
        return number if number < len(self) and self[number] == text else ABSENT


class SectionFile:
    """The sections of an index file, as items and tables; nothing is read before it is asked for.

    Whatever is asked, the answer is right, or `StaleIndexError` is raised because the file is
    damaged. May be shared between threads.
    """

    def __init__(self, data: Buffer, *, in_blocks: bool = False, read: Read | None = None) -> None:
        """Open an index.

        Args:
            data: The file.
            in_blocks: Whether it is compared with its checksums block by block as it is read,
                which is right for a few questions, in place of section by section.
            read: Returns a number of bytes of the file from an offset, where *data* has room for
                all of it but holds only its head yet; with it, *in_blocks* must be set.

        Raises:
            StaleIndexError: *data* is no whole index of this version.
        """
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
        self._is_checked = in_blocks or searched <= CHECKED_SIZE
        self._blocks = Blocks(self._data, read)
        self._items: dict[str, Items] = {}
        self._views: dict[str, memoryview] = {}
        self._texts: dict[str, TextTable] = {}
        self._keys: dict[str, KeyTable] = {}
        self._rows: dict[str, RowTable] = {}

    @property
    def data(self) -> memoryview:
        """The whole file."""
        if self._in_blocks:
            self._blocks.check(self._blocks.start, len(self._data))
        return self._data

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return len(self._data)

    @property
    def is_checked(self) -> bool:
        """Whether everything is compared with its checksums before its first use."""
        return self._is_checked

    def verify(self, *, records: bool = True) -> None:
        """Compare every section with its checksums, or all but those of *records*.

        Raises:
            StaleIndexError: One is damaged.
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
        """Return the items of the section called *name*.

        They are compared with their checksum before; records are when each is read.

        Raises:
            StaleIndexError: There is none, or it is damaged.
        """
        view = self._views.get(name)
        if view is None:
            if self._in_blocks:
                self._check(name, self._entry(name), self._blocks.check)
            elif self._is_checked and name not in _CHECKED_IN_PARTS:
                # A block may have been damaged since another section of it was compared.
                self._check(name, self._entry(name), self._blocks.verify)
            view = self._views[name] = self._view(name)
        return view

    def items(self, name: str) -> Items:
        """Return the items of the section called *name*, to read some of them.

        Raises:
            StaleIndexError: There is none, or it is damaged; damage may show only when an item is
                read.
        """
        items = self._items.get(name)
        if items is None:
            is_whole = not self._in_blocks or self._size(name) <= _READ_WHOLE
            if is_whole:
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
        """Return the table of texts called *name* that finds the number of a text."""
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
