from __future__ import annotations

import pytest
from builders import make_tool

from mcpg.documents.markdown import collect_targets

TOOLS = (
    make_tool("order_get", title="Order viewer"),
    make_tool("acme_ping", source_id="acme"),
    make_tool("twin_a", title="Twin"),
    make_tool("twin_b", title="Twin"),
)
ADDRESSES = {
    tool.id: (f"tools/{tool.source_id}/{tool.id}.md", f"https://x.org/{tool.id}/") for tool in TOOLS
}
TARGETS = collect_targets(TOOLS, ADDRESSES)


@pytest.mark.parametrize(
    "target",
    [
        "https://x.org/order_get/",
        "https://x.org/order_get",
        "order_get",
        " ORDER_GET ",
        "commerce::order_get",
        "tools/commerce/order_get.md",
        "Tools\\Commerce\\order_get.md",
        "/tools/commerce/order_get",
        "../commerce/order_get.md",
        "order viewer",
    ],
)
def test_every_name_of_a_document_reaches_it(target: str) -> None:
    """URI, tool id, `source::name`, path from the top or from the document, and label all do."""
    assert TARGETS.resolve(target, "tools/acme/acme_ping.md") == "https://x.org/order_get/"


def test_path_beside_the_document() -> None:
    """A file name alone means the file in the same folder."""
    assert TARGETS.resolve("twin_b.md", "tools/commerce/x.md") == "https://x.org/twin_b/"


@pytest.mark.parametrize(
    "target",
    ["Twin", "nobody", "https://x.org/none/", "../../..", "/../tools/commerce/order_get.md", ""],
)
def test_ambiguous_and_unknown_names_reach_nothing(target: str) -> None:
    """A label that two documents bear means neither, and so does one that nobody bears."""
    assert TARGETS.resolve(target, "tools/acme/acme_ping.md") is None
