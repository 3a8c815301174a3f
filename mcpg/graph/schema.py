"""A summary of the graph for people and models who write queries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from mcpg.documents.model import ToolDocument
from mcpg.graph.search.model import DEFAULT_PROFILE, SearchProfile
from mcpg.graph.terms import PREFIXES, RDF_TYPE, RdfLiteral, Triple
from mcpg.graph.triples import triples_of
from mcpg.values import to_json

NODE = "IRI"
"""The class of objects of which the graph says nothing."""


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
        iri: The predicate.
        count: How many triples have it.
        subjects: IRIs of the classes of its subjects, the most frequent first.
        objects: IRIs of the classes or datatypes of its objects, likewise; `NODE` for a node
            without a class.
        example: Its first object: an IRI or a value, whole.
    """

    iri: str
    count: int
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """What a graph holds, and what a search of it reads.

    Attributes:
        triples: How many there are.
        prefixes: Namespaces by prefix, as every query knows them.
        classes: The most frequent first.
        predicates: Likewise.
        profile: What a search reads, with weights, types and limits.
    """

    triples: int
    prefixes: Mapping[str, str]
    classes: tuple[ClassUse, ...]
    predicates: tuple[PredicateUse, ...]
    profile: SearchProfile

    def to_dict(self) -> dict[str, Any]:
        """Return the description as `mcpg graph schema --format json` prints it."""
        from mcpg.graph.sparql_worker import shorten_iri  # noqa: PLC0415 - needs the SPARQL engine

        return {
            "schema": "mcpg/graph-schema/1",
            "triples": self.triples,
            "prefixes": dict(self.prefixes),
            "classes": [
                {"iri": one.iri, "name": shorten_iri(one.iri), **to_json(one)}
                for one in self.classes
            ],
            "predicates": [
                {"iri": one.iri, "name": shorten_iri(one.iri), **to_json(one)}
                for one in self.predicates
            ],
            "search": to_json(self.profile, {"iri": "predicate"}),
            "diagnostics": [],
        }

    def facts(self) -> dict[str, Any]:
        """Return what depends on the documents, as `GraphSchema.of_facts` reads it."""
        return {
            "triples": self.triples,
            "classes": [to_json(one) for one in self.classes],
            "predicates": [to_json(one) for one in self.predicates],
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any], profile: SearchProfile = DEFAULT_PROFILE) -> Self:
        """Return the schema whose `facts` these are."""
        predicates = (
            PredicateUse(
                **{**one, "subjects": tuple(one["subjects"]), "objects": tuple(one["objects"])}
            )
            for one in facts["predicates"]
        )
        classes = tuple(ClassUse(**one) for one in facts["classes"])
        return cls(facts["triples"], PREFIXES, classes, tuple(predicates), profile)


def schema_of(
    documents: Iterable[ToolDocument], profile: SearchProfile = DEFAULT_PROFILE
) -> GraphSchema:
    """Describe the graph of *documents*.

    Args:
        documents: No two with the same node, see `mcpg.graph.triples.distinct_documents`.
        profile: What a search is to read.
    """
    return schema_of_triples(triples_of(documents), profile)


def schema_of_triples(
    triples: Iterable[Triple], profile: SearchProfile = DEFAULT_PROFILE
) -> GraphSchema:
    """Describe the graph of *triples*; see `schema_of`."""
    triples = list(triples)
    types = _types(triples)
    uses: dict[str, _PredicateCounter] = defaultdict(_PredicateCounter)
    for subject, predicate, value in triples:
        uses[predicate].take(types.get(subject, ()), value, types)
    predicates = (use.to_predicate_use(iri) for iri, use in uses.items())
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for node, classes in types.items():
        counts.update(classes)
        for one in classes:
            first.setdefault(one, node)
    return GraphSchema(
        len(triples),
        PREFIXES,
        tuple(ClassUse(one, counts[one], first[one]) for one in _sort_by_count(counts)),
        tuple(sorted(predicates, key=lambda one: (-one.count, one.iri))),
        profile,
    )


class _PredicateCounter:
    """Counts what stands on either side of a predicate."""

    def __init__(self) -> None:
        self._subjects: Counter[str] = Counter()
        self._objects: Counter[str] = Counter()
        self._count = 0
        self._example: str | None = None

    def take(
        self,
        subject: tuple[str, ...],
        value: str | RdfLiteral,
        types: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._count += 1
        self._subjects.update(subject)
        if isinstance(value, RdfLiteral):
            self._objects[value.datatype] += 1
        else:
            self._objects.update(types.get(value, (NODE,)))
        if self._example is None:
            self._example = value.text if isinstance(value, RdfLiteral) else value

    def to_predicate_use(self, iri: str) -> PredicateUse:
        return PredicateUse(
            iri,
            self._count,
            _sort_by_count(self._subjects),
            _sort_by_count(self._objects),
            self._example or "",
        )


def _types(triples: Iterable[Triple]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for subject, predicate, value in triples:
        if predicate == RDF_TYPE and not isinstance(value, RdfLiteral):
            found[subject].append(value)
    return {node: tuple(classes) for node, classes in found.items()}


def _sort_by_count(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda one: (-counts[one], one)))
