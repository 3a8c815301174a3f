"""The tasks of the Makefile."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def planned(folder: Path, task: str) -> str:
    """Return the commands that a task would run in *folder*."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copyfile(ROOT / name, folder / name)
    command = ["make", "--dry-run", task]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_demo_installs_mcpg_alone(tmp_path: Path) -> None:
    """It takes neither extras nor what tests need, and leaves the screen to mcpg."""
    (installed,) = [
        line for line in planned(tmp_path, "demo").splitlines() if "pip install" in line
    ]
    assert installed.endswith("--editable .")
    assert "--quiet" in installed


def test_the_demo_uses_what_is_there(tmp_path: Path) -> None:
    """Where everything is installed for tests, the demo installs nothing."""
    planned(tmp_path, "demo")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.ready").touch()
    assert "pip install" not in planned(tmp_path, "demo").replace("\\\n", "")


def test_tests_need_everything(tmp_path: Path) -> None:
    """Where only the demo was set up, the tests install all they need beside it."""
    assert "-m venv" in planned(tmp_path, "style")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/.demo").touch()
    plan = planned(tmp_path, "style")
    assert "--group dev" in plan
    assert "-m venv" not in plan
