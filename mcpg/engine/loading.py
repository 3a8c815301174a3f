"""Loading: from a path to an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.bundle import assemble
from mcpg.catalog.sources import read_sources
from mcpg.engine.engine import Engine

if TYPE_CHECKING:
    from os import PathLike


def load(path: str | PathLike[str], *, source_id: str | None = None) -> Engine:
    """Make an engine from a bundle, a folder of sources, a manifest or a document.

    Args:
        path: What to load.
        source_id: Source of the tools that do not say theirs, instead of the file's name.

    Raises:
        McpgError: There is nothing at *path*, or it cannot be used.
    """
    assembly = assemble(read_sources([path], source_id=source_id), source_id=source_id)
    return Engine(assembly.documents, assembly.catalog, assembly.diagnostics)
