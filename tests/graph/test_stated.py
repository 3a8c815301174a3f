"""What authors state in front matter, in the graph."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pyoxigraph
import pytest
from builders import make_tool

from mcpg.catalog.model import SourceDocument
from mcpg.documents.model import ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.graph import terms as v
from mcpg.graph.exports import build_graph, framed_json_ld, json_ld, nquads, turtle
from mcpg.graph.jsonld import from_jsonld, to_jsonld
from mcpg.graph.map import graph_page
from mcpg.graph.parsing import RdfFormat, triples_in
from mcpg.graph.schema import build_network
from mcpg.graph.terms import RdfLiteral
from mcpg.graph.triples import make_triples

PAGE = """---
name: recover
source: ops
canonical_url: https://shop.example/recover/
about: [Cache, {label: Gate, id: "ex:gate", sameAs: "https://example.com/gate"}]
entity_hints: [Cache, {label: Mover, type: "ex:Step"}]
author: Release team
entry_type: tech_article
source_project: shop
date_published: 2026-04-01
date_modified: spring
graph_groups: [Reliability]
rdf_prefixes: {ex: "https://example.com/vocab/"}
rdf_types: ["ex:Runbook", "mcpg:Tool"]
rdf_properties:
  ex:level: [2, {value: "3", datatype: xsd:integer}, {value: "x> .", datatype: xsd:boolean}]
  ex:raw: {value: "{", datatype: rdf:JSON}
  ex:motto: [{value: drei, lang: de}, {value: trois, language: fr-CA}, {value: x, lang: "d e"}]
  ex:owner: {id: "ex:team"}
graph_edges:
  - {subject: document, predicate: "ex:requires", object: track}
  - {subject: document, predicate: "kb:nextStep", object: track}
  - {subject: Cache, predicate: "ex:partOf", object: document}
  - {subject: Reliability, predicate: mentions, object: Gate}
---
Text.
"""
NODE = "https://shop.example/recover/"
THINGS = "urn:mcpg:id/"
EX = "https://example.com/vocab/"


def stated() -> dict[str, dict[str, list[str | RdfLiteral]]]:
    """Return what the graph of the page and of one other tool says, by subject and predicate."""
    page, found = parse_document(SourceDocument("recover.md", PAGE))
    assert found == ()
    other = ToolDocument(make_tool("track"), "track.md", "urn:track")
    triples = list(make_triples([page, other]))
    assert max(Counter(triples).values()) == 1
    pyoxigraph.Store().load("".join(turtle(triples)).encode(), format=pyoxigraph.RdfFormat.TURTLE)
    said: dict[str, dict[str, list[str | RdfLiteral]]] = {}
    for subject, predicate, value in triples:
        said.setdefault(subject, {}).setdefault(predicate, []).append(value)
    return said


def test_topics_things_and_authors_are_nodes() -> None:
    """A document is about topics, mentions things, and has authors; each says what it is."""
    said = stated()
    assert said[NODE][v.schema.about] == [f"{THINGS}cache", f"{EX}gate"]
    assert said[NODE][v.schema.mentions] == [f"{THINGS}cache", f"{THINGS}mover"]
    assert said[NODE][v.schema.author] == [f"{THINGS}release-team"]
    assert said[f"{EX}gate"] == {
        v.rdf.type: [v.schema.Thing, v.skos.Concept],
        v.skos.prefLabel: [RdfLiteral("Gate")],
        v.schema.name: [RdfLiteral("Gate")],
        v.schema.sameAs: ["https://example.com/gate"],
        v.prov.wasDerivedFrom: [NODE],
    }
    assert said[f"{THINGS}mover"][v.rdf.type] == [f"{EX}Step"]


def test_statements_are_triples() -> None:
    """Subjects and objects are documents, groups or things; links are not said twice."""
    said = stated()
    assert said[NODE][f"{EX}requires"] == ["urn:track"]
    assert said[NODE][v.kb.nextStep] == ["urn:track"]
    assert said[f"{THINGS}cache"][f"{EX}partOf"] == [NODE]
    assert said[f"{THINGS}reliability"][v.schema.mentions] == [f"{THINGS}gate"]


@pytest.mark.parametrize("predicate", ["relatedTo", "kb:nextStep", "ex:needs"])
@pytest.mark.parametrize(
    ("words", "node"),
    [
        ("https://example.com/x", "https://example.com/x"),
        ("ex:gate", f"{EX}gate"),
        ("Some thing", f"{THINGS}some-thing"),
        ("TRACK", "urn:track"),
        ("../track.md", "urn:track"),
        ("track", "urn:track"),
        ("lost", "urn:lost"),
        ("article", "urn:one"),
    ],
)
def test_every_statement_stands_and_means_what_links_mean(
    predicate: str, words: str, node: str
) -> None:
    """Tools by all that a target may be called, pages by their path, IRIs, labels of things."""
    prefixes = {"ex": EX}
    edge = {"subject": "document", "predicate": predicate, "object": words}
    front = {"rdf_prefixes": prefixes, "graph_edges": [edge]}
    one = ToolDocument(make_tool("one"), "docs/one.md", "urn:one", further=front)
    track = ToolDocument(make_tool("track"), "track.md", "urn:track")
    named = ToolDocument(make_tool("other", title="track"), "other.md", "urn:other")
    page = ToolDocument(make_tool("page"), "docs/lost.md", "urn:lost", is_page=True)
    iri = {"relatedTo": v.kb.relatedTo, "kb:nextStep": v.kb.nextStep}.get(predicate, f"{EX}needs")

    assert ("urn:one", iri, node) in list(make_triples([one, track, named, page]))


@pytest.mark.parametrize(
    "subject",
    ["urn:one", "urn:mcpg:source:commerce", "urn:mcpg:groups", "urn:g", "urn:one#parameter/p"],
)
def test_what_is_stated_of_a_node_stands_with_the_rest_of_it(subject: str) -> None:
    """Each node comes once, and framed JSON-LD keeps all that is said of it."""
    edges = [{"subject": subject, "predicate": "https://ex.test/p", "object": "https://ex.test/o"}]
    tool = make_tool("one", input_schema={"properties": {"p": {}, "q": {}}})
    one = ToolDocument(tool, "one.md", "urn:one", groups=("urn:g",), further={"graph_edges": edges})
    triples = list(make_triples([one]))
    nodes = [node for node, _ in groupby(subject for subject, _, _ in triples)]
    assert len(nodes) == len(set(nodes))
    assert set(triples_in("".join(framed_json_ld(triples)), RdfFormat.JSON_LD, "a")) == set(triples)


def test_framed_json_ld_nests_no_document_and_joins_what_has_one_name() -> None:
    """A document that is stated as a part stays a reference; one may be a group of another."""
    edges = [{"subject": "urn:one", "predicate": "schema:hasPart", "object": "urn:two"}]
    further = {"graph_edges": edges}
    one = ToolDocument(make_tool("one"), "1.md", "urn:one", groups=("urn:two",), further=further)
    two = ToolDocument(make_tool("two"), "2.md", "urn:two")
    triples = list(make_triples([one, two]))
    text = "".join(framed_json_ld(triples))
    assert text.count('"toolName":"two"') == 1
    assert set(triples_in(text, RdfFormat.JSON_LD, "a")) == set(triples)


def test_a_statement_that_is_no_link_is_none_after_it_was_json_ld() -> None:
    """What the front matter states of related things is read back as that alone."""
    objects = ("https://example.com/x", "Some thing", "document")
    edges = [{"subject": "document", "predicate": "relatedTo", "object": one} for one in objects]
    one = ToolDocument(make_tool("one"), "one.md", "urn:one", further={"graph_edges": edges})
    assert [one.links for one in from_jsonld(to_jsonld(one))] == [()]


def test_an_author_may_add_types_and_properties() -> None:
    """Values have the datatype that is stated, else the one that YAML gives them."""
    own = stated()[NODE]
    assert own[v.rdf.type] == [
        v.schema.Article,
        v.kb.MarkdownDocument,
        v.mcpg.Tool,
        f"{v.SCHEMA}TechArticle",
        f"{EX}Runbook",
    ]
    assert own[f"{EX}level"] == [
        RdfLiteral("2", v.xsd.integer),
        RdfLiteral("3", v.xsd.integer),
        RdfLiteral("x> .", v.xsd.boolean),
    ]
    assert own[f"{EX}raw"] == [RdfLiteral("{")]
    assert own[f"{EX}motto"] == [
        RdfLiteral("drei", v.rdf.langString, "de"),
        RdfLiteral("trois", v.rdf.langString, "fr-ca"),
        RdfLiteral("x"),
    ]
    assert own[f"{EX}owner"] == [f"{EX}team"]
    assert own[v.schema.datePublished] == [RdfLiteral("2026-04-01", v.xsd.date)]
    assert own[v.schema.dateModified] == [RdfLiteral("spring")]
    assert own[v.kb.entryType] == [RdfLiteral("tech_article")]
    assert own[v.kb.sourceProject] == [RdfLiteral("shop")]


def test_the_front_matter_is_kept_as_it_stands() -> None:
    """What an author wrote can be read back from the graph, whatever it means."""
    (kept,) = stated()[NODE][v.mcpg.frontMatter]
    assert isinstance(kept, RdfLiteral)
    assert '"author":"Release team"' in kept.text


@pytest.mark.parametrize(
    "namespace", ["vocab#", "//shop.example/", "a b:c", "http://host:", "http://[", "x", ":", "1:2"]
)
def test_whatever_a_prefix_stands_for_the_graph_is_read_by_others(namespace: str) -> None:
    """Every IRI is absolute, and an author's own edges and weights stop no export."""
    front = {
        "rdf_prefixes": {"ex": namespace},
        "rdf_types": ["rdf:Statement", "ex:Type"],
        "rdf_properties": {
            "rdf:subject": {"id": "urn:track"},
            "rdf:predicate": {"id": "ex:port"},
            "rdf:object": {"id": "ex:thing"},
            "kb:confidence": "high",
            "ex:level": {"value": "3", "datatype": "ex:number"},
        },
        "about": [{"label": "Thing", "id": "ex:thing", "type": "ex:Kind", "sameAs": "ex:same"}],
        "graph_edges": [{"subject": "track", "predicate": "ex:port", "object": "ex:thing"}],
    }
    page = ToolDocument(make_tool("recover"), "recover.md", "urn:recover", further=front)
    documents = [page, ToolDocument(make_tool("track"), "track.md", "urn:track")]
    triples = list(make_triples(documents))
    written = "".join(nquads(triples)).encode()
    read = list(pyoxigraph.parse(written, format=pyoxigraph.RdfFormat.N_QUADS))
    edges = build_network(triples).edges

    assert len(read) == len(triples)
    assert build_graph(documents).query("CONSTRUCT WHERE { ?s ?p ?o }")
    assert {edge.weight for edge in edges if edge.name not in {"groups", "related"}} == {1.0}
    assert from_jsonld("".join(json_ld(triples)))
    assert graph_page(documents)
