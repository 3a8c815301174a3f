"""A program as a server: started, spoken to line by line, and ended with all that it started.

The SDK has such a transport. This one bounds what it keeps of an endless line, shows nothing of
what the program writes, and ends what the program leaves behind when it ends by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from mcpg.catalog.sources.live.halves import whole
from mcpg.catalog.sources.live.trouble import AskingError, Meter, Trouble

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from anyio.abc import ByteReceiveStream, ByteSendStream, Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client import Transport

    from mcpg.catalog.sources.servers import StdioServer

    Incoming = SessionMessage | Exception
    Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]

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
