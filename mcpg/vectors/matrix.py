"""The vectors of a catalogue's tools, and the cosines of a query's vector with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from mcpg.vectors.storage import Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

NO_VECTOR = -1.0
"""The cosine of a tool that has no vector."""

_DECIMALS = 6


class Neighbours(Protocol):
    """Finds vectors near to a query's without a look at all of them."""

    def near(self, query: NDArray[np.float32], count: int) -> Sequence[int]:
        """Give the numbers of about *count* vectors that are probably the nearest, each once."""


class ToolVectors:
    """One vector for each tool of a catalogue, by the tool's number in the index.

    Attributes:
        fingerprint: Who made the vectors.
        dimensions: How long each is; 0 where there is none at all.
        missing: How many tools have no vector.
    """

    def __init__(
        self,
        stored: Stored,
        present: NDArray[np.bool_],
        fingerprint: str,
        neighbours: Neighbours | None = None,
    ) -> None:
        """Hold vectors.

        Args:
            stored: One row for each tool; of those without a vector it does not matter.
            present: Which tools have a vector.
            fingerprint: Who made the vectors.
            neighbours: Finds rows that are probably near; without it, all are looked at.

        Raises:
            ValueError: There are not as many rows as tools.
        """
        if len(stored) != len(present):
            raise ValueError(f"{len(stored)} vectors for {len(present)} tools")
        self.stored = stored
        self.present = present
        self.fingerprint = fingerprint
        self.dimensions = stored.dimensions
        self.missing = len(present) - int(np.count_nonzero(present))
        self._neighbours = neighbours

    @classmethod
    def of(cls, vectors: Sequence[NDArray[np.float32] | None], fingerprint: str) -> ToolVectors:
        """Hold *vectors*, `None` for tools that have none, as they are given.

        Raises:
            ValueError: They are not equally long.
        """
        present = np.array([vector is not None for vector in vectors], dtype=np.bool_)
        lengths = {len(vector) for vector in vectors if vector is not None}
        if len(lengths) > 1:
            raise ValueError(f"vectors of {', '.join(map(str, sorted(lengths)))} dimensions")
        rows = np.zeros((len(vectors), lengths.pop() if lengths else 0), dtype=np.float32)
        for number, vector in enumerate(vectors):
            if vector is not None:
                rows[number] = vector
        return cls(Stored(rows), present, fingerprint)

    @property
    def identity(self) -> str:
        """Who made the vectors, and how they are kept and searched.

        Of the same documents, vectors without a gap that have equal ones answer alike.
        """
        how = "approximate" if self._neighbours else "exact"
        return f"{self.fingerprint} {self.stored.kind} {how}"

    def found_by(self, neighbours: Neighbours) -> ToolVectors:
        """Give the same vectors, the nearest of which are found by *neighbours*."""
        return ToolVectors(self.stored, self.present, self.fingerprint, neighbours)

    def __len__(self) -> int:
        return len(self.present)

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give the cosine of *query* with the vector of every tool, by the tool's number.

        They are rounded to six decimals, so that a platform's floating point reorders nothing;
        tools without a vector have -1.0.

        Raises:
            ValueError: *query* has other dimensions.
        """
        self._check(query)
        return self._products(query)

    def cosines_of(self, query: NDArray[np.float32], tools: Iterable[int]) -> NDArray[np.float32]:
        """Give the cosines of some *tools*, by number, in their order; as `cosines` does.

        Raises:
            ValueError: *query* has other dimensions.
            IndexError: There is no such tool.
        """
        self._check(query)
        return self._products(query, np.fromiter(tools, dtype=np.intp))

    def nearest(
        self, query: NDArray[np.float32], count: int, without: frozenset[int] = frozenset()
    ) -> list[tuple[int, float]]:
        """Give number and cosine of the *count* tools nearest to *query*, the nearest first.

        Tools with equal cosines stand in order of number. Those without a vector are left out.

        Args:
            query: The vector, normalised to length 1.
            count: How many at most.
            without: Tools to pass over, by number.

        Raises:
            ValueError: *query* has other dimensions.
        """
        self._check(query)
        eligible = self.present.copy()
        eligible[list(without)] = False
        if self._neighbours is not None and count + len(without) < len(self):
            near = np.array(self._neighbours.near(query, count + len(without)), dtype=np.intp)
            numbers = np.sort(near[eligible[near]])
            if len(numbers) >= count:
                return _best(numbers, self.cosines_of(query, numbers), count)
        numbers = np.flatnonzero(eligible)
        return _best(numbers, self.cosines(query)[numbers], count)

    def vector(self, tool: int) -> NDArray[np.float32] | None:
        """Give a copy of a tool's vector, as precisely as it is kept; `None` if it has none."""
        return self.stored.row(tool) if self.present[tool] else None

    def _check(self, query: NDArray[np.float32]) -> None:
        if self.dimensions and query.shape != (self.dimensions,):
            raise ValueError(f"a query of shape {query.shape} for {self.dimensions} dimensions")

    def _products(
        self, query: NDArray[np.float32], numbers: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        present = self.present if numbers is None else self.present[numbers]
        if not self.dimensions:
            return np.full(len(present), NO_VECTOR, dtype=np.float32)
        products = self.stored.cosines(query, numbers)
        rounded = np.round(np.clip(products, -1.0, 1.0), _DECIMALS)
        return np.where(present & ~np.isnan(rounded), rounded, np.float32(NO_VECTOR))


def _best(
    numbers: NDArray[np.intp], cosines: NDArray[np.float32], count: int
) -> list[tuple[int, float]]:
    """Give the *count* best of *numbers*, which ascend, with their *cosines*."""
    if count < 1:
        return []
    if count < len(numbers):
        least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
        kept = cosines >= least
        numbers, cosines = numbers[kept], cosines[kept]
    order = np.argsort(-cosines, kind="stable")[:count]
    found = zip(numbers[order].tolist(), cosines[order].tolist(), strict=True)
    return [(number, round(cosine, _DECIMALS)) for number, cosine in found]
