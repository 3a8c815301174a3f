"""The file of vectors beside a bundle: `graph.mdld` has `graph.mdld.vec`.

    header   magic, versions, type of numbers, counts, key of the source, checksums
    body     the provider's fingerprint, the hash of each tool's text, scales, rows; each part
             begins at a multiple of 64 bytes

Tools are in order of their ids, so their numbers are the index's. All numbers are little-endian,
and equal vectors give equal bytes on every machine. Files are untrusted and checked, and never
executed or unpickled. A file that fits a bundle is mapped into memory; missing vectors are made.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcpg.documents.model import ToolDocument
from mcpg.embeddings.provider import EmbeddingProvider, EmbeddingStore
from mcpg.errors import Code, Diagnostic, OutputError, info, warning
from mcpg.files import atomic_write
from mcpg.vectors import RECIPE
from mcpg.vectors.build import BuiltVectors, PreviousVectors, vectors_for
from mcpg.vectors.matrix import FLOAT16, FLOAT32, INT8, QuantizedMatrix, ToolVectors, with_clusters
from mcpg.vectors.matrix import SUFFIX as CLUSTERS_SUFFIX

Buffer = bytes | memoryview

MAGIC = b"mcpg-vec"
FORMAT_VERSION = 1
KEY_SIZE = HASH_SIZE = 32
NO_KEY = bytes(KEY_SIZE)
"""The key of vectors that belong to no file."""

# magic, format version, recipe, kind of numbers, dimensions, tools, length of the file, content
# key, size of the fingerprint, checksum of the body
_HEADER = struct.Struct("<8sIIIIQQ32sII")
_CHECKSUM = struct.Struct("<I")
_HEAD_SIZE = _HEADER.size + _CHECKSUM.size
_ALIGNMENT = 64
_MOST_DIMENSIONS = 1 << 16
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 2: np.dtype("<f2"), 3: np.dtype("i1")}
_NUMBERS = {FLOAT32: 1, FLOAT16: 2, INT8: 3}
_SCALE = np.dtype("<f4")


class UnusableVectorsError(Exception):
    """A file of vectors that cannot be used: missing, damaged, foreign or of another version.

    It never leaves the package: the caller does without the file.
    """


class NoVectorsError(UnusableVectorsError):
    """The file does not exist."""


@dataclass(frozen=True, slots=True)
class VectorFile:
    """The vectors in a file, the SHA-256 of their bundle, and the `RECIPE` of the texts.

    Each tool has the SHA-256 of its texts in `hashes`, of zeros where it has no vector.
    """

    vectors: ToolVectors
    key: bytes
    recipe: int
    hashes: NDArray[np.uint8]
    _numbers: dict[bytes, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        return self.vectors.fingerprint

    def is_fresh(self, key: bytes, tools: int, fingerprint: str) -> bool:
        """Return whether a bundle with that *key* and that many *tools* has just these vectors."""
        mine = (self.key, len(self.vectors), self.fingerprint, self.recipe, self.vectors.missing)
        return key != NO_KEY and mine == (key, tools, fingerprint, RECIPE, 0)

    def find(self, document_hash: str) -> NDArray[np.float32] | None:
        if not self._numbers:
            raw = self.hashes.tobytes()
            for number in np.flatnonzero(self.vectors.present).tolist():
                start = number * HASH_SIZE
                self._numbers.setdefault(raw[start : start + HASH_SIZE], number)
        known = self._numbers.get(bytes.fromhex(document_hash))
        return None if known is None else self.vectors.vector(known)


def pack_vectors(
    vectors: ToolVectors, hashes: Sequence[str], key: bytes, kind: str = FLOAT16
) -> bytes:
    """Write *vectors* as the content of a file; equal ones give equal bytes.

    The *hashes* of texts are in hexadecimal, the *key* is the SHA-256 of the bundle or `NO_KEY`,
    and numbers are kept as *kind*: `float16`, `int8` or `float32`.
    """
    stored = vectors.stored.convert(kind)
    maker = vectors.fingerprint.encode("utf-8", "replace")
    known = zip(hashes, vectors.present.tolist(), strict=True)
    digests = (bytes.fromhex(one) if there else bytes(HASH_SIZE) for one, there in known)
    parts = [maker, b"".join(digests)]
    if stored.scales is not None:
        parts.append(stored.scales.astype(_SCALE, copy=False).tobytes())
    parts.append(stored.rows.astype(_TYPES[_NUMBERS[kind]], copy=False).tobytes())
    gaps = (bytes(-size % _ALIGNMENT) for size in (_HEAD_SIZE, *map(len, parts)))
    body = b"".join(piece for pair in zip(gaps, (*parts, b""), strict=True) for piece in pair)
    numbers = FORMAT_VERSION, RECIPE, _NUMBERS[kind], vectors.dimensions, len(vectors)
    length = _HEAD_SIZE + len(body)
    fixed = _HEADER.pack(MAGIC, *numbers, length, key, len(maker), zlib.crc32(body))
    return fixed + _CHECKSUM.pack(zlib.crc32(fixed)) + body


def write_vectors(path: str, data: bytes) -> bool:
    """Write the content of a file of vectors to *path*, atomically.

    Return whether it was written: a file with the same content is not touched. `OutputError` is
    raised if it cannot be written.
    """
    with suppress(UnusableVectorsError):
        if _map_file(path) == data:
            return False
    atomic_write(path, data, special=False)
    return True


def open_vectors(path: str) -> VectorFile:
    """Open the file of vectors at *path* by memory map.

    It is a `NoVectorsError` if there is none, an `UnusableVectorsError` if it is damaged, foreign
    or of another version.
    """
    return unpack_vectors(_map_file(path))


def unpack_vectors(data: Buffer) -> VectorFile:
    """Read the content of a file of vectors as `open_vectors` does; rows stay where they are."""
    if len(data) < _HEAD_SIZE or bytes(data[: len(MAGIC)]) != MAGIC:
        raise UnusableVectorsError("it is not a file of vectors")
    _, version, recipe, number, dimensions, tools, length, key, maker, body = _HEADER.unpack_from(
        data
    )
    if _CHECKSUM.unpack_from(data, _HEADER.size)[0] != zlib.crc32(data[: _HEADER.size]):
        raise UnusableVectorsError("its header is damaged")
    if version != FORMAT_VERSION or number not in _TYPES:
        raise UnusableVectorsError(f"it has format {version}, not {FORMAT_VERSION}")
    dtype = _TYPES[number]
    scales_size = tools * _SCALE.itemsize if number == _NUMBERS[INT8] else 0
    places, end = [], _HEAD_SIZE
    for size in (maker, tools * HASH_SIZE, scales_size, tools * dimensions * dtype.itemsize):
        places.append(slice(end + -end % _ALIGNMENT, end + -end % _ALIGNMENT + size))
        end = places[-1].stop
    # Numbers of any size are compared before any of them is used as a size.
    end += -end % _ALIGNMENT
    if not length == len(data) == end or dimensions > _MOST_DIMENSIONS:
        raise UnusableVectorsError("it is cut short or has grown")
    if zlib.crc32(data[_HEAD_SIZE:]) != body:
        raise UnusableVectorsError("it is damaged")
    whole = memoryview(data)
    fingerprint = str(whole[places[0]], "utf-8", "replace")
    hashes = np.frombuffer(whole[places[1]], dtype=np.uint8).reshape(-1, HASH_SIZE)
    scales = np.frombuffer(whole[places[2]], dtype=_SCALE) if scales_size else None
    rows = np.frombuffer(whole[places[3]], dtype=dtype).reshape(tools, dimensions)
    stored = QuantizedMatrix(rows, scales)
    vectors = ToolVectors(stored, np.any(hashes != 0, axis=1), fingerprint)
    return VectorFile(vectors, key, recipe, hashes)


def _map_file(path: str) -> Buffer:
    try:
        with open(path, "rb", opener=_open_regular) as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError as fault:
        raise NoVectorsError("the file does not exist") from fault
    except (OSError, ValueError) as fault:
        raise UnusableVectorsError("it cannot be opened") from fault


def _open_regular(path: str, flags: int) -> int:
    # Opening a pipe would wait for a writer.
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError("it is not a regular file")
    return os.open(path, flags)


@dataclass(frozen=True, slots=True)
class VectorFiles:
    """The usable files of vectors of a bundle: the first that the provider made.

    It is fresh if it has just the vectors of the bundle. Files that cannot be used are diagnosed.
    """

    file: VectorFile | None = None
    path: str | None = None
    is_fresh: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def find_vectors(
    places: Iterable[str], key: bytes, tools: int, provider: EmbeddingProvider
) -> VectorFiles:
    """Look for the vectors of a bundle of so many *tools* in *places*, the best first.

    *key* is the SHA-256 of the bundle, *provider* the embedding provider.
    """
    fingerprint, diagnostics, best = provider.fingerprint, [], VectorFiles()
    for path in places:
        try:
            file = open_vectors(path)
        except NoVectorsError:
            continue
        except UnusableVectorsError as fault:
            diagnostics.append(warning(Code.VECTORS_IGNORED, f"the file of vectors: {fault}", path))
            continue
        reason = "" if file.recipe == RECIPE else "it was made by another version of mcpg"
        if file.fingerprint != fingerprint:
            reason = f"it was made by {file.fingerprint}, not by {fingerprint}"
        elif provider.dimensions not in {None, file.vectors.dimensions}:
            reason = f"its vectors have {file.vectors.dimensions} dimensions"
        if not reason and file.is_fresh(key, tools, fingerprint):
            return VectorFiles(file, path, is_fresh=True)
        if reason:
            diagnostics.append(info(Code.VECTORS_IGNORED, f"the file of vectors: {reason}", path))
        elif best.file is None:
            best = VectorFiles(file, path)
    return replace(best, diagnostics=tuple(diagnostics))


def find_or_build_vectors(
    places: Sequence[str],
    documents: Callable[[], Iterable[ToolDocument]],
    provider: EmbeddingProvider,
    *,
    key: bytes = NO_KEY,
    tools: int,
    store: EmbeddingStore | None = None,
    known: PreviousVectors | None = None,
    keep_at: str | None = None,
) -> BuiltVectors:
    """Return the vectors of a bundle: from its file if it fits, else made with the file's help.

    *places* are the files that may contain them, the best first; *documents* is called only if none
    fits, and earlier vectors, *known*, count instead. *key* is the SHA-256 of the bundle or
    `NO_KEY`. New vectors are written to the file *keep_at*, in a folder of the user's own, if it
    can be written. The clusters of a large catalog may be beside it.
    """
    found = find_vectors(places, key, tools, provider)
    if found.file is not None and found.is_fresh:
        vectors = found.file.vectors
        if keep_at is not None:
            vectors = with_clusters(vectors, key, keep_at + CLUSTERS_SUFFIX)
        return BuiltVectors(vectors, (), 0, tools)
    built = vectors_for(documents(), provider, store=store, known=known or found.file)
    # As a file keeps them, so that a search scores the same before and after there is one.
    built = replace(built, vectors=built.vectors.convert(FLOAT16))
    if keep_at is not None and key != NO_KEY and built.vectors.dimensions:
        # Incomplete vectors are never fresh, but the next build reuses them.
        with suppress(OutputError):
            write_vectors(keep_at, pack_vectors(built.vectors, built.hashes, key))
    notices = list(found.diagnostics)
    if built.embedded and found.file is not None:
        message = f"the file of vectors is out of date: {built.embedded:,} texts were embedded now"
        notices.append(info(Code.VECTORS_STALE, message, found.path))
    return replace(built, diagnostics=(*notices, *built.diagnostics))
