"""Work that must end: run in another process, so that a hang fails one test and not the suite."""

from __future__ import annotations

import subprocess
import sys

MOST_SECONDS = 90
"""Far more than the work takes, and far less than it took when it grew with the square."""


def output_of(program: str) -> str:
    """Run a Python *program* and give what it prints; it must end in `MOST_SECONDS`."""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=MOST_SECONDS, check=True
    )
    return ended.stdout
