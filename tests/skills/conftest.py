"""A skill to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from skillfolders import write_skill


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """Return the folder of a skill with a script and a reference."""
    text = (
        "description: Predicts the tide at a harbour. Use when asked for high or low water.\n"
        "metadata:\n  version: '1.2'\n---\n\n# Tides\n\nSee [stations](references/stations.md).\n"
    )
    files = {"scripts/predict.py": "print('run')\n", "references/stations.md": "# Stations\r\n"}
    return write_skill(tmp_path / "skills", "tide-tables", text, files)
