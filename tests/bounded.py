"""Work that must end, and not grow with the square of what it is given.

A hang in another process fails one test and not the suite; elsewhere calls are counted.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SECONDS = 90
"""Far more than the work takes, and far less than it took when it grew with the square."""


def output_of(program: str) -> str:
    """Run a Python *program* and give what it prints; it must end in `MOST_SECONDS`."""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=MOST_SECONDS, check=True
    )
    return ended.stdout


def calls_in(work: Callable[[], object]) -> int:
    """Count the calls of functions, in C too, that *work* makes; run it once before, for caches."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
