"""Documents of a small shop, with everything that a document can say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool

from mcpg.bundle import assemble
from mcpg.catalog.model import SourceKind, Tier, ToolExample
from mcpg.documents.addresses import tool_uri
from mcpg.documents.front_matter_edits import write_authored_lines
from mcpg.documents.model import Link, ToolDocument
from mcpg.relations.edges import Coverage, EdgeKind, EdgeOrigin, FieldMapping
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from mcpg.text.json_values import JsonObject


@pytest.fixture
def rich() -> ToolDocument:
    """A document in which nothing is left unsaid."""
    tool = make_tool(
        title="Track a shipment",
        description='Tell where a "shipment" is.\nAnd when it will arrive: \\o/ \x07',
        input_schema={
            "type": "object",
            "properties": {
                "shipment_id": {"type": "string", "description": "Number of the shipment."},
                "carrier": {"type": ["string", "null"], "enum": ["dhl", "ups", "dhl"]},
                "options": {
                    "type": "array",
                    "items": {"properties": {"depth": {"type": "integer", "default": 2.50}}},
                },
            },
            "required": ["shipment_id"],
        },
        output_schema={"type": "object", "@id": "x", "properties": {}},
        annotations={"title": "Tracker", "custom": [1, None, {"@type": "deep"}]},
        meta={"vendor/key": True},
        source_kind=SourceKind.HTTP_MCP,
        aliases=("where is my parcel", "посилка"),
        keywords=("zebra", "parcel"),
        categories=("shipping",),
        tags=("parcel", "orders"),
        data_sources=("carrier API",),
        examples=(ToolExample("where is 17?", "in Kyiv", "a customer asks"), ToolExample("18?")),
        read_only=True,
        idempotent=True,
        destructive=False,
        open_world=True,
        cost_tier=Tier.LOW,
        latency_tier=Tier.HIGH,
        enabled_by_default=False,
    )
    further: JsonObject = {
        "about": ["Logistics", {"label": "Parcels", "sameAs": "https://parcel.example/"}],
        "author": "The shipping team",
        "date_published": "2025-01-31",
        "date_modified": "last week",
        "entry_type": "tech_article",
        "entity_hints": [{"label": "DHL", "type": "schema:Organization"}],
        "graph_edges": [{"subject": "document", "predicate": "about", "object": "Tracking"}],
        "rdf_prefixes": {"shop": "https://shop.example/vocab#"},
        "rdf_properties": {
            "shop:floor": [2.5, {"value": "Erdgeschoß", "lang": "de-AT"}],
            "schema:alternativeHeadline": "Another name",
            "schema:description": {"value": "Sagt, wo es ist.", "lang": "de"},
        },
        "unknown": [None, {"deep": [1.0, None]}],
    }
    return ToolDocument(
        tool=tool,
        path="tools/commerce/shipment_track.md",
        uri="https://shop.example/tools/track shipment",
        groups=("domain:shipment", "Finance Team", "C++"),
        links=(
            Link(EdgeKind.RELATED, tool_uri("commerce", "invoice_search"), 0.25, "both \\ pay"),
            Link(EdgeKind.RELATED, "a tool nobody has"),
            Link(
                EdgeKind.NEXT_STEP,
                "urn:x:next step",
                1e-7,
                "",
                EdgeOrigin.SCHEMA,
                (FieldMapping("parcels[].id", "parcel_id", required=False),),
                Coverage.OPTIONAL,
            ),
        ),
        body="## Notes\n\n- by hand",
        states_relations=True,
        further=further,
        written=f"# By hand\n{write_authored_lines(further, '')}",
    )


@pytest.fixture(scope="session")
def shop() -> dict[str, ToolDocument]:
    """The documents of five tools that have edges, by tool id."""
    tools = (
        make_tool("invoice_search", description="Search the invoices of a customer."),
        make_tool("invoice_create", description="Create an invoice for an order."),
        make_tool("invoice_cancel", description="Cancel an invoice of an order."),
        make_tool("shipment_status", description="Tell where the shipment of an order is."),
        make_tool("weather", source_id="sky", description="Forecast the weather."),
    )
    assembly = assemble(SourceBatch(tools=tools))
    return {document.tool.id: document for document in assembly.documents}
