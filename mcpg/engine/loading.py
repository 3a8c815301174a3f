"""Loading: from paths to an engine."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING

from mcpg.bundle import assemble
from mcpg.catalog.sources import present_sources, read_sources
from mcpg.engine.defaults import default_model, recipe
from mcpg.engine.engine import Engine
from mcpg.engine.model import flatten
from mcpg.index.compile import NO_KEY, compile_index
from mcpg.index.reader import Index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.bundle import Assembly


def load(
    path: str | PathLike[str] | Iterable[str | PathLike[str]], *, source_id: str | None = None
) -> Engine:
    """Make an engine from a bundle, a folder of sources, a manifest or a document.

    Args:
        path: What to load, or several such paths to load together; of several, one that does
            not exist is left out with a diagnostic as long as another does.
        source_id: Source of the tools that do not say theirs, instead of the file's name.

    Raises:
        McpgError: There is nothing at *path*, or it cannot be used.
    """
    paths = [path] if isinstance(path, str | PathLike) else list(path)
    present, missing = present_sources([fspath(one) for one in paths])
    assembly = assemble(read_sources(present, source_id=source_id), source_id=source_id)
    return Engine(Index(compile_assembly(assembly)), (*missing, *assembly.diagnostics))


def compile_assembly(assembly: Assembly, key: bytes = NO_KEY) -> bytes:
    """Compile the index of assembled documents with the shipped model."""
    return compile_index(
        assembly.documents, key=key, recipe=recipe(), model=flatten(default_model())
    )
