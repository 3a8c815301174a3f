"""The vectors of a catalog's tools, and the cosines of a query's vector with them.

Rows are stored in 32, 16 or 8 bits. A product over fewer than 32 bits widens a part of the rows at
a time, so that a hundred thousand vectors need no second copy.

In large catalogs, near vectors are found without comparing all of them: vectors are put into
clusters by the package `faiss`, and a search compares the clusters whose centers are nearest to the
query (Sivic and Zisserman, "Video Google: a text retrieval approach to object matching in videos",
2003; Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", 2011). The
ranking compares the chosen vectors exactly. `faiss` trusts the numbers in its files too much for
foreign files, so clusters are kept in the user's own cache folder and never beside a bundle.
"""

from __future__ import annotations

import hashlib
import struct
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from math import isqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mcpg.errors import OutputError
from mcpg.files import atomic_write, is_file
from mcpg.values import SHOWN_DECIMALS
from mcpg.vectors import RECIPE

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.intp]

FLOAT32, FLOAT16, INT8 = "float32", "float16", "int8"
KINDS = (FLOAT32, FLOAT16, INT8)
"""How a number may be kept."""

_LARGEST_CODE = 127
_HALF_BITS, _HALF_BIAS = np.int32(~0x70000000), np.float32(2.0**112)
_WIDENED_AT_ONCE = 1 << 20
"""How many numbers are widened at a time: four megabytes, which fit a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedMatrix:
    """A matrix with one vector of length 1 in each row, kept in few bits.

    Each row is multiplied with its scale; unscaled rows have none.
    """

    rows: Floats | NDArray[np.float16] | NDArray[np.int8]
    scales: Floats | None = None

    @property
    def kind(self) -> str:
        return self.rows.dtype.name

    @property
    def dimensions(self) -> int:
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def cosines(self, query: Floats, numbers: Numbers | None = None) -> Floats:
        """Return the products of *query* with all rows, or with the rows *numbers*, in order.

        The result for a row is the same whichever other rows are selected.
        """
        rows = self.rows if numbers is None else self.rows[numbers]
        products = np.empty(len(rows), dtype=np.float32)
        # A file may contain numbers that are not finite; the result is returned without warnings.
        with np.errstate(invalid="ignore", over="ignore"):
            for part in _parts(len(rows), self.dimensions):
                wide = _widen(rows[part])
                # A product of matrices rounds a row by how many there are; `einsum` does not.
                is_whole = numbers is None
                products[part] = wide @ query if is_whole else np.einsum("ij,j->i", wide, query)
            if self.scales is not None:
                products *= self.scales if numbers is None else self.scales[numbers]
        return products

    def row(self, number: int) -> Floats:
        row: Floats = self.rows[number].astype(np.float32)
        if self.scales is not None:
            row *= self.scales[number]
        return row

    def to_float32(self) -> Floats:
        rows: Floats = self.rows.astype(np.float32, copy=False)
        return rows if self.scales is None else rows * self.scales[:, None]

    def convert(self, kind: str) -> QuantizedMatrix:
        return self if kind == self.kind else quantize(kind, self.to_float32())


def quantize(kind: str, rows: Floats) -> QuantizedMatrix:
    """Keep *rows*, each of length 1 or zero, in another way, which loses nothing the second time.

    The *kind* is `float32`; `float16`, which halves the size; or `int8`, which quarters it: each
    row is divided by its largest number, rounded to one of 255 steps, and scaled back to length 1.
    For others, `ValueError` is raised.
    """
    if kind not in KINDS:
        raise ValueError(f"numbers are kept as {', '.join(KINDS)}, not as {kind!r}")
    if kind != INT8:
        return QuantizedMatrix(rows.astype(kind, copy=False))
    codes = np.empty(rows.shape, dtype=np.int8)
    scales = np.zeros(len(rows), dtype=np.float32)
    for part in _parts(*rows.shape):
        largest = np.abs(rows[part]).max(axis=1, keepdims=True, initial=0.0)
        steps = np.divide(_LARGEST_CODE, largest, where=largest > 0, out=np.zeros_like(largest))
        codes[part] = np.rint(rows[part] * steps)
        lengths = np.linalg.norm(codes[part].astype(np.float32), axis=1)
        np.divide(1.0, lengths, where=lengths > 0, out=scales[part])
    return QuantizedMatrix(codes, scales)


def _widen(rows: NDArray[Any]) -> Floats:
    """Return *rows* in 32 bits.

    Half floats are widened as by Giesen ("Half to float done quic", 2012): their bits are shifted
    to the places of a float, and the exponent's other bias is multiplied away. That is exact, takes
    a quarter of the time of a cast, and makes large numbers of infinities.
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


NO_VECTOR = -1.0
"""The cosine of a tool that has no vector."""

# Picking rows out takes so many times as long as going through all of them.
_WORTH_PICKING = 8


class ToolVectors:
    """One vector for each tool of a catalog, by the tool's number in the index.

    Attributes:
        dimensions: How long each vector is; 0 without any.
        missing: How many tools have no vector.
    """

    def __init__(
        self,
        stored: QuantizedMatrix,
        present: NDArray[np.bool_],
        fingerprint: str,
        neighbours: VectorClusters | None = None,
    ) -> None:
        """Keep one row of *stored* for each tool; `ValueError` is raised for another number.

        *present* is for each tool whether it has a vector; *neighbours* finds rows that are
        probably near, and without it all are compared.
        """
        if len(stored) != len(present):
            raise ValueError(f"{len(stored)} vectors for {len(present)} tools")
        self.stored = stored
        self.present = present
        self.fingerprint = fingerprint
        self.dimensions = stored.dimensions
        self.missing = len(present) - int(np.count_nonzero(present))
        self._neighbours = neighbours

    @classmethod
    def from_rows(cls, vectors: Sequence[Floats | None], fingerprint: str) -> ToolVectors:
        """Keep *vectors*, `None` for tools that have none; `ValueError` if not equally long."""
        present = np.array([vector is not None for vector in vectors], dtype=np.bool_)
        lengths = {len(vector) for vector in vectors if vector is not None}
        if len(lengths) > 1:
            raise ValueError(f"vectors of {', '.join(map(str, sorted(lengths)))} dimensions")
        rows = np.zeros((len(vectors), lengths.pop() if lengths else 0), dtype=np.float32)
        for number, vector in enumerate(vectors):
            if vector is not None:
                rows[number] = vector
        return cls(QuantizedMatrix(rows), present, fingerprint)

    @property
    def identity(self) -> str:
        """The provider of the vectors, and how they are stored and searched.

        Of the same documents, vectors without a gap that have equal ones answer alike.
        """
        how = "approximate" if self._neighbours else "exact"
        return f"{self.fingerprint} {self.stored.kind} {how}"

    def convert(self, kind: str) -> ToolVectors:
        """Return the same vectors with their numbers kept as *kind*; see `quantize`."""
        stored = self.stored.convert(kind)
        return ToolVectors(stored, self.present, self.fingerprint, self._neighbours)

    def with_neighbours(self, neighbours: VectorClusters) -> ToolVectors:
        return ToolVectors(self.stored, self.present, self.fingerprint, neighbours)

    def __len__(self) -> int:
        return len(self.present)

    def cosines(self, query: Floats) -> Floats:
        """Return the cosine of *query* with the vector of every tool, by the tool's number.

        They are rounded to six decimals, so that a platform's floating point reorders nothing;
        tools without a vector have -1.0.
        """
        return self._products(query)

    def chosen_cosines(self, query: Floats, tools: Iterable[int]) -> Floats:
        """Return the cosines of some *tools*, by number, in their order; as `cosines` does."""
        return self._products(query, np.fromiter(tools, dtype=np.intp))

    def nearest(
        self, query: Floats, count: int, without: frozenset[int] = frozenset()
    ) -> list[tuple[int, float]]:
        """Return number and cosine of the *count* tools nearest to *query*, the nearest first.

        The query has length 1. Tools with equal cosines are in order of number. Tools without a
        vector and tools in *without* are left out.
        """
        self._check(query)
        eligible = self.present.copy()
        eligible[list(without)] = False
        # Where most are passed over, the nearest of the others are not among the nearest of all.
        if self._neighbours is not None and count + 2 * len(without) < len(self):
            near = np.array(self._neighbours.near(query, count + len(without)), dtype=np.intp)
            numbers = np.sort(near[eligible[near]])
            if len(numbers) >= count:
                return _best(numbers, self.chosen_cosines(query, numbers), count)
        numbers = np.flatnonzero(eligible)
        is_few = _WORTH_PICKING * len(numbers) < len(self)
        cosines = self.chosen_cosines(query, numbers) if is_few else self.cosines(query)[numbers]
        return _best(numbers, cosines, count)

    def vector(self, tool: int) -> Floats | None:
        """Return a copy of a tool's vector, as precisely as it is kept; `None` if it has none."""
        return self.stored.row(tool) if self.present[tool] else None

    def _check(self, query: Floats) -> None:
        if self.dimensions and query.shape != (self.dimensions,):
            raise ValueError(f"a query of shape {query.shape} for {self.dimensions} dimensions")

    def _products(self, query: Floats, numbers: Numbers | None = None) -> Floats:
        self._check(query)
        present = self.present if numbers is None else self.present[numbers]
        if not self.dimensions:
            return np.full(len(present), NO_VECTOR, dtype=np.float32)
        products = self.stored.cosines(query, numbers)
        rounded = np.round(np.clip(products, -1.0, 1.0), SHOWN_DECIMALS)
        return np.where(present & ~np.isnan(rounded), rounded, np.float32(NO_VECTOR))


def _best(numbers: Numbers, cosines: Floats, count: int) -> list[tuple[int, float]]:
    if count < 1:
        return []
    if count < len(numbers):
        least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
        kept = cosines >= least
        numbers, cosines = numbers[kept], cosines[kept]
    order = np.argsort(-cosines, kind="stable")[:count]
    found = zip(numbers[order].tolist(), cosines[order].tolist(), strict=True)
    return [(number, round(cosine, SHOWN_DECIMALS)) for number, cosine in found]


SUFFIX = ".near"
FEWEST = 100_000
"""The number of tools from which clusters are made; docs/reference/vectors-file.md has the figures.
"""

_CLUSTERS = 4
"""How many clusters there are for each unit of the square root of the number of vectors."""

_FOR_A_CENTRE = 40
"""From how many vectors for each cluster its centre is learned; more change little."""

_LOOKED_INTO = 64
_FEWEST_CHOSEN = 256
# magic, digest of the source, checksum of the content
_HEADER = struct.Struct("<8s32sI")
_MAGIC = b"mcpgnear"


class VectorClusters:
    """Finds vectors that are probably the nearest."""

    def __init__(self, index: Any) -> None:
        self._index = index
        index.nprobe = _LOOKED_INTO

    def near(self, query: Floats, count: int) -> list[int]:
        """Return the numbers of more than *count* vectors, probably the nearest, each once.

        There are fewer if the searched clusters have fewer.
        """
        wanted = max(2 * count, _FEWEST_CHOSEN)
        _, found = self._index.search(query[None], wanted)
        return [number for number in found[0].tolist() if number >= 0]

    def pack(self) -> bytes:
        return bytes(_faiss().serialize_index(self._index))


def make_clusters(vectors: ToolVectors) -> VectorClusters:
    """Put *vectors* into clusters, on one thread, so that they come out the same every time."""
    faiss = _faiss()
    numbers = np.flatnonzero(vectors.present)
    rows = vectors.stored.to_float32()[numbers]
    count = max(1, min(_CLUSTERS * isqrt(len(rows)), len(rows) // _FOR_A_CENTRE))
    index = faiss.index_factory(vectors.dimensions, f"IVF{count},SQ8", faiss.METRIC_INNER_PRODUCT)
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        index.train(rows[:: max(1, len(rows) // (_FOR_A_CENTRE * count))])
        index.add_with_ids(rows, numbers)
    finally:
        faiss.omp_set_num_threads(threads)
    return VectorClusters(index)


def with_clusters(
    vectors: ToolVectors, key: bytes, path: str, *, make: bool = False
) -> ToolVectors:
    """Let *vectors* find the nearest by clusters, if there are enough of them.

    *path* is the file of the clusters, in a folder of the user's own, and *key* the SHA-256 of the
    bundle. With *make*, missing clusters are made and stored, which for 100,000 vectors takes some
    20 seconds; otherwise all vectors are compared then.
    """
    if len(vectors) < FEWEST or not vectors.dimensions or not _is_usable():
        return vectors
    numbers = (RECIPE, len(vectors), vectors.missing, _CLUSTERS, _FOR_A_CENTRE)
    made_by = f"{_faiss().__version__} {numbers} {vectors.fingerprint}"
    seal = hashlib.sha256(key + made_by.encode("utf-8", "replace")).digest()
    clusters = _read_clusters(path, seal)
    if clusters is None and make:
        clusters = make_clusters(vectors)
        content = clusters.pack()
        header = _HEADER.pack(_MAGIC, seal, zlib.crc32(content))
        with suppress(OutputError):
            atomic_write(path, header + content, special=False)
    return vectors if clusters is None else vectors.with_neighbours(clusters)


def _is_usable() -> bool:
    """Return whether the package can be loaded."""
    try:
        return find_spec("faiss") is not None and _faiss() is not None
    except Exception:  # noqa: BLE001 - a package that does not fit the others may raise anything
        return False


def _faiss() -> Any:
    with warnings.catch_warnings():
        # Its bindings use deprecated features, which cannot be changed here.
        warnings.simplefilter("ignore", DeprecationWarning)
        import faiss  # noqa: PLC0415 - only large catalogs need it

    return faiss


def _read_clusters(path: str, seal: bytes) -> VectorClusters | None:
    try:
        data = Path(path).read_bytes() if is_file(path) else b""
    except OSError:
        return None
    content = memoryview(data)[_HEADER.size :]
    if data[: _HEADER.size] != _HEADER.pack(_MAGIC, seal, zlib.crc32(content)):
        return None
    return VectorClusters(_faiss().deserialize_index(np.frombuffer(content, dtype=np.uint8)))
