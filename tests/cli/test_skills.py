"""Skills on the command line: lists, searches, one alone, locks, comparisons, `init`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from skillfolders import write_skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

TIDES = "description: Predicts the tide. Use when asked for high water.\n---\nChart datum.\n"
KNOTS = "description: Ties knots. Use when a rope is needed.\n---\nBowline.\n"


@pytest.fixture
def skills(folder: Path) -> Path:
    """Return a folder of two skills beside a tool."""
    tools = {"tools": [{"name": "track_parcel", "description": "Track a parcel."}]}
    (folder / "kit").mkdir()
    (folder / "kit/tools.json").write_text(json.dumps(tools))
    write_skill(folder / "kit/skills", "tide-tables", TIDES, {"scripts/run.py": "print(1)\n"})
    write_skill(folder / "kit/skills", "knots", KNOTS)
    return folder / "kit"


def test_skills_are_listed_searched_and_shown(skills: Path, run: Callable[..., Run]) -> None:
    """A kind in every form; without it, commands are about tools."""
    assert run("bundle", "kit", "-o", "graph.mdld").code == 0
    listed = run("list", "--kind", "skill", "--format", "json").json
    assert [one["id"] for one in listed["items"]] == ["knots", "tide-tables"]
    assert [one["toolId"] for one in run("list", "--format", "json").json["tools"]] == [
        "track_parcel"
    ]
    found = run("search", "chart datum", "--kind", "skill", "--format", "json").json
    assert found["items"][0]["id"] == "tide-tables"
    assert "body" in run("explain", "chart datum", "--kind", "skill").out
    shown = run("show", "tide-tables", "--kind", "skill", "--format", "json").json
    paths = [one["path"] for one in shown["details"]["files"]]
    assert paths == ["SKILL.md", "scripts/run.py"]
    assert "scripts/run.py (9 bytes)" in run("show", "tide-tables", "--kind", "skill").out
    text = run("show", "tide-tables", "--kind", "skill", "--document").out
    assert text == (skills / "skills/tide-tables/SKILL.md").read_text()
    assert run("show", "tide-table", "--kind", "skill").code != 0
    assert run("show", "tide-tables").code != 0


@pytest.mark.usefixtures("skills")
def test_answers_are_the_same_without_skills(run: Callable[..., Run]) -> None:
    """Skills beside the tools change no answer about tools."""
    run("bundle", "kit", "-o", "with.mdld")
    run("bundle", "kit/tools.json", "-o", "without.mdld")
    for command in (
        ("search", "parcel"),
        ("search", "track it"),
        ("list",),
    ):
        answers = {
            run(*command, "-b", path, "--format", "json").out.replace(path, "")
            for path in ("with.mdld", "without.mdld")
        }
        assert len(answers) == 1, command


def test_a_lock_covers_every_file(skills: Path, run: Callable[..., Run]) -> None:
    """A changed script is a change; it is left out of a build, or refused."""
    assert run("lock", "kit").code == 0
    assert run("lock", "kit", "--check").code == 0
    (skills / "skills/tide-tables/scripts/run.py").write_text("print(2)\n")
    checked = run("lock", "kit", "--check", "--format", "json")
    (change,) = checked.json["changes"]
    assert (checked.code, change["name"], change["kind"]) == (1, "skill:tide-tables", "changed")
    assert [one["part"] for one in change["parts"]] == ["files"]
    assert run("bundle", "kit", "-o", "a.mdld", "--locked").code == 1
    for reaction in ("warn", "hide"):
        built = run("bundle", "kit", "-o", "b.mdld", "--locked", "--on-change", reaction)
        assert built.code == 0
        assert "the skill 'tide-tables' of 'kit' has changed" in built.err
        listed = run("list", "--kind", "skill", "-b", "b.mdld", "--format", "ids").out
        assert listed.split() == ["knots"]
    assert run("lock", "kit", "--approve", "skill:tide-tables").code == 0
    assert run("bundle", "kit", "-o", "a.mdld", "--locked").code == 0
    write_skill(skills / "skills", "new", KNOTS.replace("Ties", "Unties"))
    left = run("bundle", "kit", "-o", "b.mdld", "--locked", "--on-change", "warn")
    assert "the skill 'new' of 'kit' is not approved" in left.err


@pytest.mark.usefixtures("skills")
def test_an_edited_lock_is_refused(run: Callable[..., Run], folder: Path) -> None:
    """Digests of files are under a digest themselves."""
    run("lock", "kit")
    path = folder / "mcpg.lock"
    members = json.loads(path.read_text())
    entry = next(one for one in members["tools"] if one["name"] == "skill:knots")
    entry["files"]["SKILL.md"] = f"sha256:{'0' * 64}"
    path.write_text(json.dumps(members))
    refused = run("lock", "kit", "--check")
    assert "the digest of files of 'kit::skill:knots' does not match" in refused.err


def test_a_comparison_shows_skills(skills: Path, run: Callable[..., Run]) -> None:
    """What changed of skills is listed beside tools, and counted by the gate on changes."""
    run("bundle", "kit", "-o", "old.mdld")
    same = run("diff", "old.mdld", "old.mdld", "--format", "json").json
    assert "items" not in same
    (skills / "skills/tide-tables/scripts/run.py").write_text("print(2)\n")
    (skills / "skills/knots/SKILL.md").unlink()
    write_skill(skills / "skills", "sails", KNOTS)
    run("bundle", "kit", "-o", "new.mdld")
    found = run("diff", "old.mdld", "new.mdld", "--format", "json").json
    changes = {one["name"]: one["change"] for one in found["items"]}
    assert changes == {
        "skill:knots": "removed",
        "skill:sails": "added",
        "skill:tide-tables": "changed",
    }
    assert found["counts"]["changes"] == 3
    assert "changed skill:tide-tables of kit: files" in run("diff", "old.mdld", "new.mdld").out
    assert run("diff", "old.mdld", "new.mdld", "--fail-on", "changes").code == 1


def test_lint_finds_faults_of_skills(skills: Path, run: Callable[..., Run]) -> None:
    """Findings have their file and line."""
    write_skill(skills / "skills", "vague", "description: Vague sails.\n---\n")
    found = run("lint", "kit", "--select", "A", "--format", "json").json
    (finding,) = found["findings"]
    assert (finding["code"], finding["place"]["line"]) == ("A102", 3)
    assert (found["tools"], found["items"]) == (1, {"skill": 3})
    assert "1 warning in 1 tool and 3 skills" in run("lint", "kit", "--select", "A").err
    assert "in 3 skills" in run("lint", "skills:kit/skills", "--select", "A").err
    assert "items" not in run("lint", "kit/tools.json", "--format", "json").json


@pytest.mark.skipif(sys.platform != "linux", reason="places of one system are tried")
def test_init_finds_the_skills_of_clients(
    folder: Path, run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skills of the user are used, those of the folder with `--project` alone."""
    home = folder.parent / f"{folder.name}-home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    write_skill(home / ".claude/skills", "tide-tables", TIDES)
    write_skill(folder / ".agents/skills", "knots", KNOTS)
    looked = run("init", "--dry-run", "--format", "json").json
    assert [(one["path"], one["isUsed"]) for one in looked["skills"]] == [
        ("~/.claude/skills", True),
        (".agents/skills", False),
    ]
    done = run("init", "chart datum")
    assert "tide-tables" in done.out
    assert 'skills = "~/.claude/skills"' in (folder / "mcpg.toml").read_text()
    listed = run("list", "--kind", "skill", "--format", "ids").out
    assert listed.split() == ["tide-tables"]
    assert run("init", "--project", "--force").code == 0
    listed = run("list", "--kind", "skill", "--format", "ids").out
    assert listed.split() == ["knots", "tide-tables"]


def test_a_broken_skill_costs_no_other(skills: Path, run: Callable[..., Run]) -> None:
    """A bundle of skills alone is written without it; broken tools are still an error."""
    (skills / "skills/knots/SKILL.md").write_text("no front matter")
    done = run("bundle", "skills:kit/skills", "-o", "graph.mdld")
    assert (done.code, "has no front matter" in done.err) == (0, True)
    listed = run("list", "--kind", "skill", "--format", "json").json
    assert [one["id"] for one in listed["items"]] == ["tide-tables"]
    (skills / "tools.json").write_text("my diary")
    assert "nothing was written" in run("bundle", "kit", "-o", "graph.mdld").err
