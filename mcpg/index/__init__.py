"""The index: what a search reads instead of documents."""

from __future__ import annotations

from mcpg.index.build import build_index
from mcpg.index.fields import FIELDS
from mcpg.index.model import Index, Postings

__all__ = ["FIELDS", "Index", "Postings", "build_index"]
