from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vectorial import HashProvider, documents

from mcpg.errors import OutputError
from mcpg.vectors import RECIPE, file
from mcpg.vectors.build import vectors_for
from mcpg.vectors.file import (
    NO_KEY,
    NoVectorsError,
    UnusableVectorsError,
    open_vectors,
    pack_vectors,
    unpack_vectors,
    write_vectors,
)
from mcpg.vectors.matrix import INT8, KINDS, ToolVectors

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.vectors.build import BuiltVectors
    from mcpg.vectors.file import VectorFile

KEY = bytes(range(32))


@pytest.fixture
def built(provider: HashProvider) -> BuiltVectors:
    """Vectors of three tools."""
    return vectors_for(documents(3), provider)


@pytest.fixture
def data(built: BuiltVectors) -> bytes:
    """The content of a small file."""
    return pack_vectors(built.vectors, built.hashes, KEY, INT8)


def told(one: VectorFile) -> object:
    """Return everything that a file says."""
    vectors = one.vectors
    rows = [vectors.vector(number) for number in range(len(vectors))]
    listed = [None if row is None else row.tolist() for row in rows]
    return one.fingerprint, one.key, one.recipe, one.hashes.tolist(), listed


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)


@given(
    present=st.lists(st.booleans(), max_size=9),
    dimensions=st.integers(1, 70),
    maker=TEXTS,
    key=st.binary(min_size=32, max_size=32),
    kind=st.sampled_from(KINDS),
)
def test_a_file_gives_back_what_it_was_given(
    present: list[bool], dimensions: int, maker: str, key: bytes, kind: str
) -> None:
    """Whatever is written is read back, and written again it is the same to the byte."""
    rows = np.random.default_rng(len(present)).normal(size=(len(present), dimensions))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    given_rows = [row if one else None for row, one in zip(rows, present, strict=True)]
    hashes = [f"{number + 1:064x}" for number in range(len(present))]
    vectors = ToolVectors.from_rows(given_rows, maker)
    data = pack_vectors(vectors, hashes, key, kind)
    read = unpack_vectors(data)
    assert (read.fingerprint, read.key, read.recipe) == (maker, key, RECIPE)
    assert read.vectors.missing == present.count(False)
    for number, one in enumerate(hashes):
        row, found = given_rows[number], read.find(one)
        assert (row is None) == (found is None)
        assert row is None or np.abs(found - row).max() < 0.02
    assert read.find("f" * 64) is None
    assert pack_vectors(read.vectors, hashes, key, kind) == data


def test_a_file_cut_anywhere_is_refused(data: bytes) -> None:
    """However much of a file is there, less or more than all is no file of vectors."""
    for length in range(len(data)):
        with pytest.raises(UnusableVectorsError):
            unpack_vectors(data[:length])
    with pytest.raises(UnusableVectorsError):
        unpack_vectors(data + bytes(64))


def test_a_flipped_bit_anywhere_is_refused(data: bytes) -> None:
    """No damage passes for vectors."""
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(UnusableVectorsError):
            unpack_vectors(bytes(damaged))


FIELDS = st.lists(st.tuples(st.integers(8, 99), st.integers(0, 255)), min_size=1, max_size=6)


@given(changes=FIELDS)
def test_a_forged_header_is_refused_or_harmless(changes: list[tuple[int, int]]) -> None:
    """Whoever forges the checksums as well gets no number used before it was compared."""
    built = vectors_for(documents(3), HashProvider())
    data = bytearray(pack_vectors(built.vectors, built.hashes, KEY))
    for place, byte in changes:
        data[place % (file._HEADER.size)] = byte
    at = file._HEADER.size
    data[at - 4 : at] = struct.pack("<I", zlib.crc32(bytes(data[file._HEAD_SIZE :])))
    data[at : at + 4] = struct.pack("<I", zlib.crc32(bytes(data[:at])))
    try:
        read = unpack_vectors(bytes(data))
    except UnusableVectorsError:
        return
    query = np.ones(read.vectors.dimensions, dtype=np.float32)
    assert len(read.vectors.nearest(query, 3)) <= 3
    told(read)


@given(st.binary(max_size=400))
def test_anything_else_is_no_file_of_vectors(data: bytes) -> None:
    """Bytes of any kind are refused, with and without the magic ones before them."""
    for content in (data, file.MAGIC + data):
        with pytest.raises(UnusableVectorsError):
            unpack_vectors(content)


def test_only_a_file_of_this_bundle_by_this_maker_is_fresh(
    built: BuiltVectors, data: bytes
) -> None:
    """Another key, maker, recipe or number of tools, or a vector too few, and it is not."""
    read, maker = unpack_vectors(data), built.vectors.fingerprint
    assert read.is_fresh(KEY, 3, maker)
    assert not read.is_fresh(bytes(32), 3, maker)
    assert not read.is_fresh(KEY, 4, maker)
    assert not read.is_fresh(KEY, 3, "another")
    without_key = unpack_vectors(pack_vectors(built.vectors, built.hashes, NO_KEY))
    assert not without_key.is_fresh(NO_KEY, 3, maker)
    lacking = ToolVectors.from_rows([None, *map(built.vectors.vector, (1, 2))], maker)
    assert not unpack_vectors(pack_vectors(lacking, built.hashes, KEY)).is_fresh(KEY, 3, maker)


def test_a_file_is_written_once(tmp_path: Path, data: bytes) -> None:
    """One that says the same is not touched, and what is read lies in the file's own memory."""
    path = str(tmp_path / "graph.mdld.vec")
    assert write_vectors(path, data)
    os.utime(path, ns=(1, 1))
    assert not write_vectors(path, data)
    assert (tmp_path / "graph.mdld.vec").stat().st_mtime_ns == 1
    read = open_vectors(path)
    assert told(read) == told(unpack_vectors(data))
    assert not read.vectors.stored.rows.flags.owndata
    assert not read.vectors.stored.rows.flags.writeable


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A missing file is told from one that cannot be used; nobody waits for a pipe."""
    with pytest.raises(NoVectorsError):
        open_vectors(str(tmp_path / "none.vec"))
    (tmp_path / "empty.vec").write_bytes(b"")
    for path in (tmp_path, tmp_path / "empty.vec", f"{tmp_path}/\0"):
        with pytest.raises(UnusableVectorsError, match="cannot be opened"):
            open_vectors(str(path))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.vec")
        with pytest.raises(UnusableVectorsError, match="cannot be opened"):
            open_vectors(str(tmp_path / "pipe.vec"))


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, data: bytes) -> None:
    """Whoever wrote the bundle hears that its vectors are not there."""
    with pytest.raises(OutputError):
        write_vectors(str(tmp_path), data)
