"""Lines: connections to one server, each used by one request at a time and then again.

A line knows its socket, so that a request nobody waits for any more can be cut off at once,
whatever the server does.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mcpg.llm.errors import EndpointError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    import httpx

_MOST_KEPT = 4
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class Line:
    """One client with at most one connection."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self._socket: socket.socket | None = None

    def trace(self, event: str, told: dict[str, Any]) -> None:
        """Remember the socket once there is one; the client calls this as it goes along."""
        if event.endswith(_CONNECTED):
            self._socket = told["return_value"].get_extra_info("socket")

    def cut(self) -> None:
        """Cut the connection, in the middle of whatever it does."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class Lines:
    """The lines to one server, shared by threads."""

    def __init__(self, proxy: str | None) -> None:
        self._proxy = proxy
        self._lock = threading.Lock()
        self._free: list[Line] = []
        self._owner = os.getpid()
        self._trust: ssl.SSLContext | None = None

    @contextmanager
    def line(self) -> Iterator[Line]:
        """Lend a line; it is kept for the next request only when this one ends well."""
        self._own()
        with self._lock:
            line = self._free.pop() if self._free else None
        line = line or self._made()
        is_well = False
        try:
            yield line
            is_well = True
        finally:
            self._returned(line, is_well)

    def close(self) -> None:
        """Close the lines that nobody uses."""
        self._own()
        with self._lock:
            free, self._free = self._free, []
        for line in free:
            line.client.close()

    def _own(self) -> None:
        """Let go of what the process had before it forked: two must not talk over one connection.

        The connection stays open for the parent; a thread of the parent's may have held the lock.
        """
        if self._owner != os.getpid():
            inherited, self._free = self._free, []
            self._lock, self._owner = threading.Lock(), os.getpid()
            for line in inherited:
                line.client.close()

    def _returned(self, line: Line, is_well: bool) -> None:
        with self._lock:
            is_kept = is_well and len(self._free) < _MOST_KEPT
            if is_kept:
                self._free.append(line)
        if not is_kept:
            line.client.close()

    def _made(self) -> Line:
        """Make a line.

        Raises:
            EndpointError: httpx is not installed (`missing`).
        """
        try:
            import httpx  # noqa: PLC0415 - an extra, and heavy
        except ImportError:
            raise EndpointError(
                "the package httpx is not installed",
                kind="missing",
                remedy="install it with: pip install 'mcpg-graph[llm]'",
            ) from None
        with self._lock:
            self._trust = self._trust or httpx.create_ssl_context()
        # The environment is not asked for proxies or passwords: whoever reads it says so here.
        return Line(httpx.Client(verify=self._trust, trust_env=False, proxy=self._proxy))
