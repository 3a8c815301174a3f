"""The open connections of a gateway: one per server, opened when needed, all ended in the end."""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import anyio

from mcpg.errors import UsageError
from mcpg.gateway.calls.model import CallError, FaultCode, NothingDoneError
from mcpg.gateway.sessions.session import Connection
from mcpg.sources.live.errors import AskingError
from mcpg.sources.live.listing import read_listing
from mcpg.sources.live.transports import AT_ONCE, Living, muted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from anyio.abc import TaskGroup

    from mcpg.gateway.calls.model import Called, Progress
    from mcpg.json_types import JsonObject
    from mcpg.sources.client_config import Live, Server
    from mcpg.sources.live.listing import Listing
    from mcpg.sources.model import SourceBatch

__all__ = [
    "Sessions",
]

# SECTION news: What servers last said of their tools, and when their announcements are worth
# asking again.


RESTS = 1.0, 60.0
"""The shortest and the longest rest, in seconds, of a server that announces what is no news."""


@dataclass(slots=True)
class _Said:
    """What a server has said.

    Attributes:
        server: The server.
        tools: A hash of its tools, `None` before it has told them.
        heard: When it told them.
        rest: Seconds after that in which an announcement waits.
        is_announced: Whether it has announced a change since.
        waking: Ends the waiting of an announcement, `None` while none waits.
    """

    server: Server
    tools: int | None = None
    heard: float = 0.0
    rest: float = 0.0
    is_announced: bool = False
    waking: anyio.Event | None = None


class News:
    """What servers have said.

    A server may announce a change whenever it is asked for its tools, which then are asked for
    without end. One whose tools are the same as before rests, ever longer, until they differ.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._known: list[_Said] = []

    def is_known(self, server: Server) -> bool:
        """Return whether *server* has told its tools before."""
        return any(one.server == server and one.tools is not None for one in self._known)

    def heard(self, server: Server, listing: Listing) -> bool:
        """Take note of what *server* tells; say whether that is something else than before."""
        said = self._of(server)
        before, said.tools = said.tools, hash(json.dumps(listing.tools, sort_keys=True))
        if said.tools != before:
            said.rest = 0.0
            if said.waking is not None:
                said.waking.set()
        elif said.is_announced:
            shortest, longest = RESTS
            said.rest = min(max(shortest, 2 * said.rest), longest)
        said.is_announced = False
        said.heard = anyio.current_time()
        return before is not None and before != said.tools

    async def wait(self, server: Server) -> bool:
        """Take note that *server* announces a change, and wait until it may be asked.

        Returns:
            Whether to ask it; not where an earlier announcement still waits.
        """
        said = self._of(server)
        said.is_announced = True
        if said.waking is not None:
            return False
        said.waking = anyio.Event()
        try:
            rest = said.heard + said.rest - anyio.current_time()
            with anyio.move_on_after(rest):
                await said.waking.wait()
        finally:
            said.waking = None
        return True

    def _of(self, server: Server) -> _Said:
        for one in self._known:
            if one.server == server:
                return one
        self._known.append(_Said(server))
        return self._known[-1]


_TRIES = 2
_LOST = "its connection was lost"
_REMOVED = "its source was removed"
_LEFT = "the gateway was closed"


class Sessions:
    """Connections to servers, as an async context manager that one task enters and leaves.

    Each is opened by whoever first needs it and kept by a task of its own; many may ask over it at
    the same time. One that was lost is opened anew by the next that asks. All are closed, and all
    programs ended, when the context is left, however it is left.
    """

    def __init__(
        self,
        live: Live,
        changed: Callable[[Server], None] | None = None,
        is_wanted: Callable[[Server], bool] | None = None,
    ) -> None:
        """Prepare to connect.

        Args:
            live: How servers are asked; its timeout is what opening one may take.
            changed: Called in the event loop when a server says that its tools have changed; after
                a while, where it has said so before and they were the same.
            is_wanted: Says whether a server may be started, if not any may.
        """
        self._live = live
        self._changed = changed
        self._is_wanted = is_wanted
        self._is_left = False
        self._connections: list[Connection] = []
        self._news = News()
        self._living = Living()
        self._group: TaskGroup | None = None
        self._stack = ExitStack()

    async def __aenter__(self) -> Self:
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._group = await anyio.create_task_group().__aenter__()
        self._stack.enter_context(muted())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._group is not None  # noqa: S101 - it was entered
        group, self._group = self._group, None
        self._is_left = True
        try:
            with self._stack:
                for connection in self._connections:
                    connection.end(_LEFT)
                return await group.__aexit__(kind, fault, trace)
        except BaseExceptionGroup as raised:
            if raised.exceptions == (fault,):
                return False  # the caller's own, as it was
            raise
        finally:
            self._living.kill()

    async def tools(
        self,
        server: Server,
        timeout: float | None = None,  # noqa: ASYNC109 - as below
    ) -> SourceBatch:
        """Ask a server for its tools.

        Args:
            server: The server.
            timeout: Seconds that it has once it is its turn, `None` for what is usual.

        Returns:
            The tools, or a diagnostic that says why there are none.

        Raises:
            UsageError: The context was not entered.
        """
        seconds = self._live.timeout if timeout is None else timeout
        answer: Listing | str = ""
        for _ in range(_TRIES):
            try:
                answer = await _listing(self._of(server, seconds), seconds)
                self._news.heard(server, answer)
                break
            except NothingDoneError:
                answer = _LOST
            except (AskingError, CallError) as fault:
                answer = str(fault)
                break
        return read_listing(server, answer)

    async def call(
        self,
        server: Server,
        name: str,
        arguments: JsonObject,
        *,
        timeout: float,  # noqa: ASYNC109 - the servers' time, which is not the caller's scope
        progress: Progress | None = None,
        meta: JsonObject | None = None,
        granted: float | None = None,
    ) -> Called:
        """Call a tool; where the caller is cancelled, the server is told.

        Args:
            server: The server.
            name: The name it knows the tool by.
            arguments: The arguments.
            timeout: Seconds for all of it, opening the connection included.
            progress: Gets the progress that the server tells of.
            meta: The `_meta` of the request.
            granted: Seconds that the caller had, of which *timeout* are left, for the message.

        Raises:
            CallError: There is no result; a result that says that the tool failed is one.
            UsageError: The context was not entered.
        """
        patience = max(timeout, self._live.timeout)
        connection = self._of(server, patience, compares=True)
        try:
            with anyio.move_on_after(timeout):
                try:
                    return await connection.call(name, arguments, progress, meta)
                except NothingDoneError:
                    connection = self._of(server, patience, compares=True)
                return await connection.call(name, arguments, progress, meta)
        except NothingDoneError:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, _LOST, has_died=True) from None
        connection.was_silent()
        raise CallError(FaultCode.TIMED_OUT, connection.no_answer(granted or timeout))

    async def close(self, server: Server) -> None:
        """Close the connection to a server, if there is one, and end its program."""
        for connection in [one for one in self._connections if one.server == server]:
            connection.end(_REMOVED)
            await connection.ended.wait()

    def _of(self, server: Server, seconds: float, *, compares: bool = False) -> Connection:
        """Give the connection to a server, which may not be open yet.

        Where it is opened anew and *compares*, the server is asked whether its tools are the same.

        Raises:
            CallError: The context was left, or the server is not wanted any more.
            UsageError: The context was not entered.
        """
        if self._is_left:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, _LEFT)
        if self._is_wanted is not None and not self._is_wanted(server):
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, _REMOVED)
        if self._group is None:
            raise UsageError("servers are asked inside `async with`", remedy="enter it before")
        for connection in self._connections:
            if connection.server == server and connection.is_usable:
                return connection
        connection = Connection(server, self._live, self._living, self._announced, self._tell)
        self._connections.append(connection)
        self._group.start_soon(self._keep, connection, seconds)
        if compares and self._news.is_known(server):
            self._group.start_soon(self._compare, connection, seconds)
        return connection

    async def _compare(self, connection: Connection, seconds: float) -> None:
        with suppress(AskingError, CallError, NothingDoneError):
            listing = await _listing(connection, seconds)
            if self._news.heard(connection.server, listing):
                self._tell(connection.server)

    async def _keep(self, connection: Connection, seconds: float) -> None:
        try:
            await connection.run(self._limiter, seconds)
        finally:
            self._connections.remove(connection)

    async def _announced(self, server: Server) -> None:
        if await self._news.wait(server):
            self._tell(server)

    def _tell(self, server: Server) -> None:
        if self._changed is not None:
            self._changed(server)


async def _listing(connection: Connection, seconds: float) -> Listing:
    await connection.begun.wait()
    with anyio.move_on_after(seconds):
        return await connection.listing(seconds)
    connection.was_silent()
    raise AskingError(connection.no_answer(seconds))
