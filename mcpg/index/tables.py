"""Tables of rows of unequal length: many texts, or many lists of numbers, in two flat arrays.

The rows stand one after the other in the one array; the other holds where each begins, and where
the last one ends.
"""

from __future__ import annotations

from bisect import bisect_left
from zlib import crc32

from mcpg.index.layout import Section, StaleIndexError
from mcpg.index.sections import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ABSENT = -1
"""What a look-up gives for something that is not there."""

# Texts that are made to share a hash would otherwise take time with the square of their number.
_MOST_PROBES = 64


def span(starts: memoryview, number: int) -> tuple[int, int]:
    """Give begin and end of row *number*.

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


class Rows:
    """Rows of numbers."""

    __slots__ = ("_end", "_items", "_starts")

    def __init__(self, items: memoryview, starts: memoryview) -> None:
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


class Texts:
    """Texts by number."""

    __slots__ = ("_rows",)

    def __init__(self, data: memoryview, starts: memoryview) -> None:
        self._rows = Rows(data, starts)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> str:
        try:
            return str(self._rows[number], "utf-8", "surrogatepass")
        except UnicodeDecodeError as fault:
            raise StaleIndexError("a text is broken") from fault

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def beginning_with(self, prefix: str) -> Iterator[str]:
        """Give the texts of a sorted table that begin with *prefix*, in order."""
        for number in range(bisect_left(self, prefix), len(self)):
            text = self[number]
            if not text.startswith(prefix):
                return
            yield text


class Keys(Texts):
    """Distinct texts by number, in order, and their numbers by text.

    Numbers are found through a hash table with open addressing: each stands in the first free
    slot from the one that the text's CRC-32 points at. Half of the slots at least are free. A text
    whose first 64 slots are all taken is in none, and found by its place in the order.
    """

    __slots__ = ("_slots",)

    def __init__(self, data: memoryview, starts: memoryview, slots: memoryview) -> None:
        super().__init__(data, starts)
        self._slots = slots

    def find(self, text: str) -> int:
        """Give the number of *text*, `ABSENT` when it is not there."""
        key = text.encode("utf-8", "surrogatepass")
        slots, rows = self._slots, self._rows
        last = len(slots) - 1
        first = crc32(key)
        for place in range(first, first + min(last, _MOST_PROBES)):
            number = slots[place & last]
            if number == NONE:
                return ABSENT
            if rows[number] == key:
                return number
        return self._found_in_order(text)

    def _found_in_order(self, text: str) -> int:
        number = bisect_left(self, text)
        return number if number < len(self) and self[number] == text else ABSENT


def rows_sections(name: str, rows: Iterable[Sequence[int]], item_type: str = "I") -> list[Section]:
    """Make the sections of `Rows`: *name* and *name*`.at`."""
    from array import array  # noqa: PLC0415 - needed to build, not to search

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
    from array import array  # noqa: PLC0415 - as above

    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = 1 << (2 * len(parts)).bit_length()
    slots = array("I", [NONE]) * size
    for number, part in enumerate(parts):
        first = crc32(part)
        for place in range(first, first + _MOST_PROBES):
            if slots[place & (size - 1)] == NONE:
                slots[place & (size - 1)] = number
                break
    return [*bytes_sections(name, parts), Section(f"{name}.slots", "I", slots.tobytes())]


def bytes_sections(name: str, parts: Iterable[bytes], offset_type: str = "I") -> list[Section]:
    """Make the sections of rows of bytes: *name* and *name*`.at`."""
    from array import array  # noqa: PLC0415 - as above

    kept, starts, end = [], array(offset_type, [0]), 0
    for part in parts:
        kept.append(part)
        end += len(part)
        starts.append(end)
    return [
        Section(name, "B", b"".join(kept)),
        Section(f"{name}.at", offset_type, starts.tobytes()),
    ]
