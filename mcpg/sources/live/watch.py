"""Subscriptions to changes of a server: its lists, and single resources."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, Request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcpg.sources.live.errors import TransportErrors

_PAUSE, _MAX_PAUSE = 1.0, 60.0
# Messages of the SDK: for a status of HTTP without an error of the protocol, and a lost session.
_OUTAGES = frozenset(("Server returned an error response", "Not Found", "Session terminated"))


class _SubscriptionRequest(Request[dict[str, Any], str]):
    """A request of any method."""


class _IgnoredResult(BaseModel):
    """A result that is not examined."""


class SubscriptionKeeper:
    """Keeps the subscriptions of a connection.

    Servers of the protocol up to 2025-11-25 announce changes of their lists unasked, and get a
    request for each resource. Later ones get a single request that lists all of these.

    Attributes:
        uris: The resources that are to be subscribed to.
        level: The least level of log messages, `None` for what the server sends unasked.
        changed: Set when they have changed.
    """

    def __init__(self) -> None:
        """Begin without resources."""
        self.uris: frozenset[str] = frozenset()
        self.level: str | None = None
        self.changed = anyio.Event()
        self._refused: frozenset[str] = frozenset()
        self._is_lost = False

    async def run(
        self, client: Client, errors: TransportErrors, missed: Callable[[], Awaitable[None]]
    ) -> None:
        """Keep the subscriptions until it is cancelled, or the server takes none.

        Args:
            client: The connected client.
            errors: The errors of its transport.
            missed: Called when changes may have been missed, and the server is heard again.
        """
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._receive_changes(client, errors, missed)
        else:
            await self._subscribe(client, errors)

    async def _subscribe(self, client: Client, errors: TransportErrors) -> None:
        subscribed: frozenset[str] = frozenset()
        level: str | None = None
        pause = _PAUSE
        while True:
            changed, wanted, stated = self.changed, self.uris, self.level
            requests = [("resources/unsubscribe", {"uri": uri}) for uri in subscribed - wanted]
            requests += [("resources/subscribe", {"uri": uri}) for uri in wanted - subscribed]
            if stated not in {None, level} and client.server_capabilities.logging is not None:
                requests.append(("logging/setLevel", {"level": str(stated)}))
            sent = [await _sends(client, errors, method, one) for method, one in requests]
            if all(sent):
                subscribed, level, pause = wanted, stated, _PAUSE
            with anyio.move_on_after(math.inf if all(sent) else pause):
                await changed.wait()
                self.changed = anyio.Event()
                continue
            pause = min(2 * pause, _MAX_PAUSE)

    async def _receive_changes(
        self, client: Client, errors: TransportErrors, missed: Callable[[], Awaitable[None]]
    ) -> None:
        pause = _PAUSE
        while True:
            changed, self.changed = self.changed, anyio.Event()
            self._refused &= self.uris
            wanted = self._filter(client)
            if not wanted:
                await self.changed.wait()
                continue
            start = anyio.current_time()
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_on_change, group.cancel_scope)
                with errors.of_request():
                    is_supported = await self._hear(client, wanted, missed)
                if not is_supported:
                    group.cancel_scope.cancel()
                    break
                self._is_lost = True
                if changed.is_set() or anyio.current_time() - start > _MAX_PAUSE:
                    pause = _PAUSE
                await anyio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
                group.cancel_scope.cancel()
        if self._is_lost:
            await missed()

    async def _hear(
        self, client: Client, wanted: Mapping[str, Any], missed: Callable[[], Awaitable[None]]
    ) -> bool:
        """Listen until the subscription ends; return whether the server takes any.

        A resource that the server refuses is left out from then on, so that it costs no other.
        """
        try:
            async with client.listen(**wanted) as events:
                if self._is_lost:
                    await missed()
                    self._is_lost = False
                async for _ in events:
                    """The handler of messages gets it as well."""
        except MCPError as fault:
            if _is_outage(fault):
                return True
            if fault.code == METHOD_NOT_FOUND:
                return False
            with suppress(Exception):  # it is lost meanwhile
                self._refused |= await _find_refused(
                    client, wanted.get("resource_subscriptions", [])
                )
        except Exception:  # noqa: BLE001, S110 - it is lost, and tried again
            pass
        return True

    async def _end_on_change(self, scope: anyio.CancelScope) -> None:
        await self.changed.wait()
        scope.cancel()

    def _filter(self, client: Client) -> dict[str, Any]:
        """Return what is subscribed to, empty for nothing."""
        declared = client.server_capabilities
        lists = {
            "tools_list_changed": declared.tools,
            "prompts_list_changed": declared.prompts,
            "resources_list_changed": declared.resources,
        }
        wanted: dict[str, Any] = {
            name: True for name, one in lists.items() if one is not None and one.list_changed
        }
        uris = sorted(self.uris - self._refused)
        return {**wanted, **({"resource_subscriptions": uris} if uris else {})}


async def _sends(
    client: Client, errors: TransportErrors, method: str, params: dict[str, str]
) -> bool:
    """Send a request; return whether the server has responded, be it with an error."""
    with errors.of_request():
        try:
            request = _SubscriptionRequest(method=method, params={**params})
            await client.session.send_request(request, _IgnoredResult)
        except MCPError as fault:
            return not _is_outage(fault)
        except Exception:  # noqa: BLE001 - it is lost in any way
            return False
    return True


async def _find_refused(client: Client, uris: Sequence[str]) -> frozenset[str]:
    """Return those of *uris* to which a server refuses subscriptions, by halves.

    Raises:
        MCPError: The server cannot be reached.
    """
    if not uris:
        return frozenset()
    try:
        async with client.listen(resource_subscriptions=uris):
            return frozenset()
    except MCPError as fault:
        if _is_outage(fault):
            raise
    if len(uris) == 1:
        return frozenset(uris)
    middle = len(uris) // 2
    return await _find_refused(client, uris[:middle]) | await _find_refused(client, uris[middle:])


def _is_outage(fault: MCPError) -> bool:
    """Return whether an error is not the server's, but the transport's."""
    return fault.code == CONNECTION_CLOSED or fault.message in _OUTAGES
