from __future__ import annotations

import pytest

from mcpg.catalog.model import Hints, Tool, ToolExample
from mcpg.documents.model import Link, ToolDocument
from mcpg.index.compile import compile_index
from mcpg.index.reader import Index
from mcpg.relations.edges import EdgeKind, EdgeOrigin


@pytest.fixture(scope="session")
def documents() -> tuple[ToolDocument, ...]:
    """Give three small documents that use everything an index holds."""
    track = Tool(
        id="commerce:track",
        source_id="commerce",
        name="commerce_trackShipment",
        title="Track a shipment",
        description="Where is  a\nshipment? See trackShipment.",
        input_schema={"type": "object", "properties": {"order_id": {"type": "string"}}},
        hints=Hints(aliases=("стан посилки",), examples=(ToolExample("where is my parcel"),)),
    )
    links = (
        Link(EdgeKind.RELATED, "urn:refund", 0.5, "shares a word", EdgeOrigin.INFERRED),
        Link(EdgeKind.NEXT_STEP, "urn:elsewhere"),
    )
    refund = Tool(id="billing:refund", source_id="billing", name="refund", title="Refunding")
    hidden = Tool(
        id="billing:shipments",
        source_id="billing",
        name="shipments",
        hints=Hints(enabled_by_default=False),
    )
    return (
        ToolDocument(track, "track.md", "urn:track", ("domain:parcel", "a"), links, "Notes."),
        ToolDocument(refund, "refund.md", "urn:refund", ("a",)),
        ToolDocument(hidden, "hidden.md", "urn:hidden"),
    )


@pytest.fixture(scope="session")
def data(documents: tuple[ToolDocument, ...]) -> bytes:
    """Return the bytes of their index."""
    return compile_index(documents, key=bytes(range(32)), texts={"track.md": "# Track\n"})


@pytest.fixture
def index(data: bytes) -> Index:
    """Give their index; its tools are refund, hidden and track, in order of id."""
    return Index(data)
