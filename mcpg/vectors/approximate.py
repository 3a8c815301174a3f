"""Near vectors without a look at all of them: an inverted file over clusters of vectors.

The vectors are put into clusters, and a search looks into those whose centres lie nearest to the
query (Sivic and Zisserman, "Video Google: a text retrieval approach to object matching in videos",
2003; Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", 2011), by the
package `faiss`. Its vectors take 8 bits a number and serve to choose some; whoever ranks looks at
those exactly.

A package that reads a file of its own trusts the numbers in it more than is wise with the files of
strangers. The clusters are therefore kept in the user's own cache folder and never beside a bundle,
where they might come from somebody else.
"""

from __future__ import annotations

import hashlib
import struct
import warnings
import zlib
from contextlib import contextmanager
from importlib.util import find_spec
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcpg.errors import OutputError
from mcpg.files import atomic_write
from mcpg.vectors.texts import RECIPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mcpg.vectors.matrix import ToolVectors

SUFFIX = ".near"
FEWEST = 100_000
"""From how many tools on clusters are made; docs/reference/vectors-file.md has the figures."""

_CLUSTERS = 4
"""How many clusters there are for each unit of the square root of the number of vectors."""

_FOR_A_CENTRE = 40
"""From how many vectors for each cluster its centre is learned; more change little."""

_LOOKED_INTO = 64
_FEWEST_CHOSEN = 256
# magic, digest of what the clusters were made of, checksum of the content
_HEADER = struct.Struct("<8s32sI")
_MAGIC = b"mcpgnear"


class Clusters:
    """Finds vectors that are probably the nearest."""

    def __init__(self, index: Any) -> None:
        self._index = index
        index.nprobe = _LOOKED_INTO

    def near(self, query: NDArray[np.float32], count: int) -> list[int]:
        """Give the numbers of more than *count* vectors, probably the nearest, each once.

        There are fewer where the clusters that were looked into hold fewer.
        """
        wanted = max(2 * count, _FEWEST_CHOSEN)
        _, found = self._index.search(query[None], wanted)
        return [number for number in found[0].tolist() if number >= 0]

    def pack(self) -> bytes:
        """Give the clusters as bytes; equal vectors give equal ones on one kind of machine."""
        return bytes(_faiss().serialize_index(self._index))


def make_clusters(vectors: ToolVectors) -> Clusters:
    """Put *vectors* into clusters, on one thread, so that they come out the same every time."""
    faiss = _faiss()
    numbers = np.flatnonzero(vectors.present)
    rows = vectors.stored.widened()[numbers]
    count = max(1, min(_CLUSTERS * isqrt(len(rows)), len(rows) // _FOR_A_CENTRE))
    index = faiss.index_factory(vectors.dimensions, f"IVF{count},SQ8", faiss.METRIC_INNER_PRODUCT)
    with _one_thread(faiss):
        index.train(rows[:: max(1, len(rows) // (_FOR_A_CENTRE * count))])
        index.add_with_ids(rows, numbers)
    return Clusters(index)


def with_clusters(
    vectors: ToolVectors, key: bytes, path: str, *, make: bool = False
) -> ToolVectors:
    """Let *vectors* find the nearest by clusters, where they are so many that it pays.

    Args:
        vectors: The vectors.
        key: SHA-256 of the bundle that they were made for.
        path: The file of the clusters, in a folder of the user's own.
        make: Whether to make the clusters, and keep them, if there are none yet; for 100,000
            vectors that takes some 20 seconds. Otherwise all vectors are looked at then.
    """
    if len(vectors) < FEWEST or not vectors.dimensions or not _is_usable():
        return vectors
    seal = _seal(vectors, key)
    clusters = _read(path, seal)
    if clusters is None and make:
        clusters = make_clusters(vectors)
        _keep(path, seal, clusters)
    return vectors if clusters is None else vectors.found_by(clusters)


def _is_usable() -> bool:
    """Return whether the package is there and can be loaded: one that cannot is as good as none."""
    if find_spec("faiss") is None:
        return False
    try:
        _faiss()
    except Exception:  # noqa: BLE001 - a package that does not fit the others may raise anything
        return False
    return True


def _faiss() -> Any:
    with warnings.catch_warnings():
        # What its generator of bindings does is deprecated, and nobody here can change it.
        warnings.simplefilter("ignore", DeprecationWarning)
        import faiss  # noqa: PLC0415 - only large catalogues need it

    return faiss


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def _seal(vectors: ToolVectors, key: bytes) -> bytes:
    """Give a digest of everything that the clusters of *vectors* depend on."""
    numbers = (RECIPE, len(vectors), vectors.missing, _CLUSTERS, _FOR_A_CENTRE)
    made_by = f"{_faiss().__version__} {numbers} {vectors.fingerprint}"
    return hashlib.sha256(key + made_by.encode("utf-8", "replace")).digest()


def _read(path: str, seal: bytes) -> Clusters | None:
    """Read the clusters at *path*, `None` unless they are whole and have that *seal*."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        return None
    content = memoryview(data)[_HEADER.size :]
    if data[: _HEADER.size] != _head(seal, content):
        return None
    return Clusters(_faiss().deserialize_index(np.frombuffer(content, dtype=np.uint8)))


def _keep(path: str, seal: bytes, clusters: Clusters) -> None:
    content = clusters.pack()
    try:
        atomic_write(path, _head(seal, content) + content)
    except OutputError:
        return


def _head(seal: bytes, content: bytes | memoryview) -> bytes:
    return _HEADER.pack(_MAGIC, seal, zlib.crc32(content))
