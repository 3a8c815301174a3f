"""A worker process, which can be killed in the middle of anything.

The process is another Python with the same `sys.path`. It reads a head, a line of JSON, and the
data after it; then it answers each request, a line of JSON, with a line of JSON. It ends with its
input, when a request times out, and when memory runs out.
"""

from __future__ import annotations

import faulthandler
import json
import math
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TextIO

READY = b"ready\n"
SHORTEST = 0.001
"""The least time that a request can be given, in seconds."""

_LONGEST = 86_400.0

_PROGRAM = """\
import json, sys
head = json.loads(sys.stdin.buffer.readline())
sys.path[:] = head["path"]
from mcpg.graph.worker import serve
serve(head, sys.stdin.buffer, sys.stdout.buffer)
"""


class WorkerEndedError(Exception):
    """The process ended before it had answered, *is_late* if the request had taken its time."""

    def __init__(self, *, is_late: bool) -> None:
        super().__init__(is_late)
        self.is_late = is_late


class Worker:
    """A process that answers requests one at a time; close it after use."""

    def __init__(self, module: str, data: bytes, until: float = math.inf, **head: Any) -> None:
        """Start the process, which is ready before `time.monotonic()` is *until*.

        *module* names a module with a function `load`, see `serve`; *data* and *head* are its
        arguments.
        """
        ours = {
            "path": sys.path,
            "module": module,
            "bytes": len(data),
            "seconds": _compute_timeout(until),
        }
        # Modules in the current folder must not be imported.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, nothing of it from outside
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._exchange(json.dumps({**head, **ours}).encode() + b"\n" + data, until)

    @property
    def is_running(self) -> bool:
        """Whether the process can answer."""
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], until: float) -> Any:
        """Return the answer to *request*, which may take until `time.monotonic()` is *until*.

        If the process ends before, this is a `WorkerEndedError`.
        """
        line = json.dumps({**request, "seconds": _compute_timeout(until)}).encode() + b"\n"
        return json.loads(self._exchange(line, until))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()

    def _exchange(self, data: bytes, until: float) -> bytes:
        answer = b""
        try:
            if self._process.stdin is not None and self._process.stdout is not None:
                with suppress(OSError):
                    self._process.stdin.write(data)
                    self._process.stdin.flush()
                answer = self._process.stdout.readline()
        finally:
            if not answer.endswith(b"\n"):
                # A late answer would be mistaken for the answer to the next request.
                self.close()
        if not answer.endswith(b"\n"):
            raise WorkerEndedError(is_late=time.monotonic() >= until)
        return answer


def _compute_timeout(until: float) -> float:
    return min(max(until - time.monotonic(), SHORTEST), _LONGEST)


def serve(head: Mapping[str, Any], requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests, in the process itself.

    *head* has the `module` whose function `load` is called with the head and the data and returns
    the function that answers a request, how many `bytes` the data have, and the `seconds` until it
    has to be ready. *requests* are the data, then one request a line with its `seconds`. *answers*
    takes `READY`, then one answer a line.
    """
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 - a device
        with _limit_time(head["seconds"], nowhere):
            load = import_module(head["module"]).load
            answer: Callable[[dict[str, Any]], Any] = load(head, requests.read(head["bytes"]))
        answers.write(READY)
        answers.flush()
        for line in requests:
            request = json.loads(line)
            with _limit_time(request["seconds"], nowhere):
                found = json.dumps(answer(request))
            answers.write(found.encode() + b"\n")
            answers.flush()


def bound_memory(size: int) -> None:
    """End this process when it takes more than *size* bytes, if the system has such a bound."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            size = min(size, most)
        resource.setrlimit(resource.RLIMIT_AS, (size, most))


def memory_taken() -> int:
    """Return the size of this process's address space, 0 if the system does not list it."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


@contextmanager
def _limit_time(seconds: float, nowhere: TextIO) -> Iterator[None]:
    faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
