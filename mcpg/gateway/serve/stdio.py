"""The server over standard input and output, which belong to the protocol alone.

The SDK has this transport, and writes it. What is read comes by a thread of its own here: one that
waits for a line cannot be ended, and the process must end when it is told to.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
from mcp.server.stdio import stdio_server

from mcpg.gateway.serve.http import on_signal

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream

    from mcpg.gateway.serve.server import GatewayServer

_CHUNK = 1 << 16
_LONGEST = 16 << 20
_STDIN = 0
# What a thread meets that hands lines to an event loop which wants no more of them, or is gone.
_UNWANTED = (
    RuntimeError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    asyncio.CancelledError,
    concurrent.futures.CancelledError,
)


async def serve_stdio(served: GatewayServer) -> None:
    """Serve one client until it closes our standard input, or the process is told to end."""
    async with anyio.create_task_group() as group:
        group.start_soon(on_signal, group.cancel_scope.cancel)
        try:
            await _serve(served)
        except* BrokenPipeError:
            pass  # the client has left without closing our standard input
        group.cancel_scope.cancel()


async def _serve(served: GatewayServer) -> None:
    with _claimed() as descriptor:
        # The SDK asks nothing of the stream but its lines.
        lines = cast("anyio.AsyncFile[str]", _Lines(descriptor))
        async with served.running(), stdio_server(stdin=lines) as (incoming, outgoing):
            options = served.sdk.create_initialization_options()
            await served.sdk.run(incoming, outgoing, options)


@contextmanager
def _claimed() -> Iterator[int]:
    """Keep standard input for ourselves: whatever else reads it finds its end."""
    kept = os.dup(_STDIN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.close(nothing)
    try:
        yield kept
    finally:
        # The thread may still wait on the duplicate, which therefore stays open.
        os.dup2(kept, _STDIN)


class _Lines:
    """The lines of a file descriptor, read by a thread that nobody waits for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        send, receive = anyio.create_memory_object_stream[str](0)
        reader = _Reader(self._descriptor, send, current_token())
        Thread(target=reader.run, name="standard input", daemon=True).start()
        async with receive, send:
            async for line in receive:
                yield line


class _Reader:
    """Reads lines and hands them to the event loop, one when the one before has been taken."""

    def __init__(
        self, descriptor: int, send: MemoryObjectSendStream[str], token: EventLoopToken
    ) -> None:
        self._descriptor = descriptor
        self._send = send
        self._token = token

    def run(self) -> None:
        try:
            for line in self._lines():
                self._do(self._send.send, line)
            self._do(self._send.aclose)
        except _UNWANTED:
            return

    def _do(self, work: Any, *given: Any) -> None:
        from_thread.run(work, *given, token=self._token)

    def _lines(self) -> Iterator[str]:
        buffer = bytearray()
        while chunk := os.read(self._descriptor, _CHUNK):
            head, *tail = chunk.split(b"\n")
            buffer += head
            for start in tail:
                yield buffer.decode("utf-8", "replace")
                buffer = bytearray(start)
            if len(buffer) > _LONGEST:
                return  # no message is so long; whoever sends this speaks something else
        if buffer:
            yield buffer.decode("utf-8", "replace")
