"""`mcpg diff` reports what changed between two catalogues, and what searches make of it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from shop import LATER_MANIFEST, MANIFEST, write_later

from mcpg.cli.commands.diff import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

DIFF = ("diff", "tools", "later", "--queries", "later.yaml")


@pytest.fixture(autouse=True)
def later(sources: Path) -> Path:
    """The shop some weeks later, and judged queries."""
    return write_later(sources.parent)


def test_unchanged_catalogues_print_nothing(run: Callable[..., Run]) -> None:
    """Equal catalogues print nothing and pass every gate; a comment says so in a line."""
    every = "changes,removed,breaking,undecided,risk,rank,unreachable,confidence"
    same = run("diff", "tools", "tools", "--queries", "later.yaml", "--fail-on", every)
    assert (same.code, same.out) == (0, "")
    assert run("diff", "tools", "tools", "--format", "markdown").out == "## mcpg diff: no change\n"
    whole = run("diff", "tools", "tools", "--format", "json").json
    assert (whole["tools"], whole["impact"]["queries"], whole["diagnostics"]) == ([], [], [])


def test_a_bundle_equals_its_sources(run: Callable[..., Run]) -> None:
    """A bundle has no change from the sources that it was made of, and is the default."""
    run("bundle", "tools", "-o", "graph.mdld")
    assert run("diff", "tools", "--fail-on", "changes").out == ""


def test_changes_are_named(run: Callable[..., Run]) -> None:
    """Every kind of change of a tool is told apart."""
    found = {one["toolId"]: one for one in run(*DIFF, "--format", "json").json["tools"]}
    changes = {name: one["change"] for name, one in found.items()}
    assert changes["invoice_refund"] == "removed"
    assert changes["page_list"] == "added"
    assert found["label_buy"]["renamedFrom"]["toolName"] == "shipment_create"
    status = found["shipment_status"]
    assert status["isRiskier"]
    breaking = [one["path"] for one in status["input"] if one["verdict"] == "breaking"]
    assert breaking == ["carrier", "carrier"]
    assert [one["path"] for one in status["output"]] == ["state"]


def test_a_tool_that_was_only_renamed_is_listed_once(folder: Path, run: Callable[..., Run]) -> None:
    """The changed tools are those with a change to show, not those with another name alone."""
    for name, tool in (("old", "bee"), ("new", "wasp")):
        tools = [
            {"name": tool, "description": "Stings whoever comes near."},
            {"name": "ant", "description": f"Carries {name} leaves home."},
        ]
        (folder / f"{name}.json").write_text(json.dumps({"server": "s", "tools": tools}), "utf-8")
    shown = run("diff", "old.json", "new.json", "--sample", "0").out
    assert "Renamed (1)" in shown
    assert "Changed (1)" in shown


def test_a_stolen_query_is_named(run: Callable[..., Run]) -> None:
    """The query is named with the tool that lost it and the one that took it."""
    told = run(*DIFF).out
    assert "'where is my parcel' (judged, " in told
    assert "shipment_status is no longer first" in told
    assert "invoice_search is first" in told


def test_the_query_of_a_removed_tool_is_named(run: Callable[..., Run], folder: Path) -> None:
    """A judged query whose tool is gone is lost, and the reason is that the tool was removed."""
    (folder / "gone.yaml").write_text("pay an invoice back: invoice_refund\n", "utf-8")
    told = run("diff", "tools", "later", "--queries", "gone.yaml", "--include-disabled").out
    assert "invoice_refund is removed; " in told


def test_gates_are_exit_codes(run: Callable[..., Run]) -> None:
    """More findings than are accepted exit with 1, and the gate is named."""
    found = run(
        *DIFF, "--fail-on", "rank=0,removed=2", "--fail-on", "changes=99", "--format", "json"
    )
    assert found.code == 1
    assert [gate["passed"] for gate in found.json["gates"]] == [False, True, True]
    assert "--fail-on rank" in found.err
    assert run(*DIFF, "--fail-on", "rank=5").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("diff", "nowhere", "later"), "BEFORE: no bundle, folder or manifest"),
        (("diff", "tools", "nowhere"), "AFTER: no bundle, folder or manifest"),
        (("diff", "tools", "later", "--fail-on", "brake"), "no kind of finding is called 'brake'"),
        (("diff", "tools", "later", "--queries", "none.yaml"), "names no tool of either"),
        (("diff", "tools", "later", "--queries", "nowhere.yaml"), "nowhere.yaml"),
        (("diff", "later.yaml", "later"), "later.yaml"),
    ],
)
def test_bad_input_is_named(
    arguments: tuple[str, ...], told: str, run: Callable[..., Run], folder: Path
) -> None:
    """What cannot be compared exits with 2 and is named."""
    (folder / "none.yaml").write_text("where is it: nobody\n", "utf-8")
    found = run(*arguments)
    assert (found.code, found.out) == (2, "")
    assert told in found.err


def test_hostile_texts_are_escaped(run: Callable[..., Run], later: Path) -> None:
    """Nothing of a catalogue steers a terminal, or is Markdown or HTML in a comment."""
    text = (
        "\x1b[31mTell `<img src=x onerror=y>` | **bold** [link](javascript:x) @everyone </details>"
    )
    tools = [one | {"description": text, "title": text} for one in LATER_MANIFEST["tools"]]
    (later / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}), "utf-8")
    for form in ("text", "markdown"):
        told = run(*DIFF, "--format", form, "--color", "never").out
        assert "\x1b" not in told
    assert "<img" not in told
    assert "**bold**" not in told
    assert told.count("</details>") == told.count("<details>")


def test_a_comment_is_bounded(run: Callable[..., Run], later: Path) -> None:
    """Markdown stays shorter than a comment may be, whatever changed, even with `--all`."""
    tools = [
        {"name": f"tool_{number}", "description": "*`|" * 100 + str(number)}
        for number in range(500)
    ]
    (later / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}), "utf-8")
    told = run("diff", "tools", "later", "--format", "markdown", "--all", "--sample", "5").out
    assert "500 added" in told
    assert len(told) <= LONGEST + 1


def git(*arguments: str) -> None:
    """Run git in the working folder, as nobody in particular."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env = {name: one for name, one in os.environ.items() if not name.startswith("GIT_")} | own
    subprocess.run(["git", *identity, *arguments], env=env, check=True, capture_output=True)


@pytest.mark.parametrize("path", ["tools", "tools/shop.json", "graph.mdld"])
def test_a_revision_is_compared(run: Callable[..., Run], sources: Path, path: str) -> None:
    """The old catalogue is what the new one was at a revision of git, be it folder or file."""
    run("bundle", "tools", "-o", "graph.mdld")
    git("init", "-q")
    git("add", "tools", "graph.mdld")
    git("commit", "-qm", "first")
    assert run("diff", "--base", "HEAD", path).out == ""
    tools = MANIFEST["tools"][1:]
    (sources / "shop.json").write_text(json.dumps({"server": "shop", "tools": tools}), "utf-8")
    run("bundle", "tools", "-o", "graph.mdld")
    found = run("diff", "--base", "HEAD", path, "--format", "json").json
    assert found["before"]["path"] == f"HEAD:{path}"
    removed = [one["toolId"] for one in found["tools"] if one["change"] == "removed"]
    assert removed == ["shipment_status"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--base", "nowhere", "tools"), "git: "),
        (("--base", "--help", "tools"), "git: "),
        (("--base", "HEAD", "later"), "git: "),
        (("--base", "HEAD", "tools", "later"), "compares one catalog with its earlier revision"),
        ((), "the old catalog is missing"),
    ],
)
def test_revisions_that_are_none_are_named(
    arguments: tuple[str, ...], told: str, run: Callable[..., Run]
) -> None:
    """A revision, or a file in it, that does not exist is an error, and no option of git."""
    run("bundle", "tools", "-o", "graph.mdld")
    git("init", "-q")
    git("add", "tools")
    git("commit", "-qm", "first")
    found = run("diff", *arguments)
    assert (found.code, found.out) == (2, "")
    assert told in found.err


def test_submodules_have_revisions_of_their_own(
    run: Callable[..., Run], sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools of a submodule are compared as they were at the commit that was recorded for it."""
    library = tmp_path / "library"
    library.mkdir()
    (sources / "shop.json").replace(library / "shop.json")
    monkeypatch.chdir(library)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    monkeypatch.chdir(sources)
    git("init", "-q")
    protocol = ("-c", "protocol.file.allow=always")
    git(*protocol, "submodule", "add", "-q", str(library), "nested/shop")
    git("add", "-A")
    git("commit", "-qm", "first")
    assert run("diff", "--base", "HEAD", ".", "--fail-on", "changes").out == ""
    tools = MANIFEST["tools"][1:]
    changed = json.dumps({"server": "shop", "tools": tools})
    (sources / "nested/shop/shop.json").write_text(changed, "utf-8")
    found = run("diff", "--base", "HEAD", ".", "--format", "json").json["tools"]
    assert "added" not in {one["change"] for one in found}
    assert [one["toolId"] for one in found if one["change"] == "removed"] == ["shipment_status"]


def test_links_out_of_a_repository_stop_no_comparison(
    run: Callable[..., Run], sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they lead to has no revision, and is left out."""
    monkeypatch.chdir(sources)
    (sources / "absolute.txt").symlink_to(tmp_path / "secret.txt")
    (sources / "relative.txt").symlink_to("../../secret.txt")
    (sources / "inner.txt").symlink_to("shop.json")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    assert run("diff", "--base", "HEAD", ".", "--fail-on", "changes").code == 0


@pytest.mark.parametrize("variable", [None, "GIT_DIR"])
def test_the_root_of_a_repository_is_compared(
    run: Callable[..., Run], sources: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    """The folder of a repository has revisions, also where a hook of git sets variables."""
    monkeypatch.chdir(sources)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    if variable:
        monkeypatch.setenv(variable, ".git")
    assert run("diff", "--base", "HEAD", str(sources), "--fail-on", "changes").out == ""


def test_an_empty_revision_is_named(run: Callable[..., Run]) -> None:
    """A revision without a name is an error of the option, not a path."""
    git("init", "-q")
    found = run("diff", "--base", "", "tools")
    assert (found.code, "--base: git: " in found.err) == (2, True)


GATES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "changes": ({"description": "Old."}, {"description": "New."}),
    "removed": ({"name": "old"}, {"name": "gone", "description": "Something else entirely."}),
    "breaking": ({"inputSchema": {"enum": [{}]}}, {"inputSchema": {"required": ["a"]}}),
    "undecided": ({"inputSchema": {}}, {"inputSchema": {"if": {"required": ["a"]}}}),
    "risk": ({"annotations": {"readOnlyHint": True}}, {"annotations": {"readOnlyHint": False}}),
}


@pytest.mark.parametrize("kind", GATES)
def test_each_gate_of_definitions_fails_by_itself(
    run: Callable[..., Run], folder: Path, kind: str
) -> None:
    """A finding exits with 1 under its own gate, and with 0 where one is accepted."""
    bare = {"name": "old", "description": "Old.", "inputSchema": {"type": "object"}}
    for name, members in zip(("one", "other"), GATES[kind], strict=True):
        text = json.dumps({"server": "shop", "tools": [{**bare, **members}]})
        (folder / f"{name}.json").write_text(text, "utf-8")
    same, changed = ("one.json", "one.json"), ("one.json", "other.json")
    assert run("diff", *same, "--fail-on", kind).code == 0
    found = run("diff", *changed, "--fail-on", kind)
    assert (found.code, f"--fail-on {kind}: " in found.err) == (1, True)
    assert run("diff", *changed, "--fail-on", f"{kind}=9").code == 0


@pytest.mark.parametrize("kind", ["rank", "unreachable", "confidence"])
def test_each_gate_of_searches_fails_by_itself(run: Callable[..., Run], kind: str) -> None:
    """A query that is lost exits with 1 under the gate that counts it, as the report counts it."""
    counts = {one["kind"]: one["found"] for one in run(*DIFF, *EVERY).json["gates"]}
    assert run(*DIFF, "--fail-on", kind).code == (1 if counts[kind] else 0)
    assert run(*DIFF, "--fail-on", f"{kind}={counts[kind]}").code == 0


EVERY = ("--fail-on", "rank,unreachable,confidence", "--format", "json")
