from __future__ import annotations

from pathlib import Path

from builders import make_tool

from mcpg.catalog.model import SourceDocument, SourceKind, Tier, ToolExample
from mcpg.documents.addresses import tool_path, tool_uri
from mcpg.documents.model import Link, ToolDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.relations.edges import EdgeKind, EdgeOrigin

GOLDEN = Path(__file__).parent / "golden" / "shipment_track.md"


def full_document() -> ToolDocument:
    """Make a document that uses every part of the layout."""
    tool = make_tool(
        title="Track a shipment",
        description="Give the status of a parcel.\n\nUse the carrier's number: `1Z…`.",
        source_kind=SourceKind.HTTP_MCP,
        input_schema={
            "type": "object",
            "properties": {
                "number": {"type": "string", "description": "Tracking number, without ```"},
                "carrier": {"type": "string", "enum": ["dhl", "ups"]},
            },
            "required": ["number"],
        },
        output_schema={"type": "object", "properties": {"status": {"type": "string"}}},
        annotations={"title": "Tracker", "readOnlyHint": True, "weights": [1e-7, 2.5]},
        meta={"owner": {"team": "доставка"}},
        aliases=("where is my parcel, please", "де моя посилка"),
        keywords=("parcel",),
        categories=("shipping",),
        tags=("alias:odd",),
        data_sources=("carriers",),
        examples=(ToolExample("find 1Z", "on its way", "when waiting"), ToolExample("a\nb")),
        read_only=True,
        destructive=False,
        cost_tier=Tier.LOW,
        enabled_by_default=True,
    )
    order = tool_uri("commerce", "order_get")
    return ToolDocument(
        tool=tool,
        path=tool_path(tool.source_id, tool.name),
        uri=tool_uri(tool.source_id, tool.name, 2),
        groups=("domain:shipment", "category:shipping"),
        links=(
            Link(EdgeKind.RELATED, order, 0.625, "shares 'shipment'", EdgeOrigin.INFERRED),
            Link(EdgeKind.NEXT_STEP, tool_uri("commerce", "order_cancel")),
        ),
        body='Ask for the *number* first.\n\n```python\ntrack("1Z")\n```',
    )


def test_a_full_document_is_written_to_the_byte() -> None:
    """The layout, the escapes and the order of everything are fixed."""
    assert write_document(full_document()) == GOLDEN.read_bytes().decode("utf-8")


def test_the_golden_document_is_read_back() -> None:
    """The text alone gives back the document."""
    text = GOLDEN.read_bytes().decode("utf-8")
    document, found = parse_document(SourceDocument(full_document().path, text))
    assert found == ()
    assert document == full_document()
