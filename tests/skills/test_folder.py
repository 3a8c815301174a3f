"""Reading the folder of a skill."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from skillfolders import write_skill

from mcpg.errors import Code, SourceError
from mcpg.skills.folder import LONGEST_SKILL_FILE, MOST_FILES, read_skill

FRONT = "description: Does a thing.\n---\n"


def test_a_skill_has_its_front_matter_and_all_files(tides: Path) -> None:
    """The front matter is as it was written, and every file has size and digest."""
    skill = read_skill(tides)
    assert (skill.name, skill.diagnostics) == ("tide-tables", ())
    assert skill.frontmatter["metadata"] == {"version": "1.2"}
    assert skill.body.startswith("# Tides")
    paths = [one.path for one in skill.files]
    assert paths == ["SKILL.md", "references/stations.md", "scripts/predict.py"]
    data = (tides / "references/stations.md").read_bytes()
    stations = skill.files[1]
    assert (stations.size, stations.content) == (len(data), data)
    assert stations.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_another_name_than_that_of_the_folder_is_reported(tmp_path: Path) -> None:
    """The name of the front matter counts, and the difference is reported."""
    folder = write_skill(tmp_path, "pdf", f"---\nname: forms\n{FRONT}")
    skill = read_skill(folder, place="mine/pdf")
    (noticed,) = skill.diagnostics
    assert (skill.name, noticed.code, noticed.place) == (
        "forms",
        Code.SKILL_INVALID,
        "mine/pdf/SKILL.md",
    )


def test_without_a_name_that_of_the_folder_is_used(tmp_path: Path) -> None:
    """A skill without a name is read."""
    skill = read_skill(write_skill(tmp_path, "pdf", f"---\n{FRONT}"))
    assert skill.name == "pdf"
    assert "no name" in skill.diagnostics[0].message


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    """Nothing outside the folder is read, nor hidden files, pipes and linked folders."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "private").mkdir()
    folder = write_skill(tmp_path, "pdf", FRONT, {"real.md": "x", ".env": "TOKEN=1"})
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "private").symlink_to(tmp_path / "private")
    (folder / "in.md").symlink_to(folder / "real.md")
    (folder / "circle").symlink_to(folder)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
    skill = read_skill(folder)
    assert [one.path for one in skill.files] == ["SKILL.md", "in.md", "real.md"]
    places = {Path(one.place or "").name for one in skill.diagnostics}
    assert {"out.txt", "private", "circle"} <= places
    assert not any(b"secret" in (one.content or b"") for one in skill.files)


def test_links_to_hidden_files_are_refused(tmp_path: Path) -> None:
    """A link of a stranger does not publish what a clone or the user keeps hidden in the folder."""
    hidden = {".git/config": "token", ".env": "token", "__pycache__/a.pyc": "x"}
    folder = write_skill(tmp_path, "pdf", FRONT, hidden)
    for name, target in zip(("a.txt", "b.txt", "c.txt"), hidden, strict=True):
        (folder / name).symlink_to(target)
    skill = read_skill(folder)
    assert [one.path for one in skill.files] == ["SKILL.md"]
    assert {one.message.partition(";")[0] for one in skill.diagnostics} == {
        "this link points to a hidden file"
    }


def test_a_linked_skill_file_is_refused(tmp_path: Path) -> None:
    """The text of a skill is a file of its own."""
    (tmp_path / "other.md").write_text(f"---\nname: pdf\n{FRONT}")
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf/SKILL.md").symlink_to(tmp_path / "other.md")
    with pytest.raises(SourceError):
        read_skill(tmp_path / "pdf")


@pytest.mark.parametrize(
    "text",
    [
        "# No front matter\n",
        "---\nname: pdf\ndescription: never ends\n",
        "---\n- a\n- list\n---\n",
        "---\nname: !!python/object/apply:os.system [id]\n---\n",
        "---\na: &a [x]\nb: *a\n---\n",
        f"---\nname: pdf\ndescription: {'x' * 300_000}\n---\n",
        f"---\na: {'[' * 500}{']' * 500}\n---\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    """Front matter that is missing, unsafe or too long names its place."""
    folder = write_skill(tmp_path, "pdf", "---", {"SKILL.md": text})
    with pytest.raises(SourceError) as caught:
        read_skill(folder, place="pdf")
    assert (caught.value.place or "").startswith("pdf/SKILL.md")


def test_sizes_are_bounded(tmp_path: Path) -> None:
    """Files and their bytes are bounded before they are read."""
    long = write_skill(tmp_path, "long", FRONT + "x" * LONGEST_SKILL_FILE)
    with pytest.raises(SourceError, match="is larger than"):
        read_skill(long)
    many = {f"files/{number}.txt": "" for number in range(MOST_FILES)}
    with pytest.raises(SourceError, match="more than 512 files"):
        read_skill(write_skill(tmp_path, "many", FRONT, many))
    large = write_skill(tmp_path, "large", FRONT)
    with (large / "film.bin").open("wb") as stream:
        stream.truncate(17 * 1024**2)
    with pytest.raises(SourceError, match="is larger than"):
        read_skill(large)
