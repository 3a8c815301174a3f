"""A plugin of pytest for `mutation.py`: which functions each test reaches, and which tests fail.

Each process writes a file into the folder that `MUTATION_REACH` names.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from mutmut.state import state

reached: dict[str, list[str]] = {}
seconds: dict[str, float] = defaultdict(float)
failed: set[str] = set()


def pytest_runtest_logreport(report: Any) -> None:
    """Note the outcome of a phase of a test."""
    seconds[report.nodeid] += report.duration
    if not report.passed:
        failed.add(report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note what the test has reached."""
    functions = state()._stats  # noqa: SLF001 - mutmut offers no other way
    reached[nodeid] = sorted(functions)
    functions.clear()


def pytest_sessionfinish() -> None:
    """Write it all down."""
    found = {"reached": reached, "seconds": seconds, "failed": sorted(failed)}
    Path(os.environ["MUTATION_REACH"], f"{os.getpid()}.json").write_text(json.dumps(found), "utf-8")
