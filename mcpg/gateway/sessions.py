"""Connections of a gateway to its servers: one each, opened on demand and replaced when lost."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp.shared.exceptions import MCPError

from mcpg.errors import Code, Diagnostic, UsageError, error
from mcpg.gateway.calls import CallError, FaultCode, Limits
from mcpg.sources.client_config import HttpServer, Server, ServerAccess, StdioServer
from mcpg.sources.live.client import AUTO, LEGACY, ServerTools, keep_listing, read_listing
from mcpg.sources.live.connection import PING_SECONDS, ROOTS_CHANGED, ServerConnection
from mcpg.sources.live.programs import MAX_OPENING, ProcessGroups
from mcpg.sources.live.requests import (
    CallResponse,
    FailureKind,
    Host,
    MessageOrigin,
    NotProcessedError,
    PendingRequest,
    Progress,
    RequestDeadline,
    ServerError,
    current_caller,
    current_session,
)
from mcpg.sources.live.server_requests import ROOTS
from mcpg.sources.live.transports import sdk_muted
from mcpg.sources.model import SourceBatch
from mcpg.sources.registry import SessionScope, decide_scope
from mcpg.text.json_values import JsonObject

PAUSES = 1.0, 60.0
"""Shortest and longest pause, in seconds, after announcements of a change without any change."""


@dataclass(eq=False, slots=True)
class Backoff:
    """The schedule of lists of a server that has announced a change.

    A server may announce a change whenever it is listed, which would go on without end. If its
    lists are the same as before, or it announces the next change at once, it is ignored for a
    while, ever longer, until it announces a change later.

    Attributes:
        pauses: The shortest and the longest time that it is ignored, in seconds.
        until: When it may be listed again, by the clock of the event loop.
    """

    pauses: tuple[float, float] = PAUSES
    until: float = 0.0
    _pause: float = 0.0
    _announced: float = math.inf

    def record_announcement(self) -> None:
        self._announced = min(self._announced, anyio.current_time())

    def record_list(self, *, has_changed: bool) -> None:
        shortest, longest = self.pauses
        pause = max(shortest, self._pause)
        if self._announced < (self.until + pause if has_changed else math.inf):
            self._pause = min(max(shortest, 2 * self._pause), longest)
        elif has_changed:
            self._pause = 0.0
        self._announced = math.inf
        self.until = anyio.current_time() + self._pause


@dataclass(eq=False, slots=True)
class ServerState:
    """Facts about one server, no matter which connections to it exist.

    Attributes:
        backoff: The schedule of its lists after it has announced a change.
        digest: A hash of its tools, `None` before they were listed.
        tasks: The names of the tools that only run as tasks.
        uris: The resources subscribed to, by subscriber.
        asks_one: Whether it has sent a request that may concern any of several clients.
        is_asking: Whether it has sent a request of its own accord.
        owes_roots: Whether it has requested roots when no client could be asked.
        roots: The roots that it gets if the client cannot be asked at any time.
        refuses_older: Whether it refuses the handshake of the protocol up to 2025-11-25.
        is_lost: Whether the last request could not reach it over a connection that stays open.
        due: When its tools are listed again, by the clock of the event loop.
        uses: The requests of clients to the gateway before its tools were last requested.
        assigns: Whether it assigns a session to each connection, by the mode of the connection.
    """

    server: Server
    backoff: Backoff
    digest: int | None = None
    tasks: frozenset[str] = frozenset()
    uris: dict[object, frozenset[str]] = field(default_factory=dict)
    asks_one: bool = False
    is_asking: bool = False
    owes_roots: bool = False
    roots: JsonObject | None = None
    refuses_older: bool = False
    is_lost: bool = False
    due: float = math.inf
    uses: int = 0
    assigns: dict[str, bool] = field(default_factory=dict)
    scope: SessionScope = field(init=False)
    _is_waiting: bool = False

    def __post_init__(self) -> None:
        self.scope = decide_scope(self.server).scope

    def update(self, listing: ServerTools) -> bool:
        """Record the tools of *listing*; return whether they differ from the previous tools."""
        names: set[str] = set()
        for tool in listing.tools:
            execution = tool.get("execution") if isinstance(tool, dict) else None
            if isinstance(execution, dict) and execution.get("taskSupport") == "required":
                names.add(str(tool.get("name", "")))
        self.tasks = frozenset(names - {""})
        before, self.digest = self.digest, hash(json.dumps(listing.tools, sort_keys=True))
        has_changed = self.digest != before
        self.backoff.record_list(has_changed=has_changed)
        return before is not None and has_changed

    async def record_and_wait(self) -> bool:
        """Record the announcement of a change, and wait until the tools may be listed."""
        self.backoff.record_announcement()
        if self._is_waiting:
            return False
        self._is_waiting = True
        try:
            await anyio.sleep_until(self.backoff.until)
        finally:
            self._is_waiting = False
        return True

    def learn(self, connection: ServerConnection) -> None:
        self.refuses_older = self.refuses_older or connection.refuses_older
        if connection.is_open:
            modes = {connection.mode, LEGACY} if connection.is_older else {connection.mode}
            self.assigns |= dict.fromkeys(modes, connection.has_session)


_T = TypeVar("_T")

_SHORTEST_TTL = 60.0
"""Seconds for which a list of tools is valid, for any server."""

_TICKS = 4
"""Checks for due lists in the shortest time of a list."""

_ATTEMPTS = 2
_LOST = "connection was lost"
_REMOVED, _CLOSED = "source was removed", "the gateway was closed"
_LEFT, _IDLE = "the client has left", "it was idle"
_NO_SESSION = (
    "this server keeps state for each client, and the request belongs to no session: set "
    "`mcpg/session` in its `_meta` to a random text, the same for all requests of one session; or "
    'share the server by `sessions = "shared"` of its source'
)


@dataclass(frozen=True, slots=True)
class RequestTimeout:
    """The time of a request.

    Attributes:
        seconds: The remaining seconds, including the opening of the connection.
        granted: The seconds that progress grants again, `None` for *seconds*.
        end: The end regardless of progress, by the clock of the event loop.
    """

    seconds: float
    granted: float | None = None
    end: float = math.inf


class Sessions:
    """A pool of connections to servers, an async context manager entered and left by one task.

    A connection is opened by the first request that needs it, shared by those that follow, and
    replaced when it was lost. All connections are closed, and all programs ended, when the context
    is left, however it is left.

    A server that keeps state for each client gets a connection for each session of a client: if its
    setting or package requires that, if it assigns sessions over HTTP, and after its first request
    over a transport that does not show the cause of the request. Such a connection ends with the
    session, or after a long idle time.

    The tools of a server are listed again when it is reached after a failure, and when its list
    expires, as long as there are clients. No program is started for that.

    Attributes:
        host: Serves requests of servers and receives their notifications; `None` for servers that
            get no response.
        mode: The mode of connections that are opened for no client.
        crashed: Called when the server of an open connection has crashed or hangs, unless `None`.
        uses: The number of requests of clients to the gateway.
    """

    def __init__(
        self,
        live: ServerAccess,
        changed: Callable[[Server], object] = lambda _: None,
        is_wanted: Callable[[Server], bool] = lambda _: True,
        *,
        limits: Limits | None = None,
        pauses: tuple[float, float] = PAUSES,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Prepare to connect in the environment and with the logins of *live*, within *limits*.

        When a server announces that its tools have changed, *changed* is called in the event loop,
        delayed by *pauses*, the shortest and the longest in seconds, if it did so before without a
        change; *is_wanted* returns whether a server may be started. A server has *ping_seconds* to
        respond to a ping.
        """
        self._live = live
        self._changed = changed
        self._is_wanted = is_wanted
        self._limits = limits or Limits()
        self._pauses = pauses
        self._ping_seconds = ping_seconds
        self.host: Host | None = None
        self.mode = AUTO
        self.crashed: Callable[[Diagnostic], None] | None = None
        self.uses = 0
        self._is_left = False
        self._log_level: str | None = None
        self._connections: list[ServerConnection] = []
        self._states: list[ServerState] = []
        self._groups = ProcessGroups()
        self._tasks: TaskGroup | None = None
        self._relists: TaskGroup | None = None
        self._stack = ExitStack()

    async def __aenter__(self) -> Self:
        self._limiter = anyio.CapacityLimiter(MAX_OPENING)
        self._tasks = await anyio.create_task_group().__aenter__()
        self._stack.enter_context(sdk_muted())
        self._tasks.start_soon(self._relist_due)
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
        if self._relists is not None:
            self._relists.cancel_scope.cancel()
        try:
            with self._stack:
                for connection in self._connections:
                    connection.end(_CLOSED)
                return await tasks.__aexit__(kind, fault, trace)
        except BaseExceptionGroup as raised:
            if raised.exceptions == (fault,):
                return False  # the caller's own, unchanged
            raise
        finally:
            self._groups.kill()

    async def tools(
        self,
        server: Server,
        timeout: float | None = None,  # noqa: ASYNC109 - as below
    ) -> SourceBatch:
        """List the tools of a server, or describe why there are none by a diagnostic.

        The server has *timeout* seconds once it is its turn, `None` for the default.
        """
        seconds = self._live.timeout if timeout is None else timeout
        answer: ServerTools | str = ""
        known = self._state(server)
        known.is_lost, known.uses = False, self.uses
        with _for_all():
            for _ in range(_ATTEMPTS):
                try:
                    connection = await self._connection(server, seconds)
                    answer = await self._learn(connection, connection.list_tools(seconds))
                    known.due = anyio.current_time() + self._choose_period(answer.ttl)
                    known.update(answer)
                    if self._live.listings is not None:
                        keep = partial(keep_listing, server, answer, self._live)
                        await anyio.to_thread.run_sync(keep)
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
        timeout: float | RequestTimeout,  # noqa: ASYNC109 - the servers' time, not the caller's scope
        progress: Progress | None = None,
        meta: JsonObject | None = None,
        params: JsonObject | None = None,
    ) -> CallResponse:
        """Call a tool by the server's *name* of it; the server receives a cancellation.

        The *timeout* includes the opening of the connection, and *progress*, which receives the
        server's reports, renews it. The request has *meta* as its `_meta`, and further *params*.

        Raises:
            CallError: The call has no result; a reported failure of the tool is a result.
            UsageError: The context was not entered.
        """
        given: JsonObject = {**(params or {}), "name": name, "arguments": arguments}
        if meta:
            given["_meta"] = meta
        is_task = name in self._state(server).tasks
        return await self._exchange(
            server,
            lambda connection, request: connection.call(given, request, is_task=is_task),
            timeout,
            progress,
        )

    async def request(
        self,
        server: Server,
        method: str,
        params: JsonObject | None = None,
        *,
        timeout: float | RequestTimeout,  # noqa: ASYNC109 - as above
        progress: Progress | None = None,
    ) -> JsonObject:
        """Return the result of a request, as the server sends it; see `call`."""
        return await self._exchange(
            server,
            lambda connection, request: connection.request(method, params, request),
            timeout,
            progress,
        )

    async def capabilities(self, server: Server) -> JsonObject:
        """Return the declared capabilities of a server."""
        with _for_all():
            return await self._exchange(
                server, lambda connection, _: connection.capabilities(), self._live.timeout, None
            )

    async def roots_changed(self, client: Hashable) -> None:
        """Notify the servers that have requested roots that the roots of *client* have changed."""
        for connection in list(self._connections):
            is_of = connection.client in {None, client}
            if is_of and self._state(connection.server).is_asking:
                with suppress(Exception):  # it ends anyway
                    await connection.notify(ROOTS_CHANGED)

    def watch(self, server: Server, uris: frozenset[str], by: object = None) -> None:
        """Subscribe to *uris* of a server while it is connected, and withdraw others.

        Subscriptions *by* others stay.
        """
        self._state(server).uris[by] = uris
        self._update_watches()

    def log(self, level: str | None) -> None:
        """Request log messages of at least *level*, `None` for the servers' defaults."""
        self._log_level = level
        self._update_watches()

    def _update_watches(self) -> None:
        for one in self._connections:
            parts = self._state(one.server).uris.values() if one.client is None else ()
            one.watch(frozenset().union(*parts), self._log_level)

    async def _exchange(
        self,
        server: Server,
        work: Callable[[ServerConnection, PendingRequest], Awaitable[_T]],
        time: float | RequestTimeout,
        progress: Progress | None,
    ) -> _T:
        allowed = time if isinstance(time, RequestTimeout) else RequestTimeout(time)
        seconds = max(allowed.seconds, self._live.timeout)
        granted = allowed.granted or allowed.seconds
        patience = RequestDeadline(granted, allowed.seconds, allowed.end)
        underway = PendingRequest(current_caller.get(), patience, progress)
        connection: ServerConnection | None = None
        try:
            with underway.running():
                connection = await self._connection(server, seconds, compares=True)
                await self._give_roots(connection, underway)
                try:
                    return await self._learn(connection, work(connection, underway))
                except NotProcessedError:
                    connection = await self._connection(server, seconds, compares=True)
                return await self._learn(connection, work(connection, underway))
        except NotProcessedError:
            raise CallError(FaultCode.SOURCE_UNAVAILABLE, _LOST, has_died=True) from None
        except ServerError as fault:
            code = FaultCode(fault.kind)
            raise CallError(code, str(fault), has_died=fault.has_died, error=fault.error) from None
        if connection is None:
            raise CallError(FaultCode.TIMED_OUT, f"no response within {granted:g} s")
        connection.ping()
        raise CallError(FaultCode.TIMED_OUT, connection.timed_out(granted))

    async def _learn(self, connection: ServerConnection, work: Awaitable[_T]) -> _T:
        """Return the result of *work* with a connection, and record facts that it shows."""
        known = self._state(connection.server)
        is_reached = False
        try:
            result = await work
            is_reached = True
        except ServerError as fault:
            if fault.kind is FailureKind.UNAVAILABLE:
                known.is_lost = connection.is_usable
            else:
                is_reached = fault.error is not None
            raise
        finally:
            known.learn(connection)
            if is_reached and known.is_lost:
                known.is_lost = False
                self._report_missed(known.server)
        return result

    async def close(self, server: Server) -> None:
        for connection in [one for one in self._connections if one.server == server]:
            connection.end(_REMOVED)
            await connection.ended.wait()

    async def _connection(
        self, server: Server, seconds: float, *, compares: bool = False
    ) -> ServerConnection:
        """Return the connection to a server, which may still be opening.

        All sessions share a connection unless they need their own. A server of both older and later
        versions of the protocol has a connection for clients of each, because its tools may need
        features of these clients.
        """
        mode = self._mode(server)
        client = self._own_client(server, mode)
        known = [one for one in self._connections if (one.server, one.client) == (server, client)]
        for one in known:
            is_fit = one.mode == mode or (one.mode == AUTO and await one.speaks_older())
            if is_fit and one.is_usable:
                return one
        return self._begin_opening(server, client, mode, seconds, compares=compares)

    def _begin_opening(
        self, server: Server, client: Hashable | None, mode: str, seconds: float, *, compares: bool
    ) -> ServerConnection:
        """Return a connection that begins to open, perhaps by another request."""
        wanted = server, client, mode
        for one in self._connections:
            if (one.server, one.client, one.mode) == wanted and one.is_usable:
                return one
        if self._is_left:
            raise ServerError(_CLOSED)
        if not self._is_wanted(server):
            raise ServerError(_REMOVED)
        if self._tasks is None:
            message = "servers can only be queried inside `async with`"
            raise UsageError(message, remedy="enter the context first")
        if client is not None:
            self._check_room(server, client)
        state = self._state(server)
        connection = ServerConnection(
            server,
            self._live,
            self._groups,
            self._list_changed,
            self._report_missed,
            self._ping_seconds,
            host=self if self.host is not None else None,
            client=client,
            is_asking=state.is_asking or (state.asks_one and client is not None),
            mode=mode,
        )
        self._connections.append(connection)
        self._update_watches()
        self._tasks.start_soon(self._run, connection, seconds)
        if compares and state.digest is not None:
            self._tasks.start_soon(self._compare, connection, seconds)
        return connection

    def _mode(self, server: Server) -> str:
        if self._state(server).refuses_older:
            return AUTO
        caller = current_caller.get()
        if caller is None:
            return self.mode
        return AUTO if caller.takes_input else LEGACY

    def _own_client(self, server: Server, mode: str) -> Hashable | None:
        """Return the client that has a connection to *server* of its own, `None` if shared."""
        caller, known = current_caller.get(), self._state(server)
        is_own = known.scope is SessionScope.CLIENT
        if caller is None:
            return (current_session.get() or None) if is_own else None
        if not self.has_many or known.scope is SessionScope.SHARED:
            return None
        if is_own and caller.client is None:
            raise ServerError(_NO_SESSION, FailureKind.NO_SESSION)
        # As far as is known, a connection belongs to one client over HTTP if each has an assigned
        # session, and over stdio once the server has sent a request of its own.
        assigns = not isinstance(server, StdioServer) and known.assigns.get(mode, True)
        return caller.client if is_own or known.asks_one or assigns else None

    def _check_room(self, server: Server, client: Hashable) -> None:
        """Check that few enough clients have connections of their own for *client* to get one."""
        own = [one for one in self._connections if one.client is not None and one.is_usable]
        others = {one.client for one in own if one.server == server} - {client}
        for name, count, most in (
            ("sessions_per_source", len(others), self._limits.sessions_per_source),
            ("sessions", len(own), self._limits.sessions),
        ):
            is_counted = name == "sessions" or isinstance(server, StdioServer)
            if is_counted and count >= most:
                message = (
                    f"all {most:,} connections that sessions may have of their own are in use: "
                    f"wait until one ends, or raise limits.{name} in mcpg.toml"
                )
                raise ServerError(message, FailureKind.SESSION_LIMIT)

    def end_client(self, client: Hashable) -> None:
        for connection in self._connections:
            if connection.client == client:
                connection.end(_LEFT)

    @property
    def has_many(self) -> bool:
        return self.host is not None and self.host.has_many

    @property
    def has_clients(self) -> bool:
        return self.host is not None and self.host.has_clients

    async def answer_request(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> JsonObject:
        """See `Host`; a server that asks its one client gets a connection for each."""
        assert self.host is not None  # noqa: S101 - servers may ask only then
        server = origin.server
        self._state(server).is_asking |= not origin.callers
        is_shared = self.host.has_many and origin.client is None
        self._state(server).asks_one |= is_shared and not origin.is_certain
        if method != ROOTS or origin.callers:
            return await self.host.answer_request(origin, method, params)
        known = self._state(server)
        if known.roots is not None:
            return known.roots
        try:
            return await self.host.answer_request(origin, method, params)
        except MCPError:
            known.owes_roots = True
            raise

    async def _give_roots(self, connection: ServerConnection, underway: PendingRequest) -> None:
        """Request the roots of a client that can only be asked during a call, such as this."""
        known = self._state(connection.server)
        caller = underway.caller
        if self.host is None or self.host.has_many or not known.owes_roots:
            return
        if caller is None or not caller.takes_input:
            return
        known.owes_roots = False
        origin = MessageOrigin(connection.server, (caller,), is_certain=True)
        with suppress(MCPError), underway.patience.suspend():
            known.roots = await self.host.answer_request(origin, ROOTS, {})
            await connection.roots_changed()

    async def receive_notification(
        self, origin: MessageOrigin, method: str, params: JsonObject
    ) -> None:
        assert self.host is not None  # noqa: S101 - as above
        await self.host.receive_notification(origin, method, params)

    async def _compare(self, connection: ServerConnection, seconds: float) -> None:
        with suppress(ServerError, NotProcessedError):
            listing = await self._learn(connection, connection.list_tools(seconds))
            known = self._state(connection.server)
            known.due = anyio.current_time() + self._choose_period(listing.ttl)
            if known.update(listing):
                self._changed(connection.server)

    def _choose_period(self, ttl: float | None) -> float:
        """Return the seconds after which a list with the *ttl* of its server is due again."""
        seconds = self._limits.relist_seconds or math.inf
        return seconds if ttl is None or seconds == math.inf else max(ttl, _SHORTEST_TTL)

    async def _relist_due(self) -> None:
        """List expired tools again, as long as there are clients."""
        async with anyio.create_task_group() as self._relists:
            while not self._is_left:
                await anyio.sleep(min(self._choose_period(None), _SHORTEST_TTL) / _TICKS)
                now = anyio.current_time()
                for one in self._states:
                    if one.due <= now and (self.has_clients or one.uses != self.uses):
                        one.uses = self.uses
                        self._relists.start_soon(self._relist, one.server)

    async def _relist(self, server: Server) -> None:
        """List the tools of *server* again over the existing connection.

        For an address, a new connection is opened if that is lost.
        """
        seconds = self._live.timeout
        self._state(server).due = anyio.current_time() + self._choose_period(0.0)  # if it fails
        with _for_all(), suppress(ServerError):
            shared = self._find_shared(server)
            if shared is not None:
                await self._compare(shared, seconds)
            if isinstance(server, HttpServer) and self._find_shared(server) is None:
                await self._connection(server, seconds, compares=True)

    def _find_shared(self, server: Server) -> ServerConnection | None:
        """Return an open connection to *server* that clients share, best in the mode of lists."""
        shared = [one for one in self._connections if (one.server, one.client) == (server, None)]
        usable = [one for one in shared if one.is_open and one.is_usable]
        mode = self._mode(server)
        return min(usable, key=lambda one: one.mode != mode and not one.is_older, default=None)

    def _report_missed(self, server: Server) -> None:
        """Begin to list the tools of a server again, since changes may have been missed."""

        async def relist() -> None:
            if await self._state(server).record_and_wait():
                await self._relist(server)

        if self._relists is not None and not self._is_left:
            self._relists.start_soon(relist)

    async def _list_changed(self, server: Server) -> None:
        if await self._state(server).record_and_wait():
            self._changed(server)

    async def _run(self, connection: ServerConnection, seconds: float) -> None:
        try:
            if connection.client is not None and self._tasks is not None:
                self._tasks.start_soon(self._end_idle, connection)
            await connection.run(self._limiter, seconds)
        finally:
            self._connections.remove(connection)
        if connection.crash and self.crashed is not None:
            with suppress(Exception):
                place = connection.server.place
                self.crashed(error(Code.SOURCE_LOAD_FAILED, connection.crash, place))

    async def _end_idle(self, connection: ServerConnection) -> None:
        """End the connection of a session after a long time without requests."""
        while connection.is_usable:
            left = connection.idle_since + self._limits.session_seconds - anyio.current_time()
            if left <= 0:
                connection.end(_IDLE)
            with anyio.move_on_after(left):
                await connection.closing.wait()

    def _state(self, server: Server) -> ServerState:
        found = next((one for one in self._states if one.server == server), None)
        if found is None:
            self._states.append(found := ServerState(server, Backoff(self._pauses)))
        return found


@contextmanager
def _for_all() -> Iterator[None]:
    """Make requests in the context for no client, over the connection that all share."""
    caller, session = current_caller.set(None), current_session.set("")
    try:
        yield
    finally:
        current_caller.reset(caller)
        current_session.reset(session)
