"""A SPARQL endpoint to the graph of a small shop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.graph.sparql import Limits, SparqlEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.documents.model import ToolDocument


@pytest.fixture(scope="session")
def endpoint(shop: dict[str, ToolDocument]) -> Iterator[SparqlEndpoint]:
    """The endpoint; a query has time enough."""
    with SparqlEndpoint(list(shop.values()), limits=Limits(seconds=30)) as opened:
        yield opened
