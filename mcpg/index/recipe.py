"""The number by which an index file tells how it was made."""

from __future__ import annotations

import zlib

from mcpg import __version__

RULES = 3695811344
"""Checksum of the modules and tables that decide what an index holds of given documents.

To read them takes longer than a search, so the number stands here. `tests/index/test_rules.py`
names them, compares it, and renews it.
"""


def hash_recipe(recipe: bytes) -> int:
    """Return the number of an index made by this version, its `RULES`, and from *recipe*."""
    return zlib.crc32(recipe, zlib.crc32(b"%s %d" % (__version__.encode(), RULES)))
