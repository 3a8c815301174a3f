"""Client of one MCP server: to list its tools once, or to keep a connection and call them.

`query_once` connects, lists and disconnects. A `Connection` stays open for any number of requests
at a time until it is lost or ended; it reports changes of the list of tools.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    CallToolRequest,
    CallToolRequestParams,
    DiscoverRequest,
    ListToolsRequest,
    PaginatedRequestParams,
    PingRequest,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcpg.json_types import JsonObject, JsonValue
from mcpg.sources.client_config import Live, Server
from mcpg.sources.live.errors import (
    MAX_RESPONSE,
    TOO_LARGE,
    FailureKind,
    NotProcessedError,
    ServerError,
    TransportErrors,
    redact,
)
from mcpg.sources.live.stderr import quoted_stderr
from mcpg.sources.live.transports import ALL_TOOLS, ProcessGroups, connect

if TYPE_CHECKING:
    import httpx2
    from anyio.abc import TaskGroup

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a call: how much is done, the total if known, and a message."""

_CLOSE_SECONDS = 3.0
PING_SECONDS = 5.0
_MAX_UNANSWERED_PINGS = 2
_UNRESPONSIVE = "server was stopped: it responded to neither calls nor pings"
_LISTEN_PAUSE, _MAX_LISTEN_PAUSE = 1.0, 60.0
_MAX_PAGES = 1000
_MAX_HEADER_PAGES = 100
_MAX_TOOLS = 100_000
# Messages of the SDK.
_SESSION_TERMINATED = "Session terminated"
_CLOSED = (CONNECTION_CLOSED, "Connection closed")
_STREAM_BROKEN = "SSE stream"


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server, as it describes them.

    Attributes:
        name: The server's name, or "".
        tools: Its tools, not yet validated.
        version: Its version, or "".
        protocol: The version of the protocol in use.
        secrets: Tokens to be redacted in all of this.
    """

    name: str
    tools: tuple[Any, ...] = ()
    version: str = ""
    protocol: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call.

    Attributes:
        content: The content blocks of MCP, in their order.
        structured: The structured result, or `None`.
        is_error: Whether the tool reports a failure, which the content describes.
    """

    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    is_error: bool = False


class _Page(BaseModel):
    """A page of tools, of which nothing is dropped."""

    tools: list[Any]
    all_tools: list[Any] | None = Field(default=None, validation_alias=ALL_TOOLS)
    cursor: str | None = Field(default=None, alias="nextCursor")


class _Result(BaseModel):
    """A result of a call, of which nothing is dropped."""

    model_config = ConfigDict(extra="allow")

    content: list[dict[str, Any]] = Field(default_factory=list)
    structured: Any = Field(default=None, alias="structuredContent")
    is_error: bool = Field(default=False, alias="isError")
    kind: str | None = Field(default=None, alias="resultType")


class _Anything(BaseModel):
    """A result that is not examined."""


async def query_once(
    server: Server,
    live: Live,
    groups: ProcessGroups,
    *,
    seconds: float | None = None,
    auth: httpx2.Auth | None = None,
    errors: TransportErrors | None = None,
) -> Listing:
    """Connect to a server, list its tools, and disconnect.

    Args:
        server: The server.
        live: Environment and stored logins; its timeout bounds each step over HTTP.
        groups: Holds the process group of a program while it may be alive.
        seconds: Time for all of it, `None` for the timeout of *live*.
        auth: Authentication, in place of what *server* and *live* configure.
        errors: Receives what goes wrong in the transport.

    Raises:
        ServerError: The tools cannot be listed.
    """
    errors = errors or TransportErrors()
    limit = live.timeout if seconds is None else seconds
    try:
        with anyio.fail_after(limit):
            async with Client(
                connect(server, live, errors, groups, auth=auth), cache=None
            ) as client:
                return await _list_tools(client, errors)
    except Exception as fault:  # noqa: BLE001 - servers fail in any way, and others go on
        reason = failure(fault, errors, limit) + quoted_stderr(errors, server.secrets)
        raise ServerError(reason) from None


async def _list_tools(client: Client, errors: TransportErrors) -> Listing:
    """Fetch all pages of tools."""
    info = client.server_info
    name, version = (info.name, info.version) if info is not None else ("", "")
    tools = [] if client.server_capabilities.tools is None else await _pages(client)
    secrets = tuple(sorted(errors.secrets))
    return Listing(name, tuple(tools), version, client.protocol_version, secrets)


async def _pages(client: Client) -> list[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    seen: set[str | None] = set()
    size = 0
    while cursor not in seen and len(seen) < _MAX_PAGES and len(tools) <= _MAX_TOOLS:
        seen.add(cursor)
        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await client.session.send_request(ListToolsRequest(params=params), _Page)
        found = page.tools if page.all_tools is None else page.all_tools
        size += len(json.dumps(found))
        if size > MAX_RESPONSE:
            raise ServerError(TOO_LARGE)
        tools += found
        cursor = page.cursor
        if not cursor:
            return tools
    raise ServerError("list of tools has no end")


def failure(fault: BaseException, errors: TransportErrors, seconds: float) -> str:
    """Describe why a request failed, without a word of the server's."""
    causes = list(_leaves(fault))
    own = next((str(one) for one in causes if isinstance(one, ServerError)), None)
    if own or errors.message:
        return own or errors.message or ""
    if any(isinstance(one, TimeoutError) for one in causes):
        return timed_out(errors, seconds)
    code = next((one.error.code for one in causes if isinstance(one, MCPError)), None)
    if code is not None:
        return f"server responded with error {code}"
    if any(isinstance(one, ValidationError) for one in causes):
        return "invalid MCP response"
    return f"query failed ({type(causes[0]).__name__})"


def timed_out(errors: TransportErrors, seconds: float) -> str:
    """Describe a time-out after *seconds*."""
    count = errors.invalid_lines
    lines = f", and {count} lines that are not messages" if count else ""
    return f"no response within {seconds:g} s{lines}"


def _leaves(fault: BaseException) -> Iterator[BaseException]:
    if isinstance(fault, BaseExceptionGroup):
        for one in fault.exceptions:
            yield from _leaves(one)
    else:
        yield fault


class Connection:
    """A connection to one server that is kept open.

    `run` opens it and keeps it until it is lost or ended; requests wait until it is open.

    Attributes:
        server: The server.
        started: Set when it begins to open, and `run` has its turn.
        ended: Set when it is closed.
    """

    def __init__(
        self,
        server: Server,
        live: Live,
        groups: ProcessGroups,
        list_changed: Callable[[Server], Awaitable[None]],
        changes_missed: Callable[[Server], None],
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Prepare a connection.

        Args:
            server: The server.
            live: Environment, timeout of a step, and stored logins.
            groups: Holds the process group of a program while it may be alive.
            list_changed: Called when the server announces that its tools have changed.
            changes_missed: Called when such an announcement may have been missed.
            ping_seconds: Time for the server to respond to a ping.
        """
        self.server = server
        self.started = anyio.Event()
        self.ended = anyio.Event()
        self._errors = TransportErrors(on_end=self.end)
        self._transport = connect(server, live, self._errors, groups, is_kept=True)
        self._list_changed = list_changed
        self._changes_missed = changes_missed
        self._ping_seconds = ping_seconds
        self._ready = anyio.Event()
        self._closing = anyio.Event()
        self._scope = anyio.CancelScope()
        self._client: Client | None = None
        self._group: TaskGroup | None = None
        self._reason = "it was closed"
        self._unanswered_pings = 0
        self._is_pinged = False

    @property
    def is_usable(self) -> bool:
        """Whether it is open or opening."""
        return not self._closing.is_set()

    def end(self, reason: str = "") -> None:
        """Begin to close it; requests under way fail with *reason*, if any is given."""
        if reason and self.is_usable:
            self._errors.message = reason
        self._closing.set()
        if self._client is None:
            self._scope.cancel()

    async def run(self, limiter: anyio.CapacityLimiter, seconds: float) -> None:
        """Open the connection, keep it, and close it.

        Args:
            limiter: Bounds how many are opened at the same time.
            seconds: Time for opening it.
        """
        try:
            with self._scope:
                await self._keep_open(limiter, seconds)
            if self._scope.cancelled_caught and self.is_usable:
                self._reason = self.timed_out(seconds)
            self._reason = self._errors.message or self._reason
        except Exception as fault:  # noqa: BLE001 - servers fail in any way, and others go on
            self._reason = failure(fault, self._errors, seconds)
        finally:
            for event in (self._closing, self.started, self._ready, self.ended):
                event.set()

    async def _keep_open(self, limiter: anyio.CapacityLimiter, seconds: float) -> None:
        async with AsyncExitStack() as stack:
            async with limiter:
                self.started.set()
                self._scope.deadline = anyio.current_time() + seconds
                client = Client(self._transport, cache=None, message_handler=self._received)
                await stack.enter_async_context(client)
            self._scope.deadline = math.inf
            self._client = client
            self._ready.set()
            async with anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._listen, client)
                await self._closing.wait()
                group.cancel_scope.cancel()
            self._scope.deadline = anyio.current_time() + _CLOSE_SECONDS

    async def _received(self, message: object) -> None:
        self._unanswered_pings = 0
        if isinstance(message, ToolListChangedNotification):
            await self._list_changed(self.server)

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the tools, in the versions of the protocol that need it."""
        tools = client.server_capabilities.tools
        pause = _LISTEN_PAUSE
        while tools is not None and tools.list_changed:
            try:
                with self._errors.of_request():
                    async with client.listen(tools_list_changed=True) as events:
                        async for _ in events:
                            """`_received` gets it as well."""
            except (ListenNotSupportedError, MCPError):
                return
            except Exception:  # noqa: BLE001, S110 - it was lost, which costs freshness alone
                pass
            await anyio.sleep(pause)
            pause = min(2 * pause, _MAX_LISTEN_PAUSE)
            self._changes_missed(self.server)

    async def list_tools(self, seconds: float) -> Listing:
        """List the server's tools within *seconds* from when it is the connection's turn to open.

        Raises:
            ServerError: They cannot be listed.
            NotProcessedError: The connection was lost before.
        """
        await self.started.wait()
        with anyio.move_on_after(seconds):
            async with self._request(quotes_server=False) as (client, errors):
                return await _list_tools(client, errors)
        self.ping()
        raise ServerError(self.timed_out(seconds))

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        progress: Progress | None = None,
        meta: JsonObject | None = None,
    ) -> CallResult:
        """Call a tool; a cancellation is passed on to the server.

        Args:
            name: The server's name of the tool.
            arguments: Its arguments.
            progress: Receives progress that the server reports.
            meta: The `_meta` of the request.

        Raises:
            ServerError: There is no result.
            NotProcessedError: The connection was lost before.
        """
        given: Any = meta
        params = CallToolRequestParams(name=name, arguments=arguments, _meta=given)
        async with self._request(quotes_server=True) as (client, _):
            result = await _send_call(client, CallToolRequest(params=params), progress)
        if result.kind == "input_required":
            message = "tool requests further input, which is not supported"
            raise ServerError(message, FailureKind.FAILED)
        content, structured = result.content, result.structured
        if result.is_error:
            (content, structured), _ = redact([content, structured], self._secrets)
        return CallResult(tuple(content), structured, result.is_error)

    def timed_out(self, seconds: float) -> str:
        """Describe a time-out after *seconds*."""
        return timed_out(self._errors, seconds)

    def ping(self) -> None:
        """Begin to check that the server is alive, after a request of which time ran out.

        A slow tool is no reason to end a server that may hold state, nor are several at once. One
        that leaves two pings in a row unanswered would hold up every call to come: it is ended.
        """
        if self._client is None or self._group is None or not self.is_usable or self._is_pinged:
            return
        self._is_pinged = True
        self._group.start_soon(self._ping, self._client)

    async def _ping(self, client: Client) -> None:
        is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        request = DiscoverRequest() if is_modern else PingRequest()
        self._unanswered_pings += 1
        with (
            anyio.move_on_after(self._ping_seconds),
            self._errors.of_request(),
            suppress(Exception),
        ):
            with suppress(MCPError):  # a server that refuses pings is alive
                await client.session.send_request(request, _Anything)
            self._unanswered_pings = 0
        self._is_pinged = False
        if self._unanswered_pings >= _MAX_UNANSWERED_PINGS:
            self.end(_UNRESPONSIVE)

    @asynccontextmanager
    async def _request(
        self, *, quotes_server: bool
    ) -> AsyncIterator[tuple[Client, TransportErrors]]:
        """Yield the client, once it is open, and raise what fails inside as `_failure` has it."""
        await self._ready.wait()
        if self._client is None:
            raise ServerError(self._reason, self._kind)
        if not self.is_usable:
            raise NotProcessedError
        with self._errors.of_request() as errors:
            try:
                yield self._client, errors
            except Exception as fault:  # noqa: BLE001 - servers fail in any way
                raise await self._failure(fault, errors, quotes_server=quotes_server) from None
        self._unanswered_pings = 0

    async def _failure(
        self, fault: Exception, errors: TransportErrors, *, quotes_server: bool
    ) -> Exception:
        """Return the error of a request: of a lost connection, or of the server."""
        if isinstance(fault, MCPError) and fault.message == _SESSION_TERMINATED:
            self.end()
            return NotProcessedError()
        is_closed = isinstance(fault, MCPError) and (fault.code, fault.message) == _CLOSED
        if is_closed or self._errors.is_too_large:
            self.end()
            with anyio.move_on_after(_CLOSE_SECONDS):
                await self.ended.wait()  # the reason is known then
            has_died = not self._errors.is_too_large
            message = self._errors.message or self._reason
            return ServerError(message, self._kind, has_died=has_died)
        self._unanswered_pings = 0
        if errors.is_too_large:
            return ServerError(errors.message or "", FailureKind.TOO_LARGE)
        if quotes_server and isinstance(fault, MCPError) and errors.message is None:
            return self._refusal(fault)
        kind = FailureKind.UNAVAILABLE if errors.message else FailureKind.FAILED
        return ServerError(failure(fault, errors, 0), kind, has_died=errors.is_interrupted)

    def _refusal(self, fault: MCPError) -> ServerError:
        if fault.code == CONNECTION_CLOSED and fault.message.startswith(_STREAM_BROKEN):
            return ServerError("response was cut off", has_died=True)
        message, _ = redact(fault.message, self._secrets)
        return ServerError(f"{message} (error {fault.code})", FailureKind.FAILED)

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (*self.server.secrets, *self._errors.secrets)

    @property
    def _kind(self) -> FailureKind:
        is_large = self._errors.is_too_large
        return FailureKind.TOO_LARGE if is_large else FailureKind.UNAVAILABLE


async def _send_call(
    client: Client, request: CallToolRequest, progress: Progress | None
) -> _Result:
    latest = _LatestProgress(progress) if progress is not None else None
    callback = latest.report if latest is not None else None
    try:
        try:
            return await client.session.send_request(request, _Result, progress_callback=callback)
        except MCPError as fault:
            if fault.code != HEADER_MISMATCH:
                raise
        # From the list of tools the SDK learns which arguments have to be repeated as headers.
        cursor = None
        for _ in range(_MAX_HEADER_PAGES):
            page = await client.list_tools(cursor=cursor)
            cursor = page.next_cursor
            if cursor is None:
                break
        return await client.session.send_request(request, _Result, progress_callback=callback)
    finally:
        if latest is not None:
            latest.is_over = True


class _LatestProgress:
    """Passes on the latest progress; what a listener is too slow for is left out.

    Attributes:
        is_over: Whether there is a result, after which nothing is passed on.
    """

    def __init__(self, listener: Progress) -> None:
        self.is_over = False
        self._listener = listener
        self._next: tuple[float, float | None, str | None] | None = None
        self._is_reporting = False

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on progress, unless the listener is still busy with the one before."""
        self._next = (progress, total, message)
        if self._is_reporting:
            return
        self._is_reporting = True
        try:
            while self._next is not None and not self.is_over:
                latest, self._next = self._next, None
                await self._listener(*latest)
        finally:
            self._is_reporting = False
