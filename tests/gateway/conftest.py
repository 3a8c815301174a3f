"""What the tests of the gateway share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.gateway import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def anyio_backend() -> str:
    """Run what is asynchronous under the event loop of the standard library."""
    return "asyncio"


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., FileSource]:
    """Return a function that writes a manifest of tools and gives it as a source."""

    def write(source_id: str, **tools: str) -> FileSource:
        entries: list[dict[str, Any]] = [
            {"name": name, "description": text, "inputSchema": {"type": "object"}}
            for name, text in tools.items()
        ]
        path = tmp_path / f"{source_id}.json"
        path.write_text(json.dumps({"tools": entries}))
        return FileSource(source_id, str(path))

    return write
