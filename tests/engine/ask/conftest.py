"""What tests of questions share: an engine over the tools of made-up servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from asked import tools
from builders import make_engine

if TYPE_CHECKING:
    from mcpg.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Return an engine over the tools of the labelled questions."""
    return make_engine(*tools())
