"""What the tests of evaluation share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_engine, make_tool

if TYPE_CHECKING:
    from mcpg.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Five tools of two servers, one of them disabled."""
    return make_engine(
        make_tool("shipment_status", description="Tell where a shipment is now."),
        make_tool("shipment_create", description="Book a carrier and print the label."),
        make_tool("invoice_search", description="Search the invoices of a customer."),
        make_tool("note_create", source_id="office", description="Write a note."),
        make_tool(
            "note_delete",
            source_id="office",
            description="Delete a note.",
            enabled_by_default=False,
        ),
    )
