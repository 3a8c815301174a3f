from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcpg.bundle import LOCK_NAME, apply_plan, plan_folder
from mcpg.catalog.model import SourceDocument
from mcpg.errors import BundleError, OutputError

posix = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")

ONE = SourceDocument("tools/a/one.md", "# One\n")
TWO = SourceDocument("tools/b/two.md", "# Two\n")
NEW_ONE = SourceDocument("tools/a/one.md", "# One, changed\n")


def write(root: Path, *documents: SourceDocument, prune: bool = False, force: bool = False) -> None:
    """Plan and apply in one go."""
    apply_plan(plan_folder(root, documents), prune=prune, force=force)


def files_in(root: Path) -> dict[str, str]:
    """Read all files of *root* but the record."""
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != LOCK_NAME
    }


def test_new_folder_is_made_and_recorded(tmp_path: Path) -> None:
    """Documents are written, and the record names each with its digest."""
    root = tmp_path / "out"
    plan = plan_folder(root, [TWO, ONE])
    assert plan.create == ("tools/a/one.md", "tools/b/two.md")
    assert not plan.is_current
    assert not root.exists()
    apply_plan(plan)
    assert files_in(root) == {"tools/a/one.md": "# One\n", "tools/b/two.md": "# Two\n"}
    record = json.loads((root / LOCK_NAME).read_text("utf-8"))
    assert record["version"] == 1
    assert list(record["files"]) == ["tools/a/one.md", "tools/b/two.md"]
    assert all(digest.startswith("sha256:") for digest in record["files"].values())


def test_second_run_changes_nothing(tmp_path: Path) -> None:
    """A folder that holds the documents is current, and its record keeps its bytes."""
    write(tmp_path, ONE, TWO)
    before = (tmp_path / LOCK_NAME).stat().st_mtime_ns
    plan = plan_folder(tmp_path, [ONE, TWO])
    assert plan.is_current
    assert plan.unchanged == ("tools/a/one.md", "tools/b/two.md")
    apply_plan(plan)
    assert (tmp_path / LOCK_NAME).stat().st_mtime_ns == before


def test_our_files_are_updated(tmp_path: Path) -> None:
    """A file that still holds what was written is updated."""
    write(tmp_path, ONE, TWO)
    plan = plan_folder(tmp_path, [NEW_ONE, TWO])
    assert (plan.update, plan.unchanged) == (("tools/a/one.md",), ("tools/b/two.md",))
    apply_plan(plan)
    assert files_in(tmp_path)["tools/a/one.md"] == "# One, changed\n"
    assert plan_folder(tmp_path, [NEW_ONE, TWO]).is_current


@pytest.mark.parametrize("recorded", [True, False], ids=["edited", "foreign"])
def test_nothing_of_a_person_is_overwritten(tmp_path: Path, recorded: bool) -> None:
    """A file that a person edited or made stops everything, with the remedy."""
    if recorded:
        write(tmp_path, ONE)
    target = tmp_path / "tools" / "a" / "one.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("# Mine\n", "utf-8")
    plan = plan_folder(tmp_path, [NEW_ONE, TWO])
    assert plan.conflicts == ("tools/a/one.md",)
    with pytest.raises(OutputError, match=r"tools/a/one\.md; nothing was written") as caught:
        apply_plan(plan)
    assert "hints file" in (caught.value.remedy or "")
    assert "--force" in (caught.value.remedy or "")
    assert files_in(tmp_path) == {"tools/a/one.md": "# Mine\n"}
    apply_plan(plan, force=True)
    assert plan_folder(tmp_path, [NEW_ONE, TWO]).is_current


def test_only_the_first_conflicts_are_told(tmp_path: Path) -> None:
    """Of many conflicts five are named and the others counted."""
    documents = [SourceDocument(f"{number}.md", "# X\n") for number in range(8)]
    for document in documents:
        (tmp_path / document.path).write_text("mine", "utf-8")
    with pytest.raises(OutputError, match=r"0\.md, 1\.md, 2\.md, 3\.md, 4\.md and 3 more"):
        write(tmp_path, *documents)


def test_equal_and_empty_files_are_no_conflict(tmp_path: Path) -> None:
    """A file that holds the text already, or nothing, is taken over."""
    (tmp_path / "one.md").write_text("# One\n", "utf-8")
    (tmp_path / "two.md").write_bytes(b"")
    plan = plan_folder(
        tmp_path, [SourceDocument("one.md", "# One\n"), SourceDocument("two.md", "# Two\n")]
    )
    assert (plan.unchanged, plan.update, plan.conflicts) == (("one.md",), ("two.md",), ())
    apply_plan(plan)
    assert plan_folder(tmp_path, [SourceDocument("one.md", "# New\n")]).update == ("one.md",)


def test_obsolete_files_stay_until_pruned(tmp_path: Path) -> None:
    """A file that no document is for any more stays, and goes with its folder when pruned."""
    write(tmp_path, ONE, TWO)
    plan = plan_folder(tmp_path, [ONE])
    assert plan.obsolete == ("tools/b/two.md",)
    assert not plan.is_current
    apply_plan(plan)
    assert "tools/b/two.md" in files_in(tmp_path)
    write(tmp_path, ONE, prune=True)
    assert list(files_in(tmp_path)) == ["tools/a/one.md"]
    assert not (tmp_path / "tools" / "b").exists()
    assert plan_folder(tmp_path, [ONE]).is_current


def test_edited_obsolete_files_are_kept(tmp_path: Path) -> None:
    """Pruning leaves what a person edited or removed, and the record forgets it."""
    three = SourceDocument("three.md", "# Three\n")
    write(tmp_path, ONE, TWO, three)
    (tmp_path / TWO.path).write_text("# Mine now\n", "utf-8")
    (tmp_path / three.path).unlink()
    plan = plan_folder(tmp_path, [ONE])
    assert (plan.kept, plan.obsolete) == (("tools/b/two.md",), ())
    apply_plan(plan, prune=True)
    assert files_in(tmp_path)["tools/b/two.md"] == "# Mine now\n"
    assert plan_folder(tmp_path, [ONE]).kept == ()


def test_folder_in_place_of_a_file_is_a_conflict(tmp_path: Path) -> None:
    """A folder where a document would go is a conflict, and even force cannot write it."""
    (tmp_path / ONE.path).mkdir(parents=True)
    plan = plan_folder(tmp_path, [ONE])
    assert plan.conflicts == (ONE.path,)
    with pytest.raises(OutputError, match="folder"):
        apply_plan(plan, force=True)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """The output has to be a folder."""
    (tmp_path / "out").write_text("x", "utf-8")
    with pytest.raises(OutputError, match="file where a folder is needed"):
        plan_folder(tmp_path / "out", [ONE])


@pytest.mark.parametrize("path", ["../x.md", "a/../../x.md", "C:/x.md", "a\0.md"])
def test_paths_never_climb_out(tmp_path: Path, path: str) -> None:
    """A document whose path leads out of the folder is refused before anything is written."""
    with pytest.raises(BundleError, match="has a path"):
        plan_folder(tmp_path, [ONE, SourceDocument(path, "# X\n")])


@pytest.mark.parametrize("paths", [("a.md", "A.md"), (LOCK_NAME,)], ids=["case", "record"])
def test_paths_are_unique(tmp_path: Path, paths: tuple[str, ...]) -> None:
    """Two documents, or one and the record, never share a file."""
    with pytest.raises(OutputError, match="two files would be written"):
        plan_folder(tmp_path, [SourceDocument(path, "# X\n") for path in paths])


@posix
def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    """A symbolic link that leads elsewhere is not followed; one within the folder is."""
    root, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (root / "real").mkdir(parents=True)
    (root / "tools").symlink_to(outside)
    with pytest.raises(OutputError, match="through a symbolic link"):
        plan_folder(root, [ONE])
    (root / "tools").unlink()
    (root / "tools").symlink_to(root / "real")
    write(root, ONE)
    assert (root / "real" / "a" / "one.md").is_file()


@posix
def test_pruning_does_not_follow_links_out(tmp_path: Path) -> None:
    """A recorded file that a link has since moved out of the folder is not removed."""
    root, outside = tmp_path / "out", tmp_path / "outside"
    write(root, ONE)
    (root / "tools").rename(outside)
    (root / "tools").symlink_to(outside)
    plan = plan_folder(root, [])
    assert (plan.kept, plan.obsolete) == ((ONE.path,), ())


@posix
@pytest.mark.parametrize("inside", [False, True])
def test_the_record_is_not_written_through_a_link(tmp_path: Path, inside: bool) -> None:
    """A record that is a symbolic link is refused, and the file behind it stays as it is."""
    root = tmp_path / "out"
    root.mkdir()
    behind = (root if inside else tmp_path) / "behind.json"
    behind.write_text('{"version": 1, "files": {}}')
    (root / LOCK_NAME).symlink_to(behind)
    with pytest.raises(OutputError, match="symbolic link") as caught:
        write(root, ONE)
    assert caught.value.remedy == "remove the link"
    assert behind.read_text() == '{"version": 1, "files": {}}'
    assert not (root / ONE.path).exists()


@posix
def test_a_link_to_nowhere_is_no_record(tmp_path: Path) -> None:
    """A record that is a link to a file that is not there makes no such file."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK_NAME).symlink_to(tmp_path / "made.json")
    with pytest.raises(OutputError, match="symbolic link"):
        write(tmp_path / "out", ONE)
    assert not (tmp_path / "made.json").exists()


def test_a_rename_in_case_only_removes_nothing(tmp_path: Path) -> None:
    """Where both spellings are one file, it is the new document's; here a hard link makes it so."""
    old = SourceDocument("tools/A.md", "old\n")
    new = SourceDocument("tools/a.md", "new\n")
    write(tmp_path, old)
    if not (tmp_path / new.path).exists():
        (tmp_path / new.path).hardlink_to(tmp_path / old.path)
    plan = plan_folder(tmp_path, [new])
    assert (plan.update, plan.renamed) == ((new.path,), (old.path,))
    assert (plan.create, plan.conflicts, plan.obsolete, plan.kept) == ((), (), (), ())
    apply_plan(plan, prune=True)
    assert (tmp_path / new.path).read_text() == "new\n"
    assert (tmp_path / old.path).exists()
    assert list(json.loads((tmp_path / LOCK_NAME).read_text())["files"]) == [new.path]


def test_file_that_cannot_be_removed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that refuses to go is an error with the remedy."""
    write(tmp_path, ONE)

    def refuse(_path: Path, **_options: bool) -> None:
        raise PermissionError(13, "Permission denied")

    plan = plan_folder(tmp_path, [])
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(OutputError, match="cannot be removed: Permission denied"):
        apply_plan(plan, prune=True)


@pytest.mark.parametrize(
    "text",
    ["not json", "[]", '{"version":1}', '{"version":9,"files":{}}', "\udcff", "[" * 100_000],
)
def test_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    """A record that cannot be read is an error that says what deleting it means."""
    (tmp_path / LOCK_NAME).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(OutputError, match="record of generated files is damaged") as caught:
        plan_folder(tmp_path, [ONE])
    assert "delete it" in (caught.value.remedy or "")


def test_record_is_not_trusted(tmp_path: Path) -> None:
    """Paths of a tampered record that climb out, or name a file twice, are no paths of ours."""
    outside = tmp_path / "outside.md"
    outside.write_text("mine", "utf-8")
    root = tmp_path / "out"
    root.mkdir()
    write(tmp_path / "same", SourceDocument("outside.md", "mine"))
    (digest,) = json.loads((tmp_path / "same" / LOCK_NAME).read_text("utf-8"))["files"].values()
    (root / "c.md").write_text("mine", "utf-8")
    files = {"../outside.md": digest, "./c.md": digest, "c.md": 3}
    (root / LOCK_NAME).write_text(json.dumps({"version": 1, "files": files}), "utf-8")
    plan = plan_folder(root, [ONE])
    assert (plan.recorded, plan.kept, plan.obsolete) == ({}, (), ())
    apply_plan(plan, prune=True)
    assert [one.read_text("utf-8") for one in (outside, root / "c.md")] == ["mine", "mine"]
    assert list(json.loads((root / LOCK_NAME).read_text("utf-8"))["files"]) == [ONE.path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_in_place_of_a_file_is_a_conflict(tmp_path: Path) -> None:
    """Nobody waits for the reader of a named pipe where a document or the record would go."""
    (tmp_path / "tools" / "a").mkdir(parents=True)
    os.mkfifo(tmp_path / ONE.path)
    plan = plan_folder(tmp_path, [ONE])
    assert plan.conflicts == (ONE.path,)
    with pytest.raises(OutputError, match="pipe"):
        apply_plan(plan, force=True)


def test_a_source_in_its_own_folder_stays_a_persons(tmp_path: Path) -> None:
    """A file that was only read, and stands as it did, is neither recorded nor overwritten."""
    page = tmp_path / "page.md"
    page.write_text("# Mine\n", "utf-8")
    read = SourceDocument("page.md", "# Mine\n", place=str(page))
    write(tmp_path, ONE, read)
    assert list(json.loads((tmp_path / LOCK_NAME).read_text("utf-8"))["files"]) == [ONE.path]
    write(tmp_path, ONE, prune=True)
    assert page.read_text("utf-8") == "# Mine\n"
    plan = plan_folder(tmp_path, [ONE, replace(read, content="# Rewritten\n")])
    assert plan.conflicts == ("page.md",)


def test_a_source_stays_a_persons_beside_another_run(tmp_path: Path) -> None:
    """A plan that is made anew, for another run wrote meanwhile, still knows what was only read."""
    page = tmp_path / "page.md"
    page.write_text("# Mine\n", "utf-8")
    plan = plan_folder(tmp_path, [ONE, SourceDocument("page.md", "# Mine\n", place=str(page))])
    write(tmp_path, ONE)
    apply_plan(plan)
    assert list(json.loads((tmp_path / LOCK_NAME).read_text("utf-8"))["files"]) == [ONE.path]


def test_an_edit_after_the_plan_is_a_conflict(tmp_path: Path) -> None:
    """What a person saves between the plan and its writing is not overwritten."""
    write(tmp_path, ONE)
    plan = plan_folder(tmp_path, [NEW_ONE])
    (tmp_path / ONE.path).write_text("# Mine\n", "utf-8")
    with pytest.raises(OutputError, match=ONE.path):
        apply_plan(plan)
    assert files_in(tmp_path) == {ONE.path: "# Mine\n"}


def test_a_source_that_was_overwritten_is_ours(tmp_path: Path) -> None:
    """What `force` writes over a person's file is recorded as any other text that was written."""
    page = tmp_path / "page.md"
    page.write_text("# Mine\n", "utf-8")
    plan = plan_folder(tmp_path, [SourceDocument("page.md", "# Ours\n", place=str(page))])
    apply_plan(plan, force=True)
    assert plan_folder(tmp_path, []).obsolete == ("page.md",)


def test_an_edited_file_that_is_its_own_source_stays_edited(tmp_path: Path) -> None:
    """The record keeps the digest of what was written, not of what a person made of it."""
    write(tmp_path, ONE)
    target = tmp_path / ONE.path
    target.write_text("# Edited\n", "utf-8")
    write(tmp_path, SourceDocument(ONE.path, "# Edited\n", place=str(target)))
    assert plan_folder(tmp_path, [ONE]).conflicts == (ONE.path,)
    assert plan_folder(tmp_path, []).kept == (ONE.path,)


@pytest.mark.parametrize("is_tagged", [True, False])
def test_only_tagged_files_of_an_earlier_record_are_ours(tmp_path: Path, is_tagged: bool) -> None:
    """Earlier versions also recorded files of a person, which have no tag of generated ones."""
    front = "---\ntags: [mcp-gateway-tool]\n---\n" if is_tagged else ""
    document = SourceDocument("page.md", f"{front}About mcp-gateway-tool.\n")
    write(tmp_path, document)
    record = json.loads((tmp_path / LOCK_NAME).read_text("utf-8"))
    del record["written"]
    (tmp_path / LOCK_NAME).write_text(json.dumps(record), "utf-8")
    plan = plan_folder(tmp_path, [replace(document, content="# New\n")])
    assert (plan.update, plan.conflicts) == (
        (("page.md",), ()) if is_tagged else ((), ("page.md",))
    )
    write(tmp_path, prune=True)
    assert (tmp_path / "page.md").exists() is not is_tagged
