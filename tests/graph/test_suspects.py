"""Validation of suspects alone finds what validation of every node finds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpg.graph import shacl_worker
from mcpg.graph.shacl_worker import (
    OxigraphView,
    ShaclPrefilter,
    rdflib_term,
    run_pyshacl,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIXES = """
@prefix ex: <urn:ex:> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
NODES = [*(f"ex:n{number}" for number in range(6)), "_:b1", "_:b2"]
PREDICATES = ["ex:p", "ex:q"]
VALUES = [
    *NODES,
    *('"a"', '"abc"', '""', '"a"@en', '"A"@de', '" "', '"gate"', "true", '"maybe"^^xsd:boolean'),
    *("1", "2", "-3", '"01"^^xsd:integer', '"x"^^xsd:integer', "0.5", "0.50", "1.0", "1e0"),
    *('"2026-01-31"^^xsd:date', '"2026-02-31"^^xsd:date', '"2026-02-01"^^xsd:date', '"x"^^ex:t'),
]
TARGETS = [
    *("sh:targetClass ex:A", "sh:targetClass ex:B", "sh:targetNode ex:n1, ex:gone"),
    *("sh:targetSubjectsOf ex:p", "sh:targetObjectsOf ex:q", 'sh:targetNode "abc"'),
]
VALUE_CONSTRAINTS = [
    *("sh:nodeKind sh:IRI", "sh:nodeKind sh:Literal", "sh:nodeKind sh:BlankNodeOrIRI"),
    *("sh:datatype xsd:string", "sh:datatype xsd:integer", "sh:datatype xsd:date"),
    *("sh:datatype xsd:decimal", "sh:datatype xsd:boolean", "sh:datatype ex:t"),
    *("sh:class ex:A", "sh:class ex:B", "sh:class ex:A, ex:B"),
    *('sh:pattern "a"', 'sh:pattern "^A" ; sh:flags "i"', 'sh:pattern "("', 'sh:pattern "b", "a"'),
    *("sh:minLength 2", "sh:maxLength 2", "sh:minLength 0", "sh:maxLength -1", 'sh:minLength "x"'),
    *("sh:minInclusive 1", "sh:maxExclusive 1", "sh:minExclusive 0.5", "sh:maxInclusive 0.5"),
    *('sh:in ( ex:n1 "a" 1 )', "sh:in ()", "sh:in ex:n1", 'sh:hasValue "a"', "sh:hasValue 0.50"),
    *("sh:not [ sh:class ex:A ]", 'sh:not [ sh:pattern "a" ]', "sh:not [ sh:minLength ex:x ]"),
    *("sh:or ( [ sh:class ex:A ] [ sh:nodeKind sh:Literal ] )", "sh:node ex:Named"),
    *("sh:and ( [ sh:nodeKind sh:IRI ] ex:Named )", "sh:node ex:Nowhere", "sh:node ex:Round"),
    *("sh:xone ( [ sh:class ex:A ] [ sh:class ex:B ] )", 'sh:languageIn ( "en" )'),
    *("sh:disjoint ex:p", "sh:disjoint ex:q", "sh:equals ex:p", "sh:severity sh:Warning"),
    *("sh:severity ex:Blocker", 'sh:message "told"', "sh:deactivated true"),
]
PROPERTY_CONSTRAINTS = [
    *VALUE_CONSTRAINTS,
    *("sh:minCount 1", "sh:maxCount 1", "sh:minCount 2", 'sh:maxCount "1"', "sh:maxCount 0"),
    *("sh:minCount 1 ; sh:maxCount 1", "sh:uniqueLang true", "sh:lessThan ex:q"),
    "sh:qualifiedValueShape [ sh:class ex:A ] ; sh:qualifiedMinCount 1",
    "sh:qualifiedValueShape [ sh:class ex:B ] ; sh:qualifiedMaxCount 1",
    "sh:property [ sh:path ex:q ; sh:minCount 1 ]",
]
LOOPS = "SELECT $this WHERE { $this <urn:ex:p> ?other . ?other <urn:ex:p> $this }"
NODE_CONSTRAINTS = [
    *VALUE_CONSTRAINTS,
    *(
        "sh:closed true ; sh:ignoredProperties ( rdf:type )",
        "sh:minCount 1",
        "sh:property ex:Named",
    ),
    f'sh:sparql [ sh:message "looped" ; sh:select "{LOOPS}" ]',
]
PATHS = [
    *("ex:p", "ex:q", "rdf:type", "[ sh:inversePath ex:p ]", "[ sh:inversePath ex:q ]"),
    *("( ex:p ex:q )", "[ sh:zeroOrMorePath ex:p ]", "[ sh:alternativePath ( ex:p ex:q ) ]"),
]
SHARED = """
ex:Named sh:property [ sh:path ex:p ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] .
ex:Round sh:property [ sh:path ex:p ; sh:node ex:Round ] .
"""


@st.composite
def graphs(draw: st.DrawFn) -> bytes:
    """Draw a graph of some nodes, their classes and values."""
    facts = st.tuples(
        st.sampled_from(NODES),
        st.sampled_from([*PREDICATES, "a"]),
        st.sampled_from(VALUES),
        st.sampled_from(["ex:A", "ex:B", "ex:C"]),
    )
    lines = [
        f"{node} {predicate} {kind if predicate == 'a' else value} ."
        for node, predicate, value, kind in draw(st.lists(facts, max_size=25))
    ]
    if draw(st.booleans()):
        lines.append("ex:C rdfs:subClassOf ex:B .")
    return "\n".join((PREFIXES, *lines)).encode()


@st.composite
def shape_texts(draw: st.DrawFn) -> str:
    """Draw shapes with targets and constraints, some of which make no sense."""
    texts = [PREFIXES, SHARED]
    for number in range(draw(st.integers(1, 2))):
        targets = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True))
        stated = [*targets, *draw(st.lists(st.sampled_from(NODE_CONSTRAINTS), max_size=1))]
        for _ in range(draw(st.integers(0, 2))):
            path = draw(st.sampled_from(PATHS))
            inner = draw(st.lists(st.sampled_from(PROPERTY_CONSTRAINTS), min_size=1, max_size=2))
            stated.append(f"sh:property [ sh:path {path} ; {' ; '.join(inner)} ]")
        texts.append(f"ex:S{number} a sh:NodeShape ; {' ; '.join(stated)} .")
    return "\n".join(texts)


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    """The library logs whatever it refuses."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def loaded(data: bytes) -> pyoxigraph.Store:
    """Return a store with the Turtle *data*."""
    store = pyoxigraph.Store()
    store.load(data, format=pyoxigraph.RdfFormat.TURTLE, lenient=True)
    return store


def whole_graph(store: pyoxigraph.Store) -> rdflib.Graph:
    """Return the graph of *store* in rdflib's own memory."""
    graph = rdflib.Graph(bind_namespaces="none")
    for quad in store:
        graph.add(tuple(map(rdflib_term, (quad.subject, quad.predicate, quad.object))))
    return graph


def outcome(graph: rdflib.Graph, shapes: rdflib.Graph) -> object:
    """Return the results, or that the shapes cannot be used."""
    try:
        return sorted(run_pyshacl(graph, shapes))
    except Exception:  # noqa: BLE001 - whatever the library raises
        return "refused"


TWICE = (
    f"{PREFIXES}ex:S a sh:NodeShape ; sh:targetNode ex:n1 ; "
    "sh:property [ sh:path ex:p ; sh:in ( 1 ), ( 2 ) ] ."
)
"""A shape that pyshacl refuses, whatever the data are."""


@given(data=graphs(), text=shape_texts())
@example(data=PREFIXES.encode(), text=TWICE)
@settings(max_examples=150, deadline=None)
def test_suspects_give_the_report_of_the_whole(data: bytes, text: str) -> None:
    """Results are equal, whatever the shapes ask for, and so are refusals of the shapes."""
    store = loaded(data)
    shapes, narrowed = (rdflib.Graph().parse(data=text, format="turtle") for _ in range(2))
    whole = outcome(whole_graph(store), shapes)
    ShaclPrefilter(store, narrowed).narrow()
    assert outcome(rdflib.Graph(OxigraphView(store), bind_namespaces="none"), narrowed) == whole
    assert outcome(whole_graph(store), narrowed) == whole


@given(data=graphs())
@settings(max_examples=50, deadline=None)
def test_a_view_reads_as_a_graph_of_rdflib(data: bytes) -> None:
    """Every pattern finds the same triples as in rdflib's memory."""
    store = loaded(data)
    whole, view = whole_graph(store), rdflib.Graph(OxigraphView(store), bind_namespaces="none")
    assert set(view) == set(whole)
    for subject, predicate, value in whole:
        for pattern in (
            (subject, None, None),
            (None, predicate, value),
            (subject, predicate, value),
            (None, None, value),
            (value, predicate, None),
        ):
            assert set(view.triples(pattern)) == set(whole.triples(pattern))


def test_only_what_may_be_wrong_is_left_to_the_validator() -> None:
    """Nodes that a look at their values proves are no targets any more."""
    facts = "".join(f'ex:n{n} a ex:A ; ex:p "{n}" .\n' for n in range(100))
    store = loaded(f"{PREFIXES}{facts}ex:bad a ex:A .".encode())
    text = "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:minCount 1 ] ."
    shapes = rdflib.Graph().parse(data=PREFIXES + text, format="turtle")
    ShaclPrefilter(store, shapes).narrow()
    assert set(shapes.objects(None, rdflib.SH.targetNode)) == {rdflib.URIRef("urn:ex:bad")}
    assert set(shapes.objects(None, rdflib.SH.targetClass)) == set()


def test_shapes_that_cannot_be_narrowed_see_every_node() -> None:
    """Where no look at the values proves anything, the validator decides of all targets."""
    text = (
        PREFIXES + "ex:S sh:targetClass ex:A ; sh:closed true ; sh:ignoredProperties ( rdf:type ) ."
    )
    data = f"{PREFIXES} ex:n1 a ex:A ; ex:p 1 . ex:n2 a ex:A .".encode()
    assert [one[2] for one in shacl_worker.validate_data(data, [text])] == ["urn:ex:n1"]


def test_terms_keep_their_kind() -> None:
    """A plain text has no datatype in rdflib, as in shapes; others have theirs."""
    assert rdflib_term(pyoxigraph.Literal("x")) == rdflib.Literal("x")
    assert rdflib_term(pyoxigraph.Literal("x", language="de")) == rdflib.Literal("x", lang="de")
    assert rdflib_term(pyoxigraph.Literal(1)) == rdflib.Literal(1)
    assert rdflib_term(pyoxigraph.BlankNode("b")) == rdflib.BNode("b")


def test_a_blank_node_can_be_at_fault() -> None:
    """A message describes a node without a name by what the graph states about it."""
    shape = "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:minCount 1 ] ."
    (found,) = shacl_worker.validate_data(
        f'{PREFIXES} [] a ex:A ; ex:q "x" .'.encode(), [PREFIXES + shape]
    )
    assert found[0] == "violation"
    assert 'Literal("x")' in found[1]


def test_a_target_that_no_look_can_find_is_left_to_the_validator() -> None:
    """A blank target keeps the shape as it is, and the answer is the validator's."""
    shape = "ex:S sh:targetNode [] , ex:n ; sh:property [ sh:path ex:p ; sh:minCount 1 ] ."
    results = shacl_worker.validate_data(f"{PREFIXES} ex:n a ex:A .".encode(), [PREFIXES + shape])
    assert "urn:ex:n" in [one[2] for one in results]


def test_prefixes_of_a_query_are_imported() -> None:
    """A SPARQL constraint has the prefixes that what it names imports, however far."""
    text = PREFIXES + (
        '<urn:c> sh:declare [ sh:prefix "e" ; sh:namespace "urn:ex:"^^xsd:anyURI ] .\n'
        "<urn:a> <http://www.w3.org/2002/07/owl#imports> <urn:b> .\n"
        "<urn:b> <http://www.w3.org/2002/07/owl#imports> <urn:c> .\n"
        "ex:S sh:targetClass ex:A ; sh:sparql [ sh:prefixes <urn:a> ; "
        'sh:select "SELECT $this { $this e:p 1 }" ] .'
    )
    found = shacl_worker.validate_data(f"{PREFIXES} ex:n1 a ex:A ; ex:p 1 .".encode(), [text])
    assert [one[2] for one in found] == ["urn:ex:n1"]
