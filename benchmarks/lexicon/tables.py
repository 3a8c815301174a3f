"""Write word tables in the format of `mcpg/text/lexicon.py`, the same bytes for the same words."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path

from translation import Table

MAGIC = b"mcpgwt1\0"
STEPS_PER_ZIPF = 25


def write(path: Path, zipfs: Mapping[str, float], rows: Table, numbers: Mapping[str, int]) -> None:
    """Write a table of the words of *zipfs* with their *rows* of numbered stems."""
    words = sorted(zipfs, key=str.encode)
    starts, ends = array("I", [0]), array("I", [0])
    targets, strengths = array("H"), bytearray()
    for word in words:
        starts.append(starts[-1] + len(word.encode()))
        row = sorted(rows.get(word, {}).items(), key=lambda one: (-one[1], one[0]))
        targets.extend(numbers[one] for one, _ in row)
        strengths += bytes(max(1, min(255, round(255 * strength))) for _, strength in row)
        ends.append(len(targets))
    frequencies = bytes(min(255, max(0, round(STEPS_PER_ZIPF * zipfs[word]))) for word in words)
    header = struct.pack("<8s4I", MAGIC, len(words), len(targets), starts[-1], 0)
    padding = bytes(-2 * len(targets) % 4)
    numeric = [_little(part) for part in (starts, ends, targets)]
    path.write_bytes(
        b"".join((header, *numeric, padding, frequencies, strengths, "".join(words).encode()))
    )


def _little(part: array[int]) -> bytes:
    if sys.byteorder == "big":
        part.byteswap()
    return part.tobytes()
