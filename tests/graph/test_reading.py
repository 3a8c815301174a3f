"""Graphs read back as documents, of any format and producer."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
import rdflib
from bounded import output_of
from generated import canonical, documents
from hypothesis import HealthCheck, given, settings

from mcpg.bundle import assemble
from mcpg.catalog.model import NO_HINTS, SourceDocument
from mcpg.errors import Code, SourceError
from mcpg.graph import jsonld
from mcpg.graph.exports import beyond_xml, json_ld, nquads, rdf_xml, turtle
from mcpg.graph.jsonld import read_graph, with_graphs_read
from mcpg.graph.parsing import EXTENSIONS, RdfFormat, detect_format, triples_in
from mcpg.graph.triples import make_triples
from mcpg.sources import SourceBatch, read_sources
from mcpg.sources.model import RawFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcpg.documents.model import ToolDocument
    from mcpg.graph.terms import Triple

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
RECORDED = Path(__file__).parents[1] / "interop"
wide = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

WRITERS: Mapping[str, Callable[[Iterable[Triple]], Iterator[str]]] = {
    "a.ttl": turtle,
    "a.trig": turtle,
    "a.n3": turtle,
    "a.nq": nquads,
    "a.nt": nquads,
    "a.jsonld": json_ld,
}

TOOL = '<urn:t> a <urn:mcpg:vocab:Tool> ; <https://schema.org/name> "track" '


def written(found: Iterable[ToolDocument], name: str) -> str:
    """Return the graph of documents in the format of the file *name*."""
    return "".join(WRITERS[name](make_triples(found)))


@pytest.mark.parametrize("name", WRITERS)
@wide
@given(document=documents().map(canonical))
def test_nothing_is_lost_on_the_way_through_a_graph(name: str, document: ToolDocument) -> None:
    """Document, text of the graph, document: what came in comes out, but for generated texts."""
    document = replace(document, tool=replace(document.tool, generated=NO_HINTS))
    found = read_graph(written([document], name), name)

    assert found.documents == (document,)
    assert not found.diagnostics


def test_rdf_xml_holds_what_xml_has_room_for(rich: ToolDocument) -> None:
    """A carriage return and marks of direction survive; control characters have no place."""
    tool = replace(rich.tool, description="a\r\nb \u202e <&> ]]> \t c")
    document = replace(rich, tool=tool)
    found = read_graph("".join(rdf_xml(make_triples([document]))), "a.rdf")

    assert found.documents == (document,)
    assert not found.diagnostics


@pytest.mark.parametrize("sign", ["\xb2", "\xaa", "\xbd", "\u0663"])
def test_rdf_xml_is_well_formed_whatever_a_predicate_ends_in(sign: str) -> None:
    """Letters and digits of Unicode that are in no name of XML are in no name of an element."""
    triples = [
        ("urn:t", f"https://ex.test/{sign}", "urn:o"),
        ("urn:t", "https://ex.test/é", "urn:o"),
    ]
    text = "".join(rdf_xml(triples))
    assert len(ET.fromstring(text)[0]) == 1
    assert beyond_xml(triples) == 1


def test_rdf_xml_looks_at_the_end_of_a_predicate_alone() -> None:
    """A name of an element has at most 100 characters, whatever the length of a predicate."""
    triples = [("urn:t", f"https://ex.test/{'a' * 100_000}", "urn:o")]
    text = "".join(rdf_xml(triples))
    assert re.findall(r"<ns:(a+)", text) == ["a" * 100]
    assert set(triples_in(text, RdfFormat.RDF_XML, "a.rdf")) == set(triples)


@pytest.fixture(scope="module")
def examples() -> tuple[ToolDocument, ...]:
    """The documents and pages of the examples, as a bundle has them."""
    assembly = assemble(read_sources([EXAMPLES]))
    return (*assembly.documents, *assembly.pages)


@pytest.mark.parametrize("name", WRITERS)
def test_the_examples_survive(examples: tuple[ToolDocument, ...], name: str) -> None:
    """Documents that people wrote come back whole."""
    found = read_graph(written(examples, name), name)

    assert found.documents == examples
    assert not found.diagnostics


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("bundle", ["manifests", "dev"])
def test_what_is_recorded_survives(bundle: str, name: str) -> None:
    """Tools of real servers come back as they were, and pages with all that they state."""
    assembly = assemble(read_sources([RECORDED / f"{bundle}.bundle.json"]))
    given = (*assembly.documents, *assembly.pages)
    found = read_graph(written(given, name), name)

    assert not found.diagnostics
    back = {one.path: one for one in found.documents}
    assert back.keys() == {one.path for one in given}
    assert [back[one.path] for one in assembly.documents] == list(assembly.documents)
    for page in assembly.pages:
        again = back[page.path]
        assert (again.uri, again.body, again.is_page) == (page.uri, page.body, True)
        assert again.tool.name == page.tool.name
        assert again.tool.display_name == page.tool.display_name
    # What one document states of another comes back as an edge of the latter.
    assert set(make_triples(found.documents)) >= set(make_triples(given))


PAGE = """\
---
tool: false
title: How we ship
summary: "Why parcels: wait."
tags: [logistics, "x: y"]
keywords: [parcel]
author: {label: Ann, sameAs: "https://people.example/ann"}
date_published: 2025-01-31
graph_related: [shipment_status]
rdf_properties: {"https://shop.example/vocab/requires": {id: "https://shop.example/dock"}}
---
# How we ship

See [the status](../tools/commerce/shipment_status.md).

- one
"""


def test_pages_survive(shop: Mapping[str, ToolDocument]) -> None:
    """A page comes back as a page, with its prose, its links and all that it states."""
    batch = SourceBatch(tools=tuple(one.tool for one in shop.values()))
    page = SourceDocument("pages/how-we-ship.md", PAGE)
    first = assemble(replace(batch, documents=(page,)))
    text = written((*first.documents, *first.pages), "a.ttl")
    again = assemble(with_graphs_read(SourceBatch(graphs=(RawFile(text, "a.ttl"),))))

    assert [one.path for one in again.pages] == ["pages/how-we-ship.md"]
    assert set(make_triples((*again.documents, *again.pages))) == set(
        make_triples((*first.documents, *first.pages))
    )
    assert again.pages[0].body == first.pages[0].body
    assert not again.diagnostics


def dumps_of(text: str) -> Iterator[tuple[str, str]]:
    """Write the graph in *text* by rdflib and by Oxigraph, with the names of files."""
    graph = rdflib.Graph().parse(data=text, format="turtle")
    formats = {"ttl": "turtle", "jsonld": "json-ld", "rdf": "xml", "nt": "nt", "n3": "n3"}
    for end, form in formats.items():
        yield f"rdflib.{end}", graph.serialize(format=form)
    dataset = rdflib.Dataset()
    dataset.graph("urn:g").parse(data=text, format="turtle")
    for end, form in {"trig": "trig", "nq": "nquads", "jsonld": "json-ld"}.items():
        yield f"rdflib-dataset.{end}", dataset.serialize(format=form)
    store = pyoxigraph.Store()
    store.load(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    for end in EXTENSIONS:
        if end != ".owl":
            known = pyoxigraph.RdfFormat.from_extension(end[1:]) or pyoxigraph.RdfFormat.TURTLE
            default = None if known.supports_datasets else pyoxigraph.DefaultGraph()
            data = store.dump(format=known, from_graph=default)
            yield f"oxigraph{end}", bytes(data or b"").decode()


def unordered(document: ToolDocument) -> set[Triple]:
    """Return what a document says."""
    return set(make_triples([document]))


@pytest.mark.filterwarnings("ignore:.*Dataset:DeprecationWarning")
def test_graphs_of_other_writers_are_read(examples: tuple[ToolDocument, ...]) -> None:
    """What rdflib and Oxigraph write of our graph has every tool, with all that is said of it."""
    for name, text in dumps_of(written(examples, "a.ttl")):
        found = read_graph(text, name)

        assert not found.diagnostics, name
        by_uri = {one.uri: one for one in found.documents}
        assert {one.uri: unordered(one) for one in examples} == {
            uri: unordered(one) for uri, one in by_uri.items()
        }, name


@pytest.mark.filterwarnings("ignore:.*Dataset:DeprecationWarning")
def test_rdflib_types_the_values_of_our_json_ld(rich: ToolDocument) -> None:
    """Datatypes and languages of properties are the same in JSON-LD as in Turtle."""
    values = [
        *({"value": "3", "datatype": "xsd:integer"}, {"value": "z", "datatype": "urn:d"}),
        *({"value": "drei", "lang": "de"}, {"value": "2020-01-01", "datatype": "xsd:date"}),
    ]
    document = replace(rich, further={"rdf_properties": {"schema:x": values}})
    forms = {"turtle": "a.ttl", "json-ld": "a.jsonld"}
    first, second = (
        set(rdflib.Graph().parse(data=written([document], name), format=form))
        for form, name in forms.items()
    )
    assert first == second


def test_what_a_graph_says_beyond_the_keys_becomes_front_matter() -> None:
    """Classes, properties in their language and type, and topics are kept."""
    text = (
        f'{TOOL}; a <https://shop.example/Gadget> ; <https://schema.org/license> "MIT" ;'
        ' <https://schema.org/alternativeHeadline> "drei"@de ;'
        ' <https://shop.example/level> "3"^^<http://www.w3.org/2001/XMLSchema#integer> ;'
        " <https://shop.example/by> <https://shop.example/team> ;"
        " <https://schema.org/about> <urn:topic> ."
        '<urn:topic> a <https://schema.org/Thing> ; <https://schema.org/name> "Parcels" .'
    )
    found = read_graph(text, "a.ttl")
    (document,) = found.documents
    said = set(make_triples([document]))
    again = read_graph("".join(turtle(make_triples([document]))), "a.ttl")

    assert document.further["rdf_types"] == ["https://shop.example/Gadget"]
    assert {"schema:alternativeHeadline": {"value": "drei", "lang": "de"}} in document.further[
        "rdf_properties"
    ]
    assert document.further["about"] == [{"label": "Parcels", "id": "urn:topic"}]
    assert not found.diagnostics
    assert set(make_triples(again.documents)) == said


def test_what_no_document_can_say_is_reported() -> None:
    """Facts about other nodes are counted, and the first is named."""
    text = f'{TOOL}; <urn:p> _:b . _:b <urn:q> "x" . <urn:other> <urn:q> "y" .'
    (noticed,) = read_graph(text, "a.ttl").diagnostics

    assert noticed.code == Code.GRAPH_STATEMENTS_LEFT_OUT
    assert noticed.message.startswith("3 statements")


def test_a_broken_tool_does_not_keep_others_out() -> None:
    """A tool with an impossible value is reported by its node, and the rest is read."""
    text = f'{TOOL}. <urn:u> a <urn:mcpg:vocab:Tool> ; <urn:mcpg:vocab:toolName> "u" ;'
    text += ' <urn:mcpg:vocab:costTier> "Free" .'
    found = read_graph(text, "a.ttl")

    assert [one.tool.name for one in found.documents] == ["track"]
    assert [(one.code, one.place) for one in found.diagnostics] == [
        (Code.DOCUMENT_INVALID, "a.ttl: urn:u")
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ('{"a":' * 900 + "1" + "}" * 900, "nested deeper than 100 levels"),
        ('{"minimum": NaN}', "must be finite"),
        ('{"minimum": 1e999}', "must be finite"),
        ("{} {}", "is not a JSON object"),
        ("", "is not a JSON object"),
    ],
)
def test_a_schema_that_a_manifest_could_not_have_is_refused(schema: str, message: str) -> None:
    """It would be written into a document that cannot be read, or ends the recursion."""
    literal = json.dumps(schema)
    text = f"{TOOL}; <urn:mcpg:vocab:inputSchema> {literal} . {TOOL.replace('urn:t', 'urn:u')} ."
    found = with_graphs_read(SourceBatch(graphs=(RawFile(text, "a.ttl"),)))

    assert [one.canonical_uri for one in found.documents] == ["urn:u"]
    (noticed,) = found.diagnostics
    assert (noticed.code, noticed.place) == (Code.DOCUMENT_INVALID, "a.ttl: urn:t")
    assert message in noticed.message


def test_an_example_may_have_any_number() -> None:
    """An IRI of an example that ends in thousands of digits is one without a number."""
    found = read_graph(f"{TOOL}; <urn:mcpg:vocab:example> <urn:t#example/{'9' * 5000}> .", "a.ttl")
    assert len(found.documents[0].tool.hints.examples) == 1


def test_a_thing_of_many_documents_is_described_once() -> None:
    """Documents grow no faster than the graph that they come from, and nothing is lost."""
    same = "".join(f"<urn:thing> <https://schema.org/sameAs> <urn:same{n}> ." for n in range(50))
    text = "<urn:thing> <https://schema.org/name> 'Thing' ; a <https://schema.org/Thing> ." + same
    tool = '<urn:t{0}> a <urn:mcpg:vocab:Tool> ; <https://schema.org/name> "t{0}" ; {1} .'
    about = "<https://schema.org/about> <urn:thing>"
    text += "".join(tool.format(n, about) for n in range(3))
    found = read_graph(text, "a.ttl")
    said = set(make_triples(found.documents))
    assert json.dumps([one.further for one in found.documents]).count("urn:same7") == 1
    assert not found.diagnostics
    assert set(triples_in(text, RdfFormat.TURTLE, "a.ttl")) <= said


def test_a_name_as_long_as_a_text_stands_in_no_document() -> None:
    """A thing of which the name would make many documents long is referred to by its IRI."""
    name = f'<urn:thing> <https://schema.org/name> "{"x" * 1_001}" .'
    found = read_graph(f"{TOOL}; <https://schema.org/about> <urn:thing> . {name}", "a.ttl")
    assert found.documents[0].further["rdf_properties"] == [{"schema:about": {"id": "urn:thing"}}]
    assert found.diagnostics[0].code == Code.GRAPH_STATEMENTS_LEFT_OUT


def test_parts_that_tools_share_are_bounded() -> None:
    """One long example of many tools does not become many long examples."""
    text = f'<urn:e> <urn:mcpg:vocab:input> "{"x" * 300_000}" .'
    for number in range(1_000):
        text += TOOL.replace("urn:t", f"urn:t{number}")
        text += "; <urn:mcpg:vocab:example> <urn:e> ."
    with pytest.raises(SourceError, match="come to more than"):
        read_graph(text, "a.ttl")


def test_contexts_are_bounded() -> None:
    """Thousands of short references do not become thousands of contexts."""
    references = json.dumps({"@context": ["urn:mcpg:context"] * 20_000, "id": "urn:t"})
    with pytest.raises(SourceError, match="contexts come to more than"):
        read_graph(references, "a.jsonld")


def test_the_order_of_triples_does_not_matter() -> None:
    """However the triples of a tool are mixed, it is the same tool."""
    lines = [
        '<urn:t> <urn:mcpg:vocab:toolName> "track" .',
        "<urn:t> a <urn:mcpg:vocab:Tool> .",
        "<urn:t> <urn:mcpg:vocab:source> <urn:mcpg:source:shop> .",
        '<urn:mcpg:source:shop> <https://schema.org/name> "shop" .',
    ]
    first, *others = (read_graph("\n".join(one), "a.ttl").documents for one in permutations(lines))
    assert all(one == first for one in others)
    assert [one.tool.source_id for one in first] == ["shop"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.ttl", "<urn:a> <urn:b>", "ends too early|dot|syntax"),
        ("a.ttl", "@prefix x: <urn:x:> .\nx:a y:b 1 .", "prefix 'y' is not declared"),
        ("a.ttl", "<a> <b> <c> .", "relative"),
        ("a.ttl", '<urn:a> <urn:b> "c" .', "without a tool"),
        ("a.ttl", "", "without a tool"),
        ("a.nq", "<urn:a> <urn:b> <urn:c> <urn:d> <urn:e> .", "syntax|dot"),
        ("a.rdf", "<rdf:RDF", "ends too early|syntax"),
        ("a.jsonld", "{", "JSON"),
        ("a.jsonld", "{} {}", "several JSON values"),
        ("a.jsonld", '{"@context": "https://x.example/c", "a": 1}', "'https://x.example/c' is not"),
        ("a.jsonld", '{"@context": {"@import": "https://x.example/c"}}', "is not available"),
        ("a.jsonld", '{"@context": ["urn:mcpg:context", "http://127.0.0.1:9/"]}', "not available"),
    ],
)
def test_broken_graphs_are_refused(name: str, text: str, message: str) -> None:
    """What cannot be read is an error of ours with the file, in our words."""
    with pytest.raises(SourceError, match=message) as caught:
        read_graph(text, name)
    assert (caught.value.place or "").startswith("a.")


ENTITIES = '<!DOCTYPE r [%s]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>'


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ('<!ENTITY a "x"><!ENTITY b "&a;&a;">', "refers to another"),
        ('<!ENTITY a SYSTEM "file:///etc/passwd">', "external"),
        ('<!ENTITY % a "x">', "external"),
        ('<!ENTITY a "{}">{}'.format("x" * 10_000, "&a;" * 10_000), "expand to more than"),
    ],
)
def test_entities_are_bounded(entities: str, message: str) -> None:
    """No entity makes a document longer than it is by far, nor brings another file into it."""
    with pytest.raises(SourceError, match=message):
        read_graph(ENTITIES % entities, "a.rdf")


def test_ordinary_entities_are_read() -> None:
    """OWL tools write namespaces as entities."""
    text = (
        '<!DOCTYPE r [<!ENTITY m "urn:mcpg:vocab:">]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:m="urn:mcpg:vocab:">'
        '<rdf:Description rdf:about="urn:t"><rdf:type rdf:resource="&m;Tool"/>'
        "<m:toolName>track</m:toolName></rdf:Description></rdf:RDF>"
    )
    assert [one.tool.name for one in read_graph(text, "a.owl").documents] == ["track"]


def test_triples_and_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A storm of blank nodes, and a value without an end, are refused."""
    monkeypatch.setattr("mcpg.graph.parsing.MAX_TRIPLES", 1000)
    storm = "".join(f"_:a{n} <urn:p> _:a{n + 1} .\n" for n in range(1001))
    with pytest.raises(SourceError, match="more than 1,000 triples"):
        read_graph(storm, "a.nt")

    monkeypatch.setattr("mcpg.graph.parsing.MAX_LITERAL", 1000)
    with pytest.raises(SourceError, match="value of more than 1,000 characters"):
        read_graph(f'{TOOL}; <urn:p> "{"x" * 1001}" .', "a.ttl")


def test_nesting_is_bounded() -> None:
    """Lists and blank nodes within each other end in an answer or a message, not in a crash."""
    program = (
        "from mcpg.graph.jsonld import read_graph\n"
        "from mcpg.errors import SourceError\n"
        "for name, text in (\n"
        "    ('a.ttl', '<urn:a> <urn:p> ' + '[ <urn:q> ' * 50000 + '1' + ']' * 50000 + ' .'),\n"
        "    ('a.ttl', '<urn:a> <urn:p> ' + '(' * 50000 + ')' * 50000 + ' .'),\n"
        "    ('a.jsonld', '{\"urn:p\":' * 50000 + '1' + '}' * 50000),\n"
        "):\n"
        "    try:\n"
        "        read_graph(text, name)\n"
        "    except SourceError as fault:\n"
        "        print('refused')\n"
    )
    assert output_of(program) == "refused\n" * 3


def test_the_format_is_known_by_name_and_by_content() -> None:
    """The extension tells, and where there is none the text does."""
    assert detect_format("a.TTL", "") is RdfFormat.TURTLE
    assert detect_format("-", ' {"@graph": []}') is RdfFormat.JSON_LD
    assert detect_format("-", "<?xml version='1.0'?>") is RdfFormat.RDF_XML
    assert detect_format("-", "# x\n<urn:a> <urn:b> <urn:c> <urn:g> .\n") is RdfFormat.N_QUADS
    assert detect_format("-", "<urn:a> <urn:b> <urn:c> .\n") is RdfFormat.TURTLE
    assert detect_format("a.owl", "@prefix x: <urn:x> .") is RdfFormat.TURTLE


def test_json_ld_whose_keys_come_in_any_order_is_read() -> None:
    """A class that brings its own context may stand behind what it explains."""
    data = {
        "@context": {
            "@version": 1.1,
            "@vocab": "urn:mcpg:vocab:",
            "Tool": {"@id": "urn:mcpg:vocab:Tool", "@context": {"called": "toolName"}},
            "all": {"@id": "urn:all", "@container": "@type"},
        },
        "@id": "urn:list",
        "all": {"Tool": {"called": "track", "@id": "urn:t"}},
    }
    (document,) = read_graph(json.dumps(data), "a.jsonld").documents
    assert document.tool.name == "track"


def test_a_graph_that_is_sent_twice_is_the_same_bundle(rich: ToolDocument) -> None:
    """Blank nodes have no names of chance."""
    text = f'{TOOL}. [] a <urn:mcpg:vocab:Tool> ; <urn:mcpg:vocab:toolName> "b" .'
    first, second = (read_graph(text, "a.ttl") for _ in range(2))
    assert first == second
    assert re.search("[0-9a-f]{32}", str(first)) is None
    assert jsonld.read_graph(written([rich], "a.nq"), "a.nq").documents == (rich,)


def test_a_graph_below_another_base_is_read_as_the_same(shop: Mapping[str, ToolDocument]) -> None:
    """The base shows in the names of sources, so that nobody needs to state it again."""
    text = "".join(turtle(make_triples(shop.values(), "https://graph.example/")))

    assert "<https://graph.example/tools/commerce/invoice_search/>" in text
    assert "urn:mcpg:tools" not in text
    assert read_graph(text, "a.ttl").documents == tuple(shop.values())


def test_graphs_of_two_companies_can_be_merged(shop: Mapping[str, ToolDocument]) -> None:
    """Below bases of their own, equal names are different tools, sources and groups."""
    bases = ("https://one.example/", "https://two.example/")
    graphs = [set(make_triples(shop.values(), base)) for base in bases]
    nodes = [{subject for subject, _, _ in graph} for graph in graphs]
    merged = read_graph("".join(nquads(sorted(graphs[0] | graphs[1], key=repr))), "a.nq")

    assert nodes[0].isdisjoint(nodes[1])
    assert len(merged.documents) == 2 * len(shop)


def test_a_graph_with_the_addresses_of_the_net_library_is_read(rich: ToolDocument) -> None:
    """What was exported under these addresses says the same today."""
    text = written([rich], "a.nq")
    text = text.replace("<urn:mcpg:tools/", "<https://managedcode.com/mcpgateway/knowledge/tools/")
    text = text.replace("<urn:mcpg:id/", "<urn:managedcode:markdown-ld-kb:/id/")
    assert read_graph(text, "a.nq").documents == (rich,)
