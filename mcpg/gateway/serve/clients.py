"""The connected clients: notifications to them, and requests to them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, Self, get_args
from uuid import uuid4

import mcp_types
from anyio.abc import TaskGroup
from mcp.server import ServerRequestContext, subscriptions
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.dispatcher import Outbound
from mcp.shared.exceptions import MCPError
from mcp_types import LOG_LEVEL_META_KEY, ClientCapabilities, LoggingLevel
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcpg.gateway.serve import PROMPT, READ, SEARCH
from mcpg.gateway.serve.answers import REST_META_KEY, bound_error, line, size
from mcpg.sources.live.requests import Caller, Progress
from mcpg.sources.live.server_requests import ELICITATION, ROOTS, SAMPLING
from mcpg.text.json_values import JsonObject

Context = ServerRequestContext[Any, Any]

_INPUT = ("inputResponses", "requestState")
SESSION_META_KEY = "mcpg/session"
"""The member of `_meta` by which a client of a protocol without sessions names its session."""

_KEY_CHARACTERS = 16, 256
_PROGRESS_TOKEN = "progressToken"  # noqa: S105 - the name of a member
_OURS = (_PROGRESS_TOKEN, SESSION_META_KEY)
_OF_PROTOCOL = "io.modelcontextprotocol/"


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request of a client.

    Attributes:
        session: The session that the request belongs to; see `Gateway.invoke`.
        holder: The session that its result is kept for if it is cut; "" for a client without one.
        meta: Its `_meta`, without members that only concern the connection to us.
        version: The version of the protocol that the client uses.
        params: Its parameters that give a server the input that it has required.
    """

    progress: Progress | None = None
    session: str = ""
    holder: str = field(default="", repr=False)
    meta: JsonObject = field(default_factory=dict)
    version: str = ""
    params: JsonObject = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context, caller: Any, own: str = "") -> Self:
        given = context.params or {}
        stated = given.get("_meta")
        meta: JsonObject = {
            key: value
            for key, value in (stated if isinstance(stated, dict) else {}).items()
            if key == LOG_LEVEL_META_KEY or not (key in _OURS or key.startswith(_OF_PROTOCOL))
        }
        if caller.level is not None:
            meta.setdefault(LOG_LEVEL_META_KEY, caller.level)
        params = {name: given[name] for name in _INPUT if name in given}
        session = derive_session_id(context, own)
        version, holder = context.protocol_version, find_session(context)
        return cls(caller.report, session, holder, meta, version, params)

    def options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("progress", "session", "meta", "params")}


def session_key(context: Context) -> str | None:
    """Return the session that a request names, `None` for none.

    Raises `MCPError` if it is not a text, or so short that others may guess it.
    """
    key = (context.meta or {}).get(SESSION_META_KEY)
    if key is None:
        return None
    least, most = _KEY_CHARACTERS
    if not isinstance(key, str) or not least <= len(key) <= most:
        message = f"`{SESSION_META_KEY}` in `_meta` is not a text of {least} to {most} characters"
        raise MCPError(mcp_types.INVALID_PARAMS, message)
    return key


_unaltered: ContextVar[list[JsonObject] | None] = ContextVar("_unaltered", default=None)
_ENVELOPE = ("resultType", "ttlMs", "cacheScope")


async def pass_unaltered(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Send results passed to `keep_unaltered` with all their members, as middleware.

    The SDK drops unknown members, which newer servers and extensions send.
    """
    kept: list[JsonObject] = []
    token = _unaltered.set(kept)
    try:
        result = await call_next(ctx)
    finally:
        _unaltered.reset(token)
    if not kept or not isinstance(result, dict):
        return result
    own = {key: value for key, value in kept[-1].items() if key not in _ENVELOPE}
    return {**result, **own, **({"_meta": result["_meta"]} if "_meta" in result else {})}


def keep_unaltered(result: JsonObject) -> JsonObject:
    """Return *result*, the answer to the request that is being handled, for `pass_unaltered`."""
    kept = _unaltered.get()
    if kept is not None:
        kept.append(result)
    return {"resultType": "complete", **result}


def make_mcp_error(error: JsonObject, budget: int) -> MCPError:
    """Return the JSON-RPC *error* of a server as an exception of at most *budget* bytes."""
    error = bound_error(error, budget)
    code, message = error["code"], error["message"]
    return MCPError(
        code if isinstance(code, int) else mcp_types.INTERNAL_ERROR, str(message), error.get("data")
    )


_SESSION_HEADER = "mcp-session-id"
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def find_session(context: Context) -> str:
    """Return the session of a request over HTTP: the protocol's, or a session that it names.

    The empty text means none, and the only client of standard input and output.
    """
    if context.request is None:
        return ""
    return str(context.request.headers.get(_SESSION_HEADER) or session_key(context) or "")


def derive_session_id(context: ServerRequestContext[Any, Any], own: str) -> str:
    """Return an opaque id of the conversation that a request to the server *own* belongs to.

    Over standard input there is one client. Over HTTP it is the session of the protocol; a request
    of a protocol without sessions may name one or a W3C trace, and otherwise gets an id of its own.
    """
    if context.request is None:
        return own
    known = find_session(context)
    if not known:
        stated = (context.meta or {}).get("traceparent")
        trace = _TRACE_PARENT.fullmatch(stated) if isinstance(stated, str) else None
        known = trace[1] if trace else uuid4().hex
    # The id of a session is a secret: anyone who has it can use the session.
    named = known.encode("utf-8", "surrogatepass")  # any text of JSON
    return blake2b(named, key=own.encode(), digest_size=16).hexdigest()


MOST_FOUND = 8
"""Maximum number of found tools in a list."""

_FINDING = ("matches", "prerequisites")
_READERS = {"resources": READ, "prompts": PROMPT}


@dataclass(eq=False, slots=True)
class FoundTools:
    """The found tools of one client, in the order of its list.

    If the list is full, the tools that were found or called longest ago make room. The others
    keep their order, and new ones are added at the end, so that prompt caches can reuse the part
    before the first change.
    """

    _listed: tuple[str, ...] = ()
    _recent: dict[str, None] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def add(self, names: Iterable[str], exists: Callable[[str], bool]) -> bool:
        """Add the tools found by a search, best first; return whether the list has changed.

        Ignore names beyond the maximum, and names without a tool that *exists* and can be listed.
        """
        new = [*islice((name for name in dict.fromkeys(names) if exists(name)), MOST_FOUND)]
        if not new:
            return False
        for name in filter(exists, self._listed):
            self._recent.setdefault(name)
        for name in reversed(new):
            self._recent[name] = self._recent.pop(name, None)
        kept = [*filter(exists, self._recent)][-MOST_FOUND:]
        before, self._recent = self._listed, dict.fromkeys(kept)
        self._listed = tuple(name for name in dict.fromkeys((*before, *new)) if name in kept)
        return self._listed != before

    def note_call(self, name: str) -> None:
        """Record that a tool is called, so that others make room before it."""
        if name in self._recent:
            self._recent[name] = self._recent.pop(name)


@dataclass(slots=True)
class ClientView:
    """The tools that a client sees.

    Attributes:
        found: The tools that its searches have found; `None` for a client that cannot be
            recognized in its next request.
        sent: Hashes of the lists that it was sent since it was last notified of a change.
    """

    found: FoundTools | None
    sent: set[int] = field(default_factory=set)

    async def is_stale(self, current: Callable[[ClientView], Awaitable[int]]) -> bool:
        """Return whether the client has another list than the *current* one; forget it if so."""
        if not self.sent or not self.sent - {await current(self)}:
            return False
        self.sent.clear()
        return True


def found_names(name: str, result: JsonObject) -> list[str]:
    """Return the tools that the *result* of the tool *name* lets its client see, best first.

    A search finds its matches and their prerequisites. The tools that read resources
    and prompts are found with the first resource, prompt, link, or result that is cut.
    """
    if name != SEARCH:
        content: Any = result.get("content") or ()
        meta: Any = result.get("_meta") or {}
        is_linked = any(block.get("type") == "resource_link" for block in content)
        return [READ] if is_linked or REST_META_KEY in meta else []
    answer: Any = result.get("structuredContent") or {}
    readers = [reader for member, reader in _READERS.items() if member in answer]
    return readers + [one["toolId"] for member in _FINDING for one in answer.get(member, ())]


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
_CHANGED: dict[str, subscriptions.ServerEvent] = {
    "tools": subscriptions.ToolsListChanged(),
    "prompts": subscriptions.PromptsListChanged(),
    "resources": subscriptions.ResourcesListChanged(),
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
    """Check that a client accepts a request; raises `MCPError`, like the SDK, if not."""
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
        raise MCPError(mcp_types.INVALID_REQUEST, _REFUSALS.get(method, "Request not supported"))


@dataclass(slots=True)
class _UnreadNotifications:
    """The notifications that a client has yet to read, each of which takes some room.

    The same change is announced once, regardless of room. Others are dropped if no room is left, so
    that a client that has stopped reading takes no more memory.
    """

    _changes: set[tuple[str, str] | None] = field(default_factory=set)
    _bytes: int = 0

    async def notify(self, channel: Outbound, method: str, params: JsonObject) -> None:
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


@dataclass(eq=False, slots=True)
class Client:
    """A connected client of the protocol up to 2025-11-25.

    Attributes:
        connection: Its connection.
        identity: Its identity, which no later client has.
        level: The least level of log messages that it requested, `None` for any.
        uris: The resources that it has subscribed to, by its addresses.
        view: The tools that it sees.
    """

    connection: Connection
    identity: Hashable = field(default_factory=object)
    level: str | None = None
    uris: set[str] = field(default_factory=set)
    view: ClientView = field(default_factory=lambda: ClientView(FoundTools()))
    _unread: _UnreadNotifications = field(default_factory=_UnreadNotifications)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Return its response to a request that does not belong to a request of its own."""
        check_capability(self.connection.client_capabilities, method, params)
        return await self.connection.send_raw_request(method, params or None)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification, unless it is a log message below its level."""
        if method != _MESSAGE or is_logged(params, self.level):
            await self._unread.notify(self.connection, method, params)


def is_logged(params: Mapping[str, Any], level: str | None) -> bool:
    """Return whether a log message is at least of *level*, `None` for any."""
    stated = params.get("level")
    if level not in _LEVELS or stated not in _LEVELS:
        return True
    return _LEVELS.index(stated) >= _LEVELS.index(level)


def least_level(clients: Iterable[Client]) -> str | None:
    """Return the least level of log messages that any of *clients* has requested."""
    stated = {one.level for one in clients}
    return next((level for level in _LEVELS if level in stated), None)


class Clients:
    """The connected clients, notified when lists or resources change.

    Clients of the protocol up to 2025-11-25 are notified over their connection, later ones over
    their subscriptions.

    Attributes:
        left: Called with each client that leaves.
        listen: Serves subscriptions.
        group: Runs notifications, so that no client waits for another that does not read.
    """

    def __init__(self, left: Callable[[Client], None]) -> None:
        self.left = left
        self.group: TaskGroup | None = None
        self._bus = subscriptions.InMemorySubscriptionBus()
        self._clients: dict[int, Client] = {}
        # Over standard input and output there is one client; over HTTP, later versions of the
        # protocol do not identify a client.
        self._only, self._strangers = ClientView(FoundTools()), ClientView(None)
        self.listen = subscriptions.ListenHandler(self._bus, max_subscriptions=_MOST_LISTENERS)

    def __iter__(self) -> Iterator[Client]:
        yield from list(self._clients.values())

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
            connection.exit_stack.callback(lambda: self.left(self._clients.pop(id(connection))))
        return client

    def view(self, context: Context) -> ClientView:
        client = self.of(context)
        if client is not None:
            return client.view
        return self._only if context.request is None else self._strangers

    def tell(self, client: Client, method: str, params: JsonObject) -> None:
        if self.group is not None:
            self.group.start_soon(client.tell, method, params)

    def tell_all(self, method: str, params: JsonObject) -> None:
        for client in self:
            self.tell(client, method, params)

    async def relist(self, current: Callable[[ClientView], Awaitable[int]]) -> None:
        """Notify the clients that were sent another list of tools than the *current* one."""
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
        for client in self:
            for uri in sorted(client.uris & uris):
                self.tell(client, _UPDATED, {"uri": uri})
        for uri in sorted(uris):
            await self._bus.publish(subscriptions.ResourceUpdated(uri))


class RequestCaller:
    """A client, `None` without a connection, during one of its requests.

    Messages to it are related to the request, or its repetition with input, *context*.
    """

    def __init__(self, context: Context, client: Client | None) -> None:
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
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Return the client's response to the request of a server; raises its `MCPError`."""
        check_capability(self.context.session.client_capabilities, method, params)
        # The channel of the request: over HTTP, the stream of its response.
        channel = self.context.session._request_outbound  # noqa: SLF001 - typed methods alter it
        return await channel.send_raw_request(method, params or None)

    async def report(self, done: float, total: float | None, message: str | None) -> None:
        shown = None if message is None else line(message, _PROGRESS)
        await self.context.session.report_progress(done, total, shown)

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a server's notification to the client, except log messages below its level."""
        if method == _MESSAGE:
            meta = (self.context.params or {}).get("_meta") or {}
            stated = meta.get(LOG_LEVEL_META_KEY)
            wanted = self.level if self._client is not None else stated
            is_unasked = self._client is None and stated not in _LEVELS
            if is_unasked or not is_logged(params, wanted):
                return
        channel = self.context.session._request_outbound  # noqa: SLF001 - as above
        await self._unread.notify(channel, method, params)
