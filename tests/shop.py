"""The sources of a small shop, and what a run of the program leaves behind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli import plain_search as searching
from mcpg.cli.fast_path import parse
from mcpg.cli.parameters import COMMON, SEARCH

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Run:
    """What one run of the program left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The object on standard output."""
        return json.loads(self.out)


def plain_search(*arguments: str) -> int | None:
    """Return the exit code of a search that needs no settings; `None` where it needs some."""
    return searching.plain_search(parse(arguments, (*SEARCH, *COMMON)))


MANIFEST = {
    "server": "shop",
    "tools": [
        {
            "name": "shipment_status",
            "title": "Track a shipment",
            "description": "Tell where a shipment is and when it will arrive.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "shipment_id": {"type": "string", "description": "Number of the shipment."},
                    "carrier": {"type": "string", "enum": ["dhl", "ups"]},
                },
                "required": ["shipment_id"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"state": {"type": "string", "description": "Where it is."}},
            },
            "annotations": {"readOnlyHint": True, "destructiveHint": False},
        },
        {
            "name": "shipment_create",
            "description": "Create a shipment and buy its label.",
            "inputSchema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        },
        {
            "name": "invoice_search",
            "title": "Find invoices",
            "description": "Search the invoices of a customer.\nNewest first.",
            "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}}},
        },
        {
            "name": "invoice_refund",
            "description": "Pay the amount of an invoice back.",
            "inputSchema": {
                "type": "object",
                "properties": {"invoice_id": {"type": "string"}},
                "required": ["invoice_id"],
            },
            "annotations": {"destructiveHint": True},
        },
    ],
}

HINTS = """\
tools:
  shipment_status:
    aliases: ["де моя посилка"]
    keywords: [parcel, tracking]
    categories: [shipping]
    costTier: low
    related: [shipment_create]
    examples:
      - input: where is my parcel
        description: before a refund
  invoice_search:
    categories: [billing]
    nextSteps: [invoice_refund]
  invoice_refund:
    categories: [billing]
    enabledByDefault: false
"""

CALLS = "".join(
    f'{{"time": "2026-01-0{day}T10:0{minute}:00Z", "session": "{day}", "tool": "{tool}"}}\n'
    for day in range(1, 6)
    for minute, tool in enumerate(("invoice_search", "invoice_refund", "shipment_status"))
)
"""Calls of the tools of the shop, as `mcpg learn` reads them."""

_STATUS, _CREATE, _SEARCH, _REFUND = MANIFEST["tools"]
LATER_MANIFEST = {
    "server": "shop",
    "tools": [
        _STATUS
        | {
            "description": "Tell where a shipment is right now.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "shipment_id": {"type": "string", "description": "Number of the shipment."},
                    "carrier": {"type": "string", "enum": ["dhl"]},
                    "language": {"type": "string"},
                },
                "required": ["shipment_id", "carrier"],
            },
            "outputSchema": {"type": "object", "properties": {}},
            "annotations": {"readOnlyHint": False},
        },
        _CREATE | {"name": "label_buy"},
        _SEARCH,
        {"name": "page_list", "description": "Search invoices."},
    ],
}
LATER_HINTS = """\
tools:
  shipment_status:
    aliases: ["де моя посилка"]
    keywords: [parcel]
    categories: [shipping]
  invoice_search:
    aliases: ["where is my parcel"]
    categories: [billing]
    related: [shipment_status]
"""
"""The shop some weeks later: a tool renamed, one gone, one new, one changed, and one that takes a
query from another."""

LATER_JUDGED = """\
where is my parcel: shipment_status
buy a label: shipment_create
find the best pizza: []
"""


def write_later(folder: Path) -> Path:
    """Write the shop some weeks later, and judged queries beside it, and return its sources."""
    later = folder / "later"
    later.mkdir()
    (later / "shop.json").write_text(json.dumps(LATER_MANIFEST), "utf-8")
    (later / "shop.hints.yaml").write_text(LATER_HINTS, "utf-8")
    (folder / "later.yaml").write_text(LATER_JUDGED, "utf-8")
    return later
