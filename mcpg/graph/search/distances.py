"""Distances between a query and texts with which it need not share a word.

They are those of unit vectors of TF-IDF weights of character trigrams (Salton and Buckley,
"Term-weighting approaches in automatic text retrieval", 1988; Cavnar and Trenkle, "N-Gram-Based
Text Categorization", 1994). A trigram stands within a word, and texts have few distinct words: so a
query is compared with the words, and a text is the sum of its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log, sqrt
from typing import Any, Self

from mcpg.text import split_words

_RUN = 3


@dataclass(frozen=True, slots=True)
class Segment:
    """One text of a node, and the predicate that has it."""

    node: str
    predicate: str
    text: str


@dataclass(frozen=True, slots=True)
class NearSegment:
    """A segment and its distance from a query, from 0 to less than the square root of 2."""

    segment: Segment
    distance: float

    @property
    def nearness(self) -> float:
        """1 / (1 + distance), from above 0.41 to 1."""
        return 1 / (1 + self.distance)


class Distances:
    """Knows the runs of characters of some segments."""

    def __init__(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """Compare with *segments*, which have such `facts`."""
        self._segments = segments
        self._facts = facts

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Self:
        """Cut the texts of *segments*."""
        return cls(segments, _tabulate_texts([split_words(one.text) for one in segments]))

    def facts(self) -> Mapping[str, Any]:
        """Return what depends on the texts, as a JSON object."""
        return self._facts

    def nearest(self, query: str, limit: int) -> list[NearSegment]:
        """Return the nearest segment of each of the *limit* nearest nodes, the nearest first.

        Nodes that share no run of characters with *query* are left out.
        """
        weights = {run: count * self._rarity(run) for run, count in count_runs(query).items()}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        near = (
            NearSegment(
                self._segments[place], _distance(product, length, self._facts["lengths"][place])
            )
            for place, product in enumerate(self._products(weights))
            if product
        )
        best: dict[str, NearSegment] = {}
        for one in sorted(near, key=_distance_order):
            best.setdefault(one.segment.node, one)
        return list(best.values())[:limit]

    def _products(self, weights: Mapping[str, float]) -> Iterable[float]:
        """Return the product of each segment's vector with that of *weights*."""
        rare = {run: weight * self._rarity(run) for run, weight in weights.items()}
        words = [
            sum(rare[run] * count for run, count in runs.items() if run in rare)
            for runs in self._runs
        ]
        return (sum(map(words.__getitem__, text)) for text in self._facts["texts"])

    @cached_property
    def _runs(self) -> Sequence[Mapping[str, int]]:
        return [_runs_of_word(word) for word in self._facts["words"]]

    def _rarity(self, run: str) -> float:
        return _rarity(len(self._segments), self._facts["counts"].get(run, 0))


def _tabulate_texts(texts: Sequence[Sequence[str]]) -> Mapping[str, Any]:
    """Return what is known of *texts*, each as its words.

    Returns:
        `words` has each word once, `texts` for each text the places of its words, `counts` in how
        many texts each run of characters stands, and `lengths` the length of each text's vector.
    """
    places = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
    runs = [_runs_of_word(word) for word in places]
    placed = [[places[word] for word in text] for text in texts]
    counts = Counter(chain.from_iterable({*chain(*(runs[one] for one in own))} for own in placed))
    rarity = {run: _rarity(len(texts), count) for run, count in counts.items()}
    lengths = []
    for own in placed:
        total: Counter[str] = Counter()
        for word in own:
            total.update(runs[word])
        lengths.append(sqrt(sum((count * rarity[run]) ** 2 for run, count in total.items())))
    return {"words": list(places), "texts": placed, "counts": counts, "lengths": lengths}


def _rarity(texts: int, count: int) -> float:
    return log((texts + 1) / (count + 0.5))


def _distance(product: float, *lengths: float) -> float:
    cosine = product / (lengths[0] * lengths[1])
    return sqrt(max(0.0, 2 - 2 * cosine))


def count_runs(text: str) -> Counter[str]:
    """Count the runs of three characters in the words of *text*, with a space at either end."""
    found: Counter[str] = Counter()
    for word in split_words(text):
        found.update(_runs_of_word(word))
    return found


def _runs_of_word(word: str) -> Counter[str]:
    padded = f" {word} "
    return Counter(padded[start : start + _RUN] for start in range(len(padded) - _RUN + 1))


def _distance_order(one: NearSegment) -> tuple[float, str, str, str]:
    segment = one.segment
    return round(one.distance, 12), segment.node, segment.predicate, segment.text
