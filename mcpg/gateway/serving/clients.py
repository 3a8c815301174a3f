"""Clients that are told when the list of tools has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection
    from mcp_types import NotificationParams

_MOST_LISTENERS = 1000


class Clients:
    """Who is connected.

    Clients of the protocol up to 2025-11-25 are told over their connection; later ones over the
    subscriptions they have opened.

    Attributes:
        listen: Serves subscriptions.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._bus = InMemorySubscriptionBus()
        self._connections: dict[int, Connection] = {}
        self.listen = ListenHandler(self._bus, max_subscriptions=_MOST_LISTENERS)

    async def initialized(
        self, context: ServerRequestContext[Any], _: NotificationParams | None
    ) -> None:
        """Know a client from when it is ready until its connection ends."""
        # The SDK hands out sessions for each message, and nothing public that lasts as long as
        # the connection.
        connection = context.session._connection  # noqa: SLF001
        if id(connection) not in self._connections:
            self._connections[id(connection)] = connection
            connection.exit_stack.callback(self._connections.pop, id(connection), None)

    async def tell_of_change(self) -> None:
        """Tell all of them that the list of tools has changed."""
        for connection in list(self._connections.values()):
            await connection.send_tool_list_changed()
        await self._bus.publish(ToolsListChanged())
