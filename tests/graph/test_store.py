from __future__ import annotations

from typing import TYPE_CHECKING

import rdflib
from builders import make_tool

from mcpg.documents.model import Link, ToolDocument
from mcpg.graph.exports import build_graph, turtle
from mcpg.graph.terms import PREFIXES
from mcpg.graph.triples import make_triples
from mcpg.relations.edges import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_the_store_holds_what_rdflib_reads_from_the_export(
    shop: Mapping[str, ToolDocument], rich: ToolDocument
) -> None:
    """The graph on the store of Oxigraph is the graph that rdflib parses."""
    documents = [*shop.values(), rich]
    parsed = rdflib.Graph().parse(data="".join(turtle(make_triples(documents))), format="turtle")
    graph = build_graph(documents)

    assert set(map(without_string, graph)) == set(map(without_string, parsed))
    assert len(graph) == len(list(make_triples(documents)))


def without_string(triple: tuple[rdflib.term.Node, ...]) -> tuple[rdflib.term.Node, ...]:
    """Leave out the datatype of plain texts, which rdflib tells from one that is not said."""
    value = triple[2]
    if isinstance(value, rdflib.Literal) and value.datatype == rdflib.XSD.string:
        value = rdflib.Literal(str(value))
    return (*triple[:2], value)


def test_prefixes_are_set(rich: ToolDocument) -> None:
    """A query may use the prefixes without declaring them."""
    graph = build_graph([rich])
    (row,) = graph.query("SELECT ?name WHERE { ?tool a mcpg:Tool ; schema:name ?name }")

    assert {prefix: str(iri) for prefix, iri in graph.namespaces()} == dict(PREFIXES)
    assert str(row[0]) == "Track a shipment"


def test_a_long_path_is_walked() -> None:
    """A chain of ten thousand next steps is followed to its end."""
    count = 10_000
    documents = [
        ToolDocument(
            make_tool(f"t{place}"),
            f"{place}.md",
            f"urn:t:{place}",
            links=(Link(EdgeKind.NEXT_STEP, f"urn:t:{place + 1}"),),
        )
        for place in range(count)
    ]
    query = "SELECT (COUNT(?end) AS ?count) WHERE { <urn:t:0> kb:nextStep+ ?end }"
    (row,) = build_graph(documents).query(query)

    assert int(row[0]) == count
