"""Near vectors without a look at all of them: a graph in which a search walks from one to the next.

The graph is one of navigable small worlds (Malkov and Yashunin, "Efficient and robust approximate
nearest neighbor search using hierarchical navigable small world graphs", 2016), made by the package
`usearch`. It holds the vectors in 8 bits and serves to choose some; whoever ranks looks at those
exactly.

The package reads a graph without a check of the numbers in it, so that a forged one could make it
read anything. A graph is therefore kept in the user's own cache folder and never beside a bundle,
where it might come from somebody else.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
import threading
import zlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mcpg.errors import OutputError
from mcpg.files import atomic_write
from mcpg.vectors.storage import INT8, stored_as
from mcpg.vectors.texts import RECIPE

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from usearch.index import Index

    from mcpg.vectors.matrix import ToolVectors

SUFFIX = ".near"
FEWEST = 100_000
"""From how many tools on a graph is made; docs/reference/vectors-file.md has the figures."""

_NEIGHBOURS, _TRIED_TO_ADD, _TRIED_TO_FIND = 16, 128, 256
# magic, digest of what the graph was made of, checksum of the graph
_HEADER = struct.Struct("<8s32sI20x")
_MAGIC = b"mcpgnear"


class NearGraph:
    """Finds vectors that are probably the nearest."""

    def __init__(self, index: Index, content: memoryview | None = None) -> None:
        """Search by *index*, which may read from the memory of *content* as long as it lives."""
        self._index = index
        self._content = content
        # The package lets one search at a time use what it calls its first thread.
        self._lock = threading.Lock()

    def near(self, query: NDArray[np.float32], count: int) -> list[int]:
        """Give the numbers of some more than *count* vectors, probably the nearest, each once."""
        codes = stored_as(INT8, query[None]).rows[0]
        with self._lock:
            found = self._index.search(codes, max(2 * count, _TRIED_TO_FIND), threads=1)
        return [int(key) for key in found.keys]

    def pack(self) -> bytes:
        """Give the graph as bytes; equal vectors give equal ones."""
        return bytes(self._index.save() or b"")


def make_graph(vectors: ToolVectors) -> NearGraph:
    """Make the graph of *vectors*, on one thread, so that it comes out the same every time."""
    index = _index(vectors.dimensions)
    numbers = np.flatnonzero(vectors.present)
    index.add(numbers, vectors.stored.kept_as(INT8).rows[numbers], threads=1)
    return NearGraph(index)


def with_graph(vectors: ToolVectors, key: bytes, path: str, *, make: bool = False) -> ToolVectors:
    """Let *vectors* find the nearest by a graph, where they are so many that it pays.

    Args:
        vectors: The vectors.
        key: SHA-256 of the bundle that they were made for.
        path: The file of the graph, in a folder of the user's own.
        make: Whether to make the graph, and keep it, if there is none yet; it takes about as many
            seconds as there are thousands of vectors. Otherwise all vectors are looked at.
    """
    if len(vectors) < FEWEST or _version() is None:
        return vectors
    seal = _seal(vectors, key)
    graph = _read(path, seal, vectors.dimensions)
    if graph is None and make:
        graph = make_graph(vectors)
        _keep(path, seal, graph)
    return vectors if graph is None else vectors.found_by(graph)


def _index(dimensions: int) -> Index:
    from usearch.index import Index  # noqa: PLC0415 - only large catalogues need it

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_NEIGHBOURS,
        expansion_add=_TRIED_TO_ADD,
        expansion_search=_TRIED_TO_FIND,
    )


def _version() -> str | None:
    try:
        return version("usearch")
    except PackageNotFoundError:
        return None


def _seal(vectors: ToolVectors, key: bytes) -> bytes:
    """Give a digest of everything that the graph of *vectors* depends on."""
    numbers = (RECIPE, len(vectors), vectors.missing, _NEIGHBOURS, _TRIED_TO_ADD)
    made_by = f"{_version()} {numbers} {vectors.fingerprint}"
    return hashlib.sha256(key + made_by.encode("utf-8", "replace")).digest()


def _read(path: str, seal: bytes, dimensions: int) -> NearGraph | None:
    """Read the graph at *path*, `None` unless it is whole and is the one with that *seal*."""
    try:
        with Path(path).open("rb") as stream:
            data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    content = data[_HEADER.size :]
    if len(data) < _HEADER.size or data[: _HEADER.size] != _head(seal, content):
        return None
    index = _index(dimensions)
    index.view(content)
    return NearGraph(index, content)


def _keep(path: str, seal: bytes, graph: NearGraph) -> None:
    content = graph.pack()
    try:
        atomic_write(path, _head(seal, content) + content)
    except OutputError:
        return


def _head(seal: bytes, content: bytes | memoryview) -> bytes:
    return _HEADER.pack(_MAGIC, seal, zlib.crc32(content))
