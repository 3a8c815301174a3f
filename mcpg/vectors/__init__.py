"""Vectors of tools: what is embedded, how they are kept, and which lie nearest to a query's."""

from __future__ import annotations

SUFFIX = ".vec"
"""What the file of a bundle's vectors is called more than the bundle."""
