from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from pyld import jsonld
from rdflib import OWL, RDF, RDFS, SKOS

from mcpg.code.model import (
    CodeEdge,
    CodeEdgeKind,
    CodeFile,
    Symbol,
    SymbolKind,
    write_page,
)
from mcpg.documents.reader import parse_document
from mcpg.graph import terms as v
from mcpg.graph.exports import turtle
from mcpg.graph.terms import (
    PREFIXES,
    RdfLiteral,
    class_names,
    compact_iri,
    context,
    expand_name,
    terms,
)
from mcpg.graph.triples import make_triples

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument

ONTOLOGY = Path(__file__).parents[2] / "mcpg/graph/data/ontology.ttl"
KINDS = (OWL.Class, OWL.DatatypeProperty, OWL.ObjectProperty)


@pytest.fixture(scope="module")
def ontology() -> rdflib.Graph:
    """The ontology file as a graph."""
    return rdflib.Graph().parse(ONTOLOGY, format="turtle")


def ours(iris: set[str]) -> set[str]:
    """Return those of *iris* that are of our own vocabulary."""
    return {iri for iri in iris if iri.startswith(v.MCPG) and iri != v.MCPG}


def test_every_term_of_ours_is_declared_and_used(ontology: rdflib.Graph) -> None:
    """The ontology describes the terms that the code has, and no others."""
    declared = {str(one) for kind in KINDS for one in ontology.subjects(RDF.type, kind)}
    named = set(vars(v.mcpg).values())

    assert ours(declared) == ours(named)


def test_every_term_says_what_it_means(ontology: rdflib.Graph) -> None:
    """A term has a label and a comment, a property also what it is said of and what it says."""
    for term in {one for kind in KINDS for one in ontology.subjects(RDF.type, kind)}:
        assert len(list(ontology.objects(term, RDFS.label))) == 1, term
        assert str(ontology.value(term, RDFS.comment)).endswith("."), term
        if (term, RDF.type, OWL.Class) not in ontology:
            assert ontology.value(term, RDFS.domain), term
            assert ontology.value(term, RDFS.range), term


def test_the_ontology_has_a_version_and_its_terms_know_it(ontology: rdflib.Graph) -> None:
    """Every term names the vocabulary that defines it."""
    own, kb = rdflib.URIRef(v.MCPG), rdflib.URIRef(v.KB)
    assert (
        str(ontology.value(own, OWL.versionIRI))
        == f"{v.MCPG}{ontology.value(own, OWL.versionInfo)}"
    )
    for term in {one for kind in KINDS for one in ontology.subjects(RDF.type, kind)}:
        assert ontology.value(term, RDFS.isDefinedBy) == (own if v.MCPG in term else kb)


def test_terms_of_the_net_library_are_described(ontology: rdflib.Graph) -> None:
    """What the graph uses of them has a label here."""
    used = set(vars(v.kb).values())
    assert {one for one in used if ontology.value(rdflib.URIRef(one), RDFS.label)} == used


def test_groups_are_a_thesaurus(shop: dict[str, ToolDocument]) -> None:
    """Every concept is a top concept, or has a broader one that is; labels are for people."""
    graph = rdflib.Graph()
    graph.parse(data="".join(turtle(make_triples(shop.values()))), format="turtle")
    (scheme,) = graph.subjects(RDF.type, SKOS.ConceptScheme)
    tops = set(graph.objects(scheme, SKOS.hasTopConcept))

    assert tops == set(graph.subjects(SKOS.topConceptOf, scheme))
    for concept in graph.subjects(SKOS.inScheme, scheme):
        broader = graph.value(concept, SKOS.broader)
        assert (concept in tops) != (broader in tops)
        assert ":" not in str(graph.value(concept, SKOS.prefLabel))


def test_a_document_uses_every_term_as_declared(ontology: rdflib.Graph, rich: ToolDocument) -> None:
    """Subjects have the class of the domain, values the type of the range."""
    name, about = rich.tool.name, " ".join(rich.tool.description.split())
    kinds = [kind for kind in CodeEdgeKind if kind is not CodeEdgeKind.DEFINES]
    edges = [CodeEdge(kind, "Base", f"src/tools.py::{name}", (2,)) for kind in kinds]
    edges.append(CodeEdge(CodeEdgeKind.IMPORTS, "", "json", (1,), is_external=True))
    symbols = (
        Symbol(name, SymbolKind.FUNCTION, 1, 2, f"def {name}()", about),
        Symbol("Base", SymbolKind.CLASS, 3, 9),
    )
    file = CodeFile("src/tools.py", "python", "app", "main", 9, symbols, tuple(edges))
    page = replace(parse_document(write_page(file))[0], is_page=True)
    triples = list(make_triples([rich, page]))
    classes = {one[::2] for one in triples if one[1] == v.rdf.type}
    for subject, predicate, value in triples:
        domain = ontology.value(rdflib.URIRef(predicate), RDFS.domain)
        if domain is not None:
            assert domain == OWL.Thing or (subject, str(domain)) in classes
            meant = str(ontology.value(rdflib.URIRef(predicate), RDFS.range))
            held = isinstance(value, RdfLiteral) and value.datatype == meant
            # The other end of an edge may be described elsewhere.
            is_described = value in {subject for subject, _ in classes} and meant != str(OWL.Thing)
            assert held or (value, meant) in classes or not is_described

    said = {one[1] for one in triples} | {str(one[2]) for one in triples}
    declared = {str(one) for kind in KINDS for one in ontology.subjects(RDF.type, kind)}
    assert ours(declared) - said == {f"{v.MCPG}statesRelations"}


def test_the_context_names_every_predicate_and_class(rich: ToolDocument) -> None:
    """In JSON no key of a generated document is an IRI."""
    for _, predicate, value in make_triples([replace(rich, further={})]):
        if predicate == v.rdf.type:
            assert value in class_names()
        else:
            term = terms()[predicate]
            assert term.kind == (value.datatype if isinstance(value, RdfLiteral) else "@id")


def test_the_context_has_the_prefixes() -> None:
    """JSON-LD abbreviates as every other format does."""
    assert {name: context()[name] for name in PREFIXES} == dict(PREFIXES)
    assert expand_name("schema:name") == v.schema.name
    assert expand_name("domain:weather") == "domain:weather"


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("https://schema.org/name", "schema:name"),
        ("https://schema.org///a", "https://schema.org///a"),
        ("schema://a", "schema://a"),
        ("https://schema.org/", "https://schema.org/"),
        ("urn:x", "urn:x"),
    ],
)
def test_a_short_name_is_read_as_the_iri_that_it_stands_for(iri: str, name: str) -> None:
    """What follows a prefix begins with no two slashes: a processor takes that for an IRI."""
    assert (compact_iri(iri), expand_name(name)) == (name, iri)
    assert jsonld.expand({"@context": context(), "id": name, "name": "x"})[0]["@id"] == iri
