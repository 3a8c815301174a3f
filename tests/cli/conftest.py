"""Runs the program inside the tests' own process."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from shop import HINTS, MANIFEST, Run

from mcpg.cli import main
from mcpg.cli.setting_keys import KEYS, SECRET_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder in which no setting of the machine is felt."""
    variables = {key.variable for key in KEYS.values()} | SECRET_VARIABLES
    for name in (*variables, "OPENAI_BASE_URL", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCPG_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("MCPG_TOKENS", str(tmp_path.parent / f"{tmp_path.name}-tokens"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sources(folder: Path) -> Path:
    """A folder of sources: a shop's manifest and the hints to it."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    (tools / "shop.hints.yaml").write_text(HINTS, "utf-8")
    return tools


@pytest.fixture
def graph(sources: Path, run: Callable[..., Run]) -> Path:
    """The bundle of the shop, where it is discovered."""
    assert run("bundle", str(sources), "-q").code == 0
    return sources.parent / "graph.mdld"


@pytest.fixture
def run(
    folder: Path,  # noqa: ARG001 - every run starts in a folder of its own
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Run]:
    """Run the program with the given arguments and standard input."""

    def call(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return call
