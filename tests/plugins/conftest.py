"""Packages with plugins, installed where a process of mcpg finds them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass
class Site:
    """A folder of packages, and a folder to work in."""

    packages: Path
    work: Path

    def install(self, name: str, code: str, value: str = "") -> None:
        """Install the module *name* with an entry point that names its `PLUGIN`, or *value*."""
        (self.packages / f"{name}.py").write_text(code)
        info = self.packages / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        named = f"{name} = {value or f'{name}:PLUGIN'}"
        (info / "entry_points.txt").write_text(f"[mcpg.plugins]\n{named}\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run mcpg, which finds the packages."""
        paths = os.pathsep.join((str(self.packages), str(ROOT)))
        return subprocess.run(
            [sys.executable, "-m", "mcpg", *arguments],
            cwd=self.work,
            env=os.environ | {"PYTHONPATH": paths, "MCPG_CACHE_DIR": str(self.work / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an empty folder of packages."""
    for name in ("packages", "work"):
        (tmp_path / name).mkdir()
    return Site(tmp_path / "packages", tmp_path / "work")
