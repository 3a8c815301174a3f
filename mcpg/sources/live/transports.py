"""Transports to servers over HTTP and standard streams, bounded and protected from odd servers.

Three wrappers extend the SDK's transports: responses are bounded in size, text that is not Unicode
is repaired, and invalid tools are set aside, so that one of them does not cost a server all.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import ssl
import sys
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport, session
from mcp.client.sse import sse_client
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter
from mcp_types.methods import SERVER_RESULTS, validate_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcpg.errors import os_reason
from mcpg.sources.client_config import HttpServer, Server, ServerAccess, StdioServer
from mcpg.sources.live.credentials import find_authentication
from mcpg.sources.live.oauth import OAUTH_REQUEST
from mcpg.sources.live.programs import ProcessGroups, choose_environment
from mcpg.sources.live.requests import (
    MAX_RESPONSE,
    MAX_STDERR,
    ServerError,
    SizeLimit,
    TransportErrors,
)

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

GRACE = 1.0
"""Seconds that a program has to exit by itself, and again after it was terminated."""

_EXIT = 3 * GRACE  # a busy system reports late how a program has exited

ALL_TOOLS = "mcpg/tools"
"""The member of a page with all its tools, if some of them are invalid."""

_BETWEEN_EVENTS = re.compile(rb"\n[\r\n]|\r\r")
_NO_COMPRESSION = {"Accept-Encoding": "identity"}
_REDIRECTION, _CLIENT_ERROR, _UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 300, 400, 401, 403, 404
_UNAVAILABLE = 503
_NO_STREAM = (405, 409)  # of a server without a stream of announcements, or with one already
_SESSION_HEADER = "mcp-session-id"

_MAX_INVALID_LINES = 1000
_LONGEST_NOISE = 2000
_POLL_SECONDS = 0.01
_PROBE = "server/discover"
_NUDGE_SECONDS = 1.0
_NUDGE = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}\n'
_CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)

_METHOD = "tools/list"
_LISTS = {
    "tools": _METHOD,
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
}
# The members that a page needs beside its items, in any version of the protocol.
_PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

_LOGGERS = ("mcp.client", "mcp.os", "mcp.shared", "httpx2", "httpcore2")
_SHARED_LOGGER = "client"


@asynccontextmanager
async def connect(
    server: Server,
    live: ServerAccess,
    errors: TransportErrors,
    groups: ProcessGroups,
    *,
    is_kept: bool = False,
    auth: httpx2.Auth | None = None,
) -> AsyncIterator[Any]:
    """Connect to a server, as a transport of the SDK.

    The timeout of *live* is for one step over HTTP; a connection that *is_kept* may be silent;
    *auth* replaces the configured authentication.
    """
    transport: Transport
    if isinstance(server, StdioServer):
        if sys.platform == "win32":  # pragma: no cover - the SDK manages job objects
            env = choose_environment(server, live.environ, DEFAULT_INHERITED_ENV_VARS)
            program = StdioServerParameters(
                command=server.command, args=[*server.args], env=env, cwd=server.cwd
            )
            transport = stdio_client(program, errlog=Path(os.devnull).open("w"))  # noqa: ASYNC230, SIM115
        else:
            transport = _run_program(server, live, errors, groups)
    else:
        auth = auth or find_authentication(server, live.tokens, errors, live.timeout)
        transport = _connect_http(server, live.timeout, errors, auth, is_kept=is_kept)
    async with transport as (incoming, outgoing):
        yield PageFilter(incoming), outgoing


@asynccontextmanager
async def _connect_http(
    server: HttpServer,
    seconds: float,
    errors: TransportErrors,
    auth: httpx2.Auth | None,
    *,
    is_kept: bool,
) -> AsyncIterator[Any]:
    """Connect to an address; redirects are followed only on the same host."""
    login = server.login_with() if auth is None and server.oauth and not server.has_key else ""

    def client(*_: Any, **__: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers={**_NO_COMPRESSION, **server.headers},
            timeout=httpx2.Timeout(seconds, read=None if is_kept else seconds),
            transport=(_SseTransport if server.is_sse else _StreamTransport)(errors, login),
            trust_env=False,
            auth=auth,
        )

    async with AsyncExitStack() as stack:
        if server.is_sse:
            transport = sse_client(server.url, httpx_client_factory=client)
        else:
            http = await stack.enter_async_context(client())
            transport = streamable_http_client(
                server.url, http_client=http, max_sse_event_size=MAX_RESPONSE
            )
        yield await stack.enter_async_context(transport)


class _HttpTransport(httpx2.AsyncHTTPTransport):
    """A transport that bounds responses and records how a request failed."""

    def __init__(self, errors: TransportErrors, login: str) -> None:
        super().__init__()
        self._errors = errors
        self._login = login

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_of_oauth = OAUTH_REQUEST in request.extensions
        errors = self._errors.current
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as fault:
            reason = f"cannot be reached{_find_reason(fault)}"
            if _is_message(request) and errors is not self._errors:
                # An exception would end the connection and all requests over it.
                errors.message, errors.is_interrupted = f"server {reason}", True
                return httpx2.Response(_UNAVAILABLE, request=request)
            who = "authorisation server" if is_of_oauth else "server"
            self._errors.message = f"{who} {reason}"
            raise
        status = response.status_code
        self._errors.has_session |= _SESSION_HEADER in response.headers
        errors.is_forgotten = status == _NOT_FOUND and _SESSION_HEADER in request.headers
        if _is_message(request) or (not is_of_oauth and status == _UNAUTHORISED):
            message = f"server responded with HTTP status {status}"
            if status == _UNAUTHORISED and self._login:
                message = (
                    f"authentication required (HTTP status {status}):"
                    f" run {self._login}, or set a key in the headers"
                )
            elif status < _CLIENT_ERROR:
                message = f"redirected to another address (HTTP status {status})"
            errors.message = message if status >= _REDIRECTION else None
            errors.is_unauthorized = status in {_UNAUTHORISED, _FORBIDDEN}
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A few compressed bytes could expand to gigabytes.
            self._errors.message = "response is compressed, which was not requested"
            raise ServerError(self._errors.message)
        response.stream = _Body(response.stream, errors, _has_events(response))
        return response


def _find_reason(fault: BaseException) -> str:
    """Return why a connection failed, as the end of a message; "" if the system gave no reason."""
    one: BaseException | None = fault
    while one is not None:
        if isinstance(one, BaseExceptionGroup):
            one = one.exceptions[0]
        if isinstance(one, ssl.SSLError):
            return f": TLS failed: {getattr(one, 'verify_message', '') or one.reason or 'unknown'}"
        if isinstance(one, socket.gaierror):
            return f": {os_reason(one)}"
        if isinstance(one, OSError) and one.errno:
            return f": {os.strerror(one.errno).lower()}"
        one = one.__cause__ or one.__context__
    return ""


class _StreamTransport(_HttpTransport):
    """A transport with a stream of announcements, on which the SDK gives up after an outage."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        status = _UNAVAILABLE
        try:
            response = await super().handle_async_request(request)
            status = response.status_code
        finally:
            is_stream = request.method == "GET" and OAUTH_REQUEST not in request.extensions
            is_lost = is_stream and status >= _CLIENT_ERROR and status not in _NO_STREAM
            if is_lost and self._errors.on_silence is not None:
                self._errors.on_silence()
        return response


class _SseTransport(_HttpTransport):
    """A transport of the older protocol, in which all responses come by the stream of one GET."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        status = response.status_code
        if _is_message(request) and status >= _REDIRECTION and status != _UNAUTHORISED:
            # The request has not arrived, and the SDK sends nothing any more.
            self._errors.end(self._errors.current.message or "")
        elif request.method == "GET" and _has_events(response):
            self._errors.has_session = True  # the stream is one
            if isinstance(response.stream, _Body):
                response.stream.connection = self._errors
        return response


def _is_message(request: httpx2.Request) -> bool:
    return request.method == "POST" and OAUTH_REQUEST not in request.extensions


def _has_events(response: httpx2.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.lower().startswith("text/event-stream")


@dataclass(eq=False)
class _Body(httpx2.AsyncByteStream):
    """The body of a response, bounded in size and with its text repaired."""

    stream: Any
    errors: TransportErrors
    is_events: bool
    connection: TransportErrors | None = None

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        limit, last, repair = SizeLimit(self.errors), b"", TextRepair()
        try:
            async for chunk in self.stream:
                # The end of an event may come in a chunk of its own.
                if self.is_events and _BETWEEN_EVENTS.search(last + chunk):
                    limit.size = 0
                last = chunk[-1:] or last
                limit.add(len(chunk))
                yield repair.push(chunk)
            yield repair.end()
        except ServerError as fault:
            # Of another kind, it would end the connection and all requests over it.
            raise httpx2.StreamError(str(fault)) from None
        except httpx2.TransportError as fault:
            if self.is_events:  # the SDK reconnects
                raise
            self.errors.message, self.errors.is_interrupted = "response was cut off", True
            raise httpx2.StreamError(str(fault)) from None
        finally:
            if self.connection is not None:
                self.connection.end("server closed the connection")


# Standard streams. The transport of the SDK keeps an endless line in memory, shows a program's
# standard error, and does not end the children of a program that ends by itself.


@asynccontextmanager
async def _run_program(
    server: StdioServer, live: ServerAccess, errors: TransportErrors, groups: ProcessGroups
) -> AsyncIterator[Streams]:
    process = await groups.start(server, live.environ)
    drained, settled = anyio.Event(), anyio.Event()
    incoming, messages = anyio.create_memory_object_stream["Incoming"](0)
    answers, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_drain, process.stderr, errors, drained)
            group.start_soon(_read, process, incoming, errors, drained, settled)
            group.start_soon(_write, process.stdin, outgoing, settled)
            group.start_soon(_nudge, process.stdin, settled)
            try:
                yield messages, answers
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as closing:
                # What it writes from now on is read, so that it can go on, and not kept.
                closing.start_soon(_drain, process.stderr, TransportErrors(), drained)
                await _stop(process)
                closing.cancel_scope.cancel()
        groups.discard(process.pid)
        for stream in (incoming, messages, answers, outgoing):
            stream.close()


async def _drain(
    stream: ByteReceiveStream | None, errors: TransportErrors, drained: anyio.Event
) -> None:
    """Keep the last bytes of standard error; a program must not wait for a reader of it."""
    assert stream is not None  # noqa: S101 - it was opened as a pipe
    with suppress(*_CLOSED):
        async for chunk in stream:
            errors.stderr = (errors.stderr + chunk)[-MAX_STDERR:]
    drained.set()


async def _read(
    process: Process,
    incoming: MemoryObjectSendStream[Incoming],
    errors: TransportErrors,
    drained: anyio.Event,
    settled: anyio.Event,
) -> None:
    limit = SizeLimit(errors)
    async with incoming:
        with suppress(ServerError, *_CLOSED):
            async for line in _read_lines(process.stdout, limit):
                message = _parse_message(line, errors)
                if message is not None:
                    settled.set()
                    limit.size = 0
                    try:  # at once, if a receiver waits for it
                        incoming.send_nowait(message)
                    except anyio.WouldBlock:
                        await incoming.send(message)
            await _wait_for_exit(process, _EXIT)
            # Processes that it left behind may keep its standard error open.
            with anyio.move_on_after(GRACE):
                await drained.wait()
            code = process.returncode
            how = "" if code is None else f"code {code}" if code >= 0 else f"signal {-code}"
            exited = f"server exited{f' ({how})' if how else ''}"
            errors.message = f"{exited} before responding"
            errors.crash = exited if code else ""
            errors.has_exited = True
        if errors.on_end is not None:
            errors.on_end()


async def _read_lines(stream: ByteReceiveStream | None, limit: SizeLimit) -> AsyncIterator[bytes]:
    buffer = bytearray()
    assert stream is not None  # noqa: S101 - it was opened as a pipe
    async for chunk in stream:
        limit.add(len(chunk))
        buffer += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(buffer).split(b"\n")
            buffer = bytearray(rest)
            for line in lines:
                yield line


def _parse_message(line: bytes, errors: TransportErrors) -> SessionMessage | None:
    """Parse a line; skip and count any other text than a message, such as a greeting."""
    if not line.strip():
        return None
    repair = TextRepair()
    text = repair.push(line) + repair.end()
    try:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        errors.invalid_lines += 1
        first, count = errors.noise
        errors.noise = first or text[:_LONGEST_NOISE].decode("utf-8", "replace"), count + 1
    else:
        errors.invalid_lines = 0
        return message
    if errors.invalid_lines > _MAX_INVALID_LINES:
        errors.message = "standard output has too many lines that are not messages"
        raise ServerError(errors.message)
    return None


async def _write(
    stdin: ByteSendStream | None,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    settled: anyio.Event,
) -> None:
    assert stdin is not None  # noqa: S101 - as above
    async with outgoing:
        with suppress(*_CLOSED):
            async for message in outgoing:
                if getattr(message.message, "method", "") != _PROBE:
                    settled.set()
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(f"{text}\n".encode())
            return
        # It has probably ended. Once `outgoing` is closed, so is the connection: `_read` has the
        # time first that it needs to learn how.
        await anyio.sleep(_EXIT + 2 * GRACE)


async def _nudge(stdin: ByteSendStream | None, settled: anyio.Event) -> None:
    """Send a notification that means nothing to a program that leaves the first probe unanswered.

    Some servers of the older protocol fail at it, and exit only when they read another message.
    """
    assert stdin is not None  # noqa: S101 - as above
    with anyio.move_on_after(_NUDGE_SECONDS):
        await settled.wait()
    if not settled.is_set():
        with suppress(*_CLOSED):
            await stdin.send(_NUDGE)


async def _stop(process: Process) -> None:
    """End a program as MCP specifies: close its standard input, wait, terminate it, kill it.

    Processes that it started and left behind are also ended.
    """
    if process.stdin is not None:
        with suppress(*_CLOSED):
            await process.stdin.aclose()
    await _wait_for_exit(process, GRACE)
    await terminate_posix_process_tree(process, GRACE)
    await _wait_for_exit(process, GRACE)
    with anyio.move_on_after(GRACE), suppress(*_CLOSED):
        while process.stdout is not None:
            await process.stdout.receive()
    with anyio.move_on_after(GRACE):
        await process.aclose()


async def _wait_for_exit(process: Process, seconds: float) -> None:
    # Not `wait`, which also waits until no process has the pipes open.
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 - no event exists
            await anyio.sleep(_POLL_SECONDS)


# Repair of text. A server that cuts a description in the middle of an emoji sends `\ud83d` without
# its other half, as many writers of JSON allow, and a server that reads a file of another encoding
# sends bytes that are not UTF-8. The SDK would drop the whole message.


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Escapes are found in order, since a backslash may itself be escaped: whole escapes, escapes
# that the end of the data leaves open, lone surrogates, and backslashes without an escape.
_ESCAPE = re.compile(
    rb"(?:\\[^u]|\\u[0-9a-cA-Ce-fE-F]|\\u[dD][0-7]|\\u(?=[^0-9a-fA-F])|%(high)b%(low)b)+"
    rb"|(?P<open>(?:%(high)b(?:\\(?:u[0-9a-fA-F]{0,3})?)?|\\(?:u[0-9a-fA-F]{0,3})?)\Z)"
    rb"|(?P<lone>(?:%(high)b(?=%(high)b)|%(low)b)+|%(high)b)"
    rb"|\\." % {b"high": _HIGH, b"low": _LOW},
    re.DOTALL,
)
_LONGEST_OPEN = 11
_REPLACEMENT = rb"\ufffd"


@dataclass(eq=False, slots=True)
class TextRepair:
    """Replaces text that is not Unicode in JSON that comes in pieces: bytes, and lone surrogates.

    A byte order mark before it is dropped.
    """

    _decoder: IncrementalDecoder = field(
        default_factory=lambda: getincrementaldecoder("utf-8-sig")("replace")
    )
    _open: bytes = b""

    def push(self, data: bytes, *, is_last: bool = False) -> bytes:
        """Return the JSON so far; a character or escape that *data* leaves open waits."""
        data = self._decoder.decode(data, is_last).encode()
        if not (self._open or _SURROGATE.search(data) or b"\\" in data[-_LONGEST_OPEN:]):
            return data
        data, self._open = self._open + data, b""
        return _ESCAPE.sub(self._replace_match, data)

    def end(self) -> bytes:
        """Return the rest that waited, since nothing follows."""
        last = self.push(b"", is_last=True)
        kept, self._open = self._open, b""
        return last + re.sub(_HIGH, rb"\\ufffd", kept)

    def _replace_match(self, found: re.Match[bytes]) -> bytes:
        if found["open"] is not None:
            self._open = found["open"]
            return b""
        lone = found["lone"]
        return found[0] if lone is None else _REPLACEMENT * (len(lone) // len(_REPLACEMENT))


class PageFilter(ObjectReceiveStream[Incoming]):
    """A stream of messages, without tools and other items that the SDK would refuse.

    The SDK validates a page as a whole, so that a single tool without a name would have it refused.
    If a page has invalid tools, the SDK gets the others, and all of them are kept beside, so that
    the reader of manifests can report the fault of each. Invalid prompts and resources are
    left out. An empty cursor ends a list up to the protocol of 2025-11-25, as many servers mean by
    it; later it is a cursor like any other.
    """

    def __init__(self, incoming: Any) -> None:
        self._incoming = incoming
        self.last_context: Any = None
        # A version of the protocol for each form that a page of tools has.
        forms = {SERVER_RESULTS[key]: key[1] for key in SERVER_RESULTS if key[0] == _METHOD}
        self._versions = tuple(forms.values())

    async def receive(self) -> Incoming:
        item: Incoming = await self._incoming.receive()
        self.last_context = getattr(self._incoming, "last_context", None)
        if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCResponse):
            return item
        result = item.message.result
        version = result.get("protocolVersion")
        if (_METHOD, version) in SERVER_RESULTS:
            self._versions = (str(version),)
        for kind in _LISTS:
            items = result.get(kind)
            if isinstance(items, list) and not self._is_valid(kind, items):
                result |= {ALL_TOOLS: items} if kind == "tools" else {}
                result[kind] = [one for one in items if self._is_valid(kind, [one])]
            is_older = not {*MODERN_PROTOCOL_VERSIONS} & {*self._versions}
            if isinstance(items, list) and result.get("nextCursor") == "" and is_older:
                del result["nextCursor"]
        return item

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def _is_valid(self, kind: str, items: list[Any]) -> bool:
        try:
            for version in self._versions:
                validate_server_result(_LISTS[kind], version, {**_PAGE, kind: items})
        except ValidationError:
            return False
        return True


# Logging of the SDK, which would repeat what servers send.


_lock = Lock()
_silent = logging.NullHandler()
_propagation: dict[str, bool] = {}
_muted = 0


@contextmanager
def sdk_muted() -> Iterator[None]:
    """Keep the SDK's client from logging while any such context is open, in any thread."""
    global _muted  # noqa: PLW0603 - counts the contexts, under the lock
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    with _lock:
        _muted += 1
        if _muted == 1:
            logging.getLogger(_SHARED_LOGGER).addFilter(_is_of_host)
            for logger in loggers:
                _propagation[logger.name] = logger.propagate
                logger.propagate = False
                logger.addHandler(_silent)
    try:
        yield
    finally:
        with _lock:
            _muted -= 1
            if _muted == 0:
                logging.getLogger(_SHARED_LOGGER).removeFilter(_is_of_host)
                for logger in loggers:
                    logger.propagate = _propagation[logger.name]
                    logger.removeHandler(_silent)


def _is_of_host(record: logging.LogRecord) -> bool:
    """Return whether a record of the logger `client` comes from elsewhere than the SDK."""
    return record.pathname != session.__file__
