"""Which files sources are read from, and which have changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcpg.sources.read import changed_files, forget_modules, watched_files


def write(path: Path, text: str = "x") -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def names(root: Path, *sources: str, exclude: tuple[str, ...] = ()) -> set[str]:
    """Return what is watched, relative to *root*."""
    found = watched_files(sources, exclude)
    return {Path(path).relative_to(os.path.realpath(root)).as_posix() for path in found}


def test_files_of_every_kind_of_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are watched by the names that sources have, code as a whole, modules as packages."""
    for name in ("a/one.json", "a/b/two.md", "a/note.txt", "a/.git/three.json", "single.yaml"):
        write(tmp_path / name)
    for name in ("src/main.go", "src/node_modules/x.js", "wtpack/__init__.py", "wtpack/deep/f.py"):
        write(tmp_path / name, "")
    monkeypatch.chdir(tmp_path)
    assert names(tmp_path, "a") == {"a/one.json", "a/b/two.md", "a/note.txt"}
    assert names(tmp_path, "single.yaml", "a/note.txt") == {"single.yaml", "a/note.txt"}
    assert names(tmp_path, "code:src") == {"src/main.go"}
    modules = {"wtpack/__init__.py", "wtpack/deep/f.py"}
    assert names(tmp_path, "python:wtpack.deep.f:run") == modules
    assert "wtpack" not in sys.modules
    assert (
        names(tmp_path, "-", "", "stdio:server", "https://x.example/mcp", "python:nowhere_x")
        == set()
    )
    assert names(tmp_path, "absent.json", "absent") == set()


def test_the_output_is_not_watched(tmp_path: Path) -> None:
    """An excluded file is not watched; files whose paths begin with its path are."""
    for name in ("tools", "tools.json", "tools.d/a.json"):
        write(tmp_path / name)
    assert names(tmp_path, f"code:{tmp_path}", exclude=(str(tmp_path / "tools"),)) == {
        "tools.json",
        "tools.d/a.json",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_pipes_and_broken_links_are_missing(tmp_path: Path) -> None:
    """What cannot be looked at, or could block, is no file."""
    os.mkfifo(tmp_path / "a.json")
    (tmp_path / "b.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    assert names(tmp_path, str(tmp_path), str(tmp_path / "a.json"), "nul\0.json") == set()


def test_changes_are_found(tmp_path: Path) -> None:
    """Added, changed, replaced and removed files are changes; reading is none."""
    same, edited, gone = (write(tmp_path / f"{name}.json") for name in "abc")
    moved = write(tmp_path / "d.json")
    before = watched_files([str(tmp_path)])
    same.read_text("utf-8")
    edited.write_text("xyz", "utf-8")
    gone.unlink()
    times = moved.stat()
    other = write(tmp_path / "other.txt")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(moved)
    added = write(tmp_path / "e.json")
    after = watched_files([str(tmp_path)])
    told = [os.path.realpath(path) for path in (edited, gone, moved, added)]
    assert changed_files(before, after) == told
    assert changed_files(after, after) == []


def test_a_package_that_changed_is_imported_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All modules of a package are forgotten with one of them; others, and mcpg, stay."""
    write(tmp_path / "wtpack/__init__.py", "from wtpack.part import VALUE\n")
    part = write(tmp_path / "wtpack/part.py", "VALUE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import wtpack  # noqa: PLC0415 - made above

    import mcpg  # noqa: PLC0415 - what must stay

    assert wtpack.VALUE == 1
    part.write_text("VALUE = 22\n", "utf-8")
    forget_modules({os.path.realpath(part), os.path.realpath(str(mcpg.__file__))})
    assert "wtpack" not in sys.modules
    assert "wtpack.part" not in sys.modules
    assert sys.modules["mcpg"] is mcpg
    import wtpack as again  # noqa: PLC0415 - as above

    assert again.VALUE == 22
    forget_modules({os.path.realpath(part)})
