"""Nearest texts by their runs of characters, for queries that share no whole word with any.

Texts are vectors of the TF-IDF weights of their runs of three characters, of length 1; two texts
are as far apart as the ends of their vectors (Salton and Buckley, "Term-weighting approaches in
automatic text retrieval", 1988; Cavnar and Trenkle, "N-Gram-Based Text Categorization", 1994).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

from mcpg.text import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_RUN = 3


@dataclass(frozen=True, slots=True)
class Segment:
    """One text of a node, and the predicate that has it."""

    node: str
    predicate: str
    text: str


@dataclass(frozen=True, slots=True)
class Near:
    """A segment and its distance from a query, from 0 to less than the square root of 2."""

    segment: Segment
    distance: float

    @property
    def nearness(self) -> float:
        """1 / (1 + distance), from above 0.41 to 1."""
        return 1 / (1 + self.distance)


class Distances:
    """Knows the runs of characters of some segments."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        """Cut *segments*."""
        self._segments = list(segments)
        self._lengths = [0.0] * len(self._segments)
        self._places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, segment in enumerate(self._segments):
            for run, count in runs_of(segment.text).items():
                self._places[run].append((place, count))
        for run, places in self._places.items():
            rarity = self._rarity(run)
            for place, count in places:
                self._lengths[place] += (count * rarity) ** 2

    def nearest(self, query: str, limit: int) -> list[Near]:
        """Give the nearest segment of each of the *limit* nearest nodes, the nearest first.

        Nodes that share no run of characters with *query* are left out.
        """
        weights = {run: count * self._rarity(run) for run, count in runs_of(query).items()}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        products = self._products(weights)
        near = (
            Near(self._segments[place], self._distance(product, place, length))
            for place, product in products.items()
        )
        best: dict[str, Near] = {}
        for one in sorted(near, key=_order):
            best.setdefault(one.segment.node, one)
        return list(best.values())[:limit]

    def _products(self, weights: Mapping[str, float]) -> dict[int, float]:
        products: dict[int, float] = defaultdict(float)
        for run, weight in weights.items():
            rarity = self._rarity(run)
            for place, count in self._places.get(run, ()):
                products[place] += weight * count * rarity
        return products

    def _distance(self, product: float, place: int, length: float) -> float:
        cosine = product / (length * sqrt(self._lengths[place]))
        return sqrt(max(0.0, 2 - 2 * cosine))

    def _rarity(self, run: str) -> float:
        return log((len(self._segments) + 1) / (len(self._places.get(run, ())) + 0.5))


def runs_of(text: str) -> Counter[str]:
    """Count the runs of three characters in the words of *text*, with a space at either end."""
    found: Counter[str] = Counter()
    for word in split_words(text):
        padded = f" {word} "
        found.update(padded[start : start + _RUN] for start in range(len(padded) - _RUN + 1))
    return found


def _order(one: Near) -> tuple[float, str, str, str]:
    segment = one.segment
    return round(one.distance, 12), segment.node, segment.predicate, segment.text
