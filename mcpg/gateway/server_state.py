"""What a gateway knows of a server beside its connections: its tools, and how to connect to it."""

from __future__ import annotations

import json
import math
from typing import Any

import anyio

from mcpg.sources.client_config import Server, StdioServer
from mcpg.sources.live.client import ServerTools
from mcpg.sources.live.connection import LEGACY, ServerConnection
from mcpg.sources.registry import decide_scope
from mcpg.text.json_values import JsonObject

PAUSES = 1.0, 60.0
"""Shortest and longest pause, in seconds, after announcements of a change without any change."""


class Backoff:
    """When a server is listed again that has announced a change.

    A server may announce a change whenever it is listed, which would go on without end. One whose
    lists are the same as before, or that announces the next change at once, is ignored for a while,
    ever longer, until it announces a change later.

    Attributes:
        until: When it may be listed again, by the clock of the event loop.
    """

    def __init__(self, pauses: tuple[float, float] = PAUSES) -> None:
        """Begin without a pause; *pauses* are the shortest and the longest one."""
        self.until = 0.0
        self._pauses = pauses
        self._pause = 0.0
        self._announced = math.inf

    def record_announcement(self) -> None:
        """Record that the server has announced a change."""
        self._announced = min(self._announced, anyio.current_time())

    def record_list(self, *, has_changed: bool) -> None:
        """Record that the server was listed."""
        shortest, longest = self._pauses
        pause = max(shortest, self._pause)
        if self._announced < (self.until + pause if has_changed else math.inf):
            self._pause = min(max(shortest, 2 * self._pause), longest)
        elif has_changed:
            self._pause = 0.0
        self._announced = math.inf
        self.until = anyio.current_time() + self._pause


class ServerState:
    """What is known of one server, whichever connections there are to it.

    Attributes:
        server: The server.
        digest: A hash of its tools, `None` before they were listed.
        tasks: The names of the tools that only run as tasks.
        uris: The resources that are subscribed to.
        asks_one: Whether it has sent a request that may concern any of several clients.
        is_asking: Whether it has sent a request of its own accord.
        owes_roots: Whether it has asked for roots that nobody could be asked for.
        roots: The roots that it gets, where the client cannot be asked at any time.
        scope: Who shares a connection to it.
        refuses_older: Whether it refuses the handshake of the protocol up to 2025-11-25.
        is_lost: Whether the last request could not reach it over a connection that goes on.
        due: When its tools are listed again, by the clock of the event loop.
        uses: The requests of clients to the gateway before its tools were last requested.
    """

    def __init__(self, server: Server, pauses: tuple[float, float]) -> None:
        """Begin with nothing known of *server*; *pauses* are as for `Sessions`."""
        self.server = server
        self.digest: int | None = None
        self.tasks: frozenset[str] = frozenset()
        self.uris: frozenset[str] = frozenset()
        self.asks_one = False
        self.is_asking = False
        self.owes_roots = False
        self.roots: JsonObject | None = None
        self.scope = decide_scope(server).scope
        self.refuses_older = False
        self.is_lost = False
        self.due = math.inf
        self.uses = 0
        self._assigns: dict[str, bool] = {}
        self._backoff = Backoff(pauses)
        self._is_waiting = False

    def update(self, listing: ServerTools) -> bool:
        """Record the tools of *listing*; return whether they differ from those before."""
        self.tasks = frozenset(str(tool.get("name")) for tool in listing.tools if _is_task(tool))
        before, self.digest = self.digest, hash(json.dumps(listing.tools, sort_keys=True))
        has_changed = self.digest != before
        self._backoff.record_list(has_changed=has_changed)
        return before is not None and has_changed

    async def record_and_wait(self) -> bool:
        """Record the announcement of a change, and wait until the tools may be listed."""
        self._backoff.record_announcement()
        if self._is_waiting:
            return False
        self._is_waiting = True
        try:
            await anyio.sleep_until(self._backoff.until)
        finally:
            self._is_waiting = False
        return True

    def tells_clients_apart(self, mode: str) -> bool:
        """Return whether a connection in *mode* stands for one client, as far as is known.

        So it does over stdio once the server has sent a request of its own, and over HTTP where the
        server assigns a session to each connection.
        """
        is_stdio = isinstance(self.server, StdioServer)
        return self.asks_one or (not is_stdio and self._assigns.get(mode, True))

    def learn(self, connection: ServerConnection) -> None:
        """Record what an opened *connection* has shown."""
        self.refuses_older = self.refuses_older or connection.refuses_older
        if connection.is_open:
            modes = {connection.mode, LEGACY} if connection.is_older else {connection.mode}
            self._assigns |= dict.fromkeys(modes, connection.has_session)


def _is_task(tool: Any) -> bool:
    """Return whether a tool with a name only runs as a task."""
    execution = tool.get("execution") if isinstance(tool, dict) else None
    is_task = isinstance(execution, dict) and execution.get("taskSupport") == "required"
    return is_task and bool(str(tool.get("name", "")))
