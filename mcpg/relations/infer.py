"""Infer relations: similarity, data flow, groups and next steps.

Candidates are found through shared terms and fields, never pair by pair.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import TYPE_CHECKING, TypeVar

from mcpg.build_cache import NO_MEMO, Memo
from mcpg.catalog.model import Tool
from mcpg.relations.model import (
    FOLLOWED_BY,
    PROSE,
    Edge,
    EdgeKind,
    EdgeOrigin,
    Field,
    FieldKey,
    Operation,
    Relations,
    ToolRelations,
    Vocabulary,
    accepts,
    build_vocabulary,
    given_fields,
    needed_fields,
    operation_of,
    rarity,
    singular,
    subject_terms,
)
from mcpg.relations.workflow import MOST_NEAREST, ServerSteps, steps_by_server
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
        postings: For each term that several tools hold, their positions and place weights.
        local: For each source and term, how much the term says among that source's own tools.
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
    shared = {term: held for term, held in postings.items() if len(held) > 1}
    sources = [tool.source_id for tool in tools]
    local = _local(sources, vocabulary)
    return AffinityIndex(tools, sources, vocabulary, shared, local, _named(tools))


def _named(tools: Sequence[Tool]) -> list[frozenset[str]]:
    """Return what the name of each tool says it works on."""
    return [
        frozenset(map(singular, subject_terms(tool.name)))
        - frozenset(map(singular, subject_terms(tool.source_id)))
        for tool in tools
    ]


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
    return Edge(EdgeKind.RELATED, tool.id, target.id, edge_weight(affinity), reason)


_PARTIAL = 0.7
_UNQUALIFIED = 0.5
_LEAST_STRENGTH = 0.15
# In a handful of tools that all work on one thing its name is common, and yet no idle word.
_TOO_FEW_TO_COUNT = 16
_FIELDS_IN_REASON = 3
# From so many servers, or of so many tools that give something, on a field of one word is generic.
_FEW_SERVERS = 2
_MANY_SERVERS = 0.1
_FEW_GIVERS = 8
_MANY_GIVERS = 0.5


@dataclass(frozen=True, slots=True)
class Flow:
    """What flows from one tool to another.

    Attributes:
        strength: Above 0; greater the rarer the fields are and the more of the need they meet.
        fields: Pairs of the output field and the required argument that it fills, rarest first.
    """

    strength: float
    fields: tuple[tuple[str, str], ...]

    @property
    def reason(self) -> str:
        """Return for people what flows."""
        shown = self.fields[:_FIELDS_IN_REASON]
        names = quoted([given for given, _ in shown])
        if any(given != needed for given, needed in shown):
            arguments = quoted([needed for _, needed in shown])
            verb = (
                "fills the required argument" if len(shown) == 1 else "fill the required arguments"
            )
            return f"its output {_plural('field', shown)} {names} {verb} {arguments} there"
        verb = "is a required argument" if len(shown) == 1 else "are required arguments"
        return f"its output {_plural('field', shown)} {names} {verb} there"


@dataclass(frozen=True, slots=True)
class FlowIndex:
    """Finds the tools that need what a tool gives, by an inverted index from field to tools.

    Attributes:
        sources: For each tool, its source id.
        given: For each tool, the fields of its result that it was not itself given.
        needs: For each tool, how many arguments it requires.
        postings: For each field, the tools that require it and the argument it is there.
        holders: For each field, how many tools give or require it.
        generic: Fields of one word that tools of many servers hold, or most that give anything
            give: `content` and the like say nothing of what flows.
        asked: For each tool, the names of its required arguments and the field each one is.
        offered: For each source, the fields that its tools give.
    """

    sources: Sequence[str]
    given: Sequence[Mapping[FieldKey, Field]]
    needs: Sequence[int]
    postings: Mapping[FieldKey, Sequence[tuple[int, Field]]]
    holders: Mapping[FieldKey, int]
    generic: frozenset[FieldKey]
    asked: Sequence[Mapping[str, FieldKey]]
    offered: Mapping[str, AbstractSet[FieldKey]]

    def flows(self, position: int, near: Mapping[int, float]) -> dict[int, Flow]:
        """Return what flows from the tool at *position* to others, by position.

        Args:
            position: The tool that gives.
            near: Tools that share a term with it. A field of one word, such as `message`, names
                no subject of its own: it counts in full between these, by half between other
                tools of one server, and nothing between servers.
        """
        given = {key: one for key, one in self.given[position].items() if key not in self.generic}
        found: defaultdict[int, dict[str, tuple[float, str]]] = defaultdict(dict)
        size = max(_TOO_FEW_TO_COUNT, len(self.needs))
        for key in affordable(given, self.postings):
            worth = rarity(self.holders[key], size)
            for other, needed in self.postings[key]:
                trust = self._trust(position, other, near) if len(key) == 1 else 1.0
                if other != position and trust and accepts(needed.types, given[key].types):
                    found[other][needed.name] = (worth * trust, given[key].name)
        flows = {
            other: self._flow(other, fills)
            for other, fills in found.items()
            if not self._skips_a_step(position, other, fills)
        }
        return {other: flow for other, flow in flows.items() if flow.strength >= _LEAST_STRENGTH}

    def _skips_a_step(self, position: int, other: int, fills: Mapping[str, object]) -> bool:
        """Return whether *other* lacks an argument that a further tool of its server gives."""
        known = self.asked[position].values()
        offered = self.offered[self.sources[other]]
        return any(
            key in offered and key not in known
            for name, key in self.asked[other].items()
            if name not in fills
        )

    def _trust(self, position: int, other: int, near: Mapping[int, float]) -> float:
        if other in near:
            return 1.0
        return _UNQUALIFIED if self.sources[position] == self.sources[other] else 0.0

    def _flow(self, other: int, fills: Mapping[str, tuple[float, str]]) -> Flow:
        ranked = sorted((-weight, needed, given) for needed, (weight, given) in fills.items())
        total = sum(-weight for weight, _, _ in ranked)
        share = 1.0 if len(fills) == self.needs[other] else _PARTIAL
        return Flow(total * share, tuple((given, needed) for _, needed, given in ranked))


def build_flow(tools: Sequence[Tool]) -> FlowIndex:
    """Build the index over *tools*."""
    needed = [needed_fields(tool) for tool in tools]
    given = [_given(tool, fields) for tool, fields in zip(tools, needed, strict=True)]
    postings: defaultdict[FieldKey, list[tuple[int, Field]]] = defaultdict(list)
    holders: defaultdict[FieldKey, int] = defaultdict(int)
    for position, fields in enumerate(needed):
        for field in fields:
            postings[field.key].append((position, field))
        for key in {field.key for field in fields} | given[position].keys():
            holders[key] += 1
    sources = [tool.source_id for tool in tools]
    needs = [len(tool.required_arguments) for tool in tools]
    asked = [{field.name: field.key for field in fields} for fields in needed]
    offered: defaultdict[str, set[FieldKey]] = defaultdict(set)
    for source, gives in zip(sources, given, strict=True):
        offered[source].update(gives)
    generic = _generic(sources, given, asked)
    return FlowIndex(sources, given, needs, postings, holders, generic, asked, offered)


def _generic(
    sources: Sequence[str],
    given: Sequence[Mapping[FieldKey, Field]],
    asked: Sequence[Mapping[str, FieldKey]],
) -> frozenset[FieldKey]:
    """Return the fields of one word that many servers hold, or most that give anything on one."""
    servers: defaultdict[FieldKey, set[str]] = defaultdict(set)
    givers: Counter[tuple[str, FieldKey]] = Counter()
    giving = Counter(source for source, gives in zip(sources, given, strict=True) if gives)
    for source, gives, asks in zip(sources, given, asked, strict=True):
        for key in gives.keys() | set(asks.values()):
            if len(key) == 1:
                servers[key].add(source)
        givers.update((source, key) for key in gives if len(key) == 1)
    most = max(_FEW_SERVERS, len(giving) * _MANY_SERVERS)
    common = {
        key
        for (source, key), count in givers.items()
        if count > max(_FEW_GIVERS, giving[source]) * _MANY_GIVERS
    }
    return frozenset(common | {key for key, held in servers.items() if len(held) > most})


def _given(tool: Tool, needed: Sequence[Field]) -> dict[FieldKey, Field]:
    """Index what *tool* gives by every name that it may be asked for under."""
    known = {field.key for field in needed}
    fields = given_fields(tool)
    subjects = [singular(term) for term in subject_terms(tool.name)] if fields else []
    # A field's own name goes before what its owner or the tool would make of it.
    names = [(field.key, field) for field in fields]
    names += [(key, field) for field in fields for key in _qualified(field, subjects)]
    given: dict[FieldKey, Field] = {}
    for key, field in names:
        # What a tool had to be given is nothing that it finds.
        if key and key not in known:
            given.setdefault(key, field)
    return given


def _qualified(field: Field, subjects: Sequence[str]) -> Iterator[FieldKey]:
    """Name a field of one word in full: the `id` of an order is an `order_id` to others."""
    if len(field.key) == 1:
        if field.owner:
            yield _joined(field.key, field.owner)
        yield _joined(field.key, tuple(subjects))
        yield from (_joined(field.key, (subject,)) for subject in subjects)


def _joined(key: FieldKey, owner: FieldKey) -> FieldKey:
    return tuple(sorted({*key, *owner}))


def _plural(noun: str, things: Sequence[object]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


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
_LEAST_CHANCE = 0.75
_LEAST_CHANCE_OF_ONLY = 0.35
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
        flow: What flows between them.
        operations: The kind of work of each tool.
        workflows: What follows what within each server.
    """

    affinity: AffinityIndex
    flow: FlowIndex
    operations: Sequence[Operation]
    workflows: Mapping[str, ServerSteps]

    def edges(self, position: int, near: Mapping[int, float], count: int) -> list[Edge]:
        """Make edges from the tool at *position* to the *count* likeliest next steps.

        Within a server a tool follows when their names, arguments and kinds of work make it likely;
        between servers, and between tools that take nothing, when it does the next kind of work on
        the same subject; anywhere, when it
        must be given what this one gives. Where several hold, the strongest evidence counts.

        Args:
            position: The tool that comes first.
            near: The affinity of the tools that share a term with it.
            count: The most edges to make.
        """
        found: dict[int, tuple[float, str]] = {}
        for at, chance in self._at_home(position, near).items():
            found[at] = (chance, "")
        for at, value in self._by_kind(position, near).items():
            found[at] = (edge_weight(value), self._reason(position, at))
        for at, flow in self.flow.flows(position, near).items():
            weight = edge_weight(flow.strength)
            # What must be given says more than what is likely: it wins when it is as strong.
            if at not in found or not found[at][1] or weight >= found[at][0]:
                found[at] = (max(weight, found.get(at, (0.0, ""))[0]), flow.reason)
        strengths = {at: weight for at, (weight, _) in found.items()}
        chosen = self.affinity.strongest(strengths, count)
        return [self._edge(position, at, *found[at]) for at in chosen]

    def likeliest(self, position: int) -> Edge | None:
        """Return the likeliest next step of a tool that has no edge, if one is likely at all."""
        workflow = self.workflows[self.affinity.sources[position]]
        if len(workflow.works) < _LEAST_SERVER:
            return None
        chances = workflow.chances(position, ())
        likely = {at: one for at, one in chances.items() if one >= _LEAST_CHANCE_OF_ONLY}
        chosen = self.affinity.strongest(likely, 1)
        return self._edge(position, chosen[0], round(likely[chosen[0]], 2), "") if chosen else None

    def _at_home(self, position: int, near: Mapping[int, float]) -> dict[int, float]:
        source = self.affinity.sources[position]
        at_home = {at: value for at, value in near.items() if self.affinity.sources[at] == source}
        nearest = self.affinity.strongest(at_home, MOST_NEAREST)
        chances = self.workflows[source].chances(position, nearest)
        return {at: round(one, 2) for at, one in chances.items() if one >= _LEAST_CHANCE}

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

    def _edge(self, position: int, at: int, weight: float, reason: str) -> Edge:
        tools = self.affinity.tools
        if not reason:
            reason = self.workflows[tools[position].source_id].reason(position, at)
        return Edge(EdgeKind.NEXT_STEP, tools[position].id, tools[at].id, weight, reason)


RELATED_PER_TOOL = 5
NEXT_STEPS_PER_TOOL = 5
STATED = "stated by the author"
"""The reason of an edge that an author wrote."""


def relate(catalog: Catalog, memo: Memo = NO_MEMO) -> Relations:
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
    steps = NextStepIndex(affinity, build_flow(tools), operations, steps_by_server(tools))
    stated = authored_edges(catalog)
    by_tool: dict[str, ToolRelations] = {}
    for position, tool in enumerate(tools):
        near = affinity.near(position)
        related = related_edges(affinity, position, near, RELATED_PER_TOOL)
        following = steps.edges(position, near, NEXT_STEPS_PER_TOOL)
        by_tool[tool.id] = ToolRelations(
            groups_of(tool, position, vocabulary),
            _with_stated(stated[tool.id, EdgeKind.RELATED], related, RELATED_PER_TOOL),
            _with_stated(stated[tool.id, EdgeKind.NEXT_STEP], following, NEXT_STEPS_PER_TOOL),
        )
    return Relations(_with_neighbours(by_tool, steps))


def _with_neighbours(
    by_tool: Mapping[str, ToolRelations], steps: NextStepIndex
) -> dict[str, ToolRelations]:
    """Add to each tool without any edge, of a server of some size, the likeliest step if any is."""
    edges = [edge for held in by_tool.values() for edge in (*held.related, *held.next_steps)]
    touched = {end for edge in edges for end in (edge.source, edge.target)}
    completed = dict(by_tool)
    for position, tool in enumerate(steps.affinity.tools):
        if tool.id not in touched:
            edge = steps.likeliest(position)
            if edge is not None:
                completed[tool.id] = replace(by_tool[tool.id], next_steps=(edge,))
    return completed


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


def _with_stated(
    stated: Mapping[str, Edge], inferred: Sequence[Edge], cap: int
) -> tuple[Edge, ...]:
    """Put what was *stated* first, whole, and fill up to *cap* with what was not stated."""
    further = [edge for edge in inferred if edge.target not in stated]
    room = max(0, cap - len(stated))
    return (*stated.values(), *further[:room])
