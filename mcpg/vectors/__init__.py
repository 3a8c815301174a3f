"""Vectors of tools: what is embedded, how they are kept, and which lie nearest to a query's."""

from __future__ import annotations

SUFFIX = ".vec"
"""What the file of a bundle's vectors is called more than the bundle."""

RECIPE = 2
"""Version of the texts and weights that vectors are made of; those of another are stale."""
