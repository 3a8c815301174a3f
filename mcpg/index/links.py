"""Reading the links of an index, and what tools provide to each other, in both directions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeAlias

from mcpg.index.layout import (
    COVERAGES,
    HUNDREDTHS,
    KINDS,
    MAPPING_WIDTH,
    NONE,
    ORIGINS,
    StaleIndexError,
)
from mcpg.index.tables import Tables, span

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
