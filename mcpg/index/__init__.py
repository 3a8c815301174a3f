"""The index: what a search reads instead of documents."""

from __future__ import annotations

from mcpg.index.layout import StaleIndexError
from mcpg.index.reader import Index

__all__ = ["Index", "StaleIndexError"]
