"""Runs the program inside the tests' own process."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder in which no setting of the machine is felt."""
    for name in ("MCPG_BUNDLE", "MCPG_LIMIT", "MCPG_STRATEGY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


@pytest.fixture
def sources(folder: Path) -> Path:
    """A folder of sources: a shop's manifest and the hints to it."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    (tools / "shop.hints.yaml").write_text(HINTS, "utf-8")
    return tools


@pytest.fixture
def graph(sources: Path, run: Callable[..., Run]) -> Path:
    """The bundle of the shop, where it is discovered."""
    assert run("bundle", str(sources), "-q").code == 0
    return sources.parent / "graph.mdld"


@pytest.fixture
def run(
    folder: Path,  # noqa: ARG001 - every run starts in a folder of its own
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Run]:
    """Run the program with the given arguments and standard input."""

    def call(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return call
