"""A connection to one MCP server that is kept open for any number of requests at a time."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import mcp_types
from anyio.abc import TaskGroup
from mcp import Client, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import RootModel

from mcpg.sources.client_config import Server, ServerAccess
from mcpg.sources.live.client import (
    AUTO,
    LEGACY,
    ServerTools,
    describe_failure,
    describe_timeout,
    find_causes,
    list_tools,
    open_client,
    quote_stderr,
)
from mcpg.sources.live.programs import ProcessGroups
from mcpg.sources.live.requests import (
    CallResponse,
    FailureKind,
    Host,
    MessageOrigin,
    NotProcessedError,
    PendingRequest,
    ServerError,
    TransportErrors,
    current_caller,
    current_session,
    redact,
)
from mcpg.sources.live.server_requests import (
    RawRequest,
    ServerRequests,
    SubscriptionKeeper,
    UncheckedResult,
    run_task,
)
from mcpg.sources.live.transports import connect
from mcpg.text.json_values import JsonObject

PING_SECONDS = 5.0
ROOTS_CHANGED = "notifications/roots/list_changed"

_CALL = "tools/call"
_CLOSE_SECONDS = 3.0
_MAX_UNANSWERED_PINGS = 2
_UNRESPONSIVE = "server was stopped: it responded to neither calls nor pings"
_MAX_ROUNDS = 10
_UNKNOWN_STATE = "unknown `requestState`: it was used before, or the answer came too late"
_MAX_HEADER_PAGES = 100
# Messages of the SDK.
_CLOSED = (mcp_types.CONNECTION_CLOSED, "Connection closed")
_STREAM_BROKEN = "SSE stream"


class _RawNotification(mcp_types.Notification[None, str]):
    """A notification of any method."""

    params: None = None


class _RawResult(RootModel[dict[str, Any]]):
    """A result of which nothing is dropped."""


class ServerConnection:
    """A connection to one server that is kept open.

    `run` opens it and keeps it until it is lost or ended; requests wait until it is open.

    Attributes:
        is_older: Whether it uses a version of the protocol up to 2025-11-25, once it is open.
        refuses_older: Whether the server has refused the handshake of `LEGACY`.
    """

    def __init__(  # noqa: PLR0913 - each is one thing that concerns a connection
        self,
        server: Server,
        live: ServerAccess,
        groups: ProcessGroups,
        list_changed: Callable[[Server], Awaitable[None]],
        changes_missed: Callable[[Server], None],
        ping_seconds: float = PING_SECONDS,
        *,
        host: Host | None = None,
        client: Hashable | None = None,
        is_asking: bool = False,
        mode: str = AUTO,
    ) -> None:
        """Prepare a connection.

        When the server announces that its tools have changed, *list_changed* is called; when such
        an announcement may have been missed, *changes_missed*. A server without *host* may send no
        requests; a server that *is_asking* sends some once it is connected.
        """
        self.mode = mode
        self.server = server
        self.client = client
        self.started = anyio.Event()
        self.ended = anyio.Event()
        self.is_older = False
        self.refuses_older = False
        self._errors = TransportErrors(on_end=self.end, on_silence=partial(changes_missed, server))
        self._connect = partial(connect, server, live, self._errors, groups, is_kept=True)
        self._list_changed = list_changed
        self._changes_missed = changes_missed
        self._ping_seconds = ping_seconds
        self._ready = anyio.Event()
        self.closing = anyio.Event()
        self._scope = anyio.CancelScope()
        self._client: Client | None = None
        self._group: TaskGroup | None = None
        self._reason = "it was closed"
        self._unanswered_pings = 0
        self._is_pinged = False
        self._requests = 0
        self._last_request = anyio.current_time()
        self._host = host
        self._is_asking = is_asking
        self._questions = ServerRequests(server, host, client)
        self._watch = SubscriptionKeeper()

    @property
    def is_usable(self) -> bool:
        """Whether it is open or opening."""
        return not self.closing.is_set()

    @property
    def is_open(self) -> bool:
        return self._client is not None

    @property
    def crash(self) -> str:
        """How its server has failed after it was opened, "" if it has not."""
        how = self._errors.crash if self.is_open else ""
        secrets = (*self.server.secrets, *self.server.named_secrets)
        return how and how + quote_stderr(self._errors, secrets)

    @property
    def has_session(self) -> bool:
        """Whether the server distinguishes it from the client's other connections, over HTTP."""
        return self._errors.has_session

    @property
    def idle_since(self) -> float:
        """When its last request has ended, by the clock of the event loop; now during one."""
        return anyio.current_time() if self._requests else self._last_request

    def end(self, reason: str = "") -> None:
        """Begin to close it; requests under way fail with *reason*, if any is given."""
        if reason and self.is_usable:
            self._errors.message = reason
        self.closing.set()
        if self._client is None:
            self._scope.cancel()

    async def run(self, limiter: anyio.CapacityLimiter, seconds: float) -> None:
        """Open the connection within *seconds*, keep it, and close it.

        The *limiter* bounds how many are opened at the same time.
        """
        # Other clients than the opener also use the connection.
        current_caller.set(None)
        current_session.set("")
        try:
            with self._scope:
                await self._keep_open(limiter, seconds)
            if self._scope.cancelled_caught and self.is_usable:
                self._reason = self.timed_out(seconds)
            self._reason = self._errors.message or self._reason
        except Exception as fault:  # noqa: BLE001 - servers fail in any way, and others go on
            self._reason = describe_failure(fault, self._errors, seconds)
        finally:
            for event in (self.closing, self.started, self._ready, self.ended):
                event.set()

    async def _keep_open(self, limiter: anyio.CapacityLimiter, seconds: float) -> None:
        async with AsyncExitStack() as stack:
            async with limiter:
                self.started.set()
                self._scope.deadline = anyio.current_time() + seconds
                opening = open_client(
                    self._connect,
                    self._errors,
                    self.mode,
                    message_handler=self._receive,
                    **self._questions.make_callbacks(),
                )
                try:
                    client = await stack.enter_async_context(opening)
                except Exception as fault:
                    codes = {one.code for one in find_causes(fault) if isinstance(one, MCPError)}
                    refusal = mcp_types.UNSUPPORTED_PROTOCOL_VERSION
                    self.refuses_older = self.mode == LEGACY and refusal in codes
                    raise
                if self._is_asking:
                    await self._questions.settle()
            self._scope.deadline = math.inf
            self._client = client
            self.is_older = client.protocol_version not in MODERN_PROTOCOL_VERSIONS
            self._ready.set()
            async with anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._watch.run, client, self._errors, self._report_missed_changes)
                await self.closing.wait()
                group.cancel_scope.cancel()
            self._scope.deadline = anyio.current_time() + _CLOSE_SECONDS

    async def speaks_older(self) -> bool:
        """Return whether it uses a version of the protocol up to 2025-11-25, once it is open."""
        await self._ready.wait()
        return self.is_older

    async def _receive(self, message: object) -> None:
        self._unanswered_pings = 0
        if isinstance(message, mcp_types.ToolListChangedNotification):
            await self._list_changed(self.server)
        elif isinstance(message, mcp_types.Notification):
            await self._questions.pass_on(message)

    async def list_tools(self, seconds: float) -> ServerTools:
        """List the tools within *seconds* from when it is the connection's turn to open."""
        await self.started.wait()
        with anyio.move_on_after(seconds):
            async with self._request(None, quotes_server=False) as (client, errors):
                return await list_tools(client, errors)
        self.ping()
        raise ServerError(self.timed_out(seconds))

    async def call(
        self, params: JsonObject, request: PendingRequest, *, is_task: bool = False
    ) -> CallResponse:
        """Call a tool; a cancellation is passed on to the server."""
        if is_task:
            async with self._request(request, params) as (client, _):
                result = await run_task(client, params, request)
        else:
            result = await self.request(_CALL, params, request)
        if result.get("isError"):
            result = self._redact(result)
        content: Any = result.get("content", [])
        is_error = bool(result.get("isError"))
        return CallResponse(tuple(content), result.get("structuredContent"), is_error, result)

    async def request(
        self, method: str, params: JsonObject | None, request: PendingRequest
    ) -> JsonObject:
        """Return the result of a request of any method, as the server sends it.

        The server is given the input that it requires, and a cancellation is passed on to it.

        Raises:
            ServerError: The server sends no result.
            NotProcessedError: The connection was lost before.
        """
        async with self._request(request, params) as (client, _):
            result = await _send(client, RawRequest(method=method, params=params), request)
            for _ in range(_MAX_ROUNDS):
                is_final = result.get("resultType") != "input_required"
                if is_final or (request.caller and request.caller.takes_input):
                    return result
                if self._host is None or request.caller is None:
                    message = "tool requests further input, which is not supported"
                    raise ServerError(message, FailureKind.FAILED)
                given = await self._questions.collect_responses(result, request)
                params = {**(params or {}), **given}
                result = await _send(client, RawRequest(method=method, params=params), request)
            raise ServerError("tool requests further input without end", FailureKind.FAILED)

    async def capabilities(self) -> JsonObject:
        async with self._request(None) as (client, _):
            declared = client.server_capabilities
            shown: JsonObject = declared.model_dump(by_alias=True, mode="json", exclude_none=True)
            return shown

    async def notify(self, method: str) -> None:
        """Send a notification, if the connection is open."""
        if self._client is not None and self.is_usable:
            notification: Any = _RawNotification(method=method)
            await self._client.session.send_notification(notification)

    async def roots_changed(self) -> None:
        """Notify the server that the roots have changed, and wait until it has the new ones."""
        await self._ready.wait()
        self._questions.expect()
        await self.notify(ROOTS_CHANGED)
        await self._questions.settle()

    def watch(self, uris: frozenset[str], level: str | None) -> None:
        """Subscribe to *uris*, and to no others, and request log messages of *level*."""
        if (uris, level) != (self._watch.uris, self._watch.level):
            self._watch.uris, self._watch.level = uris, level
            self._watch.changed.set()

    def timed_out(self, seconds: float) -> str:
        return describe_timeout(self._errors, seconds)

    def ping(self) -> None:
        """Begin to check that the server is alive, after a request of which time ran out.

        Slow tools do not justify ending a server that may have state. But a server that leaves two
        pings in a row unanswered would block every later call: it is ended.
        """
        if self._client is None or self._group is None or not self.is_usable or self._is_pinged:
            return
        self._is_pinged = True
        self._group.start_soon(self._ping, self._client)

    async def _ping(self, client: Client) -> None:
        is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        request = mcp_types.DiscoverRequest() if is_modern else mcp_types.PingRequest()
        self._unanswered_pings += 1
        with (
            anyio.move_on_after(self._ping_seconds),
            self._errors.of_request(),
            suppress(Exception),
        ):
            with suppress(MCPError):  # a server that refuses pings is alive
                await client.session.send_request(request, UncheckedResult)
            self._unanswered_pings = 0
        self._is_pinged = False
        if self._unanswered_pings >= _MAX_UNANSWERED_PINGS:
            self._errors.crash = _UNRESPONSIVE
            self.end(_UNRESPONSIVE)

    async def _report_missed_changes(self) -> None:
        self._changes_missed(self.server)
        if self._host is None or self._client is None:
            return
        origin = MessageOrigin(self.server, client=self.client)
        declared = self._client.server_capabilities
        kinds = {"prompts": declared.prompts, "resources": declared.resources}
        with suppress(Exception):  # clients fail in any way
            for kind in (kind for kind, one in kinds.items() if one is not None):
                await self._host.receive_notification(
                    origin, f"notifications/{kind}/list_changed", {}
                )
            for uri in sorted(self._watch.uris):
                await self._host.receive_notification(
                    origin, "notifications/resources/updated", {"uri": uri}
                )

    @asynccontextmanager
    async def _request(
        self,
        request: PendingRequest | None,
        params: JsonObject | None = None,
        *,
        quotes_server: bool = True,
    ) -> AsyncIterator[tuple[Client, TransportErrors]]:
        """Yield the client, once it is open, and raise what fails inside as `_to_error` has it."""
        self._requests += 1
        try:
            await self._ready.wait()
            client = self._client
            if client is None and not self.refuses_older:
                raise ServerError(self._reason, self._errors.kind)
            if client is None or self.refuses_older or not self.is_usable:
                raise NotProcessedError
            with self._errors.of_request() as errors, self._questions.during(request):
                try:
                    # Servers of the older versions give no state for repeating a request; the
                    # host did, and has forgotten it: the request would run twice.
                    if self.is_older and "requestState" in (params or {}):
                        raise MCPError(mcp_types.INVALID_PARAMS, _UNKNOWN_STATE)  # noqa: TRY301
                    yield client, errors
                    if request is not None:
                        await request.wait_for_notifications()
                except ServerError:
                    raise
                except Exception as fault:  # noqa: BLE001 - servers fail in any way
                    raise await self._to_error(fault, errors, quotes_server=quotes_server) from None
            self._unanswered_pings = 0
        finally:
            self._requests -= 1
            self._last_request = anyio.current_time()

    async def _to_error(
        self, fault: Exception, errors: TransportErrors, *, quotes_server: bool
    ) -> Exception:
        if errors.is_forgotten:
            self.end()
            return NotProcessedError()
        is_closed = isinstance(fault, MCPError) and (fault.code, fault.message) == _CLOSED
        if is_closed or self._errors.is_too_large:
            self.end()
            with anyio.move_on_after(_CLOSE_SECONDS):
                await self.ended.wait()  # the reason is known then
            has_died = not self._errors.is_too_large
            message = self._errors.message or self._reason
            return ServerError(message, self._errors.kind, has_died=has_died)
        self._unanswered_pings = 0
        if errors.is_too_large:
            return ServerError(errors.message or "", FailureKind.TOO_LARGE)
        if quotes_server and isinstance(fault, MCPError) and errors.message is None:
            if fault.code == mcp_types.CONNECTION_CLOSED and fault.message.startswith(
                _STREAM_BROKEN
            ):
                return ServerError("response was cut off", has_died=True)
            error = self._redact(fault.error.model_dump(mode="json", exclude_none=True))
            message = f"{error['message']} (error {fault.code})"
            return ServerError(message, FailureKind.FAILED, error=error)
        kind = errors.kind if errors.message else FailureKind.FAILED
        return ServerError(describe_failure(fault, errors, 0), kind, has_died=errors.is_interrupted)

    def _redact(self, said: JsonObject) -> JsonObject:
        named = (*self.server.named_secrets, *self._errors.secrets)
        found: JsonObject = redact(said, self.server.secrets, named, ("type",))[0]
        return found


async def _send(client: Client, request: RawRequest, underway: PendingRequest) -> JsonObject:
    async def send() -> JsonObject:
        report = underway.report
        found = await client.session.send_request(request, _RawResult, progress_callback=report)
        result = found.root
        meta = result.get("_meta")
        if isinstance(meta, dict) and mcp_types.SERVER_INFO_META_KEY in meta:
            # Each server chooses its own name.
            del result["_meta"]
            kept: JsonObject = {
                key: one for key, one in meta.items() if key != mcp_types.SERVER_INFO_META_KEY
            }
            result |= {"_meta": kept} if kept else {}
        return result

    try:
        return await send()
    except MCPError as fault:
        if fault.code != mcp_types.HEADER_MISMATCH or request.method != _CALL:
            raise
    # From the list of tools the SDK learns which arguments have to be repeated as headers.
    cursor = None
    for _ in range(_MAX_HEADER_PAGES):
        page = await client.list_tools(cursor=cursor)
        cursor = page.next_cursor
        if cursor is None:
            break
    return await send()
