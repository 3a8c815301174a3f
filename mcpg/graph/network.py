"""Triples as nodes and edges to draw: tools, pages, groups, and the things that authors name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.graph import vocabulary as v
from mcpg.graph.context import compacted, terms
from mcpg.graph.iris import SOURCES
from mcpg.graph.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.graph.terms import Triple

TOOL, PAGE, GROUP, THING = "tool", "page", "group", "thing"
"""The kinds of nodes: a tool, a document of none, a group of tools, and what else edges reach."""

LINKS = (v.KB_RELATED_TO, v.KB_NEXT_STEP, v.KB_MEMBER_OF)
"""The predicates whose objects are nodes even where nothing else is known of them."""

# The first class that a node has decides.
_KINDS = {
    v.MCPG_TOOL: TOOL,
    v.KB_MARKDOWN_DOCUMENT: PAGE,
    v.SCHEMA_DEFINED_TERM: GROUP,
}
# What describes another node, or the vocabulary, is part of a drawing in another way or not at all.
_HIDDEN = {
    *(v.MCPG_PARAMETER, v.MCPG_EXAMPLE, v.MCPG_SOURCE, v.RDF_STATEMENT),
    v.SKOS_CONCEPT_SCHEME,
}
_NO_EDGES = {v.RDF_TYPE, v.PROV_DERIVED_FROM}


@dataclass(frozen=True, slots=True)
class Node:
    """One thing to draw.

    Attributes:
        iri: Its IRI.
        kind: `TOOL`, `PAGE`, `GROUP` or `THING`.
        label: What to call it: the tool's id, the name, or the IRI where there is neither.
        title: The name for people.
        description: What it is; "" when nothing says.
        source: The source of a tool; "" for what is none.
    """

    iri: str
    kind: str
    label: str
    title: str
    description: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """One line to draw.

    Attributes:
        source: Place of the node that it leaves, counted from 0.
        target: Place of the node that it reaches.
        name: What it says, as JSON-LD has it: `related`, `nextSteps`, `groups`, ...
        predicate: The IRI of that.
        weight: Its strength in (0, 1].
        reason: Why, for people; "" when nobody says.
        origin: Who says so: `authored` or `inferred`.
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
    """What is drawn.

    Attributes:
        nodes: In the order in which the triples name them first.
        edges: In the order of their triples.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class _Facts:
    """What the triples say of one subject.

    Attributes:
        types: Its classes.
        texts: The first value of each predicate.
        references: Predicate and object where that is an IRI.
    """

    types: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    references: list[tuple[str, str]] = field(default_factory=list)


def network_of(triples: Iterable[Triple]) -> Network:
    """Give what *triples* say as nodes and edges.

    Parameters, examples, sources and statements are no nodes; a statement's weight and reason stand
    at the edge that it is about.
    """
    facts = _gathered(triples)
    drawn = {iri: one for iri, one in facts.items() if _HIDDEN.isdisjoint(one.types)}
    lines = [
        (subject, predicate, target)
        for subject, one in drawn.items()
        for predicate, target in one.references
        if target != subject and (target in drawn or predicate in LINKS)
    ]
    targets = (target for _, _, target in lines)
    places = {iri: place for place, iri in enumerate(dict.fromkeys((*drawn, *targets)))}
    statements = dict(_statements(facts))
    return Network(
        tuple(_node(iri, facts.get(iri) or _Facts()) for iri in places),
        tuple(_edge(line, places, statements.get(line)) for line in lines),
    )


def _gathered(triples: Iterable[Triple]) -> dict[str, _Facts]:
    facts: dict[str, _Facts] = {}
    for subject, predicate, value in triples:
        one = facts.get(subject)
        if one is None:
            one = facts[subject] = _Facts()
        if isinstance(value, Literal):
            one.texts.setdefault(predicate, value.text)
        elif predicate == v.RDF_TYPE:
            one.types.append(value)
        elif predicate not in _NO_EDGES:
            one.references.append((predicate, value))
    return facts


def _statements(facts: dict[str, _Facts]) -> Iterator[tuple[tuple[str, str, str], _Facts]]:
    """Give the statements, each with the triple that it is about."""
    for one in facts.values():
        if v.RDF_STATEMENT in one.types:
            parts = dict(one.references)
            subject, predicate = parts.get(v.RDF_SUBJECT, ""), parts.get(v.RDF_PREDICATE, "")
            yield (subject, predicate, parts.get(v.RDF_OBJECT, "")), one


def _node(iri: str, facts: _Facts) -> Node:
    kind = next((kind for one, kind in _KINDS.items() if one in facts.types), THING)
    source = dict(facts.references).get(v.MCPG_HAS_SOURCE, "")
    name = facts.texts.get(v.SCHEMA_NAME) or iri
    return Node(
        iri,
        kind,
        facts.texts.get(v.MCPG_TOOL_ID) or name,
        name,
        facts.texts.get(v.SCHEMA_DESCRIPTION, ""),
        source.removeprefix(SOURCES),
    )


def _edge(line: tuple[str, str, str], places: dict[str, int], stated: _Facts | None) -> Edge:
    subject, predicate, target = line
    term = terms().get(predicate)
    texts = stated.texts if stated else {}
    return Edge(
        places[subject],
        places[target],
        term.name if term else compacted(predicate),
        predicate,
        _weight(texts.get(v.KB_CONFIDENCE, "")),
        texts.get(v.MCPG_REASON, ""),
        texts.get(v.MCPG_ORIGIN, "authored"),
    )


def _weight(stated: str) -> float:
    """Return the weight that a statement has; 1 where an author writes something that is none."""
    try:
        weight = float(stated)
    except ValueError:
        return 1.0
    return weight if 0 < weight <= 1 else 1.0
