"""The server over streamable HTTP: authentication, limits, and shutdown on signals."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from mcpg.errors import UsageError
from mcpg.gateway.serve.server import GatewayServer
from mcpg.gateway.serve.stdio import on_signal
from mcpg.net.addresses import is_loopback

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Host names of this machine, which a DNS rebinding attack cannot use."""

HEALTH = "/healthz"

_STREAM_METHOD = "GET"
_LISTEN = "subscriptions/listen"
# One of these is in each form of JSON that the method has.
_LISTEN_MARKS = (_LISTEN.encode(), rb"\u", rb"\/")
_LISTEN_BYTES = 64 << 10
_HEADER_BYTES = 32 << 10


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for requests.

    Attributes:
        token: Bearer token that requests need, "" for none.
        hosts: Allowed host names besides those of this machine, perhaps with a port.
        requests: Maximum of concurrent requests, without streams of notifications.
        body_seconds: Seconds within which a request must arrive.
    """

    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    requests: int = 64
    body_seconds: float = 30.0

    def settings(self) -> TransportSecuritySettings:
        """Return the allowed hosts and origins for the SDK."""
        names = (*LOOPBACK, *self.hosts)
        hosts = [form for name in names for form in (name, f"{name}:*")]
        origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
        return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


class Guard:
    """Middleware that refuses requests which break the rules."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Wrap *app*."""
        self._app = app
        self._rules = rules
        self._security = TransportSecurityMiddleware(rules.settings())
        self._streams: set[anyio.CancelScope] = set()
        self._busy = 0
        self._is_closing = False

    def close(self) -> None:
        """End streams of notifications, and refuse new requests."""
        self._is_closing = True
        for scope in list(self._streams):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            return  # there are no websockets, and the lifespan is ours
        if scope["path"] == HEALTH:  # monitors have no token and often no host name
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = await self._security.validate_request(request) or self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif request.method == _STREAM_METHOD:
            await self._stream(scope, receive, send)
        else:
            await self._counted(scope, receive, send)

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        size = sum(len(name) + len(value) for name, value in request.headers.raw)
        if size > _HEADER_BYTES:
            return PlainTextResponse("headers too large", 431)
        if not self._is_authorized(request):
            headers = {"WWW-Authenticate": 'Bearer realm="mcpg"'}
            return PlainTextResponse("bearer token required", 401, headers)
        if self._is_closing:
            return PlainTextResponse("the server is shutting down", 503, {"Retry-After": "5"})
        if self._busy >= self._rules.requests and request.method != _STREAM_METHOD:
            return PlainTextResponse("too many concurrent requests", 429, {"Retry-After": "1"})
        return None

    def _is_authorized(self, request: Request) -> bool:
        if not self._rules.token:
            return True
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given, wanted = token.strip().encode("latin-1"), self._rules.token.encode()
        return hmac.compare_digest(given, wanted) and scheme.lower() == "bearer"

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await self._app(scope, receive, send)
            finally:
                self._streams.discard(stream)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.CancelScope() as work, ExitStack() as place:
            self._busy += 1
            place.callback(self._free)

            def listens() -> None:
                place.close()
                self._streams.add(work)

            arriving = _Arriving(receive, self._rules.body_seconds, work, listens)
            try:
                await self._app(scope, arriving, send)
            finally:
                self._streams.discard(work)
        if work.cancelled_caught and not arriving.is_whole:
            await PlainTextResponse("request timed out", 408)(scope, receive, send)

    def _free(self) -> None:
        self._busy -= 1


class _Arriving:
    """Receives a request that times out unless all of it arrives in time.

    Attributes:
        is_whole: Whether all of it has arrived.
    """

    def __init__(
        self,
        receive: Receive,
        seconds: float,
        work: anyio.CancelScope,
        listens: Callable[[], None],
    ) -> None:
        """Receive by way of *receive*."""
        self.is_whole = False
        self._receive = receive
        self._work = work
        self._work.deadline = anyio.current_time() + seconds
        self._listens = listens
        self._body = bytearray()

    async def __call__(self) -> Message:
        message = await self._receive()
        if len(self._body) <= _LISTEN_BYTES:
            self._body += message.get("body", b"")
        if not self.is_whole and not message.get("more_body", False):
            self.is_whole = True
            self._work.deadline = math.inf
            if len(self._body) <= _LISTEN_BYTES and _is_listening(self._body):
                self._listens()
        return message


def _is_listening(body: bytearray) -> bool:
    """Return whether a request subscribes to notifications, by its body."""
    if not any(mark in body for mark in _LISTEN_MARKS):
        return False
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(request, dict) and request.get("method") == _LISTEN


PATH = "/mcp"
SHORTEST_TOKEN = 16
_GRACE = 5
_ABANDON = 1.0
_SPARE, _OF_SESSION = 64, 4


@dataclass(frozen=True, slots=True)
class Http:
    """Options of the HTTP server.

    Attributes:
        host: The address to listen on; other than loopback only with a token and allowed hosts.
        port: The port, 0 for any that is free.
        rules: Rules for requests.
        body_bytes: Maximum size of a request.
        sessions: Maximum number of concurrent sessions.
        idle_seconds: Seconds after which an idle session ends.
        header_seconds: Seconds within which the head of a request must arrive.
        read_seconds: Seconds after which a client that reads nothing loses its connection.

    Raises:
        UsageError: The host is not loopback, and there is no token or no allowed host.
    """

    host: str = "127.0.0.1"
    port: int = 0
    rules: Rules = field(default_factory=Rules)
    body_bytes: int = 4 << 20
    sessions: int = 256
    idle_seconds: float = 1800.0
    header_seconds: float = 10.0
    read_seconds: float = 30.0

    def __post_init__(self) -> None:
        token = self.rules.token
        if token and (len(token) < SHORTEST_TOKEN or not token.isascii()):
            raise UsageError(
                f"the bearer token needs at least {SHORTEST_TOKEN} characters, all ASCII",
                remedy="make one: openssl rand -hex 32",
            )
        if is_loopback(self.host):
            return
        if not token:
            raise UsageError(
                f"{self.host} is not a loopback address, and there is no bearer token",
                remedy="set MCPG_SERVE_TOKEN, or listen on 127.0.0.1",
            )
        if not self.rules.hosts:
            raise UsageError(
                f"{self.host} is not a loopback address, and no host name is allowed",
                remedy="name the host that clients use with --allow-host",
            )


async def serve_http(
    served: GatewayServer, http: Http, on_listening: Callable[[str], None]
) -> None:
    """Serve clients until the process gets a signal to end, or until cancelled.

    A cancellation closes all connections at once; after it, the event loop can run another server.

    Args:
        served: The server.
        http: Options of the HTTP server.
        on_listening: Called with the address once the server listens.

    Raises:
        UsageError: The server cannot listen on the address.
    """
    manager = StreamableHTTPSessionManager(
        served.sdk,
        max_request_body_size=http.body_bytes,
        session_idle_timeout=http.idle_seconds,
        max_sessions=http.sessions,
    )
    application = Starlette(
        routes=[
            Route(PATH, endpoint=StreamableHTTPASGIApp(manager)),
            Route(HEALTH, endpoint=_healthy, methods=["GET"]),
        ]
    )
    guard = Guard(application, http.rules)
    served.relay.has_many = True
    server = _Server(_configuration(guard, http))
    with _listening(http) as (listener, address):
        async with served.running(), manager.run(), anyio.create_task_group() as group:
            group.start_soon(on_signal, server.end)
            server.closing = guard.close
            on_listening(f"http://{address}{PATH}")
            try:
                await server.serve(sockets=[listener])
            finally:
                with anyio.CancelScope(shield=True):
                    await server.abandon()
            group.cancel_scope.cancel()


async def _healthy(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _configuration(guard: Guard, http: Http) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=type(
            "Patient",
            (_Patient,),
            {"seconds": http.header_seconds, "read_seconds": http.read_seconds},
        ),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        # Every connection counts, also one that says nothing; a client has several.
        limit_concurrency=_SPARE + http.rules.requests + _OF_SESSION * http.sessions,
        timeout_graceful_shutdown=_GRACE,
    )


@contextmanager
def _listening(http: Http) -> Iterator[tuple[socket.socket, str]]:
    name = http.host.strip("[]")
    try:
        known = socket.getaddrinfo(name, http.port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = known[0]
        # Told the protocol, asyncio sends small answers at once.
        listener = socket.socket(family, kind, protocol)
    except OSError as fault:
        raise _cannot_listen(http, fault) from None
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except OSError as fault:
            raise _cannot_listen(http, fault) from None
        host = f"[{name}]" if ":" in name else name
        yield listener, f"{host}:{listener.getsockname()[1]}"


def _cannot_listen(http: Http, fault: OSError) -> UsageError:
    reason = (fault.strerror or "it is no address").lower()
    return UsageError(
        f"cannot listen: {reason}",
        place=f"{http.host}:{http.port}",
        remedy="choose another address or port",
    )


class _Server(uvicorn.Server):
    """A server without signal handlers of its own."""

    closing: Callable[[], None] | None = None

    def end(self) -> None:
        """Begin to shut down: requests may finish, streams of notifications end at once."""
        self.should_exit = True
        if self.closing is not None:
            self.closing()

    async def abandon(self) -> None:
        """Close what is open after a cancellation, which the library leaves to the event loop.

        There it would stay: the socket that listens, whose number the next one may get, and
        connections with their requests.
        """
        for listener in getattr(self, "servers", ()):  # there are none before it has begun
            listener.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()  # requests are told so
        tasks = {*self.server_state.tasks}
        _, late = await asyncio.wait(tasks, timeout=_ABANDON) if tasks else ((), ())
        for task in late:
            task.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Patient(H11Protocol):
    """Closes a connection that sends no request in time, or whose client does not read."""

    seconds = read_seconds = 0.0
    _late: asyncio.TimerHandle | None = None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()
        self._release()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._release()

    def _watch(self, unread: int) -> None:
        """Abort the connection if the client reads none of the *unread* bytes in time."""

        def check() -> None:
            left = self.transport.get_write_buffer_size()
            if left < unread:
                self._watch(left)
            else:
                self.transport.abort()

        self._stuck = self.loop.call_later(self.read_seconds, check)

    def _release(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    def _expect(self) -> None:
        answering: RequestResponseCycle | None = self.cycle
        if answering is not None and not answering.response_complete:
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
