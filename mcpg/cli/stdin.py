"""Standard input as bytes."""

from __future__ import annotations

import sys


def standard_input(limit: int = -1) -> bytes:
    """Read standard input to its end, or at most *limit* bytes; nothing when it is closed."""
    return sys.stdin.buffer.read(limit) if sys.stdin is not None else b""
