"""The connected clients: what they are notified of, and how they are asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    ClientCapabilities,
    LoggingLevel,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpg.gateway.serve.answers import line, size
from mcpg.gateway.serve.found import FoundTools, ClientView
from mcpg.gateway.serve.requests import SESSION_META_KEY, Context, session_key
from mcpg.json_types import JsonObject
from mcpg.sources.live.questions import ELICITATION, ROOTS, SAMPLING

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp.shared.dispatcher import Outbound

    from mcpg.sources.live.requests import Caller

_MOST_LISTENERS = 1000
MOST_URIS = 1000
"""The most resources that a client can be subscribed to."""

_UNREAD_BYTES, _LEAST_BYTES = 1_000_000, 1_000
_PROGRESS = 500
_LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
_MESSAGE = "notifications/message"
_UPDATED = "notifications/resources/updated"
_TOOLS_CHANGED = "notifications/tools/list_changed"
_ANNOUNCEMENTS = "/list_changed", "/updated"
_CHANGED: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_REFUSALS = {
    SAMPLING: "Sampling not supported",
    ELICITATION: "Elicitation not supported",
    ROOTS: "List roots not supported",
}
"""What the SDK responds for a client without the capability."""


def check_capability(
    capabilities: ClientCapabilities | None, method: str, params: Mapping[str, Any]
) -> None:
    """Check that a client takes a request.

    Raises:
        MCPError: It does not, as the SDK has it.
    """
    declared = capabilities or ClientCapabilities()
    elicitation = declared.elicitation
    if method == ELICITATION and params.get("mode") == "url":
        is_declared = elicitation is not None and elicitation.url is not None
    else:
        is_declared = {
            SAMPLING: declared.sampling is not None,
            ELICITATION: elicitation is not None,
            ROOTS: declared.roots is not None,
        }.get(method, False)
    if not is_declared:
        raise MCPError(INVALID_REQUEST, _REFUSALS.get(method, "Request not supported"))


class _UnreadNotifications:
    """The notifications that a client has yet to read, each of which takes some room.

    The same change is announced once, whatever the room. Others are dropped if there is none left,
    so that a client that has stopped reading takes no more memory.
    """

    def __init__(self) -> None:
        self._changes: set[tuple[str, str] | None] = set()
        self._bytes = 0

    async def send(self, channel: Outbound, method: str, params: JsonObject) -> None:
        change = (method, str(params.get("uri"))) if method.endswith(_ANNOUNCEMENTS) else None
        room = 0 if change else max(size(params), _LEAST_BYTES)
        if change in self._changes or (room and 0 < self._bytes > _UNREAD_BYTES - room):
            return
        if change:
            self._changes.add(change)
        self._bytes += room
        try:
            await channel.notify(method, params or None)
        finally:
            self._changes.discard(change)
            self._bytes -= room


class Client:
    """A connected client of the protocol up to 2025-11-25.

    Attributes:
        identity: Its identity, which no later client has.
        level: The least level of log messages that it wants, `None` for any.
        uris: The resources that it has subscribed to, by its addresses.
        view: What it sees of the tools.
    """

    def __init__(self, connection: Connection) -> None:
        """Represent the client of *connection*."""
        self.identity: Hashable = object()
        self.level: str | None = None
        self.uris: set[str] = set()
        self.view = ClientView(FoundTools())
        self._connection = connection
        self._unread = _UnreadNotifications()

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Return its response to a request that belongs to none of its own.

        Raises:
            MCPError: It refuses.
        """
        check_capability(self._connection.client_capabilities, method, params)
        return await self._connection.send_raw_request(method, params or None)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification, unless it is a log message that it does not want."""
        if method != _MESSAGE or is_logged(params, self.level):
            await self._unread.send(self._connection, method, params)


def is_logged(params: Mapping[str, Any], level: str | None) -> bool:
    """Return whether a log message is at least of *level*, `None` for any."""
    stated = params.get("level")
    if level not in _LEVELS or stated not in _LEVELS:
        return True
    return _LEVELS.index(stated) >= _LEVELS.index(level)


class Clients:
    """The connected clients, notified when lists or resources change.

    Clients of the protocol up to 2025-11-25 are notified over their connection, later ones over
    their subscriptions.

    Attributes:
        left: Called with each client that leaves.
        listen: Serves subscriptions.
        group: Runs what notifies clients, so that none waits for another that does not read.
    """

    def __init__(self, left: Callable[[Client], None]) -> None:
        """Begin without clients; *left* is called with each that leaves."""
        self.left = left
        self.group: TaskGroup | None = None
        self._bus = InMemorySubscriptionBus()
        self._clients: dict[int, Client] = {}
        # Over standard input and output there is one client; over HTTP, later versions of the
        # protocol have nothing by which a client is recognized.
        self._only, self._strangers = ClientView(FoundTools()), ClientView(None)
        self.listen = ListenHandler(self._bus, max_subscriptions=_MOST_LISTENERS)

    def __iter__(self) -> Iterator[Client]:
        """Yield the clients, in the order of their arrival."""
        yield from list(self._clients.values())

    @property
    def level(self) -> str | None:
        """The least level of log messages that any client has requested."""
        stated = {one.level for one in self}
        return next((level for level in _LEVELS if level in stated), None)

    def of(self, context: Context) -> Client | None:
        """Return the client that has sent a request, `None` for one without a connection."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        # The SDK hands out sessions for each message, and nothing public that lasts as long as
        # the connection.
        connection = context.session._connection  # noqa: SLF001
        client = self._clients.get(id(connection))
        if client is None:
            client = self._clients[id(connection)] = Client(connection)
            connection.exit_stack.callback(self._leave, id(connection))
        return client

    def view(self, context: Context) -> ClientView:
        """Return the view of the client that has sent a request."""
        client = self.of(context)
        if client is not None:
            return client.view
        return self._only if context.request is None else self._strangers

    def tell(self, client: Client, method: str, params: JsonObject) -> None:
        """Begin to notify *client*."""
        if self.group is not None:
            self.group.start_soon(client.tell, method, params)

    async def relist(self, current: Callable[[ClientView], Awaitable[int]]) -> None:
        """Notify the clients that were sent another list of tools than they would get now.

        Args:
            current: Returns the hash of the list that a client with this view would get.
        """
        for client in self:
            if await client.view.is_stale(current):
                self.tell(client, _TOOLS_CHANGED, {})
        shared = [await view.is_stale(current) for view in (self._only, self._strangers)]
        if any(shared):
            await self._bus.publish(_CHANGED["tools"])

    async def notify_found(self, context: Context, caller: Caller) -> None:
        """Notify the client of a request, and no other, that its list of tools has changed."""
        self.view(context).sent.clear()
        if self.of(context) is None:
            await self._bus.publish(_CHANGED["tools"])
        else:
            # In the channel of the request, so that it arrives before the response.
            await caller.tell(_TOOLS_CHANGED, {})

    async def notify(self, kind: str) -> None:
        """Notify all clients that the list of `prompts` or `resources` has changed."""
        for client in self:
            self.tell(client, f"notifications/{kind}/list_changed", {})
        await self._bus.publish(_CHANGED[kind])

    async def notify_updated(self, uris: frozenset[str]) -> None:
        """Notify the clients that have subscribed to one of *uris* that it has changed."""
        for client in self:
            for uri in sorted(client.uris & uris):
                self.tell(client, _UPDATED, {"uri": uri})
        for uri in sorted(uris):
            await self._bus.publish(ResourceUpdated(uri))

    def _leave(self, key: int) -> None:
        client = self._clients.pop(key, None)
        if client is not None:
            self.left(client)


def check_subscriptions(count: int, most: int = MOST_URIS) -> None:
    """Check that there may be *count* subscriptions to resources.

    Raises:
        MCPError: There are too many.
    """
    if count > most:
        raise MCPError(INVALID_REQUEST, f"more than {most:,} subscriptions")


class RequestCaller:
    """A client during one of its requests, which messages to it are related to.

    Attributes:
        context: The request, or the one that repeats it with input.
    """

    def __init__(self, context: Context, client: Client | None) -> None:
        """Represent *client*, `None` for one without a connection."""
        self.context = context
        self._client = client
        self._unread = _UnreadNotifications()

    @property
    def client(self) -> Hashable | None:
        """The identity of the client or its session, `None` for one without a session."""
        if self._client is not None:
            return self._client.identity
        key = session_key(self.context)
        return None if key is None else (SESSION_META_KEY, key)

    @property
    def level(self) -> str | None:
        """The level of log messages that the client has requested for all of its requests."""
        return self._client.level if self._client is not None else None

    @property
    def takes_input(self) -> bool:
        """Whether the client repeats its request with input."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Return the client's response to the request of a server.

        Raises:
            MCPError: The client refuses.
        """
        check_capability(self.context.session.client_capabilities, method, params)
        # The channel of the request: over HTTP, the stream of its response.
        channel = self.context.session._request_outbound  # noqa: SLF001 - typed methods alter it
        return await channel.send_raw_request(method, params or None)

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress of the request."""
        shown = None if message is None else line(message, _PROGRESS)
        await self.context.session.report_progress(done, total, shown)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification of a server to the client, unless it does not want it."""
        if method == _MESSAGE and not self._is_logged(params):
            return
        channel = self.context.session._request_outbound  # noqa: SLF001 - as above
        await self._unread.send(channel, method, params)

    def _is_logged(self, params: JsonObject) -> bool:
        if self._client is not None:
            return is_logged(params, self._client.level)
        meta = (self.context.params or {}).get("_meta") or {}
        level = meta.get(LOG_LEVEL_META_KEY)
        return level in _LEVELS and is_logged(params, level)
