"""How much two tools have in common, found through what they share and never pair by pair."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, TypeVar

from mcpg.relations.model import Edge, EdgeKind
from mcpg.relations.vocabulary import rarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcpg.catalog.model import Tool
    from mcpg.relations.vocabulary import Vocabulary

_Key = TypeVar("_Key", str, tuple[str, ...])
_Held = TypeVar("_Held")

SAME_SOURCE = 0.1
"""What two tools that share a term gain when one server offers both."""

_BUDGET = 256
# Fainter than this is what tools share by chance in any catalogue.
_FAINTEST = 0.25
_TERMS_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class AffinityIndex:
    """Finds what is close to a tool, by an inverted index from term to tools.

    Attributes:
        tools: The tools of the catalogue.
        sources: The source id of each.
        vocabulary: Their terms.
        postings: For each term that several tools hold, their positions and place weights.
        local: For each source and term, how much the term says among that source's own tools.
    """

    tools: Sequence[Tool]
    sources: Sequence[str]
    vocabulary: Vocabulary
    postings: Mapping[str, Sequence[tuple[int, float]]]
    local: Mapping[tuple[str, str], float]

    def near(self, position: int) -> dict[int, float]:
        """Give the affinity of the tools that share a term with the tool at *position*.

        The affinity is the sum, over shared terms, of the term's rarity times the weights of the
        places where the two tools hold it, and a little more when one server offers both. Between
        tools of one server, a term is no rarer than it is among that server's tools: what all of
        them hold tells only the server, which the bonus already counts.
        """
        own = self.vocabulary.terms[position]
        sources, source = self.sources, self.sources[position]
        found: defaultdict[int, float] = defaultdict(float)
        for term in affordable(own, self.postings):
            abroad = own[term] * self.vocabulary.rarity(term)
            at_home = own[term] * self._local_rarity(source, term)
            if at_home == abroad:
                for other, weight in self.postings[term]:
                    found[other] += weight * abroad
            else:
                for other, weight in self.postings[term]:
                    found[other] += weight * (at_home if sources[other] == source else abroad)
        found.pop(position, None)
        return {
            other: affinity + SAME_SOURCE * (sources[other] == source)
            for other, affinity in found.items()
            if affinity >= _FAINTEST
        }

    def _local_rarity(self, source: str, term: str) -> float:
        return min(self.local[source, term], self.vocabulary.rarity(term))

    def shared_words(self, one: int, other: int) -> list[str]:
        """Name what two tools share, the most telling first, in the forms that people read."""
        first, second = self.vocabulary.terms[one], self.vocabulary.terms[other]
        ranked = sorted(
            (-first[term] * second[term] * self.vocabulary.rarity(term), term)
            for term in first.keys() & second.keys()
        )
        return [self.vocabulary.words[term] for _, term in ranked[:_TERMS_IN_REASON]]

    def strongest(self, affinities: Mapping[int, float], count: int) -> list[int]:
        """Give the positions of the *count* greatest *affinities*, ties by tool id."""
        ranked = ((-round(value, 9), self.tools[at].id, at) for at, value in affinities.items())
        return [position for _, _, position in nsmallest(count, ranked)]


def build_affinity(tools: Sequence[Tool], vocabulary: Vocabulary) -> AffinityIndex:
    """Build the index over *tools*, whose terms are in *vocabulary*."""
    postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for position, terms in enumerate(vocabulary.terms):
        for term, weight in terms.items():
            postings[term].append((position, weight))
    shared = {term: held for term, held in postings.items() if len(held) > 1}
    sources = [tool.source_id for tool in tools]
    return AffinityIndex(tools, sources, vocabulary, shared, _local(sources, vocabulary))


def _local(sources: Sequence[str], vocabulary: Vocabulary) -> dict[tuple[str, str], float]:
    sizes = Counter(sources)
    held = Counter(
        (source, term)
        for source, terms in zip(sources, vocabulary.terms, strict=True)
        for term in terms
    )
    return {(source, term): rarity(count, sizes[source]) for (source, term), count in held.items()}


def affordable(
    keys: Iterable[_Key], postings: Mapping[_Key, Sequence[tuple[int, _Held]]]
) -> list[_Key]:
    """Choose *keys*, those with the shortest lists first, until the budget of one tool is spent.

    This bounds the work for each tool, and so makes the whole linear in the number of tools.
    What is left out are the largest groups, which say least about any one of their members.
    """
    chosen: list[_Key] = []
    spent = 0
    for size, key in sorted((len(postings[key]), key) for key in keys if key in postings):
        spent += size
        if spent > _BUDGET:
            break
        chosen.append(key)
    return chosen


def edge_weight(strength: float) -> float:
    """Bring a *strength* above 0 into (0, 1], in hundredths.

    Saturating: each further bit of evidence adds less. Hundredths keep a document as it is when
    a tool is added elsewhere in the catalogue and every rarity moves by a hair.
    """
    return max(0.01, round(strength / (strength + 1.0), 2))


def quoted(words: Sequence[str]) -> str:
    """Write *words* as a list for people: 'a', 'b' and 'c'."""
    *head, last = (f"'{word}'" for word in words)
    return f"{', '.join(head)} and {last}" if head else last


def related_edges(
    index: AffinityIndex, position: int, near: Mapping[int, float], count: int
) -> list[Edge]:
    """Make edges from the tool at *position* to the *count* closest of those *near* it."""
    return [_related(index, position, other, near[other]) for other in index.strongest(near, count)]


def _related(index: AffinityIndex, position: int, other: int, affinity: float) -> Edge:
    tool, target = index.tools[position], index.tools[other]
    reason = f"shares {quoted(index.shared_words(position, other))}"
    if tool.source_id == target.source_id:
        reason += ", from the same server"
    return Edge(EdgeKind.RELATED, tool.id, target.id, edge_weight(affinity), reason)
