"""Reading tables of an index: rows of numbers, texts by number, and numbers by text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol, TypeAlias
from zlib import crc32

from mcpg.index.layout import (
    ABSENT,
    COVERAGES,
    HUNDREDTHS,
    KINDS,
    MAPPING_WIDTH,
    NONE,
    ORIGINS,
    Items,
    StaleIndexError,
)


class Tables(Protocol):
    """What an index has."""

    def __len__(self) -> int: ...
    def items(self, name: str) -> Items: ...
    def rows(self, name: str) -> RowTable: ...
    def texts(self, name: str) -> TextTable: ...


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
        return self._find_in_order(text)

    def _find_in_order(self, text: str) -> int:
        number = bisect_left(self, text)
        return number if number < len(self) and self[number] == text else ABSENT


Ends: TypeAlias = tuple[tuple[int, int, str, float], ...]
Provisions: TypeAlias = tuple[tuple[int, int, float], ...]
Mapping: TypeAlias = tuple[str, tuple[tuple[str, str, bool], ...]]


# Tools whose edges, and reasons that, are kept once they have been read.
_MOST_REMEMBERED = 16_384


class LinkTables:
    """The links and provisions of an index, as the methods of `Index` of the same names have it."""

    def __init__(self, index: Tables) -> None:
        self._index = index
        self._edges: dict[int, Ends] = {}
        self._edges_to: dict[int, Ends] = {}
        self._reasons: dict[int, str] = {}

    def edges(self, tool: int) -> Ends:
        known = self._edges.get(tool)
        if known is None:
            known = tuple(self._outgoing(tool))
            if len(self._edges) < _MOST_REMEMBERED:
                self._edges[tool] = known
        return known

    def _outgoing(self, tool: int) -> list[tuple[int, int, str, float]]:
        index = self._index
        first, end = span(index.items("links.at"), tool)
        targets = index.rows("links")[tool]
        kinds, weights = index.items("links.kind"), index.items("links.weight")
        if end > min(len(kinds), len(weights)):
            raise StaleIndexError("its links are of unequal length")
        links = zip(range(first, end), targets, kinds[first:end], weights[first:end], strict=True)
        return [
            (number, target, KINDS[kind % len(KINDS)], weight)
            for number, target, kind, weight in links
            if target != NONE
        ]

    def edges_to(self, tool: int) -> Ends:
        known = self._edges_to.get(tool)
        if known is None:
            known = tuple(map(self._incoming, self._index.rows("linked_by")[tool].tolist()))
            if len(self._edges_to) < _MOST_REMEMBERED:
                self._edges_to[tool] = known
        return known

    def _incoming(self, link: int) -> tuple[int, int, str, float]:
        kind = KINDS[int(self._item("links.kind", link)) % len(KINDS)]
        return link, self._holder("links.at", link), kind, self._item("links.weight", link)

    def reason(self, link: int) -> str:
        number = int(self._item("links.reason", link))
        known = self._reasons.get(number)
        if known is None:
            known = self._index.texts("reasons")[number]
            if len(self._reasons) < _MOST_REMEMBERED:
                self._reasons[number] = known
        return known

    def origin(self, link: int) -> str:
        return ORIGINS[int(self._item("links.origin", link)) % len(ORIGINS)]

    def mapping(self, link: int) -> tuple[str, tuple[tuple[str, str], ...]]:
        number = int(self._item("links.mapping", link))
        coverage, fields = ("", ()) if number == NONE else self._mapping(number)
        return coverage, tuple([(given, argument) for given, argument, _ in fields])

    def provides(self, tool: int) -> Provisions:
        first, _ = span(self._index.items("provides.at"), tool)
        targets = self._index.rows("provides")[tool].tolist()
        return tuple(
            [(n, to, self._read_provision_weight(n)) for n, to in enumerate(targets, first)]
        )

    def provided_by(self, tool: int) -> Provisions:
        numbers = self._index.rows("provided_by")[tool].tolist()
        return tuple(
            [(n, self._holder("provides.at", n), self._read_provision_weight(n)) for n in numbers]
        )

    def provision(self, number: int) -> Mapping:
        return self._mapping(int(self._item("provides.mapping", number)))

    def _read_provision_weight(self, number: int) -> float:
        return self._item("provides.weight", number) / HUNDREDTHS

    def _mapping(self, number: int) -> Mapping:
        coverage, *numbers = self._index.rows("mappings")[number].tolist() or (0,)
        names = self._index.texts("fields")
        fields = zip(*[iter(numbers)] * MAPPING_WIDTH, strict=False)
        return COVERAGES[coverage % len(COVERAGES)], tuple(
            [
                (names[given], names[argument], bool(required))
                for given, argument, required in fields
            ]
        )

    def _holder(self, name: str, number: int) -> int:
        """Return the row that the item *number* of a table stands in."""
        row = bisect_right(self._index.items(name), number) - 1
        if not 0 <= row < len(self._index):
            raise StaleIndexError(f"a number leads out of its section {name!r}")
        return row

    def _item(self, name: str, number: int) -> float:
        try:
            item: float = self._index.items(name)[number]
        except IndexError as fault:
            raise StaleIndexError(f"a number leads out of its section {name!r}") from fault
        return item
