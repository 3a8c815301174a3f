"""What stands before the server on HTTP: who may ask, from where, how much, how many at once."""

from __future__ import annotations

import hmac
import json
import math
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine that a browser cannot be made to take for another's."""

HEALTH = "/healthz"

_NEWS = "GET"
_LISTEN = "subscriptions/listen"
_LISTEN_BYTES = 64 << 10
_HEADER_BYTES = 32 << 10


@dataclass(frozen=True, slots=True)
class Rules:
    """What the guard holds requests to.

    Attributes:
        token: What a request must bear, "" for nothing.
        hosts: Names besides those of this machine by which the server may be asked, perhaps with a
            port.
        requests: Requests at once; connections that only wait for news do not count.
        body_seconds: What a request has to arrive whole.
    """

    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    requests: int = 64
    body_seconds: float = 30.0

    def settings(self) -> TransportSecuritySettings:
        """Give the hosts and origins that are allowed, as the SDK checks them."""
        names = (*LOOPBACK, *self.hosts)
        hosts = [form for name in names for form in (name, f"{name}:*")]
        origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
        return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


class Guard:
    """Lets through to *app* what keeps to the rules, and answers the rest itself."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        """Stand before *app*."""
        self._app = app
        self._rules = rules
        self._security = TransportSecurityMiddleware(rules.settings())
        self._streams: set[anyio.CancelScope] = set()
        self._busy = 0
        self._is_closing = False

    def close(self) -> None:
        """End what only waits for news, and take nothing new."""
        self._is_closing = True
        for scope in list(self._streams):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return  # there are no websockets, and the lifespan is ours
        if scope["path"] == HEALTH:  # those who look after us know no token and often no name
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refusal = await self._security.validate_request(request) or self._refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif request.method == _NEWS:
            await self._stream(scope, receive, send)
        else:
            await self._counted(scope, receive, send)

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        if sum(len(name) + len(value) for name, value in request.headers.raw) > _HEADER_BYTES:
            return PlainTextResponse("the headers are too large", 431)
        if not self._is_authorized(request):
            headers = {"WWW-Authenticate": 'Bearer realm="mcpg"'}
            return PlainTextResponse("a bearer token is needed", 401, headers)
        if self._is_closing:
            return PlainTextResponse("the server ends", 503, {"Retry-After": "5"})
        if self._busy >= self._rules.requests and request.method != _NEWS:
            return PlainTextResponse("too many requests at once", 429, {"Retry-After": "1"})
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
            await PlainTextResponse("the request came too slowly", 408)(scope, receive, send)

    def _free(self) -> None:
        self._busy -= 1


class _Arriving:
    """Receives a request that has to be whole after a while, or is given up.

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
        """Receive by way of *receive*.

        Args:
            receive: Gives the next message.
            seconds: What the request has to arrive.
            work: Is cancelled when it is late.
            listens: Called when it is whole and only waits for news.
        """
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
    """Return whether a request only waits for news; what its header says of that proves nothing."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(request, dict) and request.get("method") == _LISTEN
