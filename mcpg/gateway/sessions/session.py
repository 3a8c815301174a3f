"""A connection to one server that is kept open, by a task of its own."""

from __future__ import annotations

import math
from contextlib import AsyncExitStack, suppress
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
    PingRequest,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, Field

from mcpg.gateway.calls.model import Called, CallError, FaultCode, Latest, NothingDoneError
from mcpg.sources.live.errors import AskingError, Trouble, veiled
from mcpg.sources.live.listing import listing_of, no_answer, reason
from mcpg.sources.live.transports import transport_to

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from mcpg.gateway.calls.model import Progress
    from mcpg.json_types import JsonObject
    from mcpg.sources.client_config import Live, Server
    from mcpg.sources.live.listing import Listing
    from mcpg.sources.live.transports import Living

_CLOSING = 3.0
"""Seconds for a polite good-bye."""

_ANSWERING = 5.0
"""Seconds for the answer to a ping."""

_SILENT_PINGS = 2
_SILENT = "it was ended, for it answered neither calls nor pings"
_PAGES = 100
_LISTEN_AGAIN = (1.0, 60.0)
_SESSION_GONE = "Session terminated"  # the SDK's words, as the two below
_CONNECTION_GONE = "Connection closed"
_ANSWER_BROKE_OFF = "SSE stream"


class _Result(BaseModel):
    """A result of which nothing is dropped."""

    model_config = ConfigDict(extra="allow")

    content: list[dict[str, Any]] = Field(default_factory=list)
    structured: Any = Field(default=None, alias="structuredContent")
    is_error: bool = Field(default=False, alias="isError")
    kind: str | None = Field(default=None, alias="resultType")


class _Anything(BaseModel):
    """A result of which nothing is looked at."""


class Connection:
    """A connection to one server.

    `run` opens it and keeps it open until it is lost or ended; everything else waits for that.
    """

    def __init__(
        self,
        server: Server,
        live: Live,
        living: Living,
        announced: Callable[[Server], Awaitable[None]],
        changed: Callable[[Server], None],
    ) -> None:
        """Prepare a connection.

        Args:
            server: The server.
            live: How servers are asked.
            living: Holds the process group of a program for as long as it may be alive.
            announced: Called when the server says that its tools have changed.
            changed: Called when that may have gone unheard.
        """
        self.server = server
        self.begun = anyio.Event()
        self.ended = anyio.Event()
        self._trouble = Trouble(over=self.end)
        self._transport = transport_to(server, live, self._trouble, living, is_kept=True)
        self._announced = announced
        self._changed = changed
        self._ready = anyio.Event()
        self._closing = anyio.Event()
        self._scope = anyio.CancelScope()
        self._client: Client | None = None
        self._group: TaskGroup | None = None
        self._why = "it was closed"
        self._silent = 0
        self._is_pinged = False

    @property
    def is_usable(self) -> bool:
        """Whether it is open, or may still come to be."""
        return not self._closing.is_set()

    def end(self, why: str = "") -> None:
        """Close it; `ended` tells when that is done.

        Args:
            why: What is said to those whose calls end with it.
        """
        if why and self.is_usable:
            self._trouble.said = why
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
                await self._kept(limiter, seconds)
            if self._scope.cancelled_caught and self.is_usable:
                self._why = no_answer(self._trouble, seconds)
            self._why = self._trouble.said or self._why
        except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
            self._why = reason(fault, self._trouble, seconds)
        finally:
            for event in (self._closing, self.begun, self._ready, self.ended):
                event.set()

    async def _kept(self, limiter: anyio.CapacityLimiter, seconds: float) -> None:
        async with AsyncExitStack() as stack:
            async with limiter:
                self.begun.set()
                self._scope.deadline = anyio.current_time() + seconds
                client = Client(self._transport, cache=None, message_handler=self._heard)
                await stack.enter_async_context(client)
            self._scope.deadline = math.inf
            self._client = client
            self._ready.set()
            async with anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._listen, client)
                await self._closing.wait()
                group.cancel_scope.cancel()
            self._scope.deadline = anyio.current_time() + _CLOSING

    async def _heard(self, message: object) -> None:
        self._silent = 0
        if isinstance(message, ToolListChangedNotification):
            await self._announced(self.server)

    async def _listen(self, client: Client) -> None:
        """Ask to be told of changes, where the protocol wants to be asked."""
        tools = client.server_capabilities.tools
        pause, longest = _LISTEN_AGAIN
        while tools is not None and tools.list_changed:
            try:
                with self._trouble.of_request():
                    async with client.listen(tools_list_changed=True) as events:
                        async for _ in events:
                            """`_heard` has heard it as well."""
            except (ListenNotSupportedError, MCPError):
                return
            except Exception:  # noqa: BLE001, S110 - it was lost; nothing hangs on it but freshness
                pass
            await anyio.sleep(pause)
            pause = min(2 * pause, longest)
            self._changed(self.server)

    async def listing(self, seconds: float) -> Listing:
        """Fetch the server's tools.

        Args:
            seconds: The time that it has, for the message.

        Raises:
            AskingError: They cannot be had; the text says why.
            NothingDoneError: The connection was lost before.
        """
        client = await self._opened()
        with self._trouble.of_request() as trouble:
            try:
                listing = await listing_of(client, trouble)
            except Exception as fault:  # noqa: BLE001 - whatever it is, it is told
                if self._is_forgotten(fault):
                    raise NothingDoneError from None
                is_gone = _is_gone(fault)
                if is_gone:
                    await self._lost()
                said = reason(fault, self._trouble if is_gone else trouble, seconds)
                raise AskingError(said) from None
        self._silent = 0
        return listing

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        progress: Progress | None = None,
        meta: JsonObject | None = None,
    ) -> Called:
        """Call a tool; a cancellation is passed on to the server.

        Raises:
            CallError: There is no result.
            NothingDoneError: The connection was lost before.
        """
        client = await self._opened()
        given: Any = meta
        params = CallToolRequestParams(name=name, arguments=arguments, _meta=given)
        with self._trouble.of_request() as trouble:
            try:
                result = await _sent(client, CallToolRequest(params=params), progress)
            except Exception as fault:  # noqa: BLE001 - as above
                raise await self._failed(fault, trouble) from None
        self._silent = 0
        return self._called(result)

    def was_silent(self) -> None:
        """Take note that time ran out without an answer, and ping the server.

        A slow tool is no reason to end a server that may hold a state, nor are several at once. One
        that answers no ping, twice in a row, would hold up every call to come: it is ended.
        """
        if self._client is None or self._group is None or not self.is_usable or self._is_pinged:
            return
        self._is_pinged = True
        self._group.start_soon(self._ping, self._client)

    async def _ping(self, client: Client) -> None:
        is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        request = DiscoverRequest() if is_modern else PingRequest()
        self._silent += 1
        with anyio.move_on_after(_ANSWERING), self._trouble.of_request(), suppress(Exception):
            with suppress(MCPError):  # who refuses a ping is there
                await client.session.send_request(request, _Anything)
            self._silent = 0
        self._is_pinged = False
        if self._silent >= _SILENT_PINGS:
            self.end(_SILENT)

    def no_answer(self, seconds: float) -> str:
        """Say that there was no answer in time."""
        return no_answer(self._trouble, seconds)

    async def _opened(self) -> Client:
        await self._ready.wait()
        if self._client is None:
            raise CallError(self._code, self._why)
        if not self.is_usable:
            raise NothingDoneError
        return self._client

    def _called(self, result: _Result) -> Called:
        if result.kind == "input_required":
            message = "it asks for something in between, which cannot be passed on"
            raise CallError(FaultCode.TOOL_FAILED, message)
        content, structured = result.content, result.structured
        if result.is_error:
            (content, structured), _ = veiled([content, structured], self._secrets)
        return Called(tuple(content), structured, result.is_error)

    async def _failed(self, fault: Exception, trouble: Trouble) -> Exception:
        """Tell a connection that is lost from a server that says no.

        Args:
            fault: What was raised.
            trouble: What went wrong with this call alone.
        """
        if self._is_forgotten(fault):
            return NothingDoneError()
        if _is_gone(fault) or self._trouble.is_too_large:
            await self._lost()
            has_died = not self._trouble.is_too_large
            return CallError(self._code, self._trouble.said or self._why, has_died=has_died)
        self._silent = 0
        if trouble.is_too_large:
            return CallError(FaultCode.TOO_LARGE, trouble.said or "")
        if isinstance(fault, MCPError) and trouble.said is None:
            return self._refused(fault)
        code = FaultCode.SOURCE_UNAVAILABLE if trouble.said else FaultCode.TOOL_FAILED
        return CallError(code, reason(fault, trouble, 0), has_died=trouble.is_cut)

    def _is_forgotten(self, fault: Exception) -> bool:
        """Return whether the server has forgotten the session, and if so, end it here, too."""
        is_forgotten = isinstance(fault, MCPError) and fault.message == _SESSION_GONE
        if is_forgotten:
            self.end()
        return is_forgotten

    def _refused(self, fault: MCPError) -> CallError:
        if fault.code == CONNECTION_CLOSED and fault.message.startswith(_ANSWER_BROKE_OFF):
            message = "its answer broke off"
            return CallError(FaultCode.SOURCE_UNAVAILABLE, message, has_died=True)
        said, _ = veiled(fault.message, self._secrets)
        return CallError(FaultCode.TOOL_FAILED, f"{said} (error {fault.code})")

    async def _lost(self) -> None:
        """End the connection, and wait until it is known why it was lost."""
        self.end()
        with anyio.move_on_after(_CLOSING):
            await self.ended.wait()

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (*self.server.secrets, *self._trouble.secrets)

    @property
    def _code(self) -> FaultCode:
        is_large = self._trouble.is_too_large
        return FaultCode.TOO_LARGE if is_large else FaultCode.SOURCE_UNAVAILABLE


async def _sent(client: Client, request: CallToolRequest, progress: Progress | None) -> _Result:
    latest = Latest(progress) if progress is not None else None
    tell = latest.tell if latest is not None else None
    try:
        try:
            return await client.session.send_request(request, _Result, progress_callback=tell)
        except MCPError as fault:
            if fault.code != HEADER_MISMATCH:
                raise
        await _learn_headers(client)
        return await client.session.send_request(request, _Result, progress_callback=tell)
    finally:
        if latest is not None:
            latest.end()


async def _learn_headers(client: Client) -> None:
    """List the tools: so the SDK learns which arguments the server wants repeated as headers."""
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        cursor = page.next_cursor
        if cursor is None:
            return


def _is_gone(fault: Exception) -> bool:
    if not isinstance(fault, MCPError):
        return False
    return (fault.code, fault.message) == (CONNECTION_CLOSED, _CONNECTION_GONE)
