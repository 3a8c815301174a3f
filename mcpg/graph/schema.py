"""A summary of the graph for people and models who write queries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean, median
from typing import Any, Self

from mcpg.documents.facts import parse_facts
from mcpg.documents.model import Link, ToolDocument
from mcpg.graph import terms as v
from mcpg.graph.search.model import DEFAULT_PROFILE, SearchProfile
from mcpg.graph.sparql_worker import shorten_iri
from mcpg.graph.terms import PREFIXES, RdfLiteral, Triple, compact_iri, terms
from mcpg.graph.triples import make_triples
from mcpg.relations.edges import EdgeKind, EdgeOrigin
from mcpg.values import SHOWN_DECIMALS, to_json

TOOL, PAGE, GROUP, SYMBOL, THING = "tool", "page", "group", "symbol", "thing"
"""The kinds of nodes: a tool, a document of none, a group of tools, a symbol of source code, and
other targets of edges."""

LINKS = (v.kb.relatedTo, v.kb.nextStep, v.kb.memberOf)
"""The predicates whose objects are nodes even if nothing else is known of them."""

# The first class that a node has decides.
_KINDS = {
    v.mcpg.Tool: TOOL,
    v.kb.MarkdownDocument: PAGE,
    v.schema.DefinedTerm: GROUP,
    v.mcpg.Symbol: SYMBOL,
}
# Statements about another node, or the vocabulary, are drawn in another way or not at all.
_HIDDEN = {v.mcpg.Parameter, v.mcpg.Example, v.mcpg.Section, v.mcpg.Source, v.rdf.Statement} | {
    v.skos.ConceptScheme
}
_STATEMENT_PARTS = (v.rdf.subject, v.rdf.predicate, v.rdf.object)
_NO_EDGES = {v.rdf.type, v.prov.wasDerivedFrom, v.skos.broader, v.mcpg.definedIn}


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """One thing to draw.

    Attributes:
        kind: `TOOL`, `PAGE`, `GROUP`, `SYMBOL` or `THING`.
        label: Its name on the map: the tool's id, the name, or else the IRI.
        title: The name for people.
        source: The source of a tool, the folder of a source file or symbol, or "".
    """

    iri: str
    kind: str
    label: str
    title: str
    description: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class NetworkEdge:
    """One line to draw.

    Attributes:
        source: Place of the node that it leaves, counted from 0.
        target: Place of the node that it reaches.
        name: Its kind, as in JSON-LD: `related`, `nextSteps`, `groups`, ...
        weight: Its strength in (0, 1].
        reason: Why, for people, or "".
        origin: `authored`, `observed`, `schema` or `inferred`.
    """

    source: int
    target: int
    name: str
    predicate: str
    weight: float = 1.0
    reason: str = ""
    origin: str = "authored"


@dataclass(frozen=True, slots=True)
class Network:
    """The drawing: nodes in the order of their first mention, edges in that of their triples."""

    nodes: tuple[NetworkNode, ...]
    edges: tuple[NetworkEdge, ...]


@dataclass(slots=True)
class _SubjectFacts:
    """The classes of a subject, the first value of each predicate, and predicates with objects."""

    types: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    references: list[tuple[str, str]] = field(default_factory=list)


def build_network(triples: Iterable[Triple]) -> Network:
    """Return *triples* as nodes and edges.

    Parameters, examples, sources and statements are not nodes; a statement's weight and reason
    belong to the edge that it is about.
    """
    facts = _collect_facts(triples)
    drawn = {iri: one for iri, one in facts.items() if _HIDDEN.isdisjoint(one.types)}
    lines = [
        (subject, predicate, target)
        for subject, one in drawn.items()
        for predicate, target in one.references
        if target != subject
        and predicate not in _NO_EDGES
        and (target in drawn or predicate in LINKS)
    ]
    targets = (target for _, _, target in lines)
    places = {iri: place for place, iri in enumerate(dict.fromkeys((*drawn, *targets)))}
    statements: dict[tuple[str, ...], _SubjectFacts] = {}
    for one in facts.values():
        if v.rdf.Statement in one.types:
            said = dict(one.references)
            statements[tuple(said.get(part, "") for part in _STATEMENT_PARTS)] = one
    return Network(
        tuple(_make_node(iri, facts) for iri in places),
        tuple(_make_edge(line, places, statements.get(line)) for line in lines),
    )


def _collect_facts(triples: Iterable[Triple]) -> dict[str, _SubjectFacts]:
    facts: defaultdict[str, _SubjectFacts] = defaultdict(_SubjectFacts)
    for subject, predicate, value in triples:
        one = facts[subject]
        if isinstance(value, RdfLiteral):
            one.texts.setdefault(predicate, value.text)
        elif predicate == v.rdf.type:
            one.types.append(value)
        elif predicate not in _NO_EDGES or predicate == v.mcpg.definedIn:
            one.references.append((predicate, value))
    return facts


def _make_node(iri: str, known: dict[str, _SubjectFacts]) -> NetworkNode:
    facts = known.get(iri) or _SubjectFacts()
    kind = next((kind for one, kind in _KINDS.items() if one in facts.types), THING)
    source = known.get(dict(facts.references).get(v.mcpg.source, ""))
    name = facts.texts.get(v.schema.name) or iri
    return NetworkNode(
        iri,
        kind,
        facts.texts.get(v.mcpg.toolId) or name,
        name,
        facts.texts.get(v.schema.description, ""),
        source.texts.get(v.schema.name, "") if source else _find_folder(facts, known),
    )


def _find_folder(facts: _SubjectFacts, known: dict[str, _SubjectFacts]) -> str:
    """Return the folder of a source file or symbol, "" for other things."""
    page = known.get(dict(facts.references).get(v.mcpg.definedIn, "")) or facts
    if v.mcpg.language not in page.texts:
        return ""
    return page.texts.get(v.schema.name, "").rpartition("/")[0] or "."


def _make_edge(
    line: tuple[str, str, str], places: dict[str, int], stated: _SubjectFacts | None
) -> NetworkEdge:
    subject, predicate, target = line
    term = terms().get(predicate)
    texts = stated.texts if stated else {}
    try:
        weight = float(texts.get(v.kb.confidence, ""))
    except ValueError:
        weight = 1.0
    return NetworkEdge(
        places[subject],
        places[target],
        term.name if term else compact_iri(predicate),
        predicate,
        # An author may write an invalid value.
        weight if 0 < weight <= 1 else 1.0,
        texts.get(v.mcpg.reason, ""),
        texts.get(v.mcpg.origin, "authored"),
    )


SMALLEST_GROUP = 3
"""How many members a group has at least to be called dense."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a number is spread over the tools."""

    smallest: int = 0
    median: float = 0.0
    mean: float = 0.0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class EdgeStatistics:
    """The edges of one kind: how many, how many of them by authors, and their mean weight."""

    kind: str
    count: int
    authored: int
    weight: float


@dataclass(frozen=True, slots=True)
class Hub:
    """A tool, and how many edges reach and leave it."""

    tool: str
    incoming: int
    outgoing: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group and how closely its members are linked.

    Attributes:
        edges: How many ordered pairs of its members an edge joins.
        density: Share of all ordered pairs of members that is, in [0, 1].
    """

    name: str
    members: int
    edges: int
    density: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """The parts of a graph in numbers.

    Attributes:
        things: How many topics and things documents name.
        pages: How many documents are of no tool.
        kinds: The edges of each kind from tools and pages, related first.
        dangling: How many of them reach neither a tool nor a page of the graph.
        degrees: How many edges reach a tool (incoming), leave it (outgoing), and both (total).
        components: Sizes of the parts that no edge joins with another, largest first; tools
            without an edge are parts of their own.
        orphans: Ids of the tools without an edge to or from another, sorted.
        hubs: The tools with most edges, first of all by their number.
        densest: The groups of at least `SMALLEST_GROUP` tools with the highest density.
    """

    tools: int
    sources: int
    groups: int
    things: int
    pages: int
    kinds: tuple[EdgeStatistics, ...]
    dangling: int
    degrees: Mapping[str, Spread]
    components: tuple[int, ...]
    orphans: tuple[str, ...]
    hubs: tuple[Hub, ...]
    densest: tuple[Group, ...]


def compute_statistics(
    documents: Mapping[str, ToolDocument], pages: Sequence[ToolDocument] = (), *, top: int = 10
) -> Statistics:
    """Count the parts of the graph of *documents*, by tool id, and *pages*.

    Links are resolved. *top* is the most hubs and groups to name.
    """
    ids = sorted(documents)
    by_uri = {documents[tool].uri: number for number, tool in enumerate(ids)}
    known = {page.uri for page in pages} | by_uri.keys()
    edges = [
        (number, by_uri.get(link.target, -1))
        for number, tool in enumerate(ids)
        for link in documents[tool].links
    ]
    links = [link for one in (*documents.values(), *pages) for link in one.links]
    joined = [(source, target) for source, target in edges if target >= 0 and source != target]
    outgoing = [0] * len(ids)
    incoming = outgoing.copy()
    for source, target in joined:
        outgoing[source] += 1
        incoming[target] += 1
    degree = [sum(pair) for pair in zip(incoming, outgoing, strict=True)]
    hubs = sorted(range(len(ids)), key=lambda number: (-degree[number], ids[number]))
    groups: dict[str, list[int]] = defaultdict(list)
    for number, tool in enumerate(ids):
        for name in dict.fromkeys(documents[tool].groups):
            groups[name].append(number)
    stating = (one for one in (*documents.values(), *pages) if one.further)
    facts = [parse_facts(one.further) for one in stating]
    named = chain.from_iterable((*one.about, *one.mentions) for one in facts)
    return Statistics(
        tools=len(ids),
        sources=len({documents[tool].tool.source_id for tool in ids}),
        groups=len(groups),
        things=len({one.id or one.label for one in named}),
        pages=len(pages),
        kinds=tuple(_count_edges(kind, links) for kind in EdgeKind),
        dangling=sum(link.target not in known for link in links),
        degrees={
            name: measure_spread(values)
            for name, values in (("incoming", incoming), ("outgoing", outgoing), ("total", degree))
        },
        components=component_sizes(len(ids), joined),
        orphans=tuple(tool for number, tool in enumerate(ids) if not degree[number]),
        hubs=tuple(
            Hub(ids[number], incoming[number], outgoing[number])
            for number in hubs[:top]
            if degree[number]
        ),
        densest=tuple(densest_groups(groups, joined)[:top]),
    )


def _count_edges(kind: EdgeKind, links: Sequence[Link]) -> EdgeStatistics:
    own = [link for link in links if link.kind is kind]
    authored = sum(link.origin is EdgeOrigin.AUTHORED for link in own)
    weight = fmean(link.weight for link in own) if own else 0.0
    return EdgeStatistics(kind.value, len(own), authored, round(weight, SHOWN_DECIMALS))


def measure_spread(values: Sequence[int]) -> Spread:
    """Return how *values* are spread; all zeros for none."""
    if not values:
        return Spread()
    mean = round(fmean(values), SHOWN_DECIMALS)
    return Spread(min(values), float(median(values)), mean, max(values))


def component_sizes(nodes: int, edges: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the sizes of the weakly connected components of a graph, largest first.

    Nodes are numbered from 0. By union-find with path halving: Tarjan & van Leeuwen, "Worst-case
    analysis of set union algorithms", Journal of the ACM 31(2), 1984.
    """
    parents = list(range(nodes))

    def root(node: int) -> int:
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for source, target in edges:
        low, high = sorted((root(source), root(target)))
        parents[high] = low
    return tuple(sorted(Counter(map(root, range(nodes))).values(), reverse=True))


def densest_groups(
    members: Mapping[str, Sequence[int]], edges: Iterable[tuple[int, int]]
) -> list[Group]:
    """Return the groups of at least `SMALLEST_GROUP` *members*, the densest first.

    A pair of nodes that comes twice among *edges* counts once.
    """
    of_node: dict[int, set[str]] = {}
    for name, nodes in members.items():
        if len(nodes) >= SMALLEST_GROUP:
            for node in nodes:
                of_node.setdefault(node, set()).add(name)
    inside: Counter[str] = Counter()
    for source, target in set(edges):
        inside.update(of_node.get(source, set()) & of_node.get(target, set()))
    found = [
        Group(name, size, inside[name], round(inside[name] / (size * (size - 1)), SHOWN_DECIMALS))
        for name, nodes in members.items()
        if (size := len(nodes)) >= SMALLEST_GROUP
    ]
    return sorted(found, key=lambda group: (-group.density, -group.members, group.name))


def neighbourhood(documents: Iterable[ToolDocument], roots: Iterable[str], depth: int) -> set[str]:
    """Return the URIs of documents within *depth* edges, in either direction, of any of *roots*."""
    documents = list(documents)
    beside: dict[str, set[str]] = {document.uri: set() for document in documents}
    for document in documents:
        for link in document.links:
            if link.target in beside:
                beside[document.uri].add(link.target)
                beside[link.target].add(document.uri)
    reached = set(roots)
    edge = set(reached)
    for _ in range(depth):
        edge = {other for one in edge for other in beside.get(one, ())} - reached
        if not edge:
            break
        reached |= edge
    return reached


def select_subgraph(documents: Iterable[ToolDocument], uris: Collection[str]) -> list[ToolDocument]:
    """Return the *documents* with one of *uris*, without edges that lead elsewhere."""
    kept = [document for document in documents if document.uri in uris]
    known = {document.uri for document in kept}
    return [
        replace(one, links=tuple(link for link in one.links if link.target in known))
        for one in kept
    ]


NODE = "IRI"
"""The class of objects that the graph has no statement about."""


@dataclass(frozen=True, slots=True)
class ClassUse:
    """A class: its IRI, how many nodes it has, and the first of them."""

    iri: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class PredicateUse:
    """A predicate.

    Attributes:
        subjects: IRIs of the classes of its subjects, the most frequent first.
        objects: IRIs of the classes or datatypes of its objects, most frequent first; `NODE` for
            a node without a class.
        example: Its first object: an IRI or a value, whole.
    """

    iri: str
    count: int
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """The content of a graph, by namespaces, classes and predicates, and the search profile."""

    triples: int
    prefixes: Mapping[str, str]
    classes: tuple[ClassUse, ...]
    predicates: tuple[PredicateUse, ...]
    profile: SearchProfile

    def to_dict(self) -> dict[str, Any]:
        """Return the description as `mcpg graph schema --format json` prints it."""
        classes, predicates = (
            [{"iri": one.iri, "name": shorten_iri(one.iri), **to_json(one)} for one in uses]
            for uses in (self.classes, self.predicates)
        )
        return {
            "schema": "mcpg/graph-schema/1",
            "triples": self.triples,
            "prefixes": dict(self.prefixes),
            "classes": classes,
            "predicates": predicates,
            "search": to_json(self.profile, {"iri": "predicate"}),
            "diagnostics": [],
        }

    def facts(self) -> dict[str, Any]:
        """Return the parts that depend on the documents, as `GraphSchema.of_facts` reads them."""
        return {
            "triples": self.triples,
            "classes": [to_json(one) for one in self.classes],
            "predicates": [to_json(one) for one in self.predicates],
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any], profile: SearchProfile = DEFAULT_PROFILE) -> Self:
        """Return the schema with these `facts`."""
        classes = tuple(ClassUse(**one) for one in facts["classes"])
        predicates = tuple(
            PredicateUse(
                one["iri"],
                one["count"],
                tuple(one["subjects"]),
                tuple(one["objects"]),
                one["example"],
            )
            for one in facts["predicates"]
        )
        return cls(facts["triples"], PREFIXES, classes, predicates, profile)


def build_schema(
    documents: Iterable[ToolDocument], profile: SearchProfile = DEFAULT_PROFILE
) -> GraphSchema:
    """Describe the graph of *documents*, no two with the same node, for a search by *profile*."""
    return schema_of_triples(make_triples(documents), profile)


def schema_of_triples(
    triples: Iterable[Triple], profile: SearchProfile = DEFAULT_PROFILE
) -> GraphSchema:
    """Describe the graph of *triples*; see `build_schema`."""
    triples = list(triples)
    types: dict[str, list[str]] = defaultdict(list)
    instances: dict[str, list[str]] = defaultdict(list)
    for subject, predicate, value in triples:
        if predicate == v.rdf.type and not isinstance(value, RdfLiteral):
            types[subject].append(value)
    for node, classes in types.items():
        for one in classes:
            instances[one].append(node)
    counts: Counter[str] = Counter()
    subjects: dict[str, Counter[str]] = defaultdict(Counter)
    objects: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[str, str] = {}
    for subject, predicate, value in triples:
        counts[predicate] += 1
        subjects[predicate].update(types.get(subject, ()))
        if isinstance(value, RdfLiteral):
            objects[predicate][value.datatype] += 1
            examples.setdefault(predicate, value.text)
        else:
            objects[predicate].update(types.get(value, (NODE,)))
            examples.setdefault(predicate, value)
    uses = [ClassUse(one, len(nodes), nodes[0]) for one, nodes in instances.items()]
    predicates = [
        PredicateUse(
            one, count, _sort_by_count(subjects[one]), _sort_by_count(objects[one]), examples[one]
        )
        for one, count in counts.items()
    ]
    return GraphSchema(
        len(triples),
        PREFIXES,
        tuple(sorted(uses, key=lambda one: (-one.count, one.iri))),
        tuple(sorted(predicates, key=lambda one: (-one.count, one.iri))),
        profile,
    )


def _sort_by_count(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda one: (-counts[one], one)))
