"""Source code as a source of `mcpg bundle`: options, configuration, freshness, bad paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcpg import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from shop import Run

TOOLS = {"tools": [{"name": "login", "description": "Log in to the shop"}]}


@pytest.fixture
def folder(folder: Path) -> Path:
    """A folder with a manifest and source code, in which the program runs."""
    (folder / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("def login(): pass\ndef post(): login()\n", "utf-8")
    return folder


def names(bundle: str) -> list[str]:
    """Return the names of the symbols in a bundle."""
    return [one.symbol.name for one in load(bundle).code.graph.definitions]


def test_code_is_bundled_beside_tools(run: Callable[..., Run]) -> None:
    """A bundle holds both; the search of tools finds the tool alone."""
    assert run("bundle", "tools.json", "code:src", "-o", "app.mdld", "-q").code == 0
    assert names("app.mdld") == ["login", "post"]
    found = json.loads(run("search", "login", "-b", "app.mdld", "--format", "json").out)
    assert [match["toolId"] for match in found["matches"]] == ["login"]


def test_code_is_a_configured_source(folder: Path, run: Callable[..., Run]) -> None:
    """`code` is a kind of the sources in mcpg.toml, relative to that file."""
    (folder / "mcpg.toml").write_text('[[sources]]\ncode = "src"\n', "utf-8")
    result = run("bundle", "-o", "app.mdld")
    assert result.code == 0
    assert "no tool was found" not in result.err
    assert names("app.mdld") == ["login", "post"]
    checks = json.loads(run("doctor", "--format", "json").out)["checks"]
    (check,) = [one for one in checks if one["name"] == "source src"]
    assert (check["status"], check["details"]["kind"]) == ("note", "code")


def test_changed_code_is_stale(folder: Path, run: Callable[..., Run]) -> None:
    """`--check` fails once a file has changed, and `--diff` shows its symbols."""
    sources = ("tools.json", "code:src", "-o", "app.mdld")
    assert run("bundle", *sources).code == 0
    assert run("bundle", *sources, "--check").code == 0
    (folder / "src" / "app.py").write_text("def logout(): pass\n", "utf-8")
    assert run("bundle", *sources, "--check").code == 1
    shown = run("bundle", *sources, "--diff").out
    assert '+{"symbol": "logout"' in shown
    assert '-{"symbol": "login"' in shown


def test_a_missing_folder_is_an_error(run: Callable[..., Run]) -> None:
    """Code that is not there fails the build, with the path."""
    result = run("bundle", "code:nowhere", "-o", "app.mdld")
    assert result.code == 2
    assert "nowhere" in result.err
