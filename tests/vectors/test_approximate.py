from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from vectorial import HashProvider, documents

from mcpg.vectors import matrix
from mcpg.vectors.build import vectors_for
from mcpg.vectors.file import find_or_build_vectors, pack_vectors, write_vectors
from mcpg.vectors.matrix import ToolVectors, make_clusters, with_clusters

if TYPE_CHECKING:
    from pathlib import Path

KEY = bytes(range(32))


def clustered(count: int, dimensions: int = 32) -> ToolVectors:
    """Give vectors that lie in clusters, as those of texts do; every ninth tool has none."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(count // 20, dimensions))
    drawn = centres[random.integers(0, len(centres), count)]
    drawn = drawn + random.normal(size=drawn.shape) * 0.5
    rows = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return ToolVectors.from_rows(
        [None if n % 9 == 0 else row for n, row in enumerate(rows)], "test"
    )


@pytest.fixture(scope="module")
def vectors() -> ToolVectors:
    """Vectors of two thousand tools."""
    return clustered(2_000)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clusters pay for small catalogues."""
    monkeypatch.setattr(matrix, "FEWEST", 3)


def test_clusters_find_what_a_look_at_all_finds(vectors: ToolVectors) -> None:
    """Nearly all of the nearest are found, with their exact cosines, in exact order."""
    found_by = vectors.with_neighbours(make_clusters(vectors))
    hits = 0
    for tool in range(1, 400, 10):
        query = vectors.vector(tool - tool % 9 + 1)
        exact, near = vectors.nearest(query, 50), found_by.nearest(query, 50)
        assert len(near) == 50
        assert near == sorted(near, key=lambda one: (-one[1], one[0]))
        hits += len(set(exact) & set(near))
    assert hits > 0.97 * 40 * 50


def test_what_is_not_wanted_is_not_counted(vectors: ToolVectors) -> None:
    """With the nearest tools left out, as many others come."""
    found_by, query = vectors.with_neighbours(make_clusters(vectors)), vectors.vector(1)
    first = frozenset(tool for tool, _ in vectors.nearest(query, 30))
    near = found_by.nearest(query, 30, first)
    assert len(near) == 30
    assert not first & {tool for tool, _ in near}
    far = frozenset(tool for tool, _ in vectors.nearest(query, 900))
    assert found_by.nearest(query, 30, far) == vectors.nearest(query, 30, far)
    everything = frozenset(range(len(vectors) - 1))
    assert found_by.nearest(query, 5, everything) == vectors.nearest(query, 5, everything)


def test_equal_vectors_make_equal_clusters(vectors: ToolVectors) -> None:
    """The clusters are the same in every run."""
    assert make_clusters(vectors).pack() == make_clusters(clustered(2_000)).pack()


def test_clusters_are_made_once_and_then_read(vectors: ToolVectors, tmp_path: Path) -> None:
    """What was kept finds the same; without it, and unasked, nothing is made."""
    path = str(tmp_path / "cache" / "graph.near")
    assert with_clusters(vectors, KEY, path) is vectors
    made = with_clusters(vectors, KEY, path, make=True)
    read = with_clusters(vectors, KEY, path)
    query = vectors.vector(5)
    assert read is not vectors
    assert read.nearest(query, 20) == made.nearest(query, 20)


@pytest.mark.parametrize("place", [0, 20, 43, 44, 5_000, -1])
def test_damaged_or_foreign_clusters_are_not_read(
    vectors: ToolVectors, tmp_path: Path, place: int
) -> None:
    """No byte of them is used unless all are what was written, for these very vectors."""
    path = tmp_path / "graph.near"
    with_clusters(vectors, KEY, str(path), make=True)
    assert with_clusters(vectors, bytes(32), str(path)) is vectors
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert with_clusters(vectors, KEY, str(path)) is vectors
    path.write_bytes(data[:30])
    assert with_clusters(vectors, KEY, str(path)) is vectors


def test_few_vectors_need_no_clusters(
    vectors: ToolVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither do those of a machine without the package; a folder nobody may write is no fault."""
    path = tmp_path / "graph.near"
    (tmp_path / "file").write_text("")
    kept = with_clusters(vectors, KEY, str(tmp_path / "file" / "x"), make=True)
    assert kept is not vectors
    monkeypatch.setattr(matrix, "FEWEST", 2_001)
    assert with_clusters(vectors, KEY, str(path), make=True) is vectors
    monkeypatch.setattr(matrix, "FEWEST", 3)

    monkeypatch.setitem(sys.modules, "faiss", None)
    assert with_clusters(vectors, KEY, str(path), make=True) is vectors


def test_a_package_that_cannot_be_loaded_is_as_good_as_none(
    vectors: ToolVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All vectors are looked at then, and no search ends."""
    (tmp_path / "faiss.py").write_text("raise RuntimeError('made for another NumPy')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    assert with_clusters(vectors, KEY, str(tmp_path / "graph.near"), make=True) is vectors


def test_many_threads_may_search(vectors: ToolVectors) -> None:
    """Searches side by side find what they find one after the other."""
    found_by = vectors.with_neighbours(make_clusters(vectors))
    queries = [vectors.vector(tool) for tool in (1, 2, 3, 4)]
    alone = [found_by.nearest(query, 10) for query in queries]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda query: found_by.nearest(query, 10), queries * 50))
    assert together == alone * 50


def test_a_fresh_file_is_searched_by_its_clusters(tmp_path: Path, provider: HashProvider) -> None:
    """Whoever opens the vectors of a large bundle finds the clusters in the cache folder."""
    built = vectors_for(documents(40), provider)
    beside, kept = str(tmp_path / "graph.mdld.vec"), str(tmp_path / "cache.vec")
    write_vectors(beside, pack_vectors(built.vectors, built.hashes, KEY))
    with_clusters(built.vectors, KEY, kept + matrix.SUFFIX, make=True)
    opened = find_or_build_vectors([beside], list, provider, key=KEY, tools=40, keep_at=kept)
    assert opened.vectors._neighbours is not None
    query = built.vectors.vector(3)
    assert opened.vectors.nearest(query, 5)[0][0] == 3
    alone = find_or_build_vectors([beside], list, provider, key=KEY, tools=40)
    assert alone.vectors._neighbours is None


def test_clusters_and_the_local_model_bear_each_other() -> None:
    """Whichever of their packages a process loads first, it can load the other."""
    code = (
        "import numpy as np; from mcpg.vectors.matrix import make_clusters; "
        "from mcpg.vectors.matrix import ToolVectors; "
        "rows = [np.eye(4, dtype=np.float32)[0]] * 50; "
        "make_clusters(ToolVectors.from_rows(rows, '')); "
        "from mcpg.embeddings import make_provider; "
        "print(make_provider('local').embed(['one']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 384)\n"
