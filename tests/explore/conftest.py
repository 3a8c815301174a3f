"""The page of `mcpg explore`, served from a folder with the examples."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from exploring import mcpg_run, opened, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exploring import Served

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as sources and as a bundle."""
    folder = tmp_path_factory.mktemp("bundled") / "examples"
    shutil.copytree(ROOT / "examples", folder)
    assert mcpg_run("bundle", str(folder / "tools"), "-o", str(folder / "graph.mdld"), "-q") == 0
    return folder


@pytest.fixture
def folder(bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the examples as sources and as a bundle."""
    shutil.copytree(bundled, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[Served]:
    """The page of the examples, served."""
    yield from serving(opened(folder))
