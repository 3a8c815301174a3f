"""Messages when there is nothing to search, and when a part of what was named does not exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shop import Run

SKILL = "---\nname: returns\ndescription: Take goods back.\n---\nAsk for the order.\n"
NO_TOOL = "there is no tool to search"


@pytest.mark.parametrize("form", ["text", "ids"])
def test_a_search_of_no_tool(folder: Path, form: str, run: Callable[..., Run]) -> None:
    """Other words would not help."""
    (folder / "empty").mkdir()
    done = run("search", "-b", "empty", "anything", "--format", form)
    assert (done.code, done.out.strip()) == (1, "")
    assert done.err == f"{NO_TOOL}: name other sources with --bundle\n"


def test_a_search_of_an_empty_bundle(folder: Path, run: Callable[..., Run]) -> None:
    """The fast path gives the same message."""
    (folder / "empty.json").write_text('{"tools": []}', "utf-8")
    assert run("bundle", "empty.json").code == 0
    assert NO_TOOL in run("search", "anything").err


def test_an_evaluation_of_no_tool(folder: Path, run: Callable[..., Run]) -> None:
    """There is one error, not a warning for each judged tool."""
    (folder / "empty").mkdir()
    (folder / "queries.yaml").write_text("- query: find\n  relevant: [a, b]\n", "utf-8")
    done = run("eval", "queries.yaml", "-b", "empty")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {NO_TOOL}\n")


def test_a_catalog_on_standard_output(folder: Path, graph: Path, run: Callable[..., Run]) -> None:
    """A file named `-` is not written."""
    before = {*folder.iterdir()}
    done = run("catalog", "-b", str(graph), "--publisher", "shop.example", "-o", "-")
    assert json.loads(done.out)["specVersion"]
    assert {*folder.iterdir()} == before


@pytest.mark.usefixtures("sources")
def test_an_exclusion_without_a_tool(run: Callable[..., Run]) -> None:
    """It is reported, since a tool that was meant would be sent."""
    done = run(
        "enrich", "tools", "--print-prompt", "--exclude", "invoice_*", "--exclude", "absent_*"
    )
    assert "no tool matches 'absent_*', which is excluded" in done.err
    assert "'invoice_*'" not in done.err


def test_a_lock_counts_skills(folder: Path, sources: Path, run: Callable[..., Run]) -> None:
    """They are not tools."""
    (folder / "skills" / "returns").mkdir(parents=True)
    (folder / "skills" / "returns" / "SKILL.md").write_text(SKILL, "utf-8")
    assert "wrote mcpg.lock: 1 skill\n" in run("lock", "skills:skills").err
    both = run("lock", "skills:skills", str(sources), "--approve-all", "--yes").err
    assert " tools, 1 skill, " in both


def test_named_sources_are_checked(folder: Path, sources: Path, run: Callable[..., Run]) -> None:
    """They replace the sources of the configuration file."""
    (folder / "mcpg.toml").write_text('[[sources]]\npath = "gone"\n', "utf-8")
    options = ("--embed-with", "none", "--format", "json")
    done = run("doctor", str(sources / "shop.json"), "absent.json", *options)
    checks = {one["name"]: one["status"] for one in done.json["checks"]}
    assert {name: one for name, one in checks.items() if name.startswith("source")} == {
        "source shop": "ok",
        "source absent.json": "failed",
    }
    refused = run("doctor", "tools", "--no-sources")
    assert (refused.code, "--no-sources" in refused.err) == (2, True)


def test_a_finding_in_a_bundle_has_no_carets(graph: Path, run: Callable[..., Run]) -> None:
    """The line of a whole document, cut, shows nothing."""
    done = run("lint", "-b", str(graph))
    assert f"--> {graph}:" in done.out
    assert "^" not in done.out
    assert '{"path"' not in done.out
