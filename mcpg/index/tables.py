"""Tables of rows of unequal length: many texts, or many lists of numbers, in two flat arrays.

The rows stand one after the other in the one array; the other holds where each begins, and where
the last one ends.
"""

from __future__ import annotations

from bisect import bisect_left

from mcpg.index.layout import Section, StaleIndexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ABSENT = -1
"""What a look-up gives for something that is not there."""

_HIGHEST = "\U0010ffff"


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

    __slots__ = ("_items", "_starts")

    def __init__(self, items: memoryview, starts: memoryview) -> None:
        self._items = items
        self._starts = starts

    def __len__(self) -> int:
        return max(0, len(self._starts) - 1)

    def __getitem__(self, number: int) -> memoryview:
        start, end = span(self._starts, number)
        if end > len(self._items):
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

    def find(self, text: str) -> int:
        """Give the number of *text* in a sorted table, `ABSENT` when it is not there."""
        place = bisect_left(self, text)
        return place if place < len(self) and self[place] == text else ABSENT

    def beginning_with(self, prefix: str) -> range:
        """Give the numbers of the texts of a sorted table that begin with *prefix*."""
        return range(bisect_left(self, prefix), bisect_left(self, prefix + _HIGHEST))


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
