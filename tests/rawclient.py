"""A client of the protocol up to 2025-11-25 that reads only when a test does."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.runner import serve_loop
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from mcpg.gateway.serve.server import GatewayServer

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


class RawClient:
    """A client over streams without a buffer: what it does not read, the server has yet to send."""

    def __init__(
        self, sending: MemoryObjectSendStream[Any], reading: MemoryObjectReceiveStream[Any]
    ) -> None:
        """Send and read by these streams."""
        self._sending = sending
        self._reading = reading
        self._ids = count(1)

    @property
    def unread(self) -> int:
        """The number of messages that wait to be read."""
        return self._reading.statistics().tasks_waiting_send

    async def send(self, method: str, **params: Any) -> int:
        """Send a request, and return its id."""
        number = next(self._ids)
        await self._write({"id": number, "method": method, "params": params})
        return number

    async def initialized(self) -> None:
        """Send the notification that completes the handshake."""
        await self._write({"method": "notifications/initialized"})

    async def read_until(self, number: int) -> list[str]:
        """Read up to the response to a request; return the methods of the messages before it."""
        return [message.method for message in (await self._receive(number))[:-1]]

    async def ask(self, method: str, **params: Any) -> list[str]:
        """Send a request; return what the server sends up to the response, as JSON."""
        messages = await self._receive(await self.send(method, **params))
        return [one.model_dump_json(by_alias=True, exclude={"id"}) for one in messages]

    async def _receive(self, number: int) -> list[Any]:
        messages: list[Any] = []
        while not messages or getattr(messages[-1], "id", None) != number:
            messages.append((await self._reading.receive()).message)
        return messages

    async def _write(self, message: dict[str, Any]) -> None:
        parsed = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})
        await self._sending.send(SessionMessage(parsed))


@asynccontextmanager
async def raw_client(server: GatewayServer) -> AsyncIterator[RawClient]:
    """Connect a client to *server*."""
    sending, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, reading = anyio.create_memory_object_stream[Any](0)
    async with sending, incoming, outgoing, reading, anyio.create_task_group() as group:
        group.start_soon(partial(serve_loop, server.sdk, incoming, outgoing, lifespan_state={}))
        client = RawClient(sending, reading)
        await client.read_until(await client.send("initialize", **INITIALIZE))
        await client.initialized()
        yield client
        group.cancel_scope.cancel()
