"""Processes that compute the results of a build cache ahead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from pathlib import Path
from threading import Event, Timer
from typing import TYPE_CHECKING

import pytest

from mcpg.caching.build_cache import ResultKind, StoredBuildCache, load_build_cache
from mcpg.caching.build_pool import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 60.0


def marked(path: bytes) -> bytes | None:
    """Make the file *path*, and return the number of the process; names of some files are odd."""
    file = Path(os.fsdecode(path))
    file.touch()
    if file.name in ("break", "raise", "none"):
        wait_for(file.with_name("awaited"))
    if path.endswith(b"break"):
        os._exit(1)
    if path.endswith(b"raise"):
        raise ValueError(path)
    return None if path.endswith(b"none") else str(os.getpid()).encode()


PROCESS: ResultKind[int] = ResultKind("process", lambda number: str(number).encode(), int, marked)


@pytest.fixture
def memo(tmp_path: Path) -> Iterator[StoredBuildCache]:
    """A memory with another process at work."""
    with load_build_cache(tmp_path / "a.memo") as memo:
        memo.workers = Workers(2)
        yield memo


def asked(memo: StoredBuildCache, path: Path) -> int:
    """Return the process that worked out what is asked for, which is this one if none has yet."""
    return memo.recall(PROCESS, lambda: os.fsencode(path), os.getpid)


def wait_for(path: Path) -> None:
    """Wait until there is a file at *path*."""
    end = time.monotonic() + _PATIENCE
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert path.exists()


def test_what_another_process_has_begun_with_is_not_worked_out_here(
    memo: StoredBuildCache, tmp_path: Path
) -> None:
    """Results of other processes are taken."""
    first, second = tmp_path / "first", tmp_path / "second"
    memo.ahead([PROCESS], [os.fsencode(first), os.fsencode(second)])
    wait_for(first)

    assert asked(memo, first) == asked(memo, second) != os.getpid()


def test_a_share_is_left_to_this_process(memo: StoredBuildCache, tmp_path: Path) -> None:
    """Of two processes, each computes every second result, if both have other work to do."""
    files = [tmp_path / name for name in ("first", "second", "third", "fourth")]
    memo.ahead([PROCESS], map(os.fsencode, files), shares=True)
    wait_for(files[2])

    assert [asked(memo, file) == os.getpid() for file in files] == [False, True, False, True]


@pytest.mark.parametrize("name", ["break", "raise", "none"])
def test_what_no_process_gives_is_worked_out_here(
    memo: StoredBuildCache, tmp_path: Path, name: str
) -> None:
    """A process that dies, a function that raises and one without a result change no result."""
    memo.ahead([PROCESS], [os.fsencode(tmp_path / name)])
    wait_for(tmp_path / name)
    # The process is waited for when it fails.
    Timer(0.2, (tmp_path / "awaited").touch).start()

    assert asked(memo, tmp_path / name) == os.getpid()


def test_where_no_process_can_be_started_all_is_worked_out_here(
    memo: StoredBuildCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems that refuse further processes get the same results."""
    # Started by the missing program, it would fail all later tests of this process.
    resource_tracker.ensure_running()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    monkeypatch.setattr("multiprocessing.spawn._python_exe", os.fsencode(tmp_path / "nothing"))
    memo.ahead([PROCESS], [os.fsencode(tmp_path / "first")])

    assert asked(memo, tmp_path / "first") == os.getpid()


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
def test_where_no_file_can_be_opened_all_is_worked_out_here(
    memo: StoredBuildCache, tmp_path: Path
) -> None:
    """A process that may open no more files gets the same results from itself."""
    import resource  # noqa: PLC0415 - there is none on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    workers = Workers(2)
    memo.workers = workers
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        workers.prepare(marked)
        memo.ahead([PROCESS], [os.fsencode(tmp_path / "first")])
        assert asked(memo, tmp_path / "first") == os.getpid()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_job_is_this_process_alone(tmp_path: Path) -> None:
    """Nothing is started for one job."""
    with load_build_cache(tmp_path / "a.memo") as memo:
        memo.workers = Workers(1)
        memo.ahead([PROCESS], [os.fsencode(tmp_path / "first")])

        assert asked(memo, tmp_path / "first") == os.getpid()
    assert not (tmp_path / "first").exists()


def test_results_that_are_being_kept_are_waited_for() -> None:
    """A result is kept by one thread, or two would write to one place of the cache."""
    workers, is_begun, may_end = Workers(2), Event(), Event()
    kept: dict[bytes, bytes] = {}

    def keep(key: bytes, result: bytes) -> None:
        is_begun.set()
        assert may_end.wait(_PATIENCE)
        kept[key] = result

    workers.start([bytes.upper], [([b"key"], b"a")], keep)
    try:
        assert is_begun.wait(_PATIENCE)
        Timer(0.2, may_end.set).start()
        workers.wait_for(b"key", keep)

        assert kept == {b"key": b"A"}
    finally:
        may_end.set()
        workers.close()


def blocked(folder: bytes) -> bytes:
    """Return whether this process, one of two, began without hearing interrupts."""
    Path(os.fsdecode(folder), str(os.getpid())).touch()
    end = time.monotonic() + _PATIENCE
    while len(list(Path(os.fsdecode(folder)).iterdir())) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return b"yes" if signal.SIGINT in held else b"no"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_no_process_hears_an_interrupt_while_it_starts(tmp_path: Path) -> None:
    """An interrupt of the terminal reaches all processes; a second one prints no trace either."""
    workers = Workers(3)
    kept: dict[bytes, bytes] = {}
    keys = [str(number).encode() for number in range(65)]  # one more than a task has

    workers.start([blocked], [([key], os.fsencode(tmp_path)) for key in keys], kept.__setitem__)
    try:
        for key in keys[:1] + keys[-1:]:
            workers.wait_for(key, kept.__setitem__)
    finally:
        workers.close()

    assert len(list(tmp_path.iterdir())) == 2
    assert set(kept.values()) == {b"yes"}


SCRIPT = """\
import sys, time
from pathlib import Path
from mcpg.caching.build_cache import ResultKind, load_build_cache
from mcpg.caching.build_pool import Workers

def slow(path):
    Path(path.decode()).touch()
    time.sleep(0.5)
    return b"1"

if __name__ == "__main__":
    with load_build_cache(sys.argv[1] + "/a.memo") as memo:
        memo.workers = Workers(2)
        memo.ahead([ResultKind("slow", bytes, int, slow)], [(sys.argv[1] + "/begun").encode()])
        time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_other_processes_end_with_this_one(tmp_path: Path, number: str) -> None:
    """Whatever ends a build, no process is left behind, and none prints a trace of its own."""
    (tmp_path / "script.py").write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_for(tmp_path / "begun")
        if number == "SIGINT":  # as a terminal does
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(getattr(signal, number))
        # The pipes end with the last process that holds them.
        _, told = process.communicate(timeout=_PATIENCE)

    assert told.count("Traceback") == (number == "SIGINT")
