"""Checksums of the blocks of an index, each compared once, when a byte of its block is first read.

A short-lived process reads little of a large file: a search of 20,000 tools needs one block in
twenty. To compare the whole sections that it needs takes as long as the search. A long-lived
process reads most blocks in time, so that it compares whole sections, and then reads them directly.

Where the system can, a short-lived process reads its blocks into memory of its own: around every
byte that is read of a mapped file, the system maps a good many pages more.

Source: Merkle, "A digital signature based on a conventional encryption function", CRYPTO 1987, for
one checksum over the checksums of all blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, overload
from zlib import crc32

from mcpg.index.layout import BLOCK_SIZE, Entry, StaleIndexError, block_table, count_blocks

Read: TypeAlias = Callable[[int, int], bytes]

_BLOCK_BITS = BLOCK_SIZE.bit_length() - 1


class Blocks:
    """The blocks of a file."""

    __slots__ = ("_checksums", "_data", "_read", "start", "unread")

    def __init__(self, data: memoryview, read: Read | None = None) -> None:
        """Find the checksums.

        Args:
            data: A file that can be unpacked.
            read: Returns that many bytes of it from an offset, to be written to *data* before
                they are compared; without, they are there already.
        """
        self._data = data
        self._read = read
        self.start, self._checksums = block_table(data)
        """Offset of the first block."""
        self.unread = bytearray(b"\1") * len(self._checksums)
        """For each block whether it has yet to be compared."""

    def check(self, start: int, end: int) -> None:
        """Compare those blocks that hold the bytes from *start* to *end*, each once.

        Raises:
            StaleIndexError: One is damaged.
        """
        unread = self.unread
        last = count_blocks(end - self.start)
        first = unread.find(1, (start - self.start) // BLOCK_SIZE, last)
        while first >= 0:
            after = unread.find(0, first, last)
            self._compare(first, last if after < 0 else after)
            first = unread.find(1, first, last)

    def verify(self, start: int, end: int) -> None:
        """Compare them, also those that have been compared before.

        Raises:
            StaleIndexError: One is damaged.
        """
        first, last = (start - self.start) // BLOCK_SIZE, count_blocks(end - self.start)
        self.unread[first:last] = b"\1" * len(range(first, last))
        self.check(start, end)

    def _compare(self, first: int, last: int) -> None:
        place = self.start + first * BLOCK_SIZE
        end = min(self.start + last * BLOCK_SIZE, len(self._data))
        if self._read:
            read = self._read(place, end - place)
            if len(read) != end - place:
                raise StaleIndexError("it was cut short")
            self._data[place:end] = read
        for block in range(first, last):
            if crc32(self._data[place : min(place + BLOCK_SIZE, end)]) != self._checksums[block]:
                raise StaleIndexError("a block of it is damaged")
            self.unread[block] = 0
            place += BLOCK_SIZE


class CheckedItems:
    """The items of a section, whose blocks are compared with their checksums when they are read."""

    __slots__ = ("_blocks", "_first", "_items", "_shift", "_start", "_unread", "_width")

    def __init__(self, items: memoryview, entry: Entry, blocks: Blocks) -> None:
        self._items = items
        self._blocks = blocks
        self._unread = blocks.unread
        self._start = entry.start
        self._width = items.itemsize
        # Sections begin at multiples of 8 bytes, so that no item lies in two blocks.
        self._first = (entry.start - blocks.start) // items.itemsize
        self._shift = _BLOCK_BITS - items.itemsize.bit_length() + 1

    def __len__(self) -> int:
        return len(self._items)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: int, /) -> Any: ...
        @overload
        def __getitem__(self, key: slice, /) -> memoryview: ...

    def __getitem__(self, key: Any, /) -> Any:
        items = self._items
        if key.__class__ is slice:
            start, end, _ = key.indices(len(items))
            if start < end:
                self._check(start, end)
            return items[key]
        item = items[key]
        place = key if key >= 0 else key + len(items)
        if self._unread[(self._first + place) >> self._shift]:
            self._check(place, place + 1)
            return items[key]
        return item

    def _check(self, start: int, end: int) -> None:
        width = self._width
        self._blocks.check(self._start + start * width, self._start + end * width)
