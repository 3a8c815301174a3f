"""Catalogues as tests of rules need them: a sound one, into which faults are put."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.bundle import assemble
from mcpg.lint import Report, Selection, lint
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

DESCRIBED = {
    "order_search": "Find orders by customer, date and status, newest first.",
    "order_cancel": "Cancel an order that is not shipped, and release its payment.",
    "invoice_pdf": "Render an invoice as a PDF file and return its address.",
    "parcel_track": "Tell where a parcel is, and when the carrier will deliver it.",
    "stock_count": "Count how many pieces of a product a warehouse holds.",
    "coupon_create": "Issue a discount code that customers enter at the checkout.",
}


def tool(name: str, description: str, **members: Any) -> dict[str, Any]:
    """Make a tool with one described parameter, unless *members* say otherwise."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "description": f"Identifier for {name}."}},
    }
    return {"name": name, "description": description, "inputSchema": schema, **members}


def sound() -> list[dict[str, Any]]:
    """Make tools in which no default rule finds anything."""
    return [tool(name, description) for name, description in DESCRIBED.items()]


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., Report]:
    """Write files, read them as sources, and lint what they hold."""

    def run(
        files: dict[str, Any], select: Sequence[str] = (), ignore: Sequence[str] = ()
    ) -> Report:
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content, indent=2)
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8", newline="")
        batch = read_sources([str(tmp_path)])
        assembly = assemble(batch, texts=False)
        return lint(assembly, batch.rules, selection=Selection.of(select, ignore))

    return run


@pytest.fixture
def found(check: Callable[..., Report]) -> Callable[..., set[str]]:
    """Return the codes that are found where *tools* stand beside sound ones."""

    def run(*tools: dict[str, Any], select: Sequence[str] = ()) -> set[str]:
        manifest = {"server": "shop", "tools": [*sound(), *tools]}
        return {one.code for one in check({"shop.json": manifest}, select).findings}

    return run
