"""Kill a process at one of its file operations, or let its disk be full from there on."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from typing import NoReturn

from mcpg.errors import McpgError

FOLDER_EVENTS = {"os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ENDED = 0
FAILED = 1


def killed(work: Callable[[], object], step: int) -> bool:
    """Do *work* in a process that is killed before its file operation *step*.

    Returns:
        Whether it was killed; a process with fewer operations ends before.
    """
    return os.WIFSIGNALED(_status(work, step, _kill))


def out_of_disk(work: Callable[[], object], step: int) -> bool:
    """Do *work* in a process that can write no file from its file operation *step* on.

    Returns:
        Whether that made it fail.
    """
    return os.waitstatus_to_exitcode(_status(work, step, _refuse)) != ENDED


def ended(work: Callable[[], object]) -> bool:
    """Do *work* in a process of its own; return whether it ended without an error."""
    return not out_of_disk(work, sys.maxsize)


def operations(work: Callable[[], object]) -> int:
    """Do *work* in a process of its own; return the number of its file operations."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        done: list[str] = []
        _run(work, 1, done.append, lambda: os.write(writing, str(len(done)).encode()))
    os.close(writing)
    with os.fdopen(reading) as counted:
        os.waitpid(process, 0)
        return int(counted.read())


def steps(attempt: Callable[[int], bool]) -> Iterator[int]:
    """Yield the steps at which *attempt* can be interrupted, each after it was."""
    for step in count(1):
        if not attempt(step):
            return
        yield step


def _status(work: Callable[[], object], step: int, stop: Callable[[str], object]) -> int:
    process = os.fork()
    if not process:
        _run(work, step, stop)
    return os.waitpid(process, 0)[1]


def _run(
    work: Callable[[], object],
    step: int,
    stop: Callable[[str], object],
    end: Callable[[], object] = int,
) -> NoReturn:
    done = 0

    def count_operation(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        if event in FOLDER_EVENTS or (event == "open" and _writes(arguments[2])):
            done += 1
            if done >= step:
                stop(event)

    sys.addaudithook(count_operation)
    try:
        work()
        end()
    except (OSError, McpgError):
        os._exit(FAILED)
    except BaseException:  # noqa: BLE001 - a forked process must not return
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(ENDED)


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and bool(flags & WRITING)


def _kill(_event: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _refuse(event: str) -> None:
    if event in {"open", "os.mkdir"}:  # what is written already can be renamed and removed
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
