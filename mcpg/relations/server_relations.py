"""Relate the tools of one server: groups, related tools and next steps, with their reasons.

Everything is counted within the server, so the result is independent of the rest of the catalog.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from sys import intern
from typing import Any, NamedTuple

from mcpg.caching.build_cache import BuildCache, ResultKind, encode_parts
from mcpg.catalog.model import Tool
from mcpg.relations.edges import (
    Coverage,
    Edge,
    EdgeKind,
    EdgeOrigin,
    FieldMapping,
    ToolRelations,
    compute_weight,
)
from mcpg.relations.provisions import Provision, quote_words
from mcpg.relations.server_sequences import LEAST_CHANCE, ServerSteps, measure_likeness
from mcpg.relations.vocabulary import (
    FOLLOWED_BY,
    PROSE,
    ToolOperation,
    Vocabulary,
    build_vocabulary,
    classify_operation,
    rarity,
    round_size,
)
from mcpg.text import fold, lexicon
from mcpg.values import format_below

EDGES_PER_TOOL = 5
"""The most related tools, and the most next steps in its server, that are derived for a tool."""

_BUDGET = 256
# Fainter than this is what tools share by chance in any server.
_LEAST_AFFINITY = 0.19
_TERMS_IN_REASON = 3


class AffinityIndex:
    """Finds the tools of a server that are close to a tool, by their places.

    Attributes:
        sizes: For each term of several tools, and not too many to compare, their number.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Index *tools*, all of one server."""
        self.ids = [tool.id for tool in tools]
        self.vocabulary = vocabulary = build_vocabulary(tools)
        sizes = Counter(chain.from_iterable(vocabulary.terms))
        self.sizes = {term: size for term, size in sizes.items() if 1 < size <= _BUDGET}
        size, holders = round_size(len(tools)), vocabulary.holders
        self._rarities = {term: rarity(holders[term], size) for term in self.sizes}
        # For each term, by the weight of its place, its tools.
        self._postings: defaultdict[str, defaultdict[float, list[int]]]
        self._postings = defaultdict(lambda: defaultdict(list))
        for place, terms in enumerate(vocabulary.terms):
            for term, weight in terms.items():
                self._postings[term][weight].append(place)

    def find_near(self, place: int) -> Mapping[int, float]:
        """Return the affinity of the tools that share a term with the tool at *place*.

        The affinity is the sum, over shared terms, of the term's rarity in the server times the
        weights of its places in the two tools.
        """
        own = self.vocabulary.terms[place]
        found: defaultdict[int, float] = defaultdict(float)
        for term in choose_affordable(own, self.sizes):
            gain = own[term] * self._rarities[term]
            for weight, held in self._postings[term].items():
                if own[term] == weight == PROSE and _is_common(self.vocabulary.words[term]):
                    continue
                more = weight * gain
                for other in held:
                    found[other] += more
        found.pop(place, None)
        return {other: one for other, one in found.items() if one >= _LEAST_AFFINITY}

    def list_shared_words(self, one: int, other: int) -> list[str]:
        """Return the terms that two tools share, the most specific first, in readable forms."""
        terms, words = self.vocabulary.terms, self.vocabulary.words
        first, second = terms[one], terms[other]
        ranked = sorted(
            (-first[term] * second[term] * self._rarities[term], term)
            for term in first.keys() & second.keys() & self._rarities.keys()
            if max(first[term], second[term]) > PROSE or not _is_common(words[term])
        )
        return [words[term] for _, term in ranked[:_TERMS_IN_REASON]]

    def find_strongest(self, strengths: Mapping[int, float], count: int) -> list[int]:
        """Return the places of the *count* greatest *strengths*, ties by tool id."""
        if count < 1 or not strengths:
            return []
        ids = self.ids
        ranked = sorted([(-round(value, 9), ids[at], at) for at, value in strengths.items()])
        return [row[-1] for row in ranked[:count]]


def choose_affordable(keys: Iterable[str], sizes: Mapping[str, int]) -> list[str]:
    """Choose *keys*, those with the shortest lists first, until the budget of one tool is spent.

    This bounds the work for each tool, so that the total is linear in the number of tools. The
    largest groups, which are the weakest evidence, are left out.
    """
    chosen: list[str] = []
    spent = 0
    for size, key in sorted([(sizes[key], key) for key in keys if key in sizes]):
        spent += size
        if spent > _BUDGET:
            break
        chosen.append(key)
    return chosen


_REASONS = {
    ToolOperation.INSPECT: "inspects what this one finds",
    ToolOperation.ACT: "acts on what this one inspects",
}


def saturate_evidence(evidence: float) -> float:
    """Bring *evidence* above 0 into (0, 1): each further bit of it adds less."""
    return evidence / (evidence + 1.0)


_DOMAINS_PER_TOOL = 4
_MOST_SLUGS = 4096
# A group id is used as a URI, and a colon separates its parts.
_NO_GROUP_CHARACTER = re.compile(r"[\s:/\\<>\"'{}|^`\x00-\x1f\x7f]+")


def name_groups(tool: Tool, position: int, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Name the groups of the tool at *position* of the vocabulary's tools.

    These are a `domain:` group for each of the four most specific terms, the same within the tool's
    source, and a `category:` group for each category. A term of no other tool makes a group only if
    the tool has no other term, and a term of the description only if nothing else names the tool's
    subject.
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
def _is_common(word: str) -> bool:
    """Return whether a *word* in the prose of two tools does not relate them, such as `etc`."""
    return lexicon.share_of_texts(word, lexicon.ENGLISH) >= _COMMON


@lru_cache(_MOST_SLUGS)
def _slug(text: str) -> str:
    return _NO_GROUP_CHARACTER.sub("-", fold(text)).strip("-")


# The share of English texts of a hundred words that have a common word.
_COMMON = 0.01
# Less likely next steps are ignored.
_LEAST_NOTED = 0.2
# The probability of a sequence of two tools of a server from which they are related; and the least
# size of a server in which a tool without edges is related to the likeliest.
_LEAST_CHANCE_BESIDE = 0.65
_LEAST_SERVER = 5
# Of what the names of two tools that take nothing name, so much is the same where one follows.
_LEAST_LIKENESS = 0.5
# Fields that are weaker evidence, and fill only a part of the required arguments, do not make a
# step likely.
_LEAST_PART = 1 / 3
# In a server of more tools than the first, a tool is weighed only against so many that are close.
_LARGE_SERVER = 48
_MOST_NEAREST = 24


class ServerRelations(NamedTuple):
    """The derived relations of the tools of a server, in their order.

    Attributes:
        reserves: By place, an edge for a tool without any edge from or to it.
    """

    relations: Sequence[ToolRelations]
    reserves: Mapping[int, Edge]


def relate_server(
    tools: Sequence[Tool], provisions: Sequence[Sequence[Provision]], memo: BuildCache
) -> ServerRelations:
    """Relate *tools*, all of one server, of which each provides to others what *provisions* has."""
    if len(tools) == 1:
        groups = name_groups(tools[0], 0, build_vocabulary(tools))
        return ServerRelations([ToolRelations(groups)], {})
    return memo.recall(
        _RELATIONS,
        partial(_encode_inputs, tools, provisions),
        lambda: _ServerRelator(tools, provisions).relate(),
    )


class _ServerRelator:
    """Relates the tools of one server, by their places."""

    def __init__(
        self, tools: Sequence[Tool], provisions: Sequence[Sequence[Provision]] = ()
    ) -> None:
        self._tools = tools
        self._ids = [tool.id for tool in tools]
        self._affinity = AffinityIndex(tools)
        self._steps = ServerSteps(tools)
        self._provisions = provisions
        self._operations = [*map(classify_operation, tools)]
        # The probabilities of sequences with each tool, if high enough, and the highest.
        self._beside: defaultdict[int, dict[int, float]] = defaultdict(dict)
        self._likeliest: dict[int, tuple[float, str, float, int]] = {}

    def relate(self) -> ServerRelations:
        """Return the groups and edges of each tool, and edges for the tools that have none."""
        close = [self._relate_close(place) for place in range(len(self._tools))]
        found = [self._fill_related(place, one) for place, one in enumerate(close)]
        touched: set[str] = set()
        for tool_id, one in zip(self._ids, found, strict=True):
            targets = [edge.target for edge in (*one.related, *one.next_steps)]
            touched.update(targets, [tool_id] if targets else [])
        is_small = len(self._tools) < _LEAST_SERVER
        reserves = {
            place: self._make_edge_beside(place, at, -chance)
            for place, (_, _, chance, at) in self._likeliest.items()
            if not is_small and self._ids[place] not in touched
        }
        return ServerRelations(found, reserves)

    def weigh_steps(self, place: int, near: Mapping[int, float]) -> Mapping[int, float]:
        """Return the probability that each tool follows the tool at *place*.

        In a server of very many tools, only tools *near* it, or named with it in descriptions, are
        weighed.
        """
        others: Iterable[int] = range(len(self._tools))
        if len(self._tools) > _LARGE_SERVER:
            nearest = self._affinity.find_strongest(near, _MOST_NEAREST)
            others = self._steps.linked[place].union(nearest)
        return self._steps.weigh(place, others)

    def explain_alone(self, place: int) -> str:
        """Return a sentence on why no edge is inferred for the tool at *place*."""
        tools, steps = self._tools, self._steps
        chances = self.weigh_steps(place, self._affinity.find_near(place))
        found = ""
        if chances:
            likeliest = self._affinity.find_strongest(chances, 1)[0]
            chance = format_below(chances[likeliest], LEAST_CHANCE)
            found = f"; the likeliest next step, {tools[likeliest].name!r},"
            found += f" has a probability of {chance}"
        work, others = steps.works[place], [*steps.works[:place], *steps.works[place + 1 :]]
        if not work.nouns:
            return f"its name does not name an object{found}"
        nouns = " or ".join(repr(steps.forms.get(noun, noun)) for noun in sorted(work.nouns))
        held = {word for other in others for word in (*other.nouns, *" ".join(other.takes).split())}
        if held.isdisjoint(work.nouns):
            return f"no other tool of its server is named for {nouns} or takes it{found}"
        return f"little follows from what other tools of its server do with {nouns}{found}"

    def _relate_close(self, place: int) -> ToolRelations:
        """Return the relations of a tool, with only close tools as related tools."""
        affinity, tool_id = self._affinity, self._ids[place]
        near = affinity.find_near(place)
        chances = {
            at: one for at, one in self.weigh_steps(place, near).items() if one >= _LEAST_NOTED
        }
        for at, chance in chances.items():
            self._note(place, at, chance)
            self._note(at, place, chance)
        for at in self._steps.linked[place]:  # related in any order
            self._note(place, at, _LEAST_CHANCE_BESIDE)
        kind, origin = EdgeKind.RELATED, EdgeOrigin.INFERRED
        related: list[Edge] = []
        for other in affinity.find_strongest(near, EDGES_PER_TOOL):
            reason = f"shares {quote_words(affinity.list_shared_words(place, other))}"
            weight = compute_weight(kind, origin, saturate_evidence(near[other]))
            related.append(Edge(kind, tool_id, self._ids[other], weight, reason))
        return ToolRelations(
            name_groups(self._tools[place], place, affinity.vocabulary),
            tuple(related),
            tuple(self._make_next_steps(place, near, chances)),
        )

    def _make_next_steps(
        self, place: int, near: Mapping[int, float], chances: Mapping[int, float]
    ) -> Iterable[Edge]:
        """Make edges from the tool at *place* to the likeliest next steps.

        A tool follows if names, arguments and kinds of work make it likely; between tools without
        arguments, if it does the next kind of work on the same subject; and if it requires a field
        that this tool provides. The strongest evidence counts, and the reason names the fields.
        """
        kind, origin, ids = EdgeKind.NEXT_STEP, EdgeOrigin.INFERRED, self._ids
        reasons: dict[int, tuple[float, str]] = {}
        for at, chance in chances.items():
            if chance >= LEAST_CHANCE:
                reasons[at] = compute_weight(kind, origin, chance), self._steps.explain(place, at)
        for at, evidence in self._find_next_kind(place, near).items():
            shared = quote_words(self._affinity.list_shared_words(place, at))
            reason = f"{_REASONS[self._operations[at]]}: shares {shared}"
            reasons[at] = compute_weight(kind, origin, saturate_evidence(evidence)), reason
        provided = {
            one.target: one
            for one in self._provisions[place]
            if one.coverage is Coverage.STRICT
            or one.strength >= _LEAST_PART
            or one.target in reasons
        }
        weights = {at: weight for at, (weight, _) in reasons.items()}
        for at, provision in provided.items():
            weights[at] = max(provision.weight, weights.get(at, 0.0))
        for at in self._affinity.find_strongest(weights, EDGES_PER_TOOL):
            if at in provided:
                yield provided[at].make_edge(ids[place], ids[at], weights[at])
            else:
                yield Edge(kind, ids[place], ids[at], *reasons[at])

    def _find_next_kind(self, place: int, near: Mapping[int, float]) -> Mapping[int, float]:
        """Return the tools of the next kind of work, if arguments do not decide."""
        kind, works = FOLLOWED_BY.get(self._operations[place]), self._steps.works
        own = works[place]
        if kind is None or own.takes:
            return {}
        return {
            at: one
            for at, one in near.items()
            if self._operations[at] is kind
            and not works[at].takes
            and (not own.nouns or measure_likeness(own.nouns, works[at].nouns) >= _LEAST_LIKENESS)
        }

    def _note(self, place: int, other: int, chance: float) -> None:
        ranked = (-round(chance, 9), self._ids[other], -chance, other)
        if place not in self._likeliest or ranked < self._likeliest[place]:
            self._likeliest[place] = ranked
        if chance >= _LEAST_CHANCE_BESIDE:
            beside = self._beside[place]
            beside[other] = max(chance, beside.get(other, 0.0))

    def _fill_related(self, place: int, relations: ToolRelations) -> ToolRelations:
        """Fill the room of the related tools by those that may well follow or precede."""
        known = {edge.target for edge in (*relations.related, *relations.next_steps)}
        likely = {
            at: chance
            for at, chance in self._beside.get(place, {}).items()
            if self._ids[at] not in known
        }
        room = EDGES_PER_TOOL - len(relations.related)
        further = self._affinity.find_strongest(likely, room)
        if not further:
            return relations
        edges = [
            *relations.related,
            *(self._make_edge_beside(place, at, likely[at]) for at in further),
        ]
        edges.sort(key=lambda edge: (-edge.weight, edge.target))
        return replace(relations, related=tuple(edges))

    def _make_edge_beside(self, place: int, other: int, chance: float) -> Edge:
        kind, origin = EdgeKind.RELATED, EdgeOrigin.INFERRED
        reason, weight = self._steps.explain(place, other), compute_weight(kind, origin, chance)
        return Edge(kind, self._ids[place], self._ids[other], weight, reason, origin)


def explain_alone(tools: Sequence[Tool], tool_id: str) -> str:
    """Return a sentence on why no edge is inferred for a tool, one of *tools* of its server."""
    if len(tools) == 1:
        return "its server has no other tool"
    place = next(place for place, tool in enumerate(tools) if tool.id == tool_id)
    return _ServerRelator(tools).explain_alone(place)


def _encode_inputs(tools: Sequence[Tool], provisions: Sequence[Sequence[Provision]]) -> bytes:
    described = [
        (
            *(tool.id, tool.source_id, tool.name, tool.display_name, tool.description),
            *(tool.hints.keywords, tool.hints.categories, tool.hints.tags),
            *(tool.hints.data_sources, tool.hints.read_only, tool.hints.destructive),
            tool.input_schema,
        )
        for tool in tools
    ]
    provided = [
        [(one.target, one.strength, one.coverage.value, _list_members(one.fields)) for one in row]
        for row in provisions
    ]
    return encode_parts((described, provided))


def _list_members(fields: Sequence[FieldMapping]) -> list[tuple[str, str, bool]]:
    return [(one.given, one.argument, one.required) for one in fields]


def _encode(found: ServerRelations) -> bytes | None:
    # Results without the table of operations must not outlive the fault.
    if lexicon.faults:
        return None
    edges = [*found.reserves.values()]
    for one in found.relations:
        edges += (*one.related, *one.next_steps)
    rows = [
        (
            *(edge.kind.value, edge.source, edge.target, edge.weight, edge.reason),
            *(edge.origin.value, _list_members(edge.fields), edge.coverage and edge.coverage.value),
        )
        for edge in edges
    ]
    members = [(one.groups, len(one.related), len(one.next_steps)) for one in found.relations]
    return json.dumps(([*found.reserves], members, rows)).encode()


def _decode(data: bytes) -> ServerRelations:
    places, members, rows = json.loads(data)
    edges = map(_decode_edge, rows)
    reserves = dict(zip(places, edges, strict=False))
    relations = [
        ToolRelations(
            tuple(map(intern, groups)),
            tuple(islice(edges, related)),
            tuple(islice(edges, following)),
        )
        for groups, related, following in members
    ]
    return ServerRelations(relations, reserves)


def _decode_edge(row: Sequence[Any]) -> Edge:
    kind, source, target, weight, reason, origin, fields, coverage = row
    return Edge(
        *(EdgeKind(kind), source, target, weight, reason, EdgeOrigin(origin)),
        tuple(FieldMapping(*one) for one in fields),
        coverage and Coverage(coverage),
    )


_RELATIONS = ResultKind("relations", _encode, _decode)
