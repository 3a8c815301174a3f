"""Standard input as bytes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from io import BufferedReader

_CHUNK = 1024 * 1024


def standard_input(limit: int) -> bytes:
    """Read standard input to its end, or at most *limit* bytes; nothing when it is closed."""
    if sys.stdin is None:
        return b""
    stream = cast("BufferedReader", sys.stdin.buffer)
    chunks: list[bytes] = []
    left = limit
    # In pieces, between which Ctrl-C is heard: one long read may sleep through it.
    while left and (chunk := stream.read1(min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)
