from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.catalog.model import SourceDocument
from mcpg.documents.addresses import uris_for
from mcpg.documents.model import Link, document_for
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.relations.edges import Edge, EdgeKind, EdgeOrigin, ToolRelations

TRACK = make_tool("shipment_track")
GET = make_tool("order_get")
ADDRESSES = uris_for([TRACK, GET])


def test_edges_become_links_by_uri() -> None:
    """Every edge is a link to the other tool's document, related ones first, evidence kept."""
    related = Edge(EdgeKind.RELATED, TRACK.id, GET.id, 0.5, "shares the term 'order'")
    following = Edge(EdgeKind.NEXT_STEP, TRACK.id, GET.id, 1.0, "", EdgeOrigin.AUTHORED)
    relations = ToolRelations(("domain:order",), (related,), (following,))
    document = document_for(TRACK, relations, ADDRESSES)
    uri = "https://managedcode.com/mcpgateway/knowledge/tools/commerce/order_get/"
    assert (document.path, document.uri) == ADDRESSES[TRACK.id]
    assert document.groups == ("domain:order",)
    assert document.links == (
        Link(EdgeKind.RELATED, uri, 0.5, "shares the term 'order'", EdgeOrigin.INFERRED),
        Link(EdgeKind.NEXT_STEP, uri),
    )
    source = SourceDocument(document.path, write_document(document))
    assert parse_document(source) == (document, ())


def test_a_tool_without_relations_states_none() -> None:
    """Without groups and edges the document carries no graph key, as in the .NET gateway."""
    document = document_for(TRACK, ToolRelations(), ADDRESSES)
    assert document.states_relations is False
    assert "graph_" not in write_document(document)


def test_an_edge_to_an_unknown_tool_is_a_mistake_of_the_caller() -> None:
    """Relations and addresses must speak of the same catalogue."""
    edge = Edge(EdgeKind.RELATED, TRACK.id, "nowhere", 1.0, "")
    with pytest.raises(KeyError):
        document_for(TRACK, ToolRelations(related=(edge,)), ADDRESSES)
