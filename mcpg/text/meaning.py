"""Nearness of texts in meaning: a table of vectors of English stems.

The vector of a text is the sum of the vectors of its stems. All are whole numbers, so that every
machine computes the same. `benchmarks/lexicon/meaning.py` trains the table, `english.meaning`:
after its header it has for each stem that the lexicon numbers the place of its vector, and then the
vectors.

Source: Arora, Liang & Ma, "A simple but tough-to-beat baseline for sentence embeddings", ICLR 2017,
for sums of words; Hinton, Vinyals & Dean, "Distilling the knowledge in a neural network", 2015.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from operator import mul
from struct import Struct

from mcpg.errors import os_reason
from mcpg.text import lexicon

DIMENSIONS = 128
"""Numbers of a vector."""

LENGTH = 256
"""Length of the vectors of texts; none of their numbers is beyond ±127."""

_NAME = f"{lexicon.ENGLISH}.meaning"
_MAGIC = b"mcpgmv2\0"
_HEADER = Struct("<8s2I")
_NO_VECTOR = 0xFFFF
_MOST_STEMS = 4_096
# Numbers of a table have four bits, two a byte, and are from -8 on; a sum has 32 bits for each of
# them, which suffice for texts of millions of words.
_LEAST, _PACKED = -8, DIMENSIONS // 2
_MOST = 127
_LANE = 4


class MeaningTable:
    """A mapped table of vectors; `ValueError` is raised for invalid data."""

    def __init__(self, data: memoryview) -> None:
        if len(data) < _HEADER.size:
            raise ValueError("it is shorter than its header")
        magic, stems, rows = _HEADER.unpack_from(data)
        start = _HEADER.size + 2 * stems
        if magic != _MAGIC:
            raise ValueError("it is not a table of meaning of this version")
        if start + _PACKED * rows != len(data):
            raise ValueError("its length is wrong")
        self._places = data[_HEADER.size : start].cast("H")
        self._vectors = data[start:]

    def read_vector(self, stem: int) -> Sequence[int]:
        """Return the vector of the stem with that number, nothing where it has none."""
        place = self._places[stem] if 0 <= stem < len(self._places) else _NO_VECTOR
        packed = self._vectors[_PACKED * place : _PACKED * (place + 1)]
        return [_LEAST + part for pair in packed for part in (pair & 15, pair >> 4)]


@cache
def _table() -> MeaningTable:
    """Map the table; an unusable table counts as empty."""
    try:
        return MeaningTable(lexicon.map_table(_NAME))
    except (OSError, ValueError) as fault:
        lexicon.faults[_NAME] = os_reason(fault)
        return MeaningTable(memoryview(_HEADER.pack(_MAGIC, 0, 0)))


@lru_cache(_MOST_STEMS)
def _pack_stem(stem: str) -> int:
    """Return the vector of a *stem* in the lanes of one number, 0 where it has none."""
    vector = _table().read_vector(lexicon.find_stem_number(stem))
    lanes = array("I", [one - _LEAST for one in vector])
    return int.from_bytes(lanes.tobytes(), sys.byteorder)


def sum_vectors(weighed: Iterable[tuple[str, int]]) -> list[int]:
    """Return the sum of the vectors of stems, each times what it weighs, at least 1.

    It is empty where no stem has a vector.
    """
    total = weight = 0
    # One addition of large numbers adds whole vectors.
    for stem, times in weighed:
        if lanes := _pack_stem(stem):
            total += times * lanes
            weight += times
    packed = total.to_bytes(_LANE * DIMENSIONS, sys.byteorder) if weight else b""
    middle = -_LEAST * weight
    return [one - middle for one in memoryview(packed).cast("I")]


def measure_length(vector: Sequence[int]) -> float:
    """Return the length of a *vector*."""
    length: float = sum(map(mul, vector, vector)) ** 0.5
    return length


def compose_vector(weighed: Iterable[tuple[str, int]]) -> list[int]:
    """Return the vector of a text, of `LENGTH`, by what its stems weigh; empty as the sum is."""
    sums = sum_vectors(weighed)
    length = measure_length(sums)
    if not length:
        return []
    scale = LENGTH / length
    return [max(-_MOST, min(_MOST, round(scale * one))) for one in sums]
