"""Fixtures that run the program inside the process of the tests."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from shutil import copytree
from typing import TYPE_CHECKING

import pytest
from schemas import assert_described
from shop import HINTS, MANIFEST, Run

from mcpg.cli import main
from mcpg.cli.environment import KEYS, SECRET_VARIABLES
from mcpg.index.file import fresh_index
from mcpg.search.model import recipe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make *folder* the working folder, with caches of its own and no settings."""
    variables = {key.variable for key in KEYS.values()} | SECRET_VARIABLES
    for name in (*variables, "OPENAI_BASE_URL", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCPG_CACHE_DIR", str(folder.parent / f"{folder.name}-cache"))
    monkeypatch.setenv("MCPG_LOGIN_DIR", str(folder.parent / f"{folder.name}-tokens"))
    monkeypatch.chdir(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, unaffected by settings of the machine."""
    settle(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def sources(folder: Path) -> Path:
    """A folder of sources: a shop's manifest and its hints."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "shop.json").write_text(json.dumps(MANIFEST), "utf-8")
    (tools / "shop.hints.yaml").write_text(HINTS, "utf-8")
    return tools


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that runs commands in a new folder of sources, once for the same arguments."""

    @cache
    def build(files: tuple[tuple[str, str], ...], *commands: tuple[str, ...]) -> Path:
        folder = tmp_path_factory.mktemp("built")
        for name, content in files:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content, "utf-8")
        with pytest.MonkeyPatch.context() as patch:
            settle(folder, patch)
            assert [main(command) for command in commands] == [0] * len(commands)
        return folder

    return build


@pytest.fixture
def graph(sources: Path, built: Callable[..., Path]) -> Path:
    """The bundle of the shop, where it is discovered."""
    files = tuple(
        (f"tools/{file.name}", file.read_text("utf-8")) for file in sorted(sources.iterdir())
    )
    copytree(built(files, ("bundle", "tools", "-q")), sources.parent, dirs_exist_ok=True)
    bundle = sources.parent / "graph.mdld"
    assert fresh_index(str(bundle), recipe())  # it is a copy, whose index is stamped anew now
    return bundle


@pytest.fixture
def run(
    folder: Path,  # noqa: ARG001 - every run starts in a folder of its own
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Run]:
    """Run the program with the given arguments and standard input.

    Whatever it prints as JSON is as its published schema describes it.
    """

    def call(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        captured = capsys.readouterr()
        if captured.out.startswith('{\n  "schema": "mcpg/'):
            assert_described(json.loads(captured.out))
        return Run(code, captured.out, captured.err)

    return call
