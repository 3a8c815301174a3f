from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyoxigraph
import pytest
from builders import make_tool
from generated import documents
from hypothesis import HealthCheck, given, settings

from mcpg.documents.model import ToolDocument
from mcpg.errors import Code
from mcpg.graph import terms as v
from mcpg.graph.exports import framed_json_ld, json_ld, nquads, turtle
from mcpg.graph.terms import RdfLiteral
from mcpg.graph.triples import distinct_documents, make_triples, number
from mcpg.text.safeyaml import UNSAFE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcpg.graph.terms import Triple

wide = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def of(node: str, triples: list[Triple]) -> dict[str, list[str]]:
    """Gather what *triples* say of *node*, values by their text."""
    said: dict[str, list[str]] = {}
    for subject, predicate, value in triples:
        if subject == node:
            text = value.text if isinstance(value, RdfLiteral) else value
            said.setdefault(predicate, []).append(text)
    return said


def test_what_a_tool_says(rich: ToolDocument) -> None:
    """A tool is an article, as in the .NET library, with the facts that searches need."""
    node = "https://shop.example/tools/track%20shipment"
    said = of(node, list(make_triples([rich])))

    assert said[v.rdf.type][:3] == [v.schema.Article, v.kb.MarkdownDocument, v.mcpg.Tool]
    assert said[v.schema.name] == ["Track a shipment"]
    assert said[v.schema.keywords] == ["zebra", "parcel", "orders"]
    assert said[v.schema.alternateName] == ["where is my parcel", "посилка"]
    assert said[v.mcpg.readOnly] == ["true"]
    assert said[v.mcpg.destructive] == ["false"]
    assert said[v.mcpg.costTier] == ["Low"]
    assert said[v.mcpg.statedUri] == ["https://shop.example/tools/track shipment"]
    assert said[v.prov.wasDerivedFrom] == [node]
    assert said[v.mcpg.parameter] == [
        f"{node}#parameter/{name}"
        for name in ("shipment_id", "carrier", "options", "options%5B%5D.depth")
    ]
    assert said[v.kb.memberOf] == [
        "domain:shipment",
        "urn:mcpg:id/finance-team",
        "urn:mcpg:id/c-f1deb75f",
    ]
    assert said[v.mcpg.statedGroup] == ["domain:shipment", "Finance Team", "C++"]
    assert said[v.kb.nextStep] == ["urn:x:next%20step"]


def test_what_a_parameter_says(rich: ToolDocument) -> None:
    """A parameter is a node of its own: name, types, values, whether it must be given."""
    triples = list(make_triples([rich]))
    node = "https://shop.example/tools/track%20shipment#parameter/"

    assert of(f"{node}shipment_id", triples) == {
        v.rdf.type: [v.mcpg.Parameter],
        v.schema.name: ["shipment_id"],
        v.schema.description: ["Number of the shipment."],
        v.mcpg.jsonType: ["string"],
        v.schema.valueRequired: ["true"],
    }
    assert of(f"{node}carrier", triples)[v.mcpg.allowedValue] == ["dhl", "ups"]
    assert of(f"{node}options%5B%5D.depth", triples)[v.schema.name] == ["options[].depth"]


def test_an_edge_is_a_statement_with_its_weight_and_reason(rich: ToolDocument) -> None:
    """What the .NET library has as an assertion carries confidence, reason and origin."""
    triples = list(make_triples([rich]))
    node = "https://shop.example/tools/track%20shipment"
    statements = [of(part, triples) for part in of(node, triples)[v.mcpg.relation]]

    assert statements[0] == {
        v.rdf.type: [v.rdf.Statement],
        v.rdf.subject: [node],
        v.rdf.predicate: [v.kb.relatedTo],
        v.rdf.object: ["urn:mcpg:tools/commerce/invoice_search/"],
        v.kb.confidence: ["0.25"],
        v.mcpg.reason: ["both \\ pay"],
        v.mcpg.origin: ["authored"],
    }
    assert statements[1][v.mcpg.statedTarget] == ["a tool nobody has"]
    assert statements[2][v.kb.confidence] == ["0.0000001"]
    assert statements[2][v.mcpg.origin] == ["schema"]


def test_groups_and_sources_are_described_once(shop: dict[str, ToolDocument]) -> None:
    """What several tools share stands in the graph once, and no triple stands twice."""
    triples = list(make_triples(shop.values()))
    schemes = [one for one in triples if one[1:] == (v.rdf.type, v.skos.ConceptScheme)]
    sources = [one for one in triples if one[1:] == (v.rdf.type, v.mcpg.Source)]

    assert len(triples) == len(set(triples))
    assert len(schemes) == 1
    assert [one[0] for one in sources] == ["urn:mcpg:source:commerce", "urn:mcpg:source:sky"]


def test_of_two_documents_with_one_iri_the_first_stays() -> None:
    """Addresses that come to one node are noticed, and the later document is left out."""
    first = ToolDocument(make_tool("a"), "a.md", "https://x.example/a b")
    other = ToolDocument(make_tool("b"), "b.md", "https://x.example/a%20b")
    kept, (noticed,) = distinct_documents([first, other, replace(first, uri="urn:c")])

    assert [document.path for document in kept] == ["a.md", "a.md"]
    assert noticed.code == Code.DOCUMENT_INVALID
    assert noticed.place == "b.md"
    assert "'a.md' has the same IRI 'https://x.example/a%20b'" in noticed.message


def test_numbers_have_no_exponent() -> None:
    """The datatype xsd:decimal knows none, and writes one as `1`."""
    assert [number(value).text for value in (1.0, 0.1, 1e-07, 2.5e-320)] == [
        "1",
        "0.1",
        "0.0000001",
        f"0.{'0' * 319}25",
    ]


def test_halves_of_surrogate_pairs_become_replacements() -> None:
    """What has no UTF-8 does not keep a graph from being written."""
    tool = make_tool(description="a\ud800b", input_schema={"x": "\ud800"})
    document = ToolDocument(tool, "a\udfff.md", "urn:\udfff", ("\ud800",))

    text = "".join(turtle(make_triples([document])))

    assert "a\ufffdb" in text
    assert len(list(pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.TURTLE))) > 10


@wide
@given(documents())
def test_turtle_and_nquads_say_what_the_triples_say(document: ToolDocument) -> None:
    """Whatever a document holds, other programs read the same triples from either format."""
    triples = set(make_triples([document]))
    by_turtle = pyoxigraph.parse("".join(turtle(make_triples([document]))).encode(), TURTLE)
    by_nquads = pyoxigraph.parse("".join(nquads(make_triples([document]))).encode(), NQUADS)

    assert {plain(quad) for quad in by_turtle} == triples
    assert {plain(quad) for quad in by_nquads} == triples


TURTLE, NQUADS = pyoxigraph.RdfFormat.TURTLE, pyoxigraph.RdfFormat.N_QUADS


def plain(quad: pyoxigraph.Quad) -> Triple:
    """Give *quad*, which stands in the default graph and names no blank node, as ours."""
    assert isinstance(quad.graph_name, pyoxigraph.DefaultGraph)
    assert isinstance(quad.subject, pyoxigraph.NamedNode)
    value = quad.object
    if isinstance(value, pyoxigraph.NamedNode):
        return quad.subject.value, quad.predicate.value, value.value
    assert isinstance(value, pyoxigraph.Literal)
    literal = RdfLiteral(value.value, value.datatype.value)
    return quad.subject.value, quad.predicate.value, literal


UNSAFE_TEXT = "a\x7f\x85\x9b31m\u202e\u2028\ufeff\U000e0041b"


@pytest.mark.parametrize("write", [turtle, nquads, json_ld, framed_json_ld])
def test_no_export_can_steer_a_terminal(write: Callable[..., Iterable[str]]) -> None:
    """Control characters of C1, and what hides or turns text, are written as escapes."""
    schema = {"type": "object", "properties": {UNSAFE_TEXT: {"description": UNSAFE_TEXT}}}
    tool = make_tool(title=UNSAFE_TEXT, description=UNSAFE_TEXT, input_schema=schema)
    triples = list(make_triples([ToolDocument(tool, "a.md", "urn:a")]))
    text = "".join(write(triples))

    assert UNSAFE.findall(text.replace("\n", "")) == []
    if write in (turtle, nquads):
        kind = TURTLE if write is turtle else NQUADS
        assert {plain(quad) for quad in pyoxigraph.parse(text.encode(), kind)} == set(triples)
    else:
        assert UNSAFE_TEXT in [one.get("title") for one in json.loads(text)["@graph"]]
