"""Processes of the machine, as `/proc` lists them."""

from __future__ import annotations

import os
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is not reaped does not."""
    found = _state(pid)
    return found is not None and found[0] != "Z"


def children(pid: int | None = None) -> set[int]:
    """The running children of a process, by default of this one, without `guards`."""
    return {one for one in _children(pid) if not _is_guard(one)}


def guards() -> set[int]:
    """The children of this process that end programs if this process is killed."""
    return {one for one in _children(None) if _is_guard(one)}


def _children(pid: int | None) -> set[int]:
    parent = os.getpid() if pid is None else pid
    every = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return {one for one in every if is_alive(one) and (_state(one) or ("", 0))[1] == parent}


def _is_guard(pid: int) -> bool:
    try:
        return b"read -r _" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def is_gone(pid: int, seconds: float = 5) -> bool:
    """Whether a process ends within *seconds*."""
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def _state(pid: int) -> tuple[str, int] | None:
    """State and parent of a process, `None` where there is none."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return state, int(parent)
