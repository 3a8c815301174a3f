"""`mcpg show` reads one record of an index, and prints what reading the whole bundle gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import make_tool

import mcpg
from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import SourceDocument
from mcpg.index.reader import Index
from mcpg.sources import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

    from mcpg.documents.model import ToolDocument

TOOLS = (
    make_tool("Get Order", source_id="Shop", description="Get an order.", categories=("orders",)),
    make_tool("order_cancel", source_id="Shop", description="Cancel an order by its number."),
    make_tool("order_list", source_id="Shop", description="List orders.", read_only=True),
    make_tool("status", source_id="shop-eu", description="Tell where an order is."),
    make_tool("status", source_id="disk", description="Tell how much room a disk has."),
    make_tool("xqzv", source_id="alone", description="Blorptik.", enabled_by_default=False),
)
PAGE = SourceDocument("a-page.md", "---\ntitle: Orders\n---\nHow orders work.\n")

NAMES = [
    "get_order",
    "GET_Order",
    " order_cancel ",
    "order_list",
    "shop::get order",
    "Get Order",
    "shop_eu_status",
    "disk_status",
    "xqzv",
    "order_*",
    "xq*",
    "status",
    "order_cancle",
    "zebra",
    "",
]


@pytest.fixture
def bundle(folder: Path) -> Path:
    """A bundle with a fresh index: namesakes, a tool alone on its server, a page."""
    path = folder / "graph.mdld"
    write_bundle(path, build_bundle(assemble(SourceBatch(tools=TOOLS, documents=(PAGE,)))))
    mcpg.load(path)
    return path


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
@pytest.mark.parametrize("name", NAMES)
def test_an_index_shows_what_its_bundle_shows(
    name: str, form: str, bundle: Path, run: Callable[..., Run]
) -> None:
    """With an index or without one, a name gives the same output, errors and exit code."""
    indexed = run("show", name, "--format", form)
    bundle.with_name("graph.mdld.idx").unlink()
    assert run("show", name, "--format", form) == indexed


@pytest.mark.parametrize("name", ["get_order", "GET_ORDER", "shop::get order", "get_*"])
@pytest.mark.usefixtures("bundle")
def test_one_record_is_read(
    name: str, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a tool with edges is named, no other record of the index is read."""
    read: list[int] = []
    record = Index.record

    def counted(index: Index, tool: int) -> ToolDocument:
        read.append(tool)
        return record(index, tool)

    monkeypatch.setattr(Index, "record", counted)
    assert run("show", name).code == 0
    assert len(read) == 1


def test_a_damaged_record_is_read_from_the_bundle(bundle: Path, run: Callable[..., Run]) -> None:
    """Where a record of the index is damaged, the bundle is shown in its place."""
    shown = run("show", "get_order")
    index = bundle.with_name("graph.mdld.idx")
    data = bytearray(index.read_bytes())
    opened = Index(bytes(data))
    record = bytes(opened.rows("records")[opened.find_tool("get_order")])
    data[data.index(record) + len(record) // 2] ^= 0xFF
    index.write_bytes(data)
    assert run("show", "get_order") == shown
