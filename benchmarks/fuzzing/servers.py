"""Targets that serve: messages to `mcpg serve`, requests to the page of `mcpg explore`, SPARQL."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Self

from mcp.server.stdio import stdio_server

import mcpg
from mcpg.explore.explorer import Explorer, LiveEngine, PageSettings
from mcpg.explore.server import ExploreServer
from mcpg.gateway import FileSource, FunctionSource, Gateway
from mcpg.gateway.serve import META_TOOLS, ServingOptions
from mcpg.gateway.serve.http import HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.graph.sparql import Limits, SparqlEndpoint
from mcpg.review.authored import HintsFile, JudgedFile

from . import seeds
from .model import Reader, Target
from .mutators import mutate_json, mutate_lines, mutate_text

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    },
}
_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_MOST_SECONDS = 0.1
_QUERY = {
    "limit": 5,
    "strategy": "graph",
    "fusion": "",
    "rewrite": False,
    "lexicon": True,
    "include_disabled": False,
    "min_score": 0.0,
    "abstain": False,
    "context": None,
}


class ReportedError(Exception):
    """A fault that a server logged or answered with, since its clients must not see it."""


class _FaultLog(logging.Handler):
    """Keeps the exceptions that servers log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.faults.append(self.format(record))

    def check(self) -> None:
        """Raise a fault that was logged since the last check."""
        faults, self.faults = self.faults, []
        if faults:
            raise ReportedError(faults[0])


def _echo(text: str, times: int = 1) -> str:
    """Repeat a text."""
    return text * min(times, 3)


@dataclass
class _Hosted:
    """A gateway that is served in an event loop of its own, which runs during executions only."""

    log: _FaultLog = field(default_factory=_FaultLog)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    server: GatewayServer | None = None
    address: tuple[str, int] = ("", 0)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def serving(self, *, over_http: bool) -> Iterator[Self]:
        """Serve inside the context, whenever the loop runs."""
        logging.getLogger().addHandler(self.log)
        self.loop.set_exception_handler(self._keep_exception)
        task = self.loop.create_task(self._serve(over_http=over_http))
        self.loop.run_until_complete(self._wait())
        try:
            yield self
        finally:
            task.cancel()
            self.loop.run_until_complete(asyncio.wait([task]))
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            logging.getLogger().removeHandler(self.log)

    async def _serve(self, *, over_http: bool) -> None:
        tools = seeds.EXAMPLES / "tools" / "commerce.json"
        sources = [FileSource("commerce", str(tools)), FunctionSource("local", (_echo,))]
        async with Gateway(sources, reserved=META_TOOLS) as gateway:
            server = GatewayServer(gateway, ServingOptions(graph_tools=True))
            if over_http:
                self.server = server
                await serve_http(server, HttpOptions(idle_seconds=0.5), self._take_address)
                return
            async with server.running():
                self.server = server
                self.ready.set()
                await asyncio.Event().wait()

    async def _wait(self) -> None:
        await self.ready.wait()
        assert self.server is not None
        await self.server.engine()

    def _take_address(self, address: str) -> None:
        host, _, port = address.partition("://")[2].partition("/")[0].rpartition(":")
        self.address = host, int(port)
        self.ready.set()

    def _keep_exception(self, _: Any, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        self.log.faults.append(f"{context.get('message')}: {fault!r}")


@dataclass
class _Conversation:
    """The lines of a client, which waits for an answer to each request, and what a server writes.

    Without the wait, the end of its lines would cut off the work on them.
    """

    lines: Sequence[str]
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aiter__(self) -> AsyncIterator[str]:
        for line in (json.dumps(_INITIALIZE), json.dumps(_INITIALIZED), *self.lines):
            self.answered.clear()
            yield line
            if '"id"' in line and '"method"' in line:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.answered.wait(), _MOST_SECONDS)

    async def write(self, text: str) -> None:
        """Take a message."""
        json.loads(text)
        self.answered.set()

    async def flush(self) -> None:
        """Nothing is kept back."""


async def _converse(server: GatewayServer, lines: Sequence[str]) -> None:
    client: Any = _Conversation(lines)
    async with stdio_server(client, client) as (incoming, outgoing):
        options = server.sdk.create_initialization_options()
        await server.sdk.run(incoming, outgoing, options)


@contextmanager
def _open_stdio(_: Path) -> Iterator[Reader]:
    with _Hosted().serving(over_http=False) as hosted:

        def read(data: bytes) -> None:
            assert hosted.server is not None
            lines = data.decode("utf-8", "replace").split("\n")
            hosted.loop.run_until_complete(_converse(hosted.server, lines))
            hosted.log.check()

        yield read


async def _request(address: tuple[str, int], data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(data)
        writer.write_eof()
        with suppress(TimeoutError, ConnectionError):
            return await asyncio.wait_for(reader.read(), _MOST_SECONDS)
        return b""
    finally:
        writer.close()


@contextmanager
def _open_http(_: Path) -> Iterator[Reader]:
    with _Hosted().serving(over_http=True) as hosted:

        def read(data: bytes) -> None:
            request = _request(hosted.address, complete_request(data))
            answer = hosted.loop.run_until_complete(request)
            hosted.log.check()
            if answer.startswith(b"HTTP/1.1 500"):
                raise ReportedError(answer[:200].decode("latin-1"))

        yield read


def complete_request(data: bytes, *headers: bytes) -> bytes:
    """Return a request whose body has its length; *data* without a head gets that of a message."""
    head, blank, body = data.partition(b"\n\n")
    if not blank:
        head, body = b"POST /mcp HTTP/1.1\nAccept: application/json, text/event-stream", data
    lines = [*head.split(b"\n"), *headers]
    if b"Content-Length" not in head:
        lines.append(b"Content-Length: %d" % len(body))
    if not headers and b"Host" not in head:
        lines += [b"Host: localhost", b"Content-Type: application/json", b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def mutate_request(data: bytes, words: Sequence[str], rng: Random) -> bytes | None:
    """Change the head of a request, or the JSON below it."""
    head, blank, body = data.partition(b"\n\n")
    if not blank:
        return mutate_json(data, words, rng)
    if rng.random() < 0.3:
        return b"".join((mutate_lines(head, words, rng) or head, blank, body))
    changed = mutate_json(body, words, rng)
    return None if changed is None else b"".join((head, blank, changed))


@contextmanager
def _open_explore(folder: Path) -> Iterator[Reader]:
    faults: list[Exception] = []
    tools = seeds.write_sources(folder)
    live = LiveEngine(lambda: mcpg.load(tools, embeddings=None), lambda: (tools,))
    hints, judged = folder / "explore.hints.yaml", folder / "judged.jsonl"
    explorer = Explorer(
        live, PageSettings("", _QUERY, ("tools",)), HintsFile(hints), JudgedFile(judged)
    )
    server = ExploreServer(explorer, 0, faults.append)
    # A pair of sockets is not TCP.
    handler: Any = server.RequestHandlerClass
    server.RequestHandlerClass = type("Handler", (handler,), {"disable_nagle_algorithm": False})
    headers = (
        b"Authorization: Bearer " + server.token.encode(),
        b"Host: 127.0.0.1:%d" % server.server_port,
        b"Content-Type: application/json",
        b"Connection: close",
    )

    def read(data: bytes) -> None:
        for path in (hints, judged):
            path.unlink(missing_ok=True)
        request = complete_request(data, *headers)
        _exchange(request, lambda ours: server.finish_request(ours, ("127.0.0.1", 1)))
        if faults:
            raise faults.pop()

    with server:
        yield read


def _exchange(request: bytes, serve: Callable[[socket.socket], None]) -> None:
    """Give a request to a server over a pair of sockets, and read the whole answer."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(request)
        ours.shutdown(socket.SHUT_WR)
        reading = threading.Thread(target=_drain, args=(ours,))
        reading.start()
        try:
            serve(theirs)
        finally:
            theirs.close()
            reading.join()


def _drain(one: socket.socket) -> None:
    with suppress(ConnectionError):
        while one.recv(1 << 16):
            pass


@contextmanager
def _open_sparql(_: Path) -> Iterator[Reader]:
    limits = Limits(seconds=10, rows=100, size=1 << 20, memory=256 << 20)
    with SparqlEndpoint(seeds.example_documents(), limits=limits) as endpoint:
        endpoint.query("ASK {}")

        def read(data: bytes) -> None:
            answer = endpoint.query(data.decode("utf-8", "replace"))
            json.dumps(answer.json())
            answer.csv()
            answer.turtle()

        yield read


TARGETS = (
    Target("sparql", _open_sparql, mutate=mutate_text, largest=1024, share=0.1),
    Target("serve", _open_stdio, mutate=mutate_json, largest=2048, share=0.1),
    Target("serve-http", _open_http, mutate=mutate_request, largest=2048, share=0.1),
    Target("explore", _open_explore, mutate=mutate_request, largest=2048, share=0.1),
)
