"""Deadlines: work that ends in time, or is abandoned.

Work runs in a thread of its own, so that nothing it does (an address that does not resolve, a
server that sends a byte a second, a client that cancels itself) delays or ends the caller.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Call:
    """The time that work has, and whether its caller still waits; shared by both threads."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._abandoned = threading.Event()
        self._lock = threading.Lock()
        self._cut: Callable[[], None] | None = None

    def remaining(self) -> float:
        """Return how many seconds are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def sleep(self, seconds: float) -> bool:
        """Wait *seconds*, and return whether the caller still waits for the work."""
        return not self._abandoned.wait(seconds)

    @contextmanager
    def cut_by(self, cut: Callable[[], None]) -> Iterator[None]:
        """Call *cut* if the caller gives up while the block runs, and never after it."""
        with self._lock:
            self._cut = cut
            if self._abandoned.is_set():
                self._cut_off()
        try:
            yield
        finally:
            with self._lock:
                self._cut = None

    def abandon(self) -> None:
        """Give up the work."""
        with self._lock:
            self._abandoned.set()
            self._cut_off()

    def _cut_off(self) -> None:
        # Under the lock: nobody else gets what is cut before this has returned.
        if self._cut is not None:
            with suppress(OSError):
                self._cut()


@dataclass(frozen=True, slots=True)
class Ended(Generic[Result]):
    """The result of work, or whatever it raised."""

    result: Result | None
    fault: BaseException | None = None


def within(seconds: float, work: Callable[[Call], Result]) -> Ended[Result] | None:
    """Run *work* for at most *seconds*; return `None` if it has not ended by then.

    What the work raises is returned, never raised: even its own cancellation or interruption. What
    interrupts the wait itself is raised, and the work abandoned.
    """
    seconds = min(seconds, threading.TIMEOUT_MAX)
    call = Call(seconds)
    done = threading.Event()
    ended: list[Ended[Result]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            ended.append(Ended(context.run(work, call)))
        except BaseException as fault:  # noqa: BLE001 - whatever it is, it is the work's own
            ended.append(Ended(None, fault))
        finally:
            done.set()

    is_done = False
    try:
        threading.Thread(target=run, name="mcpg-deadline", daemon=True).start()
        is_done = done.wait(seconds)
    finally:
        if not is_done:
            call.abandon()
    return ended[0] if is_done else None
