"""Connections of a gateway to its servers: one each, opened on demand and replaced when lost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio

from mcpg.errors import UsageError
from mcpg.gateway.calls import CallError, FaultCode
from mcpg.json_types import JsonObject
from mcpg.sources.client_config import Live, Server
from mcpg.sources.live.client import Listing
from mcpg.sources.live.connection import PING_SECONDS, Connection
from mcpg.sources.live.errors import NotProcessedError, ServerError
from mcpg.sources.live.listing import read_listing
from mcpg.sources.live.requests import CallResult, LatestProgress, Progress
from mcpg.sources.live.transports import MAX_OPENING, ProcessGroups, sdk_muted
from mcpg.sources.model import SourceBatch

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

PAUSES = 1.0, 60.0
"""Shortest and longest pause, in seconds, after announcements of a change without any change."""

_ATTEMPTS = 2
_LOST = "connection was lost"
_REMOVED = "source was removed"
_CLOSED = "the gateway was closed"


class _ToolList:
    """What is known of the tools of one server, and when its announcements are believed.

    A server may announce a change whenever its tools are listed, which would go on without end.
    One whose tools are the same as before is ignored for a while, ever longer, until they differ.

    Attributes:
        server: The server.
        digest: A hash of its tools, `None` before they were listed.
    """

    def __init__(self, server: Server, pauses: tuple[float, float]) -> None:
        self.server = server
        self.digest: int | None = None
        self._pauses = pauses
        self._listed = 0.0
        self._pause = 0.0
        self._is_announced = False
        self._waiting: anyio.Event | None = None

    def update(self, listing: Listing) -> bool:
        """Record the tools of *listing*; return whether they differ from those before."""
        before, self.digest = self.digest, hash(json.dumps(listing.tools, sort_keys=True))
        if self.digest != before:
            self._pause = 0.0
            if self._waiting is not None:
                self._waiting.set()
        elif self._is_announced:
            shortest, longest = self._pauses
            self._pause = min(max(shortest, 2 * self._pause), longest)
        self._is_announced = False
        self._listed = anyio.current_time()
        return before is not None and before != self.digest

    async def announced(self) -> bool:
        """Record the announcement of a change, and wait until the tools may be listed."""
        self._is_announced = True
        if self._waiting is not None:
            return False
        self._waiting = anyio.Event()
        try:
            with anyio.move_on_after(self._listed + self._pause - anyio.current_time()):
                await self._waiting.wait()
        finally:
            self._waiting = None
        return True


@contextmanager
def _renewing(
    seconds: float, left: float, end: float, progress: Progress | None
) -> Iterator[Progress]:
    """Limit the context to *left* seconds, which progress renews to *seconds*, at most until *end*.

    Yields:
        What receives the progress; the latest is passed on to *progress*.
    """
    latest = LatestProgress(progress) if progress is not None else None
    with anyio.move_on_after(left) as scope:

        async def renewed(done: float, total: float | None, message: str | None) -> None:
            scope.deadline = max(scope.deadline, min(anyio.current_time() + seconds, end))
            if latest is not None:
                await latest.report(done, total, message)

        try:
            yield renewed
        finally:
            if latest is not None:
                latest.is_over = True


class Sessions:
    """A pool of connections to servers, an async context manager entered and left by one task.

    A connection is opened by the first request that needs it, shared by those that follow, and
    replaced when it was lost. All connections are closed, and all programs ended, when the context
    is left, however it is left.
    """

    def __init__(
        self,
        live: Live,
        changed: Callable[[Server], None] | None = None,
        is_wanted: Callable[[Server], bool] | None = None,
        *,
        pauses: tuple[float, float] = PAUSES,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Prepare to connect.

        Args:
            live: Environment, logins, and the time for opening a connection.
            changed: Called in the event loop when a server announces that its tools have changed;
                delayed for one that did so before without a change.
            is_wanted: Returns whether a server may be started, `None` for any.
            pauses: Shortest and longest delay of announcements, in seconds.
            ping_seconds: Time for a server to respond to a ping.
        """
        self._live = live
        self._changed = changed
        self._is_wanted = is_wanted
        self._pauses = pauses
        self._ping_seconds = ping_seconds
        self._is_left = False
        self._connections: list[Connection] = []
        self._tool_lists: list[_ToolList] = []
        self._groups = ProcessGroups()
        self._tasks: TaskGroup | None = None
        self._stack = ExitStack()

    async def __aenter__(self) -> Self:
        self._limiter = anyio.CapacityLimiter(MAX_OPENING)
        self._tasks = await anyio.create_task_group().__aenter__()
        self._stack.enter_context(sdk_muted())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None  # noqa: S101 - it was entered
        tasks, self._tasks = self._tasks, None
        self._is_left = True
        try:
            with self._stack:
                for connection in self._connections:
                    connection.end(_CLOSED)
                return await tasks.__aexit__(kind, fault, trace)
        except BaseExceptionGroup as raised:
            if raised.exceptions == (fault,):
                return False  # the caller's own, as it was
            raise
        finally:
            self._groups.kill()

    async def tools(
        self,
        server: Server,
        timeout: float | None = None,  # noqa: ASYNC109 - as below
    ) -> SourceBatch:
        """List the tools of a server.

        Args:
            server: The server.
            timeout: Seconds that it has once it is its turn, `None` for the default.

        Returns:
            The tools, or a diagnostic that describes why there are none.

        Raises:
            UsageError: The context was not entered.
        """
        seconds = self._live.timeout if timeout is None else timeout
        answer: Listing | str = ""
        for _ in range(_ATTEMPTS):
            try:
                answer = await self._connection(server, seconds).list_tools(seconds)
                self._tool_list(server).update(answer)
                break
            except NotProcessedError:
                answer = _LOST
            except ServerError as fault:
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
        end: float = math.inf,
    ) -> CallResult:
        """Call a tool; a cancellation is passed on to the server.

        Args:
            server: The server.
            name: The server's name of the tool.
            arguments: The arguments.
            timeout: Seconds for all of it, opening the connection included.
            progress: Receives progress that the server reports.
            meta: The `_meta` of the request.
            granted: Seconds that the caller had, of which *timeout* are left; progress grants as
                many again. `None` for *timeout*.
            end: When the call ends whatever the progress, by the clock of the event loop.

        Raises:
            CallError: There is no result; one that reports a failure of the tool is a result.
            UsageError: The context was not entered.
        """
        patience = max(timeout, self._live.timeout)
        granted = granted or timeout
        try:
            connection = self._connection(server, patience, compares=True)
            with _renewing(granted, timeout, end, progress) as renewing:
                try:
                    return await connection.call(name, arguments, renewing, meta)
                except NotProcessedError:
                    connection = self._connection(server, patience, compares=True)
                return await connection.call(name, arguments, renewing, meta)
        except NotProcessedError:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, _LOST, has_died=True) from None
        except ServerError as fault:
            code = FaultCode(fault.kind)
            raise CallError(code, str(fault), has_died=fault.has_died, error=fault.error) from None
        connection.ping()
        raise CallError(FaultCode.TIMED_OUT, connection.timed_out(granted))

    async def close(self, server: Server) -> None:
        """Close the connection to a server, if there is one, and end its program."""
        for connection in [one for one in self._connections if one.server == server]:
            connection.end(_REMOVED)
            await connection.ended.wait()

    def _connection(self, server: Server, seconds: float, *, compares: bool = False) -> Connection:
        """Return the connection to a server, which may still be opening."""
        for connection in self._connections:
            if connection.server == server and connection.is_usable:
                return connection
        if self._is_left:
            raise ServerError(_CLOSED)
        if self._is_wanted is not None and not self._is_wanted(server):
            raise ServerError(_REMOVED)
        if self._tasks is None:
            message = "servers can only be queried inside `async with`"
            raise UsageError(message, remedy="enter the context first")
        connection = Connection(
            server,
            self._live,
            self._groups,
            self._list_changed,
            self._report_change,
            self._ping_seconds,
        )
        self._connections.append(connection)
        self._tasks.start_soon(self._run, connection, seconds)
        if compares and self._tool_list(server).digest is not None:
            self._tasks.start_soon(self._compare, connection, seconds)
        return connection

    async def _compare(self, connection: Connection, seconds: float) -> None:
        with suppress(ServerError, NotProcessedError):
            listing = await connection.list_tools(seconds)
            if self._tool_list(connection.server).update(listing):
                self._report_change(connection.server)

    async def _run(self, connection: Connection, seconds: float) -> None:
        try:
            await connection.run(self._limiter, seconds)
        finally:
            self._connections.remove(connection)

    async def _list_changed(self, server: Server) -> None:
        if await self._tool_list(server).announced():
            self._report_change(server)

    def _report_change(self, server: Server) -> None:
        if self._changed is not None:
            self._changed(server)

    def _tool_list(self, server: Server) -> _ToolList:
        found = next((one for one in self._tool_lists if one.server == server), None)
        if found is None:
            self._tool_lists.append(found := _ToolList(server, self._pauses))
        return found
