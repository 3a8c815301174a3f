"""Processes that compute the results of a build cache ahead of their use.

Results of a single document depend only on its content, so other processes can compute them while
this one relates the tools. This process computes the rest: other processes save time and change
nothing else.
"""

from __future__ import annotations

import gc
import os
import signal
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from mcpg.files import new_file

if TYPE_CHECKING:  # slow to import, and a build with nothing to do starts no process
    from concurrent.futures import Future, ProcessPoolExecutor

_PRIVATE = 0o600
_LENGTH = struct.Struct("=Q")


class ChunkRange(NamedTuple):
    """The place of pieces: a file, and the offsets of the first piece and after the last one."""

    path: Path
    start: int
    end: int


NOWHERE = ChunkRange(Path(), 0, 0)
"""The place of no pieces."""


class ChunkFile:
    """A temporary file in *folder* that pieces are written to, removed when it is closed.

    Each step raises `OSError` if the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self.path, handle = new_file(folder, _PRIVATE)
        self._file = os.fdopen(handle, "wb")
        self._end = 0

    def add(self, piece: bytes) -> None:
        """Write a piece."""
        self._file.write(_LENGTH.pack(len(piece)))
        self._file.write(piece)
        self._end += _LENGTH.size + len(piece)

    def since(self, start: int = 0) -> ChunkRange:
        """Return the place of the pieces from *start* on, which others can read from now on."""
        self._file.flush()
        return ChunkRange(self.path, start, self._end)

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink()


def read_chunks(place: ChunkRange) -> Iterator[bytes]:
    """Return the pieces at *place*, read one by one; may raise `OSError` or `struct.error`."""
    if place.start == place.end:
        return
    with place.path.open("rb") as file:
        file.seek(place.start)
        left = place.end - place.start
        while left > 0:
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
            yield file.read(length)
            left -= _LENGTH.size + length


Make = Callable[[bytes], bytes | None]
Rows = list[list[bytes | None]]

# A task is short enough to wait for its end, and long enough to be worth sending.
_PER_TASK = 64
_MOST_PROCESSES = 8

COLLECTED_AFTER = 100_000
"""So many more values than before make a build look for unreachable circles: it makes millions of
values and hardly any circle, and looking for them takes a sixth of the time."""


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class _Task:
    """The work sent to a process at once: keys of results, and the results until they are kept."""

    keys: Sequence[Sequence[bytes]]
    future: Future[Rows] | None = None


class Workers:
    """A pool of processes, of which *jobs* work at once, this one included.

    Their input is in a temporary file in *folder*, or in the system's.
    """

    def __init__(self, jobs: int, folder: Path | None = None) -> None:
        self.jobs = min(jobs, _MOST_PROCESSES)
        self._size = self.jobs - 1
        self._pool: ProcessPoolExecutor | None = None
        self._tasks: dict[bytes, _Task] = {}
        self._lock = Lock()
        self._folder = folder
        self._given: ChunkFile | None = None

    def start(
        self,
        makes: Sequence[Make],
        keyed: Iterable[tuple[Sequence[bytes], bytes]],
        keep: Callable[[bytes, bytes], None],
    ) -> None:
        """Let the processes compute results with *makes*.

        Each of *keyed* has the key of the result of each function, and what they depend on; *keep*
        takes each key and result, in any thread, and must not raise.
        """
        remaining = iter(keyed)
        with suppress(OSError, RuntimeError, ImportError):  # no process can be started here
            while self._size > 0 and (chunk := list(islice(remaining, _PER_TASK))):
                task = _Task([keys for keys, _ in chunk])
                if self._given is None:
                    self._given = ChunkFile(self._folder or Path(gettempdir()))
                begin = self._given.since().end
                for _, given in chunk:
                    self._given.add(given)
                task.future = self._submit(makes, self._given.since(begin))
                self._tasks |= {key: task for keys in task.keys for key in keys}
                task.future.add_done_callback(partial(self._store, task, keep))

    def prepare(self, *makes: Make) -> None:
        """Start the processes, and let them import the functions that they will be sent."""
        with suppress(OSError, RuntimeError, ImportError):  # as below
            for _ in range(self._size):
                self._submit(makes, NOWHERE)

    def wait_for(self, key: bytes, keep: Callable[[bytes, bytes], None]) -> None:
        """Wait until the result for *key* is kept, if a process is computing it.

        Work that no process has begun is left to the caller.
        """
        task = self._tasks.pop(key, None)
        if task is None:
            return
        with self._lock:  # until all results of a task are kept
            future = task.future
        if future is not None and not future.cancel():
            with suppress(Exception):  # who needs the result computes it
                future.result()
            self._store(task, keep, future)

    def close(self) -> None:
        """End the processes."""
        self._tasks.clear()
        try:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
                self._pool = None
        finally:  # an interrupt may end the wait
            if self._given is not None:
                self._given.close()
                self._given = None

    def _submit(self, makes: Sequence[Make], place: ChunkRange) -> Future[Rows]:
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - as above
            from multiprocessing import get_context  # noqa: PLC0415 - as above

            # A process forked while another thread shows progress may hang.
            spawn = get_context("spawn")
            self._pool = ProcessPoolExecutor(self._size, mp_context=spawn, initializer=_begin)
        with _hold_interrupts():  # each of the first tasks starts a process
            return self._pool.submit(_compute, makes, place)

    def _store(
        self, task: _Task, keep: Callable[[bytes, bytes], None], future: Future[Rows]
    ) -> None:
        """Keep the results of *task*, which has ended, unless they are kept already."""
        with self._lock:
            is_kept, task.future = task.future is None, None
            if is_kept or future.cancelled() or future.exception() is not None:
                return
            for keys, row in zip(task.keys, future.result(), strict=True):
                for key, result in zip(keys, row, strict=True):
                    if result is not None:
                        keep(key, result)


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Start processes that do not receive an interrupt of the terminal, if possible."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _begin() -> None:
    """Leave interrupts to the process that started this one, and end with it."""
    from multiprocessing import parent_process  # noqa: PLC0415 - as above

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
    parent = parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


def _compute(makes: Sequence[Make], place: ChunkRange) -> Rows:
    return [[make(one) for make in makes] for one in read_chunks(place)]
