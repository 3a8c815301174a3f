from __future__ import annotations

import pytest
from vectorial import HashProvider


@pytest.fixture
def provider() -> HashProvider:
    """A provider that works."""
    return HashProvider()
