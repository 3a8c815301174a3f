"""Keeps one odd tool from costing a server all its tools.

The SDK checks an answer as a whole, so that a single tool without a name or with a schema that is
none would have a whole page refused. Where a page holds such tools, the SDK gets the others, and
everything stands beside them, for the reader of manifests to say what is wrong with which.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import SERVER_RESULTS, validate_server_result
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import TracebackType

    from mcp.client import Transport

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
