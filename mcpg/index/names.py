"""The words of tools' names, and how much each of them says."""

from __future__ import annotations

from mcpg.index.rarity import inverse_document_frequency
from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpg.index.reader import Index

# Tools whose names, and terms whose rarities, are kept once they have been read.
_MOST_NAMES = 16_384


@value
class Name:
    """The name of a tool.

    Attributes:
        terms: The distinct terms of the name; words of the source's name are left out, unless the
            name has no other.
        rarities: Each of them, in the name's order, with its rarity, above 0.
        weight: The sum of the rarities.
    """

    terms: frozenset[int]
    rarities: tuple[tuple[int, float], ...]
    weight: float


class Names:
    """The names of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._size = len(index)
        self._names: dict[int, Name] = {}
        self._rarities: dict[int, float] = {}

    def of_tool(self, tool: int) -> Name:
        """Give the name of a tool."""
        known = self._names.get(tool)
        if known is None:
            known = self._read(tool)
            if len(self._names) < _MOST_NAMES:
                self._names[tool] = known
        return known

    def _read(self, tool: int) -> Name:
        terms = self._index.name_terms(tool).tolist()
        weight = 0.0
        rarities = []
        for term in terms:
            rarity = self._rarities.get(term) or self._rarity(term)
            weight += rarity
            rarities.append((term, rarity))
        return Name(frozenset(terms), tuple(rarities), weight)

    def _rarity(self, term: int) -> float:
        rarity = inverse_document_frequency(self._size, self._index.document_frequency(term))
        if len(self._rarities) < _MOST_NAMES:
            self._rarities[term] = rarity
        return rarity
