"""Sources: the files, folders and servers from which a catalog is made."""

from __future__ import annotations

from mcpg.sources.model import RawFile, SourceBatch
from mcpg.sources.read import is_failure, read_sources, source_signature

__all__ = ["RawFile", "SourceBatch", "is_failure", "read_sources", "source_signature"]
