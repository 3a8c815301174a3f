"""Subscriptions to changes of a server: its lists, and single resources."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import ListenNotSupportedError
from mcp_types import Request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcpg.sources.live.errors import TransportErrors

_PAUSE, _MAX_PAUSE = 1.0, 60.0


class _Request(Request[dict[str, Any], str]):
    """A request of any method."""


class _Anything(BaseModel):
    """A result that is not examined."""


class Watch:
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

    async def run(
        self, client: Client, errors: TransportErrors, missed: Callable[[], None]
    ) -> None:
        """Keep the subscriptions until it is cancelled.

        Args:
            client: The connected client.
            errors: The errors of its transport.
            missed: Called when changes may have been missed.
        """
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._listen(client, errors, missed)
        else:
            await self._subscribe(client, errors)

    async def _subscribe(self, client: Client, errors: TransportErrors) -> None:
        subscribed: frozenset[str] = frozenset()
        level: str | None = None
        while True:
            changed, wanted, stated = self.changed, self.uris, self.level
            requests = [("resources/unsubscribe", {"uri": uri}) for uri in subscribed - wanted]
            requests += [("resources/subscribe", {"uri": uri}) for uri in wanted - subscribed]
            if stated not in {None, level} and client.server_capabilities.logging is not None:
                requests.append(("logging/setLevel", {"level": str(stated)}))
            for method, params in requests:
                with errors.of_request(), suppress(Exception):  # it does without
                    request = _Request(method=method, params={**params})
                    await client.session.send_request(request, _Anything)
            subscribed, level = wanted, stated
            await changed.wait()
            self.changed = anyio.Event()

    async def _listen(
        self, client: Client, errors: TransportErrors, missed: Callable[[], None]
    ) -> None:
        pause = _PAUSE
        while True:
            changed, self.changed = self.changed, anyio.Event()
            if changed.is_set():
                pause = _PAUSE
            wanted = self._filter(client)
            if not wanted:
                await self.changed.wait()
                continue
            async with anyio.create_task_group() as group:
                group.start_soon(self._end_on_change, group.cancel_scope)
                try:
                    with errors.of_request():
                        async with client.listen(**wanted) as events:
                            async for _ in events:
                                """The handler of messages gets it as well."""
                except (ListenNotSupportedError, MCPError):
                    return
                except Exception:  # noqa: BLE001, S110 - it was lost, which costs freshness alone
                    pass
                await anyio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
                missed()
                group.cancel_scope.cancel()

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
        return {**wanted, **({"resource_subscriptions": sorted(self.uris)} if self.uris else {})}
