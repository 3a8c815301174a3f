"""`mcpg cache` lists and removes what mcpg made, and nothing else."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mcpg.caching.build_cache import StoredBuildCache
from mcpg.caching.build_pool import ChunkFile
from mcpg.cli import main
from mcpg.cli.commands import cache as keeping
from mcpg.cli.commands.cache import shown_size
from mcpg.embeddings.provider import EmbeddingKey
from mcpg.embeddings.sqlite_store import SqliteStore
from mcpg.graph.cache import FEWEST_DOCUMENTS
from mcpg.index.layout import MAGIC as INDEX_MAGIC
from mcpg.vectors import matrix
from mcpg.vectors.file import MAGIC as VECTORS_MAGIC

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run


@pytest.fixture
def cache(folder: Path) -> Path:
    """The cache folder, with a store of vectors, an index, and files of somebody else's."""
    path = folder.parent / f"{folder.name}-cache"
    path.mkdir()
    store = SqliteStore(path / "embeddings.sqlite")
    store.put({EmbeddingKey("tool", "hash", "mine"): np.ones(2, dtype=np.float32)})
    store.close()
    (path / "far.mdld-00000000.idx").write_bytes(INDEX_MAGIC + b"...")
    (path / "far.mdld-00000000.memo").write_bytes(b"".join(StoredBuildCache().pack()))
    (path / "notes.idx").write_text("mine", encoding="utf-8")
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    with sqlite3.connect(path / "diary.sqlite") as diary:
        diary.execute("create table kept (x)")
    diary.close()
    return path


MINE = {"notes.idx", "notes.txt", "diary.sqlite"}


def test_what_is_kept_is_shown(run: Callable[..., Run], graph: Path, cache: Path) -> None:
    """Indexes, vectors, memories and the store, with their sizes; nothing of anybody else's."""
    (graph.parent / "graph.mdld.vec").write_bytes(VECTORS_MAGIC)
    done = run("cache", "--format", "json")
    told = done.json
    assert (done.code, told["schema"], told["folder"]) == (0, "mcpg/cache/1", str(cache))
    assert [one["kind"] for one in told["files"]] == [
        *("indexes", "indexes", "vectors", "memos", "store")
    ]
    assert {one["path"] for one in told["files"] if one["kind"] == "indexes"} == {
        str(graph) + ".idx",
        str(cache / "far.mdld-00000000.idx"),
    }
    assert told["bytes"] == sum(one["bytes"] for one in told["files"]) > 0
    head, line = run("cache", "--kind", "vectors").out.splitlines()
    assert head.split() == ["kind", "size", "path"]
    assert line == f"vectors  8 bytes  {graph}.vec"


def test_clearing_leaves_other_files_alone(
    run: Callable[..., Run], graph: Path, cache: Path
) -> None:
    """What mcpg made goes, and is made again by the next search; bundle and strangers stay."""
    answered = run("search", "shipment").out
    done = run("cache", "clear", "--yes")
    assert done.code == 0
    assert "removed 4 files" in done.err
    assert {path.name for path in cache.iterdir()} == MINE
    assert graph.exists()
    assert not (graph.parent / "graph.mdld.idx").exists()
    assert run("search", "shipment").out == answered
    assert (graph.parent / "graph.mdld.idx").exists()


@pytest.mark.usefixtures("graph")
def test_what_a_killed_build_left_is_cleared_as_well(run: Callable[..., Run], cache: Path) -> None:
    """The temporary files of a process that was killed go; those of one at work stay."""
    (cache / ".mcpg-0123456789abcdef.tmp").write_text("contents of tools", "utf-8")
    at_work = ChunkFile(cache)
    assert run("cache", "clear", "--yes").code == 0

    assert [*cache.glob("*.tmp")] == [at_work.path]
    at_work.close()


def test_one_kind_is_cleared_alone(run: Callable[..., Run], cache: Path) -> None:
    """`--kind` chooses; JSON says what was removed."""
    told = run("cache", "clear", "--kind", "store", "--yes", "--format", "json").json
    assert (told["removed"], [one["kind"] for one in told["files"]]) == (True, ["store"])
    assert not (cache / "embeddings.sqlite").exists()
    assert (cache / "far.mdld-00000000.idx").exists()


@pytest.mark.usefixtures("cache")
def test_nothing_is_removed_without_a_word(run: Callable[..., Run]) -> None:
    """Where nobody can be asked, clearing takes `--yes`."""
    done = run("cache", "clear")
    assert done.code == 2
    assert "--yes" in done.err
    assert len(run("cache", "--format", "json").json["files"]) == 3


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("said", "left"), [("y\n", 0), ("n\n", 3)])
def test_a_person_is_asked(
    run: Callable[..., Run], said: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal the answer decides."""
    monkeypatch.setattr("mcpg.cli.prompts.is_terminal", lambda _: True)
    done = run("cache", "clear", stdin=said.encode())
    assert done.code == 0
    assert ("removed 3 files" in done.err) == (left == 0)
    assert len(run("cache", "--format", "json").json["files"]) == left


@pytest.mark.usefixtures("folder")
def test_an_empty_cache_is_fine(run: Callable[..., Run]) -> None:
    """Nothing to show and nothing to clear is no mistake."""
    assert "no caches" in run("cache").err
    assert run("cache", "clear").code == 0


def test_links_are_left_alone(run: Callable[..., Run], cache: Path, folder: Path) -> None:
    """A link to an index elsewhere is not followed."""
    (folder / "real.idx").write_bytes(INDEX_MAGIC)
    (cache / "link.idx").symlink_to(folder / "real.idx")
    assert run("cache", "clear", "--yes").code == 0
    assert (folder / "real.idx").exists()
    assert (cache / "link.idx").is_symlink()


def test_what_cannot_be_removed_is_named(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file and the reason are told."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    assert main(["cache", "clear", "--yes", "--kind", "memos"]) == 2
    err = capsys.readouterr().err
    assert str(cache) in err
    assert "permission denied" in err


def test_marks_are_those_that_files_begin_with() -> None:
    """What is looked for is what is written."""
    assert keeping.MARKS[keeping.CacheKind.INDEXES].start == INDEX_MAGIC
    assert keeping.MARKS[keeping.CacheKind.VECTORS].start == VECTORS_MAGIC
    assert keeping.MARKS[keeping.CacheKind.GRAPHS].start == matrix._MAGIC
    assert b"".join(StoredBuildCache().pack()).startswith(
        keeping.MARKS[keeping.CacheKind.MEMOS].start
    )


def test_sizes_are_for_people() -> None:
    """Bytes, and then units of 1024."""
    assert [shown_size(size) for size in (0, 1023, 1024, 3 << 20, 5 << 30)] == [
        *("0 bytes", "1,023 bytes", "1.0 KiB", "3.0 MiB", "5.0 GiB")
    ]


@pytest.mark.parametrize("named", ["x" * 300, "file/below", "circle"])
def test_a_cache_folder_that_is_none(
    run: Callable[..., Run], folder: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A path at which no folder can stand holds nothing."""
    (folder / "file").touch()
    (folder / "circle").symlink_to(folder / "circle")
    monkeypatch.setenv("MCPG_CACHE_DIR", str(folder / named))
    done = run("cache", "--format", "json")
    assert (done.code, done.json["files"]) == (0, [])


def test_graphs_of_queries_are_kept_shown_and_cleared(
    run: Callable[..., Run], folder: Path
) -> None:
    """A queried graph is kept in the cache folder; answers are the same with it and without."""
    tools = [{"name": f"tool_{n}", "inputSchema": {}} for n in range(FEWEST_DOCUMENTS)]
    (folder / "many.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    run("bundle", "many.json", "-o", "many.mdld")
    query = "SELECT ?id { ?tool mcpg:toolId ?id } ORDER BY ?id"
    calls = (
        ("graph", "sparql", query, "-b", "many.mdld", "--format", "json"),
        ("graph", "schema", "-b", "many.mdld", "--format", "json"),
        ("graph", "search", "tool 7", "-b", "many.mdld", "--format", "json"),
        ("graph", "search", "toll", "--mode=token-distance", "-b", "many.mdld", "--format=json"),
    )
    first = [run(*call).out for call in calls]
    shown = run("cache", "-b", "many.mdld", "--kind", "triples", "--format", "json").json
    assert [one["kind"] for one in shown["files"]] == ["triples"]
    assert shown["bytes"] > 100_000
    assert [run(*call).out for call in calls] == first
    assert run("cache", "clear", "-b", "many.mdld", "--kind", "triples", "--yes").code == 0
    assert not run("cache", "-b", "many.mdld", "--kind", "triples", "--format", "json").json[
        "files"
    ]
    assert [run(*call).out for call in calls] == first
