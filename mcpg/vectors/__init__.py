"""Vectors of tools: their texts, their file, and the search of the nearest."""

from __future__ import annotations

SUFFIX = ".vec"
"""What the file of a bundle's vectors is called more than the bundle."""

RECIPE = 2
"""Version of the texts and weights of vectors; vectors of another version are stale."""
