"""Infer relations: similarity, data flow, groups and next steps.

Candidates are found through shared terms and fields, never pair by pair.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import TYPE_CHECKING, TypeVar

from mcpg.build_cache import NO_MEMO, Memo
from mcpg.catalog.model import Tool
from mcpg.relations.fields import singular
from mcpg.relations.kinds import FOLLOWED_BY, Operation, operation_of
from mcpg.relations.model import (
    PROSE,
    Coverage,
    Edge,
    EdgeKind,
    EdgeOrigin,
    Relations,
    ToolRelations,
    Vocabulary,
    build_vocabulary,
    rarity,
    subject_terms,
    weight_of,
)
from mcpg.relations.provides import FieldIndex, Provision, build_field_index, quoted
from mcpg.relations.workflow import LEAST_CHANCE, MOST_NEAREST, ServerSteps, steps_by_server
from mcpg.text import fold

if TYPE_CHECKING:
    from mcpg.catalog.catalog import Catalog

_Key = TypeVar("_Key", str, tuple[str, ...])
_Held = TypeVar("_Held")

SAME_SOURCE = 0.1
"""What two tools that share a term gain when one server offers both."""

_BUDGET = 256
# Fainter than this is what tools share by chance in any catalogue.
_LEAST_AFFINITY = 0.25
_TERMS_IN_REASON = 3


@dataclass(frozen=True, slots=True)
class AffinityIndex:
    """Finds what is close to a tool, by an inverted index from term to tools.

    Attributes:
        tools: The tools of the catalogue.
        sources: The source id of each.
        vocabulary: Their terms.
        postings: For each term that several tools hold, and not too many to look at, their
            positions and place weights.
        local: For each source and such a term, how much it says among that source's own tools.
        named: The subjects of the name of each tool, without words that name its server.
    """

    tools: Sequence[Tool]
    sources: Sequence[str]
    vocabulary: Vocabulary
    postings: Mapping[str, Sequence[tuple[int, float]]]
    local: Mapping[tuple[str, str], float]
    named: Sequence[frozenset[str]]

    def near(self, position: int) -> dict[int, float]:
        """Return the affinity of the tools that share a term with the tool at *position*.

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
            at_home = own[term] * min(self.local[source, term], self.vocabulary.rarity(term))
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
            if affinity >= _LEAST_AFFINITY
        }

    def names_same(self, one: int, other: int) -> bool:
        """Return whether the names of two tools name the same subject."""
        return self.named[one] == self.named[other] != frozenset()

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
        ranked = ((-round(value, 9), self.tools[at].id, at) for at, value in affinities.items())
        return [position for _, _, position in nsmallest(count, ranked)]


def build_affinity(tools: Sequence[Tool], vocabulary: Vocabulary) -> AffinityIndex:
    """Build the index over *tools*, whose terms are in *vocabulary*."""
    postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for position, terms in enumerate(vocabulary.terms):
        for term, weight in terms.items():
            postings[term].append((position, weight))
    shared = {term: held for term, held in postings.items() if 1 < len(held) <= _BUDGET}
    sources = [tool.source_id for tool in tools]
    local = _local(sources, vocabulary, shared)
    return AffinityIndex(tools, sources, vocabulary, shared, local, _named(tools))


def _named(tools: Sequence[Tool]) -> list[frozenset[str]]:
    """Return what the name of each tool says it works on."""
    return [
        frozenset(map(singular, subject_terms(tool.name)))
        - frozenset(map(singular, subject_terms(tool.source_id)))
        for tool in tools
    ]


def _local(
    sources: Sequence[str], vocabulary: Vocabulary, shared: Collection[str]
) -> dict[tuple[str, str], float]:
    sizes = Counter(sources)
    held = Counter(
        (source, term)
        for source, terms in zip(sources, vocabulary.terms, strict=True)
        for term in terms
        if term in shared
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


def strength_of(evidence: float) -> float:
    """Bring *evidence* above 0 into (0, 1); saturating: each further bit of it adds less."""
    return evidence / (evidence + 1.0)


def related_edges(
    index: AffinityIndex, position: int, near: Mapping[int, float], count: int
) -> list[Edge]:
    """Make edges from the tool at *position* to the *count* closest of those *near* it.

    Between servers a shared word, verb or file is no job in common: both names must name the same.
    """
    sources = index.sources
    close = {
        other: value
        for other, value in near.items()
        if sources[other] == sources[position] or index.names_same(position, other)
    }
    return [
        _related(index, position, other, near[other]) for other in index.strongest(close, count)
    ]


def _related(index: AffinityIndex, position: int, other: int, affinity: float) -> Edge:
    tool, target = index.tools[position], index.tools[other]
    reason = f"shares {quoted(index.shared_words(position, other))}"
    if tool.source_id == target.source_id:
        reason += ", from the same server"
    weight = weight_of(EdgeKind.RELATED, EdgeOrigin.INFERRED, strength_of(affinity))
    return Edge(EdgeKind.RELATED, tool.id, target.id, weight, reason)


_DOMAINS_PER_TOOL = 4
# A group id stands where a URI may stand, and a colon parts its members.
_NO_GROUP_CHARACTER = re.compile(r"[\s:/\\<>\"'{}|^`\x00-\x1f\x7f]+")


def groups_of(tool: Tool, position: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the groups of the tool at *position* of the vocabulary's tools.

    These are a `domain:` group for each of the four terms that tell most, the same within the
    tool's source, and a `category:` group for each category. A term that no other tool holds makes
    a group only where the tool has no other, and one of the description only where nothing else
    names the tool's subject.
    """
    terms = vocabulary.terms[position]
    named = [term for term, weight in terms.items() if weight > PROSE]
    shared = [term for term in terms if vocabulary.holders[term] > 1]
    chosen = [term for term in named if term in shared] or named or shared
    domains = [vocabulary.words[term] for term in chosen[:_DOMAINS_PER_TOOL]]
    source = _slug(tool.source_id)
    categories = dict.fromkeys(_slug(category) for category in tool.hints.categories)
    return (
        *(f"domain:{domain}" for domain in domains),
        *(f"source-domain:{source}:{domain}" for domain in domains if source),
        *(f"category:{category}" for category in categories if category),
    )


def _slug(text: str) -> str:
    return _NO_GROUP_CHARACTER.sub("-", fold(text)).strip("-")


# What one server finds, another can seldom look at: between servers one shared word is no evidence.
_ACROSS_SOURCES = 1.0

# So likely one of two tools of a server follows the other, that they belong beside each other; and
# those of which a tool without any edge is taken to belong beside the likeliest.
_LEAST_CHANCE_BESIDE = 0.6
_LEAST_CHANCE_OF_ONLY = 0.2
_LEAST_SERVER = 5

_REASONS = {
    Operation.INSPECT: "inspects what this one finds",
    Operation.ACT: "acts on what this one inspects",
}


@dataclass(frozen=True, slots=True)
class NextStepIndex:
    """Finds what may follow a tool.

    Attributes:
        affinity: What tools have in common.
        fields: What they give and take.
        provisions: What each provides to others.
        operations: The kind of work of each tool.
        workflows: What follows what within each server.
    """

    affinity: AffinityIndex
    fields: FieldIndex
    provisions: Sequence[Sequence[Provision]]
    operations: Sequence[Operation]
    workflows: Mapping[str, ServerSteps]

    def edges(
        self, position: int, near: Mapping[int, float], chances: Mapping[int, float], count: int
    ) -> list[Edge]:
        """Make edges from the tool at *position* to the *count* likeliest next steps.

        Within a server a tool follows when their names, arguments and kinds of work make it likely;
        between servers, and between tools that take nothing, when it does the next kind of work on
        the same subject; anywhere, when it must be given what this one gives. Where several hold,
        the strongest evidence counts, and the reason names fields that flow.

        Args:
            position: The tool that comes first.
            near: The affinity of the tools that share a term with it.
            chances: How likely tools of its server follow it.
            count: The most edges to make.
        """
        found = {
            at: self._inferred(position, at, chance)
            for at, chance in chances.items()
            if chance >= LEAST_CHANCE
        }
        for at, value in self._by_kind(position, near).items():
            found[at] = self._inferred(position, at, strength_of(value), self._reason(position, at))
        for provision in self._provided(position):
            edge = self._edge_of(position, provision)
            likely = found.get(provision.target)
            weight = max(edge.weight, likely.weight if likely else 0.0)
            found[provision.target] = replace(edge, weight=weight)
        weights = {at: edge.weight for at, edge in found.items()}
        return [found[at] for at in self.affinity.strongest(weights, count)]

    def _provided(self, position: int) -> Iterator[Provision]:
        """Return what the tool provides of the needs of others, where nothing comes between."""
        for provision in self.provisions[position]:
            is_need = provision.coverage is not Coverage.OPTIONAL
            if is_need and not self.fields.skips_a_step(position, provision):
                yield provision

    def chances(self, position: int, near: Mapping[int, float]) -> dict[int, float]:
        """Return how likely tools of its server follow the one at *position*, where it matters.

        In a server of very many tools only those that are *near* it are weighed.
        """
        source = self.affinity.sources[position]
        at_home = {at: value for at, value in near.items() if self.affinity.sources[at] == source}
        nearest = self.affinity.strongest(at_home, MOST_NEAREST)
        chances = self.workflows[source].chances(position, nearest)
        return {at: one for at, one in chances.items() if one >= _LEAST_CHANCE_OF_ONLY}

    def beside(self, position: int, other: int, chance: float) -> Edge:
        """Make an edge between two tools of one server of which one may well follow the other."""
        tools, kind, origin = self.affinity.tools, EdgeKind.RELATED, EdgeOrigin.INFERRED
        reason = self.workflows[tools[position].source_id].reason(position, other)
        weight = weight_of(kind, origin, chance)
        return Edge(kind, tools[position].id, tools[other].id, weight, reason, origin)

    def _by_kind(self, position: int, near: Mapping[int, float]) -> dict[int, float]:
        """Return what does the next kind of work, where arguments do not tell what follows."""
        kind = FOLLOWED_BY.get(self.operations[position])
        return {
            at: value
            for at, value in near.items()
            if self.operations[at] is kind and self._is_akin(position, at, value)
        }

    def _is_akin(self, position: int, at: int, affinity: float) -> bool:
        source, other = self.affinity.sources[position], self.affinity.sources[at]
        if source == other:
            return self.workflows[source].is_silent(position, at)
        return affinity >= _ACROSS_SOURCES and self.affinity.names_same(position, at)

    def _reason(self, position: int, at: int) -> str:
        shared = quoted(self.affinity.shared_words(position, at))
        return f"{_REASONS[self.operations[at]]}: shares {shared}"

    def _inferred(self, position: int, at: int, strength: float, reason: str = "") -> Edge:
        tools, kind, origin = self.affinity.tools, EdgeKind.NEXT_STEP, EdgeOrigin.INFERRED
        if not reason:
            reason = self.workflows[tools[position].source_id].reason(position, at)
        weight = weight_of(kind, origin, strength)
        return Edge(kind, tools[position].id, tools[at].id, weight, reason, origin)

    def _edge_of(self, position: int, provision: Provision) -> Edge:
        tools = self.affinity.tools
        return Edge(
            EdgeKind.NEXT_STEP,
            tools[position].id,
            tools[provision.target].id,
            provision.weight,
            provision.reason,
            EdgeOrigin.SCHEMA,
            provision.fields,
            provision.coverage,
        )


EDGES_PER_TOOL = 5
"""The most related tools, and the most next steps, that are derived for a tool."""

STATED = "stated by the author"
"""The reason of an edge that an author wrote."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """What is inferred about the tools of a catalogue.

    Attributes:
        relations: Their groups and edges.
        provisions: For each tool, in the order of the catalogue, what it provides to others.
    """

    relations: Relations
    provisions: Sequence[Sequence[Provision]]


def relate(catalog: Catalog, memo: Memo = NO_MEMO) -> Relations:
    """Return the relations alone that `infer` finds."""
    return infer(catalog, memo).relations


def infer(catalog: Catalog, memo: Memo = NO_MEMO) -> Inferred:
    """Find the groups of every tool of *catalog* and its edges to other tools.

    What an author stated comes first with weight 1 and is never left out; inferred edges, the
    strongest first and ties by tool id, fill the room up to five related tools and five next
    steps. The result does not depend on the order of the tools. The work grows linearly with their
    number.

    Args:
        catalog: The tools and what authors state about them.
        memo: What is known from an earlier run; what comes out is the same without it.
    """
    tools = catalog.tools
    vocabulary = build_vocabulary(tools, memo)
    affinity = build_affinity(tools, vocabulary)
    operations = [operation_of(tool) for tool in tools]
    fields = build_field_index(tools)
    provisions, workflows = fields.provisions(), steps_by_server(tools)
    steps = NextStepIndex(affinity, fields, provisions, operations, workflows)
    stated = authored_edges(catalog)
    found: list[ToolRelations] = []
    chances: list[dict[int, float]] = []
    for position, tool in enumerate(tools):
        near = affinity.near(position)
        chances.append(steps.chances(position, near))
        related = related_edges(affinity, position, near, EDGES_PER_TOOL)
        following = steps.edges(position, near, chances[-1], EDGES_PER_TOOL)
        groups = groups_of(tool, position, vocabulary)
        next_steps = _with_stated(stated[tool.id, EdgeKind.NEXT_STEP], following)
        found.append(ToolRelations(groups, tuple(related), next_steps))
    related_to = _with_neighbours(found, steps, _either_way(chances))
    relations = {
        tool.id: replace(known, related=_with_stated(stated[tool.id, EdgeKind.RELATED], related))
        for tool, known, related in zip(tools, found, related_to, strict=True)
    }
    return Inferred(Relations(relations), provisions)


def _either_way(chances: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return for each tool how likely another follows it, or it follows the other."""
    found: list[dict[int, float]] = [dict(row) for row in chances]
    for position, row in enumerate(chances):
        for at, chance in row.items():
            found[at][position] = max(chance, found[at].get(position, 0.0))
    return found


def _with_neighbours(
    found: Sequence[ToolRelations], steps: NextStepIndex, beside: Sequence[Mapping[int, float]]
) -> list[list[Edge]]:
    """Fill the room of the related tools by those of the server that may well follow or precede.

    A tool that is still without any edge, in a server of some size, gets the likeliest of these.
    """
    completed: list[list[Edge]] = []
    for position, relations in enumerate(found):
        known = {edge.target for edge in (*relations.related, *relations.next_steps)}
        likely = {
            at: chance
            for at, chance in beside[position].items()
            if chance >= _LEAST_CHANCE_BESIDE and steps.affinity.tools[at].id not in known
        }
        room = EDGES_PER_TOOL - len(relations.related)
        further = steps.affinity.strongest(likely, room)
        edges = [*relations.related, *(steps.beside(position, at, likely[at]) for at in further)]
        completed.append(sorted(edges, key=lambda edge: (-edge.weight, edge.target)))
    for position in _alone(found, completed, steps):
        for at in steps.affinity.strongest(beside[position], 1):
            completed[position].append(steps.beside(position, at, beside[position][at]))
    return completed


def _alone(
    found: Sequence[ToolRelations], related: Sequence[Sequence[Edge]], steps: NextStepIndex
) -> list[int]:
    """Return the tools of servers of some size that no edge leaves or reaches."""
    edges = [edge for row in related for edge in row]
    edges += [edge for relations in found for edge in relations.next_steps]
    touched = {end for edge in edges for end in (edge.source, edge.target)}
    return [
        position
        for position, tool in enumerate(steps.affinity.tools)
        if tool.id not in touched and len(steps.workflows[tool.source_id].works) >= _LEAST_SERVER
    ]


def authored_edges(catalog: Catalog) -> Mapping[tuple[str, EdgeKind], dict[str, Edge]]:
    """Return the edges that authors asserted, by tool id and kind, then by target in their order.

    Every tool and kind has an entry; an edge to the tool itself or to no tool is left out.
    """
    ids = {tool.id for tool in catalog.tools}
    stated: defaultdict[tuple[str, EdgeKind], dict[str, Edge]] = defaultdict(dict)
    for assertion in catalog.assertions:
        source, target = assertion.source, assertion.target
        if source != target and {source, target} <= ids:
            kind = EdgeKind(assertion.kind)
            edge = Edge(kind, source, target, 1.0, STATED, EdgeOrigin.AUTHORED)
            stated[source, kind].setdefault(target, edge)
    return stated


def _with_stated(stated: Mapping[str, Edge], derived: Sequence[Edge]) -> tuple[Edge, ...]:
    """Put what was *stated* first, whole, and fill up with what was not stated."""
    further = [edge for edge in derived if edge.target not in stated]
    room = max(0, EDGES_PER_TOOL - len(stated))
    return (*stated.values(), *further[:room])
