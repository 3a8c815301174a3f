"""Rows of numbers kept in 32, 16 or 8 bits, and their products with a query.

A product over rows that are kept in fewer than 32 bits widens a part of them at a time: a hundred
thousand vectors need no second copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

FLOAT32, FLOAT16, INT8 = "float32", "float16", "int8"
KINDS = (FLOAT32, FLOAT16, INT8)
"""How a number may be kept."""

_LARGEST_CODE = 127
_HALF_BITS, _HALF_BIAS = np.int32(~0x70000000), np.float32(2.0**112)
_WIDENED_AT_ONCE = 1 << 20
"""How many numbers are widened at a time: four megabytes, which a processor's cache can hold."""


class Stored:
    """A matrix with one vector of length 1 in each row, kept in few bits.

    Attributes:
        rows: The rows, as they are kept.
        scales: What each row is to be multiplied with; `None` where they are kept as they are.
    """

    __slots__ = ("rows", "scales")

    def __init__(
        self,
        rows: NDArray[np.float32] | NDArray[np.float16] | NDArray[np.int8],
        scales: NDArray[np.float32] | None = None,
    ) -> None:
        self.rows = rows
        self.scales = scales

    @property
    def kind(self) -> str:
        """How a number is kept: one of `KINDS`."""
        return self.rows.dtype.name

    @property
    def dimensions(self) -> int:
        """How long a row is."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def cosines(
        self, query: NDArray[np.float32], numbers: NDArray[np.intp] | None = None
    ) -> NDArray[np.float32]:
        """Return the products of *query* with all rows, or with those of some *numbers*, in order.

        That of one of some does not depend on which the others are.
        """
        rows = self.rows if numbers is None else self.rows[numbers]
        products = np.empty(len(rows), dtype=np.float32)
        # A file may say that a number is none; whoever asked gets an answer all the same.
        with np.errstate(invalid="ignore", over="ignore"):
            for part in _parts(len(rows), self.dimensions):
                products[part] = _products(_wide(rows[part]), query, is_whole=numbers is None)
            if self.scales is not None:
                products *= self.scales if numbers is None else self.scales[numbers]
        return products

    def row(self, number: int) -> NDArray[np.float32]:
        """Give a copy of one row, widened."""
        row: NDArray[np.float32] = self.rows[number].astype(np.float32)
        if self.scales is not None:
            row *= self.scales[number]
        return row

    def widened(self) -> NDArray[np.float32]:
        """Give all rows in 32 bits."""
        rows: NDArray[np.float32] = self.rows.astype(np.float32, copy=False)
        return rows if self.scales is None else rows * self.scales[:, None]

    def kept_as(self, kind: str) -> Stored:
        """Give the same rows kept in the way *kind*; see `stored_as`."""
        return self if kind == self.kind else stored_as(kind, self.widened())


def stored_as(kind: str, rows: NDArray[np.float32]) -> Stored:
    """Keep *rows* in another way.

    Rows that were kept that way once come out as they were, to the bit.

    Args:
        kind: `float32`; `float16`, which halves the size; or `int8`, which quarters it: each row is
            divided by its largest number, rounded to one of 255 steps, and scaled back to length 1.
        rows: The rows, each of length 1, or zero where there is none.

    Raises:
        ValueError: There is no such *kind*.
    """
    if kind not in KINDS:
        raise ValueError(f"numbers are kept as {', '.join(KINDS)}, not as {kind!r}")
    if kind != INT8:
        return Stored(rows.astype(kind, copy=False))
    codes = np.empty(rows.shape, dtype=np.int8)
    scales = np.zeros(len(rows), dtype=np.float32)
    for part in _parts(*rows.shape):
        largest = np.abs(rows[part]).max(axis=1, keepdims=True, initial=0.0)
        steps = np.divide(_LARGEST_CODE, largest, where=largest > 0, out=np.zeros_like(largest))
        codes[part] = np.rint(rows[part] * steps)
        lengths = np.linalg.norm(codes[part].astype(np.float32), axis=1)
        np.divide(1.0, lengths, where=lengths > 0, out=scales[part])
    return Stored(codes, scales)


def _products(
    rows: NDArray[np.float32], query: NDArray[np.float32], *, is_whole: bool
) -> NDArray[np.float32]:
    """Return the products of *query* with *rows*.

    A product of matrices rounds a row in one way or another, depending on how many there are.
    """
    return np.asarray(rows @ query if is_whole else np.einsum("ij,j->i", rows, query))


def _wide(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Give *rows* in 32 bits.

    Half floats go the way of Giesen ("Half to float done quic", 2012): their bits are shifted to
    where those of a float stand, and the exponent's other bias is multiplied away. That is exact,
    takes a quarter of the time of a cast, and makes large numbers of infinities.
    """
    if rows.dtype != np.float16:
        return rows.astype(np.float32, copy=False)
    bits = rows.view(np.int16).astype(np.int32)
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _HALF_BITS, out=bits)
    wide = bits.view(np.float32)
    np.multiply(wide, _HALF_BIAS, out=wide)
    return wide


def _parts(count: int, dimensions: int) -> Iterator[slice]:
    size = max(1, _WIDENED_AT_ONCE // max(1, dimensions))
    return (slice(start, start + size) for start in range(0, count, size))
