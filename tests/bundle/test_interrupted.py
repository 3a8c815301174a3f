from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kills import killed, out_of_disk, steps

from mcpg.bundle import LOCK_NAME, apply_plan, plan_folder
from mcpg.catalog.model import SourceDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def documents(version: int) -> list[SourceDocument]:
    """Return documents of which each version changes one, adds one and leaves one out."""
    names = ["same", "changed", f"only{version}"]
    texts = {"same": "# Same\n"}
    return [
        SourceDocument(f"tools/{name}/tool.md", texts.get(name, f"# Version {version}\n"))
        for name in names
    ]


def generate(root: Path, found: Sequence[SourceDocument], *, prune: bool = True) -> None:
    """Write *found* into *root* as `mcpg generate --prune` does."""
    apply_plan(plan_folder(root, found), prune=prune)


def files_in(root: Path) -> dict[str, bytes]:
    """Return every file below *root* with its content."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def folders_in(root: Path) -> list[str]:
    """Return every folder below *root*."""
    return sorted(path.name for path in root.rglob("*") if path.is_dir())


def clean(root: Path, version: int) -> tuple[dict[str, bytes], list[str]]:
    """Return what a folder holds that only *version* was written to."""
    generate(root, documents(version))
    return files_in(root), folders_in(root)


@pytest.mark.parametrize("interrupted", [killed, out_of_disk], ids=["killed", "out of disk"])
@pytest.mark.parametrize("earlier", [True, False], ids=["second run", "first run"])
def test_a_run_after_an_interrupted_one_ends_as_if_that_had_not_been(
    tmp_path: Path, interrupted: Callable[..., bool], earlier: bool
) -> None:
    """No edit is seen where none was made, no document is left over, and no temporary file."""
    wanted = clean(tmp_path / "clean", 3)

    def attempt(step: int) -> bool:
        root = tmp_path / str(step)
        if earlier:
            generate(root, documents(1))
        return interrupted(lambda: generate(root, documents(2)), step)

    tried = 0
    for tried in steps(attempt):
        root = tmp_path / str(tried)
        plan = plan_folder(root, documents(3))
        assert (plan.conflicts, plan.kept) == ((), ()), f"step {tried}"
        apply_plan(plan, prune=True)
        assert (files_in(root), folders_in(root)) == wanted, f"step {tried}"
    assert tried > 8


def test_an_edit_after_an_interrupted_run_is_an_edit(tmp_path: Path) -> None:
    """What a person writes over a file that an interrupted run has written is kept."""

    def attempt(step: int) -> bool:
        root = tmp_path / str(step)
        generate(root, documents(1))
        return killed(lambda: generate(root, documents(2)), step)

    for step in steps(attempt):
        changed = tmp_path / str(step) / "tools/changed/tool.md"
        changed.write_text("# Mine\n", "utf-8")
        plan = plan_folder(tmp_path / str(step), documents(3))
        assert plan.conflicts == ("tools/changed/tool.md",)
        assert plan_folder(tmp_path / str(step), documents(3)[:1]).kept == plan.conflicts


def test_runs_at_once_lose_no_record(tmp_path: Path) -> None:
    """However many write into one folder at once, every file that they leave is on record."""
    root = tmp_path / "out"
    children = []
    for number in range(8):
        found = [SourceDocument(f"{number}-{part}.md", f"# {number}\n") for part in range(20)]
        child = os.fork()
        if not child:
            generate(root, found, prune=False)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)
    recorded = json.loads((root / LOCK_NAME).read_text("utf-8"))["files"]
    assert sorted(recorded) == sorted(files_in(root).keys() - {LOCK_NAME})
    assert len(recorded) == 160


def test_a_plan_is_made_anew_when_another_run_has_written(tmp_path: Path) -> None:
    """A plan that another run has overtaken loses nothing of what that run has recorded."""
    first, second = documents(1), documents(2)
    plan = plan_folder(tmp_path, first)
    generate(tmp_path, second, prune=False)
    applied = apply_plan(plan)
    assert applied.update == ("tools/changed/tool.md",)
    assert applied.obsolete == ("tools/only2/tool.md",)
    recorded = json.loads((tmp_path / LOCK_NAME).read_text("utf-8"))["files"]
    assert set(recorded) == {document.path for document in (*first, *second)}
