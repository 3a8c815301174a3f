"""What `bundle` and `generate` remember from one run to the next."""

from __future__ import annotations

import errno
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcpg.bundle import codec
from mcpg.caching.build_pool import ChunkFile
from mcpg.cli.build import MOST_FILES
from mcpg.cli.exit_codes import ExitCode
from mcpg.index.layout import NO_STAMP, restamp_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

TOOLS = [
    {"name": f"order_{number}", "description": f"Finds the orders of district {number}."}
    for number in range(250)
]


def cache() -> Path:
    """Return the cache folder, which need not exist."""
    return Path(os.environ["MCPG_CACHE_DIR"])


def remembered() -> dict[str, bytes]:
    """Return the files of the memory, by name."""
    return {file.name: file.read_bytes() for file in cache().glob("*")}


@pytest.fixture
def manifest(folder: Path) -> Path:
    """A manifest that is big enough to remember."""
    file = folder / "tools.json"
    file.write_text(json.dumps({"tools": TOOLS}))
    return file


def change(manifest: Path) -> None:
    """Give one tool another description."""
    tools = [{**TOOLS[0], "description": "Lists what was ordered."}, *TOOLS[1:]]
    manifest.write_text(json.dumps({"tools": tools}))


def outputs(folder: Path) -> tuple[bytes, bytes]:
    """Return the bundle and its index, this without the time of the bundle."""
    bundle, index = (folder / name for name in ("graph.mdld", "graph.mdld.idx"))
    return bundle.read_bytes(), restamp_index(index.read_bytes(), NO_STAMP)


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    """Note every call of the function *name* of *module*."""
    calls: list[object] = []
    function = getattr(module, name)

    def noting(*given: Any, **named: Any) -> object:
        calls.append(given)
        return function(*given, **named)

    monkeypatch.setattr(module, name, noting)
    return calls


def test_a_change_is_built_from_memory(
    manifest: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a small change few documents are written anew, and all bytes are those from scratch."""
    run("bundle", "tools.json")
    change(manifest)
    written = counted(monkeypatch, sys.modules["mcpg.bundle.assemble"], "draft_document")
    run("bundle", "tools.json")
    with_memory = outputs(manifest.parent)
    assert 0 < len(written) < len(TOOLS) / 2

    for file in (*cache().glob("*"), *manifest.parent.glob("graph*")):
        file.unlink()
    run("bundle", "tools.json")
    assert outputs(manifest.parent) == with_memory


def test_documents_that_stay_are_not_parsed(
    manifest: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a folder, only documents that were edited, added or moved are parsed."""
    run("generate", "tools.json", "-o", "docs")
    run("bundle", "docs")
    edited, removed, *_ = sorted((manifest.parent / "docs").rglob("*.md"))
    edited.write_text(edited.read_text() + "\nIt does.\n")
    removed.unlink()
    parsed = counted(monkeypatch, codec, "parse_document")
    run("bundle", "docs")

    assert len(parsed) == 1


@pytest.mark.untraced
def test_a_check_remembers_nothing(manifest: Path, run: Callable[..., Run]) -> None:
    """`--check` and `--diff` write nothing, not even what they worked out."""
    assert run("bundle", "tools.json", "--check").code == 1
    assert run("bundle", "tools.json", "--diff").code == 1
    assert run("generate", "tools.json", "-o", "docs", "--check").code == 1
    assert remembered() == {}

    run("bundle", "tools.json")
    before = remembered()
    change(manifest)
    assert run("bundle", "tools.json", "--check").code == 1
    assert remembered() == before != {}


@pytest.mark.usefixtures("manifest")
def test_standard_output_is_not_remembered(run: Callable[..., Run]) -> None:
    """What goes to standard output has no name to be remembered under."""
    assert run("bundle", "tools.json", "-o", "-").code == 0
    assert remembered() == {}


@pytest.mark.usefixtures("sources")
def test_little_is_not_worth_remembering(run: Callable[..., Run]) -> None:
    """A small catalogue leaves nothing in the cache folder."""
    run("bundle", "tools")
    assert remembered() == {}


def test_a_damaged_memory_is_passed_over(manifest: Path, run: Callable[..., Run]) -> None:
    """A memory that is damaged costs time and nothing else."""
    run("bundle", "tools.json")
    whole = {file: file.read_bytes() for file in cache().glob("*.memo")}
    assert len(whole) == 2  # the second has the words of documents
    for file, data in whole.items():
        file.write_bytes(data[:-1] + b"?")
    before = outputs(manifest.parent)
    for output in manifest.parent.glob("graph*"):
        output.unlink()

    found = run("bundle", "tools.json")
    assert found.code == 0
    assert "memo" not in found.err
    assert outputs(manifest.parent) == before
    assert {file: file.read_bytes() for file in whole} == whole


@pytest.mark.usefixtures("manifest")
def test_a_cache_that_cannot_be_written_is_no_error(run: Callable[..., Run]) -> None:
    """Where nothing can be remembered, the build goes on in silence."""
    cache().write_text("no folder")

    found = run("bundle", "tools.json")
    assert found.code == 0
    assert "cache" not in found.err
    assert run("bundle", "tools.json", "--check").code == 0


@pytest.mark.usefixtures("manifest")
def test_a_run_with_nothing_to_do_removes_what_a_killed_one_left(run: Callable[..., Run]) -> None:
    """A run that is killed while it saves its memory has already written all else."""
    run("bundle", "tools.json")
    (cache() / ".mcpg-0123456789abcdef.tmp").touch()
    assert "up to date" in run("bundle", "tools.json").err
    assert [*cache().glob(".mcpg-*")] == []


@pytest.mark.usefixtures("manifest")
@pytest.mark.parametrize("first", [0, 2**32], ids=["the past", "the future"])
def test_outputs_that_were_built_long_ago_are_forgotten(
    run: Callable[..., Run], first: int
) -> None:
    """The cache folder holds the memory of the outputs that were built last.

    A time in the future is from before the clock was set back.
    """
    cache().mkdir()
    for number in range(MOST_FILES):
        file = cache() / f"old{number:02}.memo"
        file.touch()
        os.utime(file, (first, first + number))
    (cache() / "graph.mdld-00000000.idx").touch()
    run("bundle", "tools.json")

    names = {name.partition("-")[0] for name in remembered()}
    assert "graph.mdld" in names
    assert len(names) == MOST_FILES
    assert first or "old00.memo" not in names


@pytest.mark.parametrize("command", [("bundle", "tools.json"), ("bundle", "documents")])
def test_bytes_do_not_depend_on_the_number_of_processes(
    manifest: Path, run: Callable[..., Run], command: tuple[str, ...]
) -> None:
    """A bundle and its index are the same, however many processes work on them."""
    run("generate", "tools.json", "-o", "documents", "--jobs", "2")
    built = []
    for jobs in ("1", "3"):
        for file in (*cache().glob("*"), *manifest.parent.glob("graph*")):
            file.unlink()
        run(*command, "--jobs", jobs)
        built.append(outputs(manifest.parent))

    assert built[0] == built[1]


@pytest.mark.untraced
@pytest.mark.parametrize("pieces", [0, 10, 600])
def test_a_disk_without_room_for_what_processes_hand_over_changes_no_bytes(
    manifest: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """Where a temporary file is full after some *pieces*, this process does all work itself."""
    run("bundle", "tools.json", "--jobs", "1")
    alone = outputs(manifest.parent)
    for file in (*cache().glob("*"), *manifest.parent.glob("graph*")):
        file.unlink()
    add, added = ChunkFile.add, iter(range(pieces))

    def full(file: ChunkFile, piece: bytes) -> None:
        if next(added, None) is None:
            raise OSError(errno.ENOSPC, "no room")
        add(file, piece)

    monkeypatch.setattr(ChunkFile, "add", full)
    assert run("bundle", "tools.json", "--jobs", "2").code == 0

    assert outputs(manifest.parent) == alone
    assert not [*cache().glob("*.tmp")]


@pytest.mark.usefixtures("manifest")
def test_an_interrupt_while_processes_end_leaves_no_temporary_file(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who interrupts the wait for processes leaves nothing of what these were to work on."""
    shutdown = ProcessPoolExecutor.shutdown

    def interrupted(pool: ProcessPoolExecutor, **named: Any) -> None:
        shutdown(pool, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(ProcessPoolExecutor, "shutdown", interrupted)
    assert run("bundle", "tools.json", "--jobs", "2").code == ExitCode.INTERRUPTED

    assert remembered().keys() == {file.name for file in cache().glob("*.memo")}
