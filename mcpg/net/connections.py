"""Connections to one server, each used by one request at a time and then reused.

A connection has a reference to its socket, so that an abandoned request can be cut off at once,
whatever the server does. Deadlines bound the time of such work.
"""

from __future__ import annotations

import contextvars
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import httpx

_MOST_KEPT = 4
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class HttpConnection:
    """A client with at most one connection."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._socket: socket.socket | None = None
        self._is_cut = False

    def trace(self, event: str, details: dict[str, Any]) -> None:
        """Remember the socket once there is one; httpx calls this as it goes along."""
        if event.endswith(_CONNECTED):
            self._socket = details["return_value"].get_extra_info("socket")
            if self._is_cut:
                self.cut()

    def cut(self) -> None:
        """Shut the socket down, in the middle of whatever it does, or as soon as there is one."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class ConnectionPool:
    """The connections to one server, shared by threads."""

    def __init__(self, proxy: str | None) -> None:
        self._proxy = proxy
        self._lock = threading.Lock()
        self._free: list[HttpConnection] = []
        self._owner = os.getpid()
        self._trust: ssl.SSLContext | None = None

    @contextmanager
    def connection(self) -> Iterator[HttpConnection]:
        """Lend a connection; it is kept for the next request only if this one ends well.

        Raises:
            ImportError: httpx is not installed.
        """
        self._drop_inherited()
        with self._lock:
            connection = self._free.pop() if self._free else None
        connection = connection or self._connect()
        is_well = False
        try:
            yield connection
            is_well = True
        finally:
            with self._lock:
                is_kept = is_well and len(self._free) < _MOST_KEPT
                if is_kept:
                    self._free.append(connection)
            if not is_kept:
                connection.client.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._drop_inherited()
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.client.close()

    def _drop_inherited(self) -> None:
        """Drop what the process had before it forked: two must not share a connection.

        The connection stays open for the parent; a thread of the parent's may have held the lock.
        """
        if self._owner != os.getpid():
            inherited, self._free = self._free, []
            self._lock, self._owner = threading.Lock(), os.getpid()
            for connection in inherited:
                connection.client.close()

    def _connect(self) -> HttpConnection:
        import httpx  # noqa: PLC0415 - an extra, and heavy

        with self._lock:
            self._trust = self._trust or httpx.create_ssl_context()
        # No proxy or password is read from the environment: callers that want one pass it.
        return HttpConnection(httpx.Client(verify=self._trust, trust_env=False, proxy=self._proxy))


# Deadlines. Work runs in a thread of its own, so that nothing it does (a slow resolver, a server
# that sends a byte a second, a client that cancels itself) delays or ends the caller.


Result = TypeVar("Result")


class WorkDeadline:
    """Deadline and abandonment of work, shared by its thread and its caller."""

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
        # Under the lock, so that nothing else uses the connection before this has returned.
        if self._cut is not None:
            with suppress(OSError):
                self._cut()


@dataclass(frozen=True, slots=True)
class WorkOutcome(Generic[Result]):
    """The result of work, or whatever it raised."""

    result: Result | None
    fault: BaseException | None = None


def within(seconds: float, work: Callable[[WorkDeadline], Result]) -> WorkOutcome[Result] | None:
    """Run *work* for at most *seconds*; return `None` if it has not ended by then.

    What the work raises is returned, never raised: even its own cancellation or interruption. What
    interrupts the wait itself is raised, and the work abandoned.
    """
    seconds = min(seconds, threading.TIMEOUT_MAX)
    call = WorkDeadline(seconds)
    done = threading.Event()
    ended: list[WorkOutcome[Result]] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            ended.append(WorkOutcome(context.run(work, call)))
        except BaseException as fault:  # noqa: BLE001 - whatever it is, it is the work's own
            ended.append(WorkOutcome(None, fault))
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
