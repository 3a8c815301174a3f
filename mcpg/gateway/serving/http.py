"""The server over streamable HTTP."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcpg.errors import UsageError
from mcpg.gateway.serving.guard import HEALTH, Guard, Rules
from mcpg.gateway.serving.stopping import when_told
from mcpg.net.addresses import is_loopback

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from starlette.requests import Request
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

    from mcpg.gateway.serving.server import GatewayServer

PATH = "/mcp"
SHORTEST_TOKEN = 16
_HEADER_BYTES = 32 << 10
_GRACE = 5
_SPARE, _OF_SESSION = 64, 4


@dataclass(frozen=True, slots=True)
class Http:
    """How the server is reached over HTTP.

    Attributes:
        host: The address to listen on; outside this machine only with a token and allowed hosts.
        port: The port, 0 for any that is free.
        rules: What requests are held to.
        body_bytes: Size of a request.
        sessions: Sessions at once.
        idle_seconds: How long a session lasts of which nothing is heard.
        header_seconds: What a connection has to send the head of a request.

    Raises:
        UsageError: It would be open to others without a token or without saying by which names.
    """

    host: str = "127.0.0.1"
    port: int = 0
    rules: Rules = field(default_factory=Rules)
    body_bytes: int = 4 << 20
    sessions: int = 256
    idle_seconds: float = 1800.0
    header_seconds: float = 10.0

    def __post_init__(self) -> None:
        token = self.rules.token
        if token and (len(token) < SHORTEST_TOKEN or not token.isascii()):
            raise UsageError(
                f"the bearer token has less than {SHORTEST_TOKEN} characters, or others than ASCII",
                remedy="make one: openssl rand -hex 32",
            )
        if is_loopback(self.host):
            return
        if not token:
            raise UsageError(
                f"{self.host} can be reached by others, and there is no bearer token",
                remedy="set MCPG_SERVE_TOKEN, or listen on 127.0.0.1",
            )
        if not self.rules.hosts:
            raise UsageError(
                f"{self.host} can be reached by others, and no host name is allowed",
                remedy="say with --allow-host by which name clients ask",
            )


async def serve_http(served: GatewayServer, http: Http, told: Callable[[str], None]) -> None:
    """Serve clients until the process is told to end.

    Args:
        served: The server.
        http: How it is reached.
        told: Gets the address once it can be reached.

    Raises:
        UsageError: The address cannot be listened on.
    """
    manager = StreamableHTTPSessionManager(
        served.sdk,
        max_request_body_size=http.body_bytes,
        session_idle_timeout=http.idle_seconds,
        max_sessions=http.sessions,
    )
    guard = Guard(_application(manager), http.rules)
    server = _Server(_configuration(guard, http))
    with _listening(http) as (listener, address):
        async with served.running(), manager.run(), anyio.create_task_group() as group:
            group.start_soon(when_told, server.end)
            server.closing = guard.close
            told(f"http://{address}{PATH}")
            await server.serve(sockets=[listener])
            group.cancel_scope.cancel()


def _application(manager: StreamableHTTPSessionManager) -> Starlette:
    return Starlette(
        routes=[
            Route(PATH, endpoint=StreamableHTTPASGIApp(manager)),
            Route(HEALTH, endpoint=_healthy, methods=["GET"]),
        ]
    )


async def _healthy(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _configuration(guard: Guard, http: Http) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http=type("Patient", (_Patient,), {"seconds": http.header_seconds}),
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
        f"cannot be listened on: {reason}",
        place=f"{http.host}:{http.port}",
        remedy="name another address or port",
    )


class _Server(uvicorn.Server):
    """Ends when it is told to, not by signals of its own."""

    closing: Callable[[], None] | None = None

    def end(self) -> None:
        """Begin to end: what goes on has a while, what only waits for news has none."""
        self.should_exit = True
        if self.closing is not None:
            self.closing()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Patient(H11Protocol):
    """Ends a connection that does not say in time what it wants."""

    seconds = 0.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

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
