"""An address as a server, with a bound on what it may answer."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from mcpg.catalog.sources.live.halves import Halves
from mcpg.catalog.sources.live.oauth.bounded import MARK
from mcpg.catalog.sources.live.oauth.choosing import authorisation
from mcpg.catalog.sources.live.trouble import MAX_ANSWER, AskingError, Meter, Trouble

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcpg.catalog.sources.servers import HttpServer

_BETWEEN_EVENTS = re.compile(rb"\n[\r\n]|\r\r")
_FAILED = 400
_PLAIN = {"Accept-Encoding": "identity"}
_REDIRECTED = 300
_UNAUTHORISED = 401
_UNAVAILABLE = 503


@asynccontextmanager
async def http_transport(
    server: HttpServer,
    seconds: float,
    trouble: Trouble,
    tokens: str | None = None,
    *,
    is_kept: bool = False,
    auth: httpx2.Auth | None = None,
) -> AsyncIterator[Any]:
    """Connect to an address; redirects are followed only on the same host.

    Args:
        server: The address, with its headers and how it lets mcpg in.
        seconds: Time for one step of a request.
        trouble: Gets what goes wrong.
        tokens: The folder in which logins are kept.
        is_kept: Whether the connection stays open: then the server may be silent for longer.
        auth: What lets mcpg in, in place of what *server* and *tokens* say.
    """
    auth = auth or authorisation(server, tokens, trouble, seconds)
    login = server.login if auth is None and server.oauth and not server.has_key else ""
    timeout = httpx2.Timeout(seconds, read=None if is_kept else seconds)

    def client(**_: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={**_PLAIN, **server.headers},
            timeout=timeout,
            transport=(_Heard if server.is_sse else _Watched)(trouble, login),
            trust_env=False,
            auth=auth,
        )

    async with _transport(server, client) as streams:
        yield streams


@asynccontextmanager
async def _transport(server: HttpServer, client: Any) -> AsyncIterator[Any]:
    if server.is_sse:
        async with sse_client(server.url, httpx_client_factory=client) as streams:
            yield streams
    else:
        async with (
            client() as http,
            streamable_http_client(
                server.url, http_client=http, max_sse_event_size=MAX_ANSWER
            ) as streams,
        ):
            yield streams


class _Watched(httpx2.AsyncHTTPTransport):
    """A transport that counts what is answered and remembers how a request failed."""

    def __init__(self, trouble: Trouble, login: str) -> None:
        super().__init__()
        self._trouble = trouble
        self._login = login

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_for_tools = MARK not in request.extensions
        trouble = self._trouble.here
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError:
            if _is_message(request) and trouble is not self._trouble:
                # What is raised would end the connection and the other requests over it.
                trouble.cut("it cannot be reached")
                return httpx2.Response(_UNAVAILABLE, request=request)
            who = "it" if is_for_tools else "its authorisation server"
            self._trouble.said = f"{who} cannot be reached"
            raise
        status = response.status_code
        if _is_message(request) or (is_for_tools and status == _UNAUTHORISED):
            trouble.said = _told(status, self._login)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A few bytes could be packed gigabytes.
            self._trouble.said = "it packed its answer, which it was not asked to"
            raise AskingError(self._trouble.said)
        response.stream = _Counted(response.stream, trouble, _has_events(response))
        return response


class _Heard(_Watched):
    """A transport of which all answers come by the one stream of a GET."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        status = response.status_code
        if _is_message(request) and status >= _REDIRECTED and status != _UNAUTHORISED:
            # Nobody answers what has not arrived, and the SDK sends nothing any more.
            self._trouble.end(self._trouble.here.said or "")
        elif request.method == "GET" and _has_events(response):
            response.stream = _Lifeline(response.stream, self._trouble)
        return response


def _is_message(request: httpx2.Request) -> bool:
    return request.method == "POST" and MARK not in request.extensions


def _has_events(response: httpx2.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.lower().startswith("text/event-stream")


def _told(status: int, login: str) -> str | None:
    if status < _REDIRECTED:
        return None
    if status == _UNAUTHORISED and login:
        return f"it wants a login (run `{login}`) or a key in its headers (HTTP status {status})"
    if status < _FAILED:
        return f"it sends us to another address (HTTP status {status})"
    return f"it answered with HTTP status {status}"


class _Counted(httpx2.AsyncByteStream):
    """A body of which every byte is counted, from one event to the next where it has events.

    Half characters in it become whole.
    """

    def __init__(self, stream: Any, trouble: Trouble, is_events: bool) -> None:
        self._stream = stream
        self._trouble = trouble
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        meter, last, halves = Meter(self._trouble), b"", Halves()
        try:
            async for chunk in self._stream:
                # The end of an event may come in a chunk of its own.
                if self._is_events and _BETWEEN_EVENTS.search(last + chunk):
                    meter.start()
                last = chunk[-1:] or last
                meter.count(len(chunk))
                yield halves.feed(chunk)
            yield halves.end()
        except AskingError as fault:
            # Of another kind, it would end the connection and the other requests over it.
            raise httpx2.StreamError(str(fault)) from None
        except httpx2.TransportError as fault:
            if self._is_events:  # of which the SDK takes care
                raise
            self._trouble.cut("its answer broke off")
            raise httpx2.StreamError(str(fault)) from None

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Lifeline(httpx2.AsyncByteStream):
    """A body with which the whole connection ends."""

    def __init__(self, stream: Any, trouble: Trouble) -> None:
        self._stream = stream
        self._trouble = trouble

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
        finally:
            self._trouble.end("it has hung up")

    async def aclose(self) -> None:
        await self._stream.aclose()
