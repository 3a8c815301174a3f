"""A door to the graph of a small shop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcpg.graph.sparql import Door, Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.documents import ToolDocument


@pytest.fixture(scope="session")
def door(shop: dict[str, ToolDocument]) -> Iterator[Door]:
    """The door; a query has time enough."""
    with Door(list(shop.values()), limits=Limits(seconds=30)) as opened:
        yield opened
