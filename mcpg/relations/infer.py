"""Infer relations: similarity, data flow, groups and next steps.

The tools of one server are related at a time, so that what is known of them is needed only for so
long.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from sys import intern

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache
from mcpg.catalog.catalog import Catalog
from mcpg.catalog.model import Tool
from mcpg.relations.edges import (
    Coverage,
    Edge,
    EdgeKind,
    EdgeOrigin,
    FieldMapping,
    Relations,
    ToolRelations,
    compute_weight,
)
from mcpg.relations.provisions import FieldIndex, Provision, build_field_index, quote_words
from mcpg.relations.server_sequences import (
    LEAST_CHANCE,
    LEAST_NOTED,
    MOST_NEAREST,
    RecalledSteps,
    ServerSteps,
    find_steps,
)
from mcpg.relations.vocabulary import (
    FOLLOWED_BY,
    PROSE,
    ToolOperation,
    Vocabulary,
    build_vocabulary,
    classify_operation,
    rarity,
)
from mcpg.text import fold

SAME_SOURCE = 0.1
"""What two tools that share a term gain when one server offers both."""

_BUDGET = 256
# Fainter than this is what tools share by chance in any catalogue.
_LEAST_AFFINITY = 0.25
_TERMS_IN_REASON = 3

Postings = Mapping[str, Mapping[float, Sequence[int]]]
"""For each term, by the weight of its place, the positions of the tools that hold it."""


def post_terms(positions: Sequence[int], terms: Sequence[Mapping[str, float]]) -> Postings:
    """Return the postings of the tools at *positions*, whose terms are in *terms*."""
    postings: defaultdict[str, defaultdict[float, list[int]]]
    postings = defaultdict(lambda: defaultdict(list))
    for position in positions:
        for term, weight in terms[position].items():
            postings[term][weight].append(position)
    return postings


def sum_gains(postings: Postings, gains: Mapping[str, float]) -> Mapping[int, float]:
    """Return for each tool the sum of the *gains* of its terms times the terms' weights."""
    found: defaultdict[int, float] = defaultdict(float)
    for term, gain in gains.items():
        for weight, held in postings.get(term, {}).items():
            more = weight * gain
            for position in held:
                found[position] += more
    return found


@dataclass(frozen=True, slots=True)
class ToolAffinities:
    """The affinity of the tools near one tool, by position.

    Attributes:
        home: Those of its own server that share a term with it.
        abroad: Those of other servers whose names name the same.
    """

    home: Mapping[int, float]
    abroad: Mapping[int, float]


class AffinityIndex:
    """Finds what is close to a tool.

    Attributes:
        sizes: For each term that several tools hold, and not too many to look at, how many.
        namesakes: For each tool whose name names what that of another names, all of these, where
            they are of several servers.
    """

    def __init__(self, tools: Sequence[Tool], vocabulary: Vocabulary) -> None:
        """Index *tools*, whose terms are in *vocabulary*."""
        self.tools = tools
        self.ids = [tool.id for tool in tools]
        self.sources = [tool.source_id for tool in tools]
        self.vocabulary = vocabulary
        sizes = Counter(chain.from_iterable(vocabulary.terms))
        self.sizes = {term: size for term, size in sizes.items() if 1 < size <= _BUDGET}
        self.homes: defaultdict[str, list[int]] = defaultdict(list)
        for position, source in enumerate(self.sources):
            self.homes[source].append(position)
        named: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for position, subjects in enumerate(vocabulary.subjects):
            if subjects:
                named[subjects].append(position)
        self.namesakes: dict[int, Postings] = {}
        for held in named.values():
            if len({self.sources[position] for position in held}) > 1:
                self.namesakes |= dict.fromkeys(held, post_terms(held, vocabulary.terms))

    def shared_words(self, one: int, other: int) -> list[str]:
        """Name what two tools share, the most telling first, in the forms that people read."""
        known = self.vocabulary
        first, second = known.terms[one], known.terms[other]
        ranked = sorted(
            (-first[term] * second[term] * rarity(known.holders[term], known.size), term)
            for term in first.keys() & second.keys()
        )
        return [known.words[term] for _, term in ranked[:_TERMS_IN_REASON]]

    def strongest(self, affinities: Mapping[int, float], count: int) -> list[int]:
        """Return the positions of the *count* greatest *affinities*, ties by tool id."""
        if count < 1 or not affinities:
            return []
        ids = self.ids
        ranked = sorted([(-round(value, 9), ids[at], at) for at, value in affinities.items()])
        return [row[-1] for row in ranked[:count]]


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


# What one server finds, another can seldom look at: between servers one shared word is no evidence.
_ACROSS_SOURCES = 1.0

_REASONS = {
    ToolOperation.INSPECT: "inspects what this one finds",
    ToolOperation.ACT: "acts on what this one inspects",
}


def saturate_evidence(evidence: float) -> float:
    """Bring *evidence* above 0 into (0, 1): each further bit of it adds less."""
    return evidence / (evidence + 1.0)


Steps = ServerSteps | RecalledSteps


class NextStepIndex:
    """Finds what may follow a tool."""

    def __init__(self, affinity: AffinityIndex, fields: FieldIndex) -> None:
        self.affinity = affinity
        self.fields = fields
        self.provisions = fields.provisions()
        tools = affinity.tools
        self._classify = cache(lambda position: classify_operation(tools[position]))

    def edges(
        self,
        position: int,
        near: ToolAffinities,
        chances: Mapping[int, float],
        steps: Steps | None,
        count: int,
    ) -> list[Edge]:
        """Make edges from the tool at *position* to the *count* likeliest next steps.

        Within a server a tool follows when their names, arguments and kinds of work make it likely;
        between servers, and between tools that take nothing, when it does the next kind of work on
        the same subject; anywhere, when it must be given what this one gives. Where several hold,
        the strongest evidence counts, and the reason names fields that flow.
        """
        kind, origin = EdgeKind.NEXT_STEP, EdgeOrigin.INFERRED
        weights = {
            at: compute_weight(kind, origin, chance)
            for at, chance in chances.items()
            if chance >= LEAST_CHANCE
        }
        akin = self._find_next_kind(position, near, steps)
        weights |= {
            at: compute_weight(kind, origin, saturate_evidence(one)) for at, one in akin.items()
        }
        # What meets a need, where nothing comes between.
        provided = {
            one.target: one
            for one in self.provisions[position]
            if one.coverage is not Coverage.OPTIONAL and not self.fields.skips_a_step(position, one)
        }
        for at, provision in provided.items():
            weights[at] = max(provision.weight, weights.get(at, 0.0))
        return [
            self._make_edge(
                position, at, weights[at], provided.get(at), None if at in akin else steps
            )
            for at in self.affinity.strongest(weights, count)
        ]

    def _find_next_kind(
        self, position: int, near: ToolAffinities, steps: Steps | None
    ) -> dict[int, float]:
        """Return what does the next kind of work, where arguments do not tell what follows."""
        if not (near.home or near.abroad):
            return {}
        kind = FOLLOWED_BY.get(self._classify(position))
        if kind is None:
            return {}
        found = {at: one for at, one in near.abroad.items() if one >= _ACROSS_SOURCES}
        if steps and steps.is_silent(position):
            found |= {at: one for at, one in near.home.items() if steps.is_silent(at)}
        return {at: one for at, one in found.items() if self._classify(at) is kind}

    def _make_edge(
        self,
        position: int,
        at: int,
        weight: float,
        provision: Provision | None,
        steps: Steps | None,
    ) -> Edge:
        ids, origin = self.affinity.ids, EdgeOrigin.INFERRED
        fields: tuple[FieldMapping, ...] = ()
        if provision is not None:
            reason, origin, fields = provision.reason, EdgeOrigin.SCHEMA, provision.fields
        elif steps:
            reason = steps.reason(position, at)
        else:
            shared = quote_words(self.affinity.shared_words(position, at))
            reason = f"{_REASONS[self._classify(at)]}: shares {shared}"
        coverage = provision.coverage if provision else None
        return Edge(
            EdgeKind.NEXT_STEP, ids[position], ids[at], weight, reason, origin, fields, coverage
        )


_DOMAINS_PER_TOOL = 4
_MOST_SLUGS = 4096
# A group id stands where a URI may stand, and a colon parts its members.
_NO_GROUP_CHARACTER = re.compile(r"[\s:/\\<>\"'{}|^`\x00-\x1f\x7f]+")


def name_groups(tool: Tool, position: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the groups of the tool at *position* of the vocabulary's tools.

    These are a `domain:` group for each of the four terms that tell most, the same within the
    tool's source, and a `category:` group for each category. A term that no other tool holds makes
    a group only where the tool has no other, and one of the description only where nothing else
    names the tool's subject.
    """
    terms, holders = vocabulary.terms[position], vocabulary.holders
    named = [term for term, weight in terms.items() if weight > PROSE]
    chosen = [term for term in named if holders[term] > 1] or named
    chosen = chosen or [term for term in terms if holders[term] > 1]
    domains = [vocabulary.words[term] for term in chosen[:_DOMAINS_PER_TOOL]]
    source = _slug(tool.source_id)
    categories = dict.fromkeys(map(_slug, tool.hints.categories))
    return (
        *[intern(f"domain:{domain}") for domain in domains],  # which many tools share
        *([f"source-domain:{source}:{domain}" for domain in domains] if source else ()),
        *[f"category:{category}" for category in categories if category],
    )


@lru_cache(_MOST_SLUGS)
def _slug(text: str) -> str:
    return _NO_GROUP_CHARACTER.sub("-", fold(text)).strip("-")


# So likely one of two tools of a server follows the other, that they belong beside each other; and
# those of which a tool without any edge is taken to belong beside the likeliest.
_LEAST_CHANCE_BESIDE = 0.6
_LEAST_SERVER = 5

EDGES_PER_TOOL = 5
"""The most related tools, and the most next steps, that are derived for a tool."""

STATED = "stated by the author"


@dataclass(frozen=True, slots=True)
class InferredRelations:
    """The relations of a catalogue, and what each tool, in its order, provides to others."""

    relations: Relations
    provisions: Sequence[Sequence[Provision]]


def infer(catalog: Catalog, memo: BuildCache = NO_BUILD_CACHE) -> InferredRelations:
    """Find the groups of every tool of *catalog* and its edges to other tools.

    What an author stated comes first with weight 1 and is never left out; inferred edges, the
    strongest first and ties by tool id, fill the room up to five related tools and five next
    steps. The result depends neither on the order of the tools nor on *memo*, what is known from an
    earlier run. The work grows linearly with the number of tools.
    """
    tools = catalog.tools
    affinity = AffinityIndex(tools, build_vocabulary(tools, memo))
    following = NextStepIndex(affinity, build_field_index(tools))
    stated = authored_edges(catalog)
    found: dict[int, ToolRelations] = {}
    touched: set[str] = set()
    reserves: dict[int, Edge] = {}
    for positions in affinity.homes.values():
        first, *others = positions
        if not (others or first in affinity.namesakes or following.provisions[first]):
            # Nothing is like the only tool of a server, or follows it.
            tool, edges = tools[first], stated[tools[first].id, EdgeKind.NEXT_STEP]
            found[first] = ToolRelations(
                name_groups(tool, first, affinity.vocabulary),
                tuple(stated[tool.id, EdgeKind.RELATED].values()),
                tuple(edges.values()),
            )
            for edge in edges.values():
                touched |= {edge.source, edge.target}
            continue
        server = _ServerRelations(positions, following, stated, memo)
        found |= server.relate()
        touched |= server.touched
        reserves |= server.reserves()
    relations = {tool.id: found[position] for position, tool in enumerate(tools)}
    for position, edge in reserves.items():
        if edge.source not in touched:
            related = _with_stated(stated[edge.source, EdgeKind.RELATED], [edge])
            relations[edge.source] = replace(found[position], related=related)
    return InferredRelations(Relations(relations), following.provisions)


_Stated = Mapping[tuple[str, EdgeKind], Mapping[str, Edge]]


class _ServerRelations:
    """Relates the tools of one server.

    Attributes:
        touched: The ids of the tools that an edge leaves or reaches.
    """

    def __init__(
        self, positions: Sequence[int], following: NextStepIndex, stated: _Stated, memo: BuildCache
    ) -> None:
        self.touched: set[str] = set()
        self._index = following.affinity
        self._positions = positions
        self._following = following
        self._stated = stated
        self._steps: Steps | None = None
        if len(positions) > 1:
            tools = [self._index.tools[position] for position in positions]
            self._steps = find_steps(tools, positions, memo)
        terms = self._index.vocabulary.terms
        self._postings = post_terms(positions, terms)
        # How rare each term is in the server.
        counts = Counter(chain.from_iterable(terms[position] for position in positions))
        self._rarities = {term: rarity(count, len(positions)) for term, count in counts.items()}
        # How likely one of two tools follows the other, where it is likely, and the likeliest.
        self._beside: defaultdict[int, dict[int, float]] = defaultdict(dict)
        self._likeliest: dict[int, tuple[float, str, float, int]] = {}

    def relate(self) -> dict[int, ToolRelations]:
        """Return the groups and edges of each tool, by position."""
        found = {position: self._relate(position) for position in self._positions}
        return {position: self._fill_related(position, one) for position, one in found.items()}

    def _find_near(self, position: int) -> ToolAffinities:
        """Return the affinity of the tools that share a term with the tool at *position*.

        The affinity is the sum, over shared terms, of the term's rarity times the weights of the
        places where the two tools hold it, and a little more when one server offers both. Between
        tools of one server, a term is no rarer than it is among that server's tools: what all of
        them hold tells only the server, which the bonus already counts.
        """
        index, known = self._index, self._index.vocabulary
        own, size = known.terms[position], known.size
        rare = {term: rarity(known.holders[term], size) for term in affordable(own, index.sizes)}
        home: dict[int, float] = {}
        if self._steps:
            local = self._rarities
            gains = {term: own[term] * min(local[term], value) for term, value in rare.items()}
            found = sum_gains(self._postings, gains)
            home = {at: one + SAME_SOURCE for at, one in found.items() if one >= _LEAST_AFFINITY}
            home.pop(position, None)
        gains = {term: own[term] * value for term, value in rare.items()}
        namesakes = sum_gains(index.namesakes.get(position, {}), gains)
        source = index.sources[position]
        abroad = {
            at: one
            for at, one in namesakes.items()
            if one >= _LEAST_AFFINITY and index.sources[at] != source
        }
        return ToolAffinities(home, abroad)

    def _relate(self, position: int) -> ToolRelations:
        """Return the relations of a tool, its related tools those alone that are close to it."""
        index, tool = self._index, self._index.tools[position]
        near = self._find_near(position)
        chances: Mapping[int, float] = {}
        if steps := self._steps:
            # In a server of very many tools only those that are near it are weighed.
            nearest = index.strongest(near.home, MOST_NEAREST) if steps.is_large else ()
            chances = steps.chances(position, nearest, LEAST_NOTED)
        for at, chance in chances.items():
            self._note(position, at, chance)
            self._note(at, position, chance)
        kind, origin, close = EdgeKind.RELATED, EdgeOrigin.INFERRED, {**near.home, **near.abroad}
        related: list[Edge] = []
        for other in index.strongest(close, EDGES_PER_TOOL):
            reason = f"shares {quote_words(index.shared_words(position, other))}"
            if index.sources[position] == index.sources[other]:
                reason += ", from the same server"
            weight = compute_weight(kind, origin, saturate_evidence(close[other]))
            related.append(Edge(kind, tool.id, index.ids[other], weight, reason))
        following = self._following.edges(position, near, chances, self._steps, EDGES_PER_TOOL)
        return ToolRelations(
            name_groups(tool, position, index.vocabulary),
            tuple(related),
            _with_stated(self._stated[tool.id, EdgeKind.NEXT_STEP], following),
        )

    def _note(self, position: int, other: int, chance: float) -> None:
        ranked = (-round(chance, 9), self._index.ids[other], -chance, other)
        if position not in self._likeliest or ranked < self._likeliest[position]:
            self._likeliest[position] = ranked
        if chance >= _LEAST_CHANCE_BESIDE:
            beside = self._beside[position]
            beside[other] = max(chance, beside.get(other, 0.0))

    def _fill_related(self, position: int, relations: ToolRelations) -> ToolRelations:
        """Fill the room of the related tools by those that may well follow or precede."""
        ids, beside = self._index.ids, self._beside.get(position, {})
        known = {edge.target for edge in (*relations.related, *relations.next_steps)}
        likely = {at: chance for at, chance in beside.items() if ids[at] not in known}
        room = EDGES_PER_TOOL - len(relations.related)
        further = self._index.strongest(likely, room)
        edges = [
            *relations.related,
            *(self._edge_beside(position, at, likely[at]) for at in further),
        ]
        edges.sort(key=lambda edge: (-edge.weight, edge.target))
        if edges or relations.next_steps:
            self.touched.add(ids[position])
            self.touched.update(edge.target for edge in (*edges, *relations.next_steps))
        related = _with_stated(self._stated[ids[position], EdgeKind.RELATED], edges)
        is_known = related == relations.related
        return relations if is_known else replace(relations, related=related)

    def reserves(self) -> dict[int, Edge]:
        """Return edges for the tools that have none and that none reaches, by position.

        In a server of some size, each gets one to the tool that is likeliest to follow or precede.
        """
        if len(self._positions) < _LEAST_SERVER:
            return {}
        return {
            position: self._edge_beside(position, at, -chance)
            for position, (_, _, chance, at) in self._likeliest.items()
            if self._index.ids[position] not in self.touched
        }

    def _edge_beside(self, position: int, other: int, chance: float) -> Edge:
        kind, origin, ids = EdgeKind.RELATED, EdgeOrigin.INFERRED, self._index.ids
        reason = self._steps.reason(position, other) if self._steps else ""
        weight = compute_weight(kind, origin, chance)
        return Edge(kind, ids[position], ids[other], weight, reason, origin)


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
