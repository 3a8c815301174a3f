"""The server over streamable HTTP: authentication, limits, and shutdown on signals."""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from mcpg.errors import UsageError
from mcpg.gateway.serve.registry import SEARCH, Registry
from mcpg.gateway.serve.server import GatewayServer, on_signal
from mcpg.gateway.serve.view_servers import VIEW, ViewServers
from mcpg.gateway.views import View
from mcpg.net.addresses import is_loopback

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Host names of this machine, which a DNS rebinding attack cannot use."""

PATH, HEALTH = "/mcp", "/healthz"
SHORTEST_TOKEN = 16

_LISTEN, _PING = "subscriptions/listen", "ping"
_LISTEN_BYTES = 64 << 10
_HEADER_BYTES = 32 << 10
_BODY_BYTES = 4 << 20
_ARRIVING_BYTES = 64 << 20
_GRACE = 5
_ABANDON = 1.0
_SPARE, _OF_SESSION = 64, 4
_TOO_MANY = PlainTextResponse("too many concurrent requests", 429, {"Retry-After": "1"})


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Rules for requests.

    Attributes:
        token: Bearer token of the whole gateway, "" for none.
        hosts: Allowed host names besides those of this machine, perhaps with a port.
        requests: Maximum of concurrent requests. Streams of notifications do not count, and
            neither do messages answered at once: responses, notifications, pings, ends of sessions.
        body_seconds: Seconds within which a request must arrive.
        view_tokens: Bearer tokens of views, by their names.
    """

    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    requests: int = 64
    body_seconds: float = 30.0
    view_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def tokens(self) -> dict[str, str]:
        """The bearer tokens by view; if there are any, each request needs one.

        The token of the whole gateway has the name "".
        """
        return {**({"": self.token} if self.token else {}), **self.view_tokens}


class _RequestKind(Enum):
    """The kind of a request: it runs a call, gets a stream of notifications, or ends at once."""

    WORK = auto()
    STREAM = auto()
    BRIEF = auto()


class AccessCheck:
    """Middleware that refuses requests that break the rules."""

    def __init__(self, app: ASGIApp, rules: AccessRules, body_bytes: int = _BODY_BYTES) -> None:
        self._app = app
        self._rules = rules
        self._body_bytes = body_bytes
        hosts = [form for name in (*LOOPBACK, *rules.hosts) for form in (name, f"{name}:*")]
        origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
        self._security = TransportSecurityMiddleware(
            TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
        )
        self._streams: set[anyio.CancelScope] = set()
        self._busy = 0
        self._arriving_bytes = 0
        self._is_closing = False

    def close(self) -> None:
        """End streams of notifications, and refuse new requests."""
        self._is_closing = True
        for scope in list(self._streams):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no websockets, and we run the lifespan
        if scope["path"] == HEALTH:  # monitors have no token and often no host name
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = await self._security.validate_request(request) or self._refuse(request)
        body = refusal or await self._read_body(receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        is_registry = scope["path"] == SEARCH
        kind = _RequestKind.WORK if is_registry else _classify(request.method, body)
        await self._handle(kind, scope, replay, send)

    def _refuse(self, request: Request) -> PlainTextResponse | None:
        size = sum(len(name) + len(value) for name, value in request.headers.raw)
        if size > _HEADER_BYTES:
            return PlainTextResponse("headers too large", 431)
        if not self._rules.tokens:
            return None
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1")
        opened = [
            view
            for view, wanted in self._rules.tokens.items()
            if hmac.compare_digest(given, wanted.encode())
        ]
        if opened and scheme.lower() == "bearer":
            request.scope[VIEW] = opened[0]
            return None
        headers = {"WWW-Authenticate": 'Bearer realm="mcpg"'}
        return PlainTextResponse("bearer token required", 401, headers)

    async def _read_body(self, receive: Receive) -> bytes | PlainTextResponse:
        body = bytearray()
        try:
            with anyio.move_on_after(self._rules.body_seconds):
                while (message := await receive())["type"] == "http.request":
                    part = message.get("body", b"")
                    body += part
                    self._arriving_bytes += len(part)
                    if len(body) > self._body_bytes:
                        return PlainTextResponse("Request body too large", 413)
                    if self._arriving_bytes > max(_ARRIVING_BYTES, self._body_bytes):
                        return _TOO_MANY
                    if not message.get("more_body", False):
                        return bytes(body)
            return PlainTextResponse("request timed out", 408)
        finally:
            self._arriving_bytes -= len(body)

    async def _handle(self, kind: _RequestKind, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_closing:
            refusal = PlainTextResponse("the server is shutting down", 503, {"Retry-After": "5"})
            await refusal(scope, receive, send)
        elif kind is _RequestKind.STREAM:
            with anyio.CancelScope() as stream:
                self._streams.add(stream)
                try:
                    await self._app(scope, receive, send)
                finally:
                    self._streams.discard(stream)
        elif kind is _RequestKind.BRIEF:  # a call that is under way may wait for it
            await self._app(scope, receive, send)
        elif self._busy >= self._rules.requests:
            await _TOO_MANY(scope, receive, send)
        else:
            self._busy += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._busy -= 1


def _classify(method: str, body: bytes) -> _RequestKind:
    if method != "POST":
        return _RequestKind.STREAM if method == "GET" else _RequestKind.BRIEF
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _RequestKind.WORK
    if not isinstance(message, dict):
        return _RequestKind.WORK
    if message.get("method") == _LISTEN and len(body) <= _LISTEN_BYTES:
        return _RequestKind.STREAM
    is_request = "method" in message and "id" in message
    return _RequestKind.WORK if is_request and message["method"] != _PING else _RequestKind.BRIEF


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Options of the HTTP server.

    Attributes:
        host: The address to listen on; other than loopback only with a token and allowed hosts.
        port: The port, 0 for any that is free.
        body_bytes: Maximum size of a request.
        sessions: Maximum number of concurrent sessions.
        idle_seconds: Seconds after which an idle session ends.
        spare_seconds: Seconds after which an idle session ends if a new one needs its place.
        header_seconds: Seconds within which the head of a request must arrive.
        read_seconds: Seconds after which a client that reads nothing loses its connection.

    Raises:
        UsageError: A token is too short, or the host is not loopback and a token or an allowed
            host is missing.
    """

    host: str = "127.0.0.1"
    port: int = 0
    rules: AccessRules = field(default_factory=AccessRules)
    body_bytes: int = _BODY_BYTES
    sessions: int = 256
    idle_seconds: float = 1800.0
    spare_seconds: float = 60.0
    header_seconds: float = 10.0
    read_seconds: float = 30.0

    def __post_init__(self) -> None:
        for view, token in self.rules.tokens.items():
            if len(token) < SHORTEST_TOKEN or not token.isascii():
                named = f" of the view {view!r}" if view else ""
                raise UsageError(
                    f"the bearer token{named} needs at least {SHORTEST_TOKEN} characters, "
                    "all ASCII",
                    remedy="make one: openssl rand -hex 32",
                )
        if is_loopback(self.host):
            return
        if not self.rules.tokens:
            raise UsageError(
                f"{self.host} is not a loopback address, and no bearer token is set",
                remedy="set MCPG_SERVE_TOKEN, or listen on 127.0.0.1",
            )
        if not self.rules.hosts:
            raise UsageError(
                f"{self.host} is not a loopback address, and no host name is allowed",
                remedy="name the host that clients use with --allow-host",
            )


class _SessionManager(StreamableHTTPSessionManager):
    """Gives a new session the place of the one that was idle longest, if all are taken.

    Clients that vanish leave sessions behind, which would shut others out until they end.
    """

    spare_seconds: float

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        if (opened := super()._admit_session(requestor)) is not None:
            return opened
        ends = {
            key: one.idle_scope.deadline
            for key, one in self._server_instances.items()
            if one.idle_scope is not None
        }
        key = min(ends, key=ends.__getitem__, default="")
        latest = anyio.current_time() + (self.session_idle_timeout or 0) - self.spare_seconds
        if not key or ends[key] > latest:
            return None
        scope = self._server_instances.pop(key).idle_scope
        self._session_owners.pop(key, None)
        if scope is not None:
            scope.cancel()
        return super()._admit_session(requestor)


async def serve_http(
    served: GatewayServer,
    http: HttpOptions,
    on_listening: Callable[[str], None],
    views: Mapping[str, View] | None = None,
) -> None:
    """Serve clients until the process gets a signal to end, or until cancelled.

    Tokens and headers of requests name some of the *views*.

    A cancellation closes all connections at once; after it, the event loop can run another server.
    Once the server listens, *on_listening* is called with its address.

    Raises:
        UsageError: The server cannot listen on the address.
    """

    def make_manager(server: GatewayServer) -> StreamableHTTPSessionManager:
        manager = _SessionManager(
            server.sdk,
            max_request_body_size=http.body_bytes,
            session_idle_timeout=http.idle_seconds,
            max_sessions=http.sessions,
        )
        manager.spare_seconds = http.spare_seconds
        return manager

    servers = ViewServers(served, views or {}, make_manager)
    application = Starlette(
        routes=[
            Route(PATH, endpoint=servers),
            *Registry(servers.find_server, _find_domain(http)).routes,
            Route(HEALTH, endpoint=JSONResponse({"status": "ok"}), methods=["GET"]),
        ]
    )
    guard = AccessCheck(application, http.rules, http.body_bytes)
    served.relay.has_many = True
    server = _make_server(guard, http)
    with _open_listener(http) as (listener, address):
        async with servers.running(http.rules.tokens), anyio.create_task_group() as group:
            group.start_soon(on_signal, server.end)
            on_listening(f"http://{address}{PATH}")
            try:
                await server.serve(sockets=[listener])
            finally:
                with anyio.CancelScope(shield=True):
                    await server.abandon()
            group.cancel_scope.cancel()


def _make_server(guard: AccessCheck, http: HttpOptions) -> _SignalFreeServer:
    limits = {"seconds": http.header_seconds, "read_seconds": http.read_seconds}
    config = uvicorn.Config(
        guard,
        http=type("Patient", (_IdleTimeout,), limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        # Every connection counts, even without requests; a client has several.
        limit_concurrency=_SPARE + http.rules.requests + _OF_SESSION * http.sessions,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _SignalFreeServer(config)
    server.closing = guard.close
    return server


def _find_domain(http: HttpOptions) -> str:
    """Return the start of identifiers: the first host that clients may name."""
    return next((host.partition(":")[0] for host in http.rules.hosts), LOOPBACK[1])


@contextmanager
def _open_listener(http: HttpOptions) -> Iterator[tuple[socket.socket, str]]:
    name = http.host.strip("[]")
    with ExitStack() as held:
        try:
            known = socket.getaddrinfo(name, http.port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = known[0]
            # With the protocol's number, asyncio sends small answers at once.
            listener = held.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except OSError as fault:
            reason = (fault.strerror or "it is not an address").lower()
            raise UsageError(
                f"cannot listen: {reason}",
                place=f"{http.host}:{http.port}",
                remedy="choose another address or port",
            ) from None
        host = f"[{name}]" if ":" in name else name
        yield listener, f"{host}:{listener.getsockname()[1]}"


class _SignalFreeServer(uvicorn.Server):
    """A server without signal handlers of its own."""

    closing: Callable[[], None] | None = None

    def end(self) -> None:
        """Begin to shut down: requests may finish, streams of notifications end at once."""
        self.should_exit = True
        if self.closing is not None:
            self.closing()

    async def abandon(self) -> None:
        """Close everything open after a cancellation, which the library leaves to the event loop.

        Otherwise the listening socket, with a number that the next socket may get, and connections
        with their requests would stay.
        """
        for listener in getattr(self, "servers", ()):  # there are none before it has begun
            listener.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()  # their requests notice this
        tasks = {*self.server_state.tasks}
        _, late = await asyncio.wait(tasks, timeout=_ABANDON) if tasks else ((), ())
        for task in late:
            task.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _IdleTimeout(H11Protocol):
    """Closes a connection that sends no request in time, or with a client that does not read."""

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
