"""What tools have in common: the terms that both hold, by rarity.

A tool meets those of its own server, and those of others whose names name the same subject. Where
these are many, they are found through the terms that they share, never pair by pair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from mcpg.catalog.model import Tool
from mcpg.relations.vocabulary import Vocabulary, rarity

SAME_SOURCE = 0.1
"""What two tools that share a term gain when one server offers both."""

_BUDGET = 256
# Fainter than this is what tools share by chance in any catalogue.
_LEAST_AFFINITY = 0.25
# Of more tools than this, those that share a term are looked up.
_MOST_COMPARED = 24
_TERMS_IN_REASON = 3


class RelatedPool:
    """Tools that can be near each other."""

    def __init__(self, positions: Sequence[int], terms: Sequence[Mapping[str, float]]) -> None:
        """Prepare to compare the tools at *positions*, whose terms are in *terms*."""
        self.positions = positions
        self._terms = terms
        is_large = len(positions) > _MOST_COMPARED
        self._postings = _postings(positions, terms) if is_large else None

    def sums(self, gains: Mapping[str, float]) -> Mapping[int, float]:
        """Return for each tool the sum of the *gains* of its terms times the terms' weights."""
        if self._postings is None:
            return self._compare_pairwise(gains)
        found: defaultdict[int, float] = defaultdict(float)
        for term, gain in gains.items():
            for weight, held in self._postings.get(term, ()):
                more = weight * gain
                for position in held:
                    found[position] += more
        return found

    def _compare_pairwise(self, gains: Mapping[str, float]) -> dict[int, float]:
        found: dict[int, float] = {}
        for position in self.positions:
            terms, total = self._terms[position], 0.0
            for term, gain in gains.items():
                if term in terms:
                    total += terms[term] * gain
            found[position] = total
        return found


_Postings = Mapping[str, Sequence[tuple[float, Sequence[int]]]]
"""For each term, by the weight of its place, the positions of the tools that hold it."""


def _postings(positions: Iterable[int], terms: Sequence[Mapping[str, float]]) -> _Postings:
    held: defaultdict[str, defaultdict[float, list[int]]] = defaultdict(lambda: defaultdict(list))
    for position in positions:
        for term, weight in terms[position].items():
            held[term][weight].append(position)
    return {term: tuple(by_weight.items()) for term, by_weight in held.items()}


@dataclass(frozen=True, slots=True)
class ToolAffinities:
    """The affinity of the tools near one tool, by position.

    Attributes:
        home: Those of its own server that share a term with it.
        abroad: Those of other servers whose names name the same.
    """

    home: Mapping[int, float]
    abroad: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class AffinityIndex:
    """Finds what is close to a tool.

    Attributes:
        tools: The tools of the catalogue.
        ids: The id of each.
        sources: The source id of each.
        vocabulary: Their terms.
        sizes: For each term that several tools hold, and not too many to look at, how many.
        homes: The positions of the tools of each source.
        namesakes: For each tool whose name names what that of another names, all of these.
    """

    tools: Sequence[Tool]
    ids: Sequence[str]
    sources: Sequence[str]
    vocabulary: Vocabulary
    sizes: Mapping[str, int]
    homes: Mapping[str, Sequence[int]]
    namesakes: Mapping[int, RelatedPool]

    def home(self, source: str) -> NeighbourFinder:
        """Return the index of the tools of *source* among themselves."""
        positions, terms = self.homes[source], self.vocabulary.terms
        cohort, size = RelatedPool(positions, terms), len(positions)
        if size == 1:
            return NeighbourFinder(self, cohort, {})
        counts = Counter(chain.from_iterable(terms[position] for position in positions))
        return NeighbourFinder(
            self, cohort, {term: rarity(count, size) for term, count in counts.items()}
        )

    def shared_words(self, one: int, other: int) -> list[str]:
        """Name what two tools share, the most telling first, in the forms that people read."""
        first, second = self.vocabulary.terms[one], self.vocabulary.terms[other]
        ranked = sorted(
            (-first[term] * second[term] * self.vocabulary.rarity(term), term)
            for term in first.keys() & second.keys()
        )
        return [self.vocabulary.words[term] for _, term in ranked[:_TERMS_IN_REASON]]

    def strongest(self, affinities: Mapping[int, float], count: int) -> list[int]:
        """Return the positions of the *count* greatest *affinities*, ties by tool id."""
        if count < 1 or not affinities:
            return []
        ids = self.ids
        ranked = sorted([(-round(value, 9), ids[at], at) for at, value in affinities.items()])
        return [row[-1] for row in ranked[:count]]


@dataclass(frozen=True, slots=True)
class NeighbourFinder:
    """Finds what is close to a tool of one server.

    Attributes:
        index: The index of all tools.
        cohort: The tools of the server.
        local: How rare each term is among these.
    """

    index: AffinityIndex
    cohort: RelatedPool
    local: Mapping[str, float]

    def near(self, position: int) -> ToolAffinities:
        """Return the affinity of the tools that share a term with the tool at *position*.

        The affinity is the sum, over shared terms, of the term's rarity times the weights of the
        places where the two tools hold it, and a little more when one server offers both. Between
        tools of one server, a term is no rarer than it is among that server's tools: what all of
        them hold tells only the server, which the bonus already counts.
        """
        others = self.index.namesakes.get(position)
        if others is None and len(self.cohort.positions) == 1:
            return _NOTHING
        own, holders = self.index.vocabulary.terms[position], self.index.vocabulary.holders
        size = self.index.vocabulary.size
        rare = {term: rarity(holders[term], size) for term in affordable(own, self.index.sizes)}
        home: dict[int, float] = {}
        if len(self.cohort.positions) > 1:
            local = self.local
            gains = {term: own[term] * min(local[term], value) for term, value in rare.items()}
            found = self.cohort.sums(gains)
            home = {at: one + SAME_SOURCE for at, one in found.items() if one >= _LEAST_AFFINITY}
            home.pop(position, None)
        return ToolAffinities(home, self._abroad(position, others, rare) if others else {})

    def _abroad(
        self, position: int, others: RelatedPool, rare: Mapping[str, float]
    ) -> dict[int, float]:
        sources, own = self.index.sources, self.index.vocabulary.terms[position]
        found = others.sums({term: own[term] * value for term, value in rare.items()})
        return {
            at: one
            for at, one in found.items()
            if one >= _LEAST_AFFINITY and sources[at] != sources[position]
        }


_NOTHING = ToolAffinities({}, {})


def build_affinity(tools: Sequence[Tool], vocabulary: Vocabulary) -> AffinityIndex:
    """Build the index over *tools*, whose terms are in *vocabulary*."""
    sizes = Counter(chain.from_iterable(vocabulary.terms))
    shared = {term: size for term, size in sizes.items() if 1 < size <= _BUDGET}
    homes: defaultdict[str, list[int]] = defaultdict(list)
    for position, tool in enumerate(tools):
        homes[tool.source_id].append(position)
    sources = [tool.source_id for tool in tools]
    namesakes = _namesakes(sources, vocabulary)
    ids = [tool.id for tool in tools]
    return AffinityIndex(tools, ids, sources, vocabulary, shared, homes, namesakes)


def _namesakes(sources: Sequence[str], vocabulary: Vocabulary) -> dict[int, RelatedPool]:
    """Return for each tool those whose names name the same, where several servers have them."""
    named: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, subjects in enumerate(vocabulary.subjects):
        if subjects:
            named[subjects].append(position)
    return {
        position: cohort
        for held in named.values()
        if len(held) > 1 and len({sources[position] for position in held}) > 1
        for cohort in [RelatedPool(held, vocabulary.terms)]
        for position in held
    }


def affordable(keys: Iterable[str], sizes: Mapping[str, int]) -> list[str]:
    """Choose *keys*, those with the shortest lists first, until the budget of one tool is spent.

    This bounds the work for each tool, and so makes the whole linear in the number of tools.
    What is left out are the largest groups, which say least about any one of their members.
    """
    chosen: list[str] = []
    spent = 0
    for size, key in sorted([(sizes[key], key) for key in keys if key in sizes]):
        spent += size
        if spent > _BUDGET:
            break
        chosen.append(key)
    return chosen
