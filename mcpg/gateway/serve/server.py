"""The gateway as a server on the MCP SDK: connected clients and request log."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import re
import select
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any, cast
from uuid import uuid4

import anyio
import anyio.to_thread
import mcp_types as types
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpg import __version__
from mcpg.catalog.json_text import repair_surrogates
from mcpg.engine.engine import Engine
from mcpg.errors import Diagnostic, McpgError
from mcpg.gateway.directory import Directory
from mcpg.gateway.gateway import Gateway
from mcpg.gateway.serve import INVOKE, META_TOOLS, Exposure, ServingOptions
from mcpg.gateway.serve.answers import called_result, line
from mcpg.gateway.serve.catalogue import Catalogue
from mcpg.gateway.serve.clients import (
    Client,
    ClientRequest,
    Clients,
    ClientView,
    Context,
    RequestCaller,
    found_names,
    keep_unaltered,
    make_mcp_error,
    pass_unaltered,
)
from mcpg.gateway.serve.kept_results import ResultStore
from mcpg.gateway.serve.prompts_and_resources import PrimitiveHandlers
from mcpg.gateway.serve.relay import Audience, PendingCalls, Relay
from mcpg.gateway.serve.schemas import instructions
from mcpg.gateway.serve.tools import MetaTools
from mcpg.gateway.views import View
from mcpg.sources.client_config import Server as McpServer
from mcpg.sources.live.client import AUTO, LEGACY
from mcpg.sources.live.requests import Caller, current_caller
from mcpg.text.json_values import JsonObject

NAME = "mcpg"
_METHOD = 40
_SHOWN = 120
_GATHERING = 0.2
_FIRST_REQUEST = 1.0
# Clients give up after a minute or so without a list; a client that got a list without counts is
# notified of the full list. With all tools shown there is nothing to list before.
_PATIENCE = {Exposure.META: 5.0, Exposure.FOUND: 5.0, Exposure.ALL: 30.0}
_PRIMITIVES_PATIENCE = 5.0
_LONGEST_TTL = 86_400.0


class GatewayServer:
    """A server of one gateway for any number of clients: *sdk* runs over a transport."""

    def __init__(
        self, gateway: Gateway, serving: ServingOptions, relay: Relay | None = None
    ) -> None:
        """Serve *gateway*, which is open for as long as `running` is.

        A view of a served gateway has the *relay* of that gateway.
        """
        self._gateway = gateway
        self._serving = serving
        self._catalogue = Catalogue(gateway, serving)
        self._results = ResultStore()
        self._meta = MetaTools(gateway, serving, self._catalogue, self._results)
        self._clients = Clients(self._forget_client)
        self._parking = PendingCalls()
        self._is_view = relay is not None
        if relay is None:
            relay = gateway.sessions.host = Relay(serving.ask_seconds, self._report_dropped)
            gateway.sessions.crashed = self._report
        self.relay = relay
        self._handlers = PrimitiveHandlers(
            gateway,
            serving,
            self._clients,
            self.relay,
            self._results,
            self._on_behalf,
            self._unwatch,
        )
        self.relay.audiences.append(
            Audience(
                self._clients, gateway.shows, self._list_changed, self._handlers.announce_update
            )
        )
        self._changed = anyio.Event()
        self._met = anyio.Event()
        self._read = anyio.Event()
        self._woken = anyio.Event()
        self._has_left = False
        self._announced: Directory | None = None
        self._dropped: list[Diagnostic] = []
        self._session = uuid4().hex
        self.sdk = self._make_sdk()

    def _make_sdk(self) -> _AnnouncingServer:
        sdk = _AnnouncingServer(
            NAME,
            version=__version__,
            title="Tool gateway",
            instructions=instructions(self._catalogue.known.context, self._serving.expose),
            on_list_tools=self._list,
            on_call_tool=cast("Any", self._call),
            on_subscriptions_listen=self._clients.listen,
            get_tool_input_schema=lambda name: (  # noqa: PLW0108 - the value by then
                self._catalogue.known.listing.input_schema(name)
            ),
        )
        if self._gateway.primitives.servers:
            self._handlers.register(sdk)
        sdk.find_extensions = self._handlers.find_extensions
        for method, handler in (
            ("notifications/initialized", self._handle_initialized),
            ("notifications/roots/list_changed", self._roots_changed),
        ):
            sdk.add_notification_handler(method, types.NotificationParams, handler)
        sdk.middleware += [self._meet, pass_unaltered]
        if self._serving.log is not None:
            sdk.middleware.append(self._log_request)
        return sdk

    def narrow(self, *views: View) -> GatewayServer:
        """Return a server of the part of the gateway that all *views* show."""
        return GatewayServer(self._gateway.narrow(*views), self._serving, self.relay)

    async def engine(self) -> Engine:
        """Return the engine of the tools that clients of this server see."""
        return (await self._gateway.snapshot()).engine

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the sources in the background, and notify clients of changes, inside the context."""
        self._gateway.on_change(self._wake)
        if not self._gateway.primitives.servers:
            await self._handlers.wait_for_files()  # the first answers to clients depend on them
            self._offer_skills(await self._gateway.primitives.list_directory(is_fresh=False))
        async with anyio.create_task_group() as group:
            self._parking.group = self._clients.group = group
            group.start_soon(self._warm_up)
            group.start_soon(self._announce)
            group.start_soon(self._keep_up)
            try:
                yield
            finally:
                self._clients.listen.close()
                group.cancel_scope.cancel()

    def _offer_skills(self, known: Directory) -> None:
        """Handle requests for resources if there are skills of files, and none are handled yet."""
        if known.local and self.sdk.get_request_handler("skills/list") is None:
            self._handlers.register_resources(self.sdk)

    def _wake(self) -> None:
        self._changed.set()

    async def _warm_up(self) -> None:
        if not self.relay.has_many:
            with anyio.move_on_after(_FIRST_REQUEST):
                await self._met.wait()  # the versions of the protocol that its client speaks
        with suppress(Exception):  # the next request reports it; the server goes on
            await self._gateway.warm_up()
            listed = await self._gateway.primitives.list_directory(is_fresh=False)
            # A server may have announced a change meanwhile, which clients do not know yet.
            if self._announced is None:
                self._announced = listed
            self._offer_skills(listed)
            self._wake()
        self._read.set()

    async def _announce(self) -> None:
        """Notify clients of changes if their list differs from the last list sent to them."""

        async def current(view: ClientView) -> int:
            return (await self._catalogue.listing(known, view)).print

        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            with suppress(Exception):  # as above
                known = await self._catalogue.latest()
                self.sdk.instructions = instructions(known.context, self._serving.expose)
                await self._clients.relist(current)
                self._woken.set()  # sources that were added or removed have prompts and resources
                self._report()

    def _report(self, *crashes: Diagnostic) -> None:
        if self._serving.on_diagnostics is not None:
            # Views over HTTP have the same pins, even if they lack the tools.
            pins = () if self._is_view else self._catalogue.known.diagnostics
            known = (*self._gateway.diagnostics, *pins)
            self._serving.on_diagnostics((*known, *self._dropped, *crashes))

    def _report_dropped(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._dropped:
            self._dropped.append(diagnostic)
            self._wake()

    def _forget_client(self, client: Client) -> None:
        self._gateway.sessions.end_client(client.identity)
        self._unwatch()

    def _unwatch(self) -> None:
        """Begin to withdraw subscriptions that no client has any more."""
        self._has_left = True
        self._woken.set()

    def _list_changed(self, server: McpServer) -> None:
        """Begin to list the prompts and resources of a server that has announced a change."""
        if self._announced is None:
            self._announced = self._gateway.primitives.directory
        self._gateway.primitives.invalidate(server)
        self._woken.set()

    async def _keep_up(self) -> None:
        """Finish pending work; announcements in quick succession count as one."""
        while True:
            with anyio.CancelScope(deadline=self._gateway.primitives.due):
                await self._woken.wait()
            await anyio.sleep(_GATHERING)
            self._woken = anyio.Event()
            has_left, self._has_left = self._has_left, False
            if has_left:
                with suppress(Exception):  # as above
                    await self._handlers.watch()
            with suppress(Exception):  # as above
                listed = await self._gateway.primitives.list_directory(is_fresh=False)
                before, self._announced = self._announced, listed
                if before is not None and listed is not before:
                    for kind in listed.find_changes(before):
                        await self._clients.notify(kind)
                    self._wake()

    async def _meet(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Learn from the first request which versions of the protocol the only client speaks."""
        if not self._met.is_set():
            is_later = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            if not self.relay.has_many:
                self._gateway.sessions.mode = AUTO if is_later else LEGACY
            if is_later:
                self.relay.arrived.set()  # it can only be asked during a request
            self._met.set()
        self._gateway.sessions.uses += 1
        return await call_next(ctx)

    async def _log_request(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        write = self._serving.log
        if ctx.request_id is None or write is None:
            return await call_next(ctx)
        # Unknown methods and names are text that the client chose.
        shown = (ctx.method if ctx.method.isprintable() else "?")[:_METHOD]
        name = (ctx.params or {}).get("name")
        start = time.perf_counter()
        outcome = "cancelled"
        try:
            result = await call_next(ctx)
            is_error = isinstance(result, dict) and result.get("isError") is True
            outcome = "failed" if is_error else "done"
        except MCPError as fault:
            outcome = f"error {fault.error.code}"
            raise
        except Exception as fault:
            outcome = type(fault).__name__
            raise
        finally:
            milliseconds = (time.perf_counter() - start) * 1000
            if shown == "tools/call" and isinstance(name, str):
                shown = f"{shown} {name if self._catalogue.known.can_list(name) else '?'}"
            write(f"{shown} {outcome} {milliseconds:.0f} ms")
        return result

    async def _handle_initialized(
        self, context: Context, params: types.NotificationParams | None
    ) -> None:
        if self._clients.of(context) is not None:
            self.relay.arrived.set()
            await self._roots_changed(context, params)

    async def _roots_changed(self, context: Context, _: types.NotificationParams | None) -> None:
        client = self._clients.of(context)
        if client is not None:
            await self._gateway.sessions.roots_changed(client.identity)

    async def _on_behalf(
        self, context: Context, work: Callable[[Caller], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Return the result of *work* for the client of a request, which servers may ask."""

        async def work_for(caller: Caller) -> JsonObject:
            token = current_caller.set(caller)
            try:
                return await work(caller)
            finally:
                current_caller.reset(token)

        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._parking.run(context, work_for)
        return await work_for(RequestCaller(context, self._clients.of(context)))

    async def _list(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        patience = _PATIENCE[self._serving.expose]
        ends = anyio.current_time() + patience
        known = await self._catalogue.within(patience)
        if known.snapshot is not None and not self._read.is_set():
            # Many clients list once and ignore notifications: they would never see the tools for
            # prompts and resources.
            left = ends - anyio.current_time()
            with anyio.move_on_after(min(_PRIMITIVES_PATIENCE, left)):
                await self._read.wait()
            known = await self._catalogue.within(patience)
        view = self._clients.view(context)
        listing = await self._catalogue.listing(known, view)
        is_final = known.snapshot is not None and self._read.is_set()
        if self._serving.expose is Exposure.FOUND and view.found is not None:
            is_final = False  # the next search may change it
        ttl = (self._gateway.limits.relist_seconds or _LONGEST_TTL) if is_final else 0.0
        view.sent.add(listing.print)
        if known is not self._catalogue.known:
            self._wake()  # clients that had no list when it changed were not notified
        try:
            tools, cursor = listing.page(params.cursor if params is not None else None)
        except LookupError:
            raise MCPError(types.INVALID_PARAMS, "invalid cursor") from None
        keep_unaltered({"tools": [*tools]})
        return types.ListToolsResult.model_validate(
            {"tools": tools, "nextCursor": cursor, "ttlMs": int(ttl * 1000)}
        )

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> JsonObject:
        async def work(caller: Caller) -> JsonObject:
            request = ClientRequest.of(context, caller, self._session)
            arguments = params.arguments or {}
            view = self._clients.view(context)
            found = view.found if self._serving.expose is Exposure.FOUND else None
            if found is not None:
                name, other = params.name, arguments.get("toolId")
                if name == INVOKE and isinstance(other, str):  # the tool that it calls
                    with suppress(McpgError):
                        name = (await self._gateway.describe(other)).id
                found.note_call(name)
            result = await self._answer(params.name, arguments, request)
            names = found_names(params.name, result) if found is not None else []
            if found is not None and names:
                can_list = (await self._catalogue.early()).can_list
                # In a thread: untrusted schemas may take long. The entries are kept.
                await anyio.to_thread.run_sync(lambda: [*map(can_list, names)])
                if found.add(names, can_list):
                    await self._clients.notify_found(context, caller)
            return result

        return keep_unaltered(await self._on_behalf(context, work))

    async def _answer(
        self, name: str, arguments: dict[str, Any], request: ClientRequest
    ) -> JsonObject:
        known = self._catalogue.known
        if name in META_TOOLS and name not in known.listing.meta:
            known = await self._catalogue.latest()  # a new source may need it
        if name in known.listing.meta:
            return await self._meta.call(name, arguments, request)
        declared = await self._catalogue.direct(name)
        if declared is not None:
            invoked = await self._gateway.invoke(name, arguments, **request.options())
            size, version = self._serving.result_bytes, request.version
            if invoked.error is not None:
                raise make_mcp_error(invoked.error, size)
            keep = partial(self._results.keep, session=request.holder)
            return await called_result(invoked, size, declared, version, keep)
        raise MCPError(types.INVALID_PARAMS, f"unknown tool {line(name, _SHOWN)!r}")


class _AnnouncingServer(Server[Any]):
    """A server that declares `listChanged` on every connection, and the latest extensions.

    Attributes:
        find_extensions: Returns the extensions that the gateway has by now.
    """

    find_extensions: Callable[[], dict[str, dict[str, Any]]] = dict

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or NotificationOptions(True, True, True),
            experimental_capabilities,
            extensions,
        )

    def get_capabilities(self, *given: Any, **named: Any) -> types.ServerCapabilities:
        self.extensions = self.find_extensions()
        return super().get_capabilities(*given, **named)


_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def on_signal(stop: Callable[[], None]) -> None:
    """Call *stop* on the first signal to end; a second one ends the process at once.

    Outside the main thread, or on a system without signals, it does nothing.
    """
    try:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for _ in signals:
                stop()
                return
    except (NotImplementedError, ValueError, RuntimeError):  # pragma: no cover - by the system
        return


_CHUNK = 1 << 16
_LONGEST = 16 << 20
_STDIN, _STDOUT, _STDERR = 0, 1, 2
# Seconds in which a client that has closed our standard input can read the rest of a message.
_GRACE = 5.0
# A pipe that is ready has room for so many bytes.
_ROOM = getattr(select, "PIPE_BUF", 0)
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
# Errors when a line is passed to an event loop that is closing or closed.
_LOOP_CLOSED = (
    RuntimeError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)


async def serve_stdio(served: GatewayServer) -> None:
    """Serve one client until it closes our standard input or a signal ends the process."""
    async with anyio.create_task_group() as group:
        group.start_soon(on_signal, group.cancel_scope.cancel)
        try:
            with (
                claim_stream(_STDIN) as reading,
                claim_stream(_STDOUT) as writing,
                anyio.CancelScope() as scope,
            ):
                # The SDK only iterates over lines of input, and writes and flushes output.
                lines = cast("anyio.AsyncFile[str]", _DescriptorLines(reading))
                output = cast("anyio.AsyncFile[str]", _DescriptorWriter(writing))
                async with served.running(), stdio_server(lines, output) as (incoming, outgoing):
                    options = served.sdk.create_initialization_options()
                    await served.sdk.run(incoming, outgoing, options)
                    scope.deadline = anyio.current_time() + _GRACE
        except* BrokenPipeError:
            pass  # the client has left without closing our standard input
        group.cancel_scope.cancel()


@contextmanager
def claim_stream(stream: int) -> Iterator[int]:
    """Yield a duplicate of standard input or output, which only we use meanwhile.

    Any other reader gets the end of the file, and prints of others go to standard error.
    """
    kept = os.dup(stream)
    if stream == _STDIN:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, stream)
        os.close(nothing)
    else:
        os.dup2(_STDERR, stream)
    try:
        yield kept
    finally:
        # A thread may still wait on the duplicate, which therefore stays open.
        os.dup2(kept, stream)


@dataclass(slots=True)
class _DescriptorWriter:
    """Writes messages to a file descriptor, without blocking if the system has `poll`."""

    descriptor: int
    _waiting: bytes = b""

    async def write(self, text: str) -> None:
        self._waiting += text.encode()

    async def flush(self) -> None:
        data, self._waiting = memoryview(self._waiting), b""
        if not _ROOM:  # pragma: no cover - by the system
            while data:
                data = data[await anyio.to_thread.run_sync(os.write, self.descriptor, data) :]
            return
        while data:
            poll = select.poll()
            poll.register(self.descriptor, select.POLLOUT)
            if poll.poll(0):  # a few bytes can be written without blocking
                data = data[os.write(self.descriptor, data[:_ROOM]) :]
            else:
                await anyio.wait_writable(self.descriptor)


@dataclass(frozen=True, slots=True)
class _DescriptorLines:
    """The lines of a file descriptor, read by a daemon thread."""

    descriptor: int

    async def __aiter__(self) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream[str](0)
        Thread(
            target=self._read, args=(send, current_token()), name="standard input", daemon=True
        ).start()
        async with receive, send:
            async for line in receive:
                yield line

    def _read(self, send: MemoryObjectSendStream[str], token: EventLoopToken) -> None:
        try:
            for line in self._lines():
                try:  # no task if the last line was taken
                    from_thread.run_sync(send.send_nowait, line, token=token)
                except anyio.WouldBlock:
                    from_thread.run(send.send, line, token=token)
            from_thread.run(send.aclose, token=token)
        except _LOOP_CLOSED:
            return

    def _lines(self) -> Iterator[str]:
        buffer = bytearray()
        while chunk := os.read(self.descriptor, _CHUNK):
            head, *tail = chunk.split(b"\n")
            buffer += head
            for start in tail:
                yield _repair_line(buffer.decode("utf-8", "replace"))
                buffer = bytearray(start)
            if len(buffer) > _LONGEST:
                return  # no message is so long
        if buffer:
            yield _repair_line(buffer.decode("utf-8", "replace"))


def _repair_line(line: str) -> str:
    """Return a message with each half of a character replaced.

    The SDK would drop the message, and its client would wait for a response. Programs that cut
    texts at a number of UTF-16 units send such halves.
    """
    if _HALF.search(_PAIR.sub("", line)) is None:
        return line
    try:
        return json.dumps(repair_surrogates(json.loads(line), "", []))
    except (ValueError, RecursionError):
        return line
