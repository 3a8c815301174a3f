"""The transport to a server, whatever it is, and the programs that are alive for it."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import anyio
import httpx2
from mcp.client import session
from mcp.client.sse import sse_client
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter
from mcp_types.methods import SERVER_RESULTS, validate_server_result
from pydantic import ValidationError

from mcpg.sources.client_config import StdioServer
from mcpg.sources.live.errors import MAX_ANSWER, AskingError, Meter, Trouble
from mcpg.sources.live.oauth import MARK, authorisation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from types import TracebackType

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client import Transport

    from mcpg.sources.client_config import HttpServer, Live, Server

    Incoming = SessionMessage | Exception
    Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

# SECTION halves: Makes whole what JSON escapes of half characters, before the SDK refuses the
# message.
#
# A server that cuts a description in the middle of an emoji sends `\ud83d` without its other half,
# as many writers of JSON allow. The SDK takes such a message for none: all tools would be lost,
# and whoever called one would wait for an answer that has come.


_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
# Escapes are found one after the other, since a backslash may itself be escaped: those that are
# whole, what the end of the data leaves open, halves, and what is no escape.
_ESCAPE = re.compile(
    rb"(?:\\[^u]|\\u[0-9a-cA-Ce-fE-F]|\\u[dD][0-7]|\\u(?=[^0-9a-fA-F])|%(high)b%(low)b)+"
    rb"|(?P<open>(?:%(high)b(?:\\(?:u[0-9a-fA-F]{0,3})?)?|\\(?:u[0-9a-fA-F]{0,3})?)\Z)"
    rb"|(?P<halves>(?:%(high)b(?=%(high)b)|%(low)b)+|%(high)b)"
    rb"|\\." % {b"high": _HIGH, b"low": _LOW},
    re.DOTALL,
)
_LONGEST_OPEN = 11
_WHOLE = rb"\ufffd"


class Halves:
    """Repairs the escapes in JSON that comes in pieces; nothing changes its length."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, data: bytes) -> bytes:
        """Give what is known of the JSON so far; an escape that *data* leaves open is kept back."""
        if not (self._open or _HALF.search(data) or b"\\" in data[-_LONGEST_OPEN:]):
            return data
        data, self._open = self._open + data, b""
        return _ESCAPE.sub(self._repaired, data)

    def end(self) -> bytes:
        """Return what was kept back, since nothing follows."""
        kept, self._open = self._open, b""
        return re.sub(_HIGH, rb"\\ufffd", kept)

    def _repaired(self, found: re.Match[bytes]) -> bytes:
        if found["open"] is not None:
            self._open = found["open"]
            return b""
        halves = found["halves"]
        return found[0] if halves is None else _WHOLE * (len(halves) // len(_WHOLE))


def whole(data: bytes) -> bytes:
    """Repair the escapes in one JSON text."""
    halves = Halves()
    return halves.feed(data) + halves.end()


# SECTION http: An address as a server, with a bound on what it may answer.


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


# SECTION stdio: A program as a server: started, spoken to line by line, and ended with all that it
# started.
#
# The SDK has such a transport. This one bounds what it keeps of an endless line, shows nothing of
# what the program writes, and ends what the program leaves behind when it ends by itself.


GRACE = 1.0
"""Seconds that a program has to end by itself, and again after it was told to."""

_MAX_RUBBISH = 1000
_POLL = 0.01
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


def stdio_transport(
    server: StdioServer, environ: Mapping[str, str], trouble: Trouble, living: set[int]
) -> Transport:
    """Give the transport to a program.

    Args:
        server: The program.
        environ: The environment, of which it gets the few variables that the SDK lets through.
        trouble: Gets what goes wrong.
        living: Holds the process group for as long as it may be alive.
    """
    inherited = {name: environ[name] for name in DEFAULT_INHERITED_ENV_VARS if name in environ}
    env = {**inherited, **server.env}
    if sys.platform == "win32":  # pragma: no cover - job objects are the SDK's affair
        args = [*server.args]
        return stdio_client(
            StdioServerParameters(command=server.command, args=args, env=env, cwd=server.cwd),
            errlog=Path(os.devnull).open("w"),
        )
    return _connected(server, env, trouble, living)


@asynccontextmanager
async def _connected(
    server: StdioServer, env: Mapping[str, str], trouble: Trouble, living: set[int]
) -> AsyncIterator[Streams]:
    process = await _started(server, env)
    living.add(process.pid)
    incoming, messages = anyio.create_memory_object_stream["Incoming"](0)
    answers, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, incoming, trouble)
            group.start_soon(_write, process.stdin, outgoing)
            try:
                yield messages, answers
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
        living.discard(process.pid)
        for stream in (incoming, messages, answers, outgoing):
            stream.close()


async def _started(server: StdioServer, env: Mapping[str, str]) -> Process:
    try:
        # A cancellation in the middle of a start would leave a process that nobody knows of.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [server.command, *server.args],
                env=dict(env),
                cwd=server.cwd,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except (OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or "its command or environment is no text"
        raise AskingError(f"its command cannot be started: {reason.lower()}") from None
    return process


async def _read(
    process: Process, incoming: MemoryObjectSendStream[Incoming], trouble: Trouble
) -> None:
    meter = Meter(trouble)
    async with incoming:
        with suppress(AskingError, *_GONE):
            async for line in _lines(process.stdout, meter):
                message = _message(line, trouble)
                if message is not None:
                    meter.start()
                    await incoming.send(message)
            trouble.said = await _ending(process)
        if trouble.over is not None:
            trouble.over()


async def _lines(stream: ByteReceiveStream | None, meter: Meter) -> AsyncIterator[bytes]:
    buffer = bytearray()
    assert stream is not None  # noqa: S101 - it was opened as a pipe
    async for chunk in stream:
        meter.count(len(chunk))
        buffer += chunk
        if b"\n" in chunk:
            *lines, rest = bytes(buffer).split(b"\n")
            buffer = bytearray(rest)
            for line in lines:
                yield line


def _message(line: bytes, trouble: Trouble) -> SessionMessage | None:
    """Parse a line; one that is no message, such as a greeting, is passed over and counted."""
    if not line.strip():
        return None
    try:
        message = SessionMessage(jsonrpc_message_adapter.validate_json(whole(line), by_name=False))
    except ValueError:
        trouble.rubbish += 1
    else:
        trouble.rubbish = 0
        return message
    if trouble.rubbish > _MAX_RUBBISH:
        trouble.said = "its standard output holds something else than messages"
        raise AskingError(trouble.said)
    return None


async def _ending(process: Process) -> str:
    """Say how a program ended that closed its standard output."""
    await _exited(process, GRACE)
    code = process.returncode
    how = "" if code is None else f" (exit code {code})" if code >= 0 else f" (signal {-code})"
    return f"it ended before it had answered{how}"


async def _write(
    stdin: ByteSendStream | None, outgoing: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    assert stdin is not None  # noqa: S101 - as above
    with suppress(*_GONE):
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(f"{text}\n".encode())


async def _end(process: Process) -> None:
    """End a program as MCP says: close its standard input, wait, tell it, kill it.

    Also what it started and left behind is ended.
    """
    if process.stdin is not None:
        with suppress(*_GONE):
            await process.stdin.aclose()
    await _exited(process, GRACE)
    await terminate_posix_process_tree(process, GRACE)
    await _exited(process, GRACE)
    with anyio.move_on_after(GRACE), suppress(*_GONE):
        while process.stdout is not None:
            await process.stdout.receive()
    with anyio.move_on_after(GRACE):
        await process.aclose()


async def _exited(process: Process, seconds: float) -> None:
    # Not `wait`: that also waits until nobody holds the pipes any more.
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 - nothing tells but asking
            await anyio.sleep(_POLL)


# SECTION sieve: Keeps one odd tool from costing a server all its tools.
#
# The SDK checks an answer as a whole, so that a single tool without a name or with a schema that
# is none would have a whole page refused. Where a page holds such tools, the SDK gets the others,
# and everything stands beside them, for the reader of manifests to say what is wrong with which.


ALL_TOOLS = "mcpg/tools"
"""The member of a page that holds all its tools, where there are odd ones among them."""

_METHOD = "tools/list"
# What a page needs beside its tools, in any version of the protocol.
_PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


@asynccontextmanager
async def sieved(transport: Transport) -> AsyncIterator[Any]:
    """Give the streams of *transport*, with odd tools put aside in what comes in."""
    async with transport as (incoming, outgoing):
        yield Sieved(incoming), outgoing


class Sieved:
    """A stream of messages in which pages of tools hold none that the SDK would refuse."""

    def __init__(self, incoming: Any) -> None:
        """Sieve what comes from *incoming*."""
        self._incoming = incoming
        self._versions = _versions()

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, where the stream knows it."""
        return getattr(self._incoming, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Give the next message."""
        item: SessionMessage | Exception = await self._incoming.receive()
        self._sieve(item)
        return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = await anext(self._incoming)
        self._sieve(item)
        return item

    async def __aenter__(self) -> Self:
        await self._incoming.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        closed: bool | None = await self._incoming.__aexit__(kind, fault, trace)
        return closed

    def _sieve(self, item: SessionMessage | Exception) -> None:
        if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCResponse):
            return
        result = item.message.result
        version = result.get("protocolVersion")
        if (_METHOD, version) in SERVER_RESULTS:
            self._versions = (str(version),)
        tools = result.get("tools")
        if isinstance(tools, list) and not self._fit(tools):
            result[ALL_TOOLS] = tools
            result["tools"] = [tool for tool in tools if self._fit([tool])]

    def _fit(self, tools: list[Any]) -> bool:
        """Say whether the SDK would take a page of *tools*."""
        try:
            for version in self._versions:
                validate_server_result(_METHOD, version, {**_PAGE, "tools": tools})
        except ValidationError:
            return False
        return True


def _versions() -> tuple[str, ...]:
    """Give a version of the protocol for each form that a page of tools has."""
    forms = {SERVER_RESULTS[key]: key[1] for key in SERVER_RESULTS if key[0] == _METHOD}
    return tuple(forms.values())


AT_ONCE = 16
"""Servers that are started or first spoken to at the same time."""


class Living(set[int]):
    """The process groups that may be alive."""

    def kill(self) -> None:
        """End what is still alive because even the tidying up was interrupted."""
        for group in self:
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)


def transport_to(
    server: Server, live: Live, trouble: Trouble, living: Living, *, is_kept: bool = False
) -> Transport:
    """Give the transport to a server.

    Args:
        server: The server.
        live: How servers are asked.
        trouble: Gets what goes wrong.
        living: Holds the process group of a program for as long as it may be alive.
        is_kept: Whether the connection stays open: then silence is no failure.
    """
    if isinstance(server, StdioServer):
        return sieved(stdio_transport(server, live.environ, trouble, living))
    return sieved(http_transport(server, live.timeout, trouble, live.tokens, is_kept=is_kept))


# SECTION muting: Keeps the SDK from logging what servers say: it may repeat what is secret.


_LOGGERS = ("mcp.client", "mcp.os", "mcp.shared", "httpx2", "httpcore2")
_SHARED = "client"
_SILENT = logging.NullHandler()
_LOCK = Lock()
_held: list[dict[str, bool]] = []
_count = [0]


@contextmanager
def muted() -> Iterator[None]:
    """Keep the SDK's client from logging for as long as anybody is inside."""
    with _LOCK:
        _count[0] += 1
        if _count[0] == 1:
            _held.append(_mute())
    try:
        yield
    finally:
        with _LOCK:
            _count[0] -= 1
            if _count[0] == 0:
                _restore(_held.pop())


def _is_of_host(record: logging.LogRecord) -> bool:
    """Return whether somebody else has logged to `client`, as one module of the SDK does."""
    return record.pathname != session.__file__


def _mute() -> dict[str, bool]:
    logging.getLogger(_SHARED).addFilter(_is_of_host)
    before = {}
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before[name] = logger.propagate
        logger.propagate = False
        logger.addHandler(_SILENT)
    return before


def _restore(before: dict[str, bool]) -> None:
    logging.getLogger(_SHARED).removeFilter(_is_of_host)
    for name, propagates in before.items():
        logger = logging.getLogger(name)
        logger.propagate = propagates
        logger.removeHandler(_SILENT)
