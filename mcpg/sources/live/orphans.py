"""Ends the programs of a process that was killed and could not end them itself.

A program that reads its standard input ends when that is closed; one that is busy would go on for
ever. The parent-death signal of Linux reaches only the program that was started, neither what a
launcher such as `npx` started nor any program of another system, and it would have to be set
between `fork` and `exec`, where a process with threads may run no Python.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SHELL = "/bin/sh"
# The end of its input is that of the process that holds the other end of the pipe.
_SCRIPT = 'read -r _; sleep 1; kill -s TERM -- "-$0"; sleep 1; kill -s KILL -- "-$0"'


@contextmanager
def ended_with_us(group: int) -> Iterator[None]:
    """End a process group if this process ends inside without having ended it.

    A shell in a session of its own waits for that; without a shell, nothing is done.

    Args:
        group: The process group.
    """
    guard = _start_guard(group)
    try:
        yield
    finally:
        if guard is not None:
            guard.kill()  # before its input is closed, so that it does nothing
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()


def _start_guard(group: int) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(  # noqa: S603 - our own script
            [_SHELL, "-c", _SCRIPT, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            cwd=Path("/"),
            start_new_session=True,
        )
    except OSError:
        return None
