from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mcpg.files import MAX_BYTES
from mcpg.sources import source_signature


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of sources in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "a.json").write_text("[]")
    (tmp_path / "docs" / "deep" / "b.md").write_text("# B")
    return tmp_path / "docs"


def test_a_copy_elsewhere_has_the_same_signature(folder: Path) -> None:
    """Names, relative places and contents count; times and the folder's own place do not."""
    shutil.copytree(folder, "elsewhere")
    os.utime("elsewhere/a.json", (5, 5))

    signature = source_signature(["docs"])
    assert signature
    assert source_signature(["elsewhere"]) == source_signature([str(folder)]) == signature


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[ ]"),
        ("new.md", "# B"),
        ("deep/new.hints.yaml", ""),
        ("deep/big.md", "x" * 300_000),
    ],
)
def test_every_change_of_a_source_changes_it(folder: Path, name: str, content: str) -> None:
    """A file that is edited or comes anew is noticed."""
    before = source_signature(["docs"])
    (folder / name).write_text(content)

    assert source_signature(["docs"]) not in (None, before)


def test_the_last_byte_of_a_large_file_counts(folder: Path) -> None:
    """Large files are read to their end."""
    signatures = set()
    for end in "ab":
        (folder / "big.md").write_text("x" * 600_000 + end)
        signatures.add(source_signature(["docs"]))

    assert len(signatures) == 2


def test_moving_a_file_changes_it(folder: Path) -> None:
    """The place of a document in its folder is part of the bundle."""
    before = source_signature(["docs"])
    (folder / "deep" / "b.md").rename(folder / "b.md")

    assert source_signature(["docs"]) != before


def test_what_is_never_read_does_not_count(folder: Path) -> None:
    """Hidden files, files of other kinds, folders behind links and the output change nothing."""
    before = source_signature(["docs"])
    (folder / ".hidden.md").write_text("x")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.md").write_text("x")
    (folder / "picture.png").write_text("x")
    (folder / "graph.mdld").write_text("x")
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "x.md").write_text("x")
    (folder / "link").symlink_to(folder.parent / "other")

    assert source_signature(["docs"], exclude=["docs/graph.mdld"]) == before


def test_the_arguments_count(folder: Path) -> None:
    """The name of a manifest, the source id, and how arguments overlap decide what is read."""
    shutil.copy(folder / "a.json", "b.json")
    shutil.copy(folder / "a.json", "a.json")
    calls = [["docs/a.json"], ["b.json"], ["docs"], ["docs", "a.json"], ["docs", "docs/a.json"]]
    signatures = {source_signature(call) for call in calls}
    signatures.add(source_signature(["docs"], source_id="mine"))

    assert len(signatures) == 6
    assert None not in signatures


@pytest.mark.parametrize("arguments", [["-"], [""], ["absent"], ["docs", "-"], ["a\0b"]])
@pytest.mark.usefixtures("folder")
def test_some_sources_cannot_be_signed(arguments: list[str]) -> None:
    """Standard input and what is not there have no signature."""
    assert source_signature(arguments) is None


def test_files_behind_links_cannot_be_signed(folder: Path) -> None:
    """Whether a link is followed depends on more than its folder."""
    (folder / "c.md").symlink_to(folder / "a.json")

    assert source_signature(["docs"]) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_pipes_are_left_alone(folder: Path) -> None:
    """Nothing is taken out of a pipe, and nobody waits for one."""
    os.mkfifo("pipe.json")
    assert source_signature(["pipe.json"]) is None
    os.mkfifo(folder / "pipe.json")
    assert source_signature(["docs"]) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is endless")
def test_devices_are_left_alone() -> None:
    """A device may never end."""
    assert source_signature(["/dev/full"]) is None


def test_files_beyond_the_limit_cannot_be_signed(folder: Path) -> None:
    """What is too large to be a source is for its reader to refuse."""
    (folder / "big.md").touch()
    os.truncate(folder / "big.md", MAX_BYTES + 1)

    assert source_signature(["docs"]) is None
