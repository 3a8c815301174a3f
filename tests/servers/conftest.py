"""A folder for catalogs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def save(tmp_path: Path) -> Callable[[str, object], str]:
    """Write a value as JSON, and return the path."""

    def write(name: str, value: object) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(value), "utf-8")
        return str(path)

    return write
