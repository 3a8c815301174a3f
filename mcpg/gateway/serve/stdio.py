"""The server over standard input and output, which belong to the protocol alone.

The SDK has this transport. Here input is read by a daemon thread, and output is written without a
thread: a thread that waits for a line, or for a client that does not read, cannot be ended.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import select
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import cast

import anyio
import anyio.to_thread
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.stdio import stdio_server

from mcpg.gateway.serve.server import GatewayServer

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def on_signal(stop: Callable[[], None]) -> None:
    """Call *stop* on the first signal to end; a second one ends the process at once.

    Outside the main thread, and where the system has no signals, it does nothing.
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
# Errors of handing a line to an event loop that is closing or closed.
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
            await _serve(served)
        except* BrokenPipeError:
            pass  # the client has left without closing our standard input
        group.cancel_scope.cancel()


async def _serve(served: GatewayServer) -> None:
    with claim_stream(_STDIN) as reading, claim_stream(_STDOUT) as writing:
        # The SDK only iterates over the lines of the one, and writes and flushes the other.
        lines = cast("anyio.AsyncFile[str]", _DescriptorLines(reading))
        output = cast("anyio.AsyncFile[str]", _DescriptorWriter(writing))
        with anyio.CancelScope() as scope:
            async with served.running(), stdio_server(lines, output) as (incoming, outgoing):
                options = served.sdk.create_initialization_options()
                await served.sdk.run(incoming, outgoing, options)
                scope.deadline = anyio.current_time() + _GRACE


@contextmanager
def claim_stream(stream: int) -> Iterator[int]:
    """Yield a duplicate of standard input or output, which is ours alone meanwhile.

    Any other reader gets the end of the file, and what others print goes to standard error.
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
    """Writes messages to a file descriptor, without blocking where the system has `poll`."""

    descriptor: int
    _waiting: bytes = b""

    async def write(self, text: str) -> None:
        self._waiting += text.encode()

    async def flush(self) -> None:
        data, self._waiting = memoryview(self._waiting), b""
        if not _ROOM:  # pragma: no cover - by the system
            await anyio.to_thread.run_sync(self._write_all, data)
            return
        while data:
            poll = select.poll()
            poll.register(self.descriptor, select.POLLOUT)
            if poll.poll(0):  # a few bytes can be written without blocking
                data = data[os.write(self.descriptor, data[:_ROOM]) :]
            else:
                await anyio.wait_writable(self.descriptor)

    def _write_all(self, data: memoryview) -> None:  # pragma: no cover - by the system
        while data:
            data = data[os.write(self.descriptor, data) :]


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
        """Hand the lines to the event loop one by one."""
        try:
            for line in self._lines():
                try:  # without a task, where the last one has been taken
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
                yield buffer.decode("utf-8", "replace")
                buffer = bytearray(start)
            if len(buffer) > _LONGEST:
                return  # no message is so long
        if buffer:
            yield buffer.decode("utf-8", "replace")
