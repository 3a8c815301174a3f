"""A searcher of the graph of a small shop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.graph.search import GraphSearcher

if TYPE_CHECKING:
    from mcpg.documents.model import ToolDocument


@pytest.fixture(scope="session")
def searcher(shop: dict[str, ToolDocument]) -> GraphSearcher:
    """The searcher, which has nobody to fall back on."""
    return GraphSearcher(shop.values())
