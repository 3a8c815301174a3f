"""Runs a reader on one input after another, and notices faults."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Self

from mcpg.errors import McpgError

from .model import Target
from .mutators import mutate_bytes

MOST_SECONDS = 1.0
MOST_GROWTH = 500 << 20
_TICKS = 4
_WORD = re.compile(r"[\w$@:./-]+")
_MOST_WORDS = 2000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = frozenset(
    ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
)
_KIB = 1 if sys.platform == "darwin" else 1024


class SlowError(BaseException):
    """An execution takes too long; no handler of the reader may take it for its own."""


class OutsideError(BaseException):
    """An execution writes a file outside of its folder."""


@dataclass
class Fault:
    """A kind of fault: the same exception at the same place."""

    key: str
    trace: str
    data: bytes
    count: int = 1

    @property
    def file_name(self) -> str:
        """The name of the file that keeps its input."""
        return sha256(self.key.encode()).hexdigest()[:12]


@dataclass
class Runner:
    """Runs the reader of a target, and keeps each kind of fault once, with its smallest input."""

    target: Target
    folder: Path
    faults: dict[str, Fault] = field(default_factory=dict)
    executions: int = 0
    slowest: float = 0.0
    accepted: int = 0

    def __post_init__(self) -> None:
        work = self.folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        self._work = os.path.realpath(work)
        self._is_running = False
        self._ticks = 0
        self._peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB

    def __enter__(self) -> Self:
        """Begin to watch the time of executions and the files that they change."""
        self._held = ExitStack()
        self.read = self._held.enter_context(self.target.open(Path(self._work)))
        # Modules that are imported late would be written.
        self._held.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
        sys.dont_write_bytecode = True
        _add_hook()
        _watching.append(self)
        # One timer for all executions: to set it for each takes longer than many of them.
        signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, *[MOST_SECONDS / _TICKS] * 2)
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no longer."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
        _watching.remove(self)
        self._held.close()

    def run(self, data: bytes) -> Fault | None:
        """Read *data*, and return a fault if there is one."""
        self.executions += 1
        fault = self._try(data)
        if fault is None:
            return None
        known = self.faults.setdefault(fault.key, fault)
        if known is not fault:
            known.count += 1
            if len(data) < len(known.data):
                known.data, known.trace = data, fault.trace
        return fault

    def _try(self, data: bytes) -> Fault | None:
        start = time.process_time()
        try:
            self._is_running = True
            self.read(data)
            self.accepted += 1
        except (McpgError, *self.target.errors):
            pass
        except BaseException as fault:  # whatever is raised is what is looked for
            if isinstance(fault, KeyboardInterrupt):
                raise
            return _describe(fault, data)
        finally:
            self._is_running = False
            self._ticks = 0
            self.slowest = max(self.slowest, time.process_time() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
        growth, self._peak = peak - self._peak, peak
        if growth > MOST_GROWTH:
            return Fault(f"memory grew by {growth >> 20} MiB", "", data)
        return None

    def _tick(self, _: int, __: FrameType | None) -> None:
        """Stop the reader once its execution has taken a second of the processor or more."""
        self._ticks += self._is_running
        if self._is_running and self._ticks > _TICKS:
            raise SlowError(f"more than {MOST_SECONDS:g} s")

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Stop an execution that is about to change a file outside of its folder."""
        if not self._is_running:
            return
        is_change = event in _CHANGES
        if event == "open":
            mode, flags = arguments[1:]
            is_change = bool(flags & _WRITING) if isinstance(flags, int) else "r" not in str(mode)
        if is_change and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.fsdecode(arguments[0])
            if ".." in path or not path.startswith(self._work):
                path = os.path.realpath(path)
            if not path.startswith((self._work, os.devnull)):
                raise OutsideError(f"{event}: {path}")

    def minimize(self, fault: Fault, seconds: float = 20.0) -> bytes:
        """Return the shortest input found in some *seconds* that causes the same fault."""
        data, size = fault.data, max(len(fault.data) // 2, 1)
        ends = time.monotonic() + seconds
        while size and time.monotonic() < ends:
            place = 0
            while place < len(data) and time.monotonic() < ends:
                shorter = data[:place] + data[place + size :]
                found = self._try(shorter)
                if found is not None and found.key == fault.key:
                    data = shorter
                else:
                    place += size
            size //= 2
        return data


_watching: list[Runner] = []


@cache
def _add_hook() -> None:
    """Add the hook of all runners, since Python removes none."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if _watching:
            _watching[-1].audit(event, arguments)

    sys.addaudithook(audit)


def _describe(fault: BaseException, data: bytes) -> Fault:
    """Make a fault of an exception: its key names the innermost place in the project."""
    frames = traceback.extract_tb(fault.__traceback__)
    own = [one for one in frames if f"{os.sep}mcpg{os.sep}" in one.filename] or frames
    inner = own[-1]
    place = f"{inner.filename.rpartition('mcpg' + os.sep)[2]}:{inner.name}"
    name = type(fault).__name__
    # Where the clock stops a reader is chance.
    key = f"{name} {place}" if not isinstance(fault, SlowError) else f"{name} {_outer(own)}"
    return Fault(key, "".join(traceback.format_exception(fault))[-6000:], data)


def _outer(frames: Sequence[traceback.FrameSummary]) -> str:
    return " < ".join(one.name for one in frames[:2])


def collect_words(inputs: Sequence[bytes]) -> list[str]:
    """Return the words of inputs: what a mutator puts into others."""
    text = b" ".join(inputs).decode("utf-8", "replace")
    words = dict.fromkeys(_WORD.findall(text))
    return [one for one in words if len(one) < 60][:_MOST_WORDS]


def run_mutations(runner: Runner, executions: int, seed: int = 0) -> None:
    """Run the first inputs and mutations of them, without coverage: a short check."""
    rng = Random(seed)
    inputs = runner.target.read_seeds()
    words = collect_words(inputs)
    for data in inputs:
        runner.run(data)
    while runner.executions < executions:
        runner.run(mutate(rng.choice(inputs), runner.target, words, rng))


def mutate(data: bytes, target: Target, words: Sequence[str], rng: Random) -> bytes:
    """Return *data* changed by the mutator of *target*, or if that cannot, by bytes."""
    changed = target.mutate(data, words, rng)
    return (mutate_bytes(data, words, rng) if changed is None else changed)[: target.largest]
