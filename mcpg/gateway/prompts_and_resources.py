"""Prompts and resources of the servers of a gateway: listed, read, completed and subscribed to."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

import anyio
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from mcpg.catalog.catalog import SOURCE_FALLBACK, normalize
from mcpg.catalog.json_text import repair_surrogates
from mcpg.errors import McpgError, NotFoundError
from mcpg.gateway.calls import CallError, Limits
from mcpg.gateway.sessions import Backoff, RequestTimeout, Sessions
from mcpg.gateway.views import ItemKind, View
from mcpg.sources.client_config import Server
from mcpg.sources.live.client import MAX_PAGES, is_repeated
from mcpg.sources.live.requests import Progress, current_caller, current_session
from mcpg.sources.registry import ServerSource, Source
from mcpg.text.json_values import JsonObject


class _Kind(NamedTuple):
    """How a server lists a kind of items.

    Attributes:
        method: The method that lists them.
        member: The member of its result that holds them.
        key: The member that identifies an item.
        most: How many are read.
    """

    method: str
    member: str
    key: str
    most: int


_KINDS = {
    "resources": _Kind("resources/list", "resources", "uri", 20_000),
    "templates": _Kind("resources/templates/list", "resourceTemplates", "uriTemplate", 1_000),
    "prompts": _Kind("prompts/list", "prompts", "name", 20_000),
}
_ENVELOPE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_VERSIONS = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)

_Lists = dict[str, tuple[JsonObject, ...]]
"""What a server lists beside its tools, by the names of `_KINDS`."""


async def _list_kind(
    kind: _Kind,
    send: Callable[[str, JsonObject], Awaitable[JsonObject]],
    before: tuple[JsonObject, ...],
) -> tuple[JsonObject, ...]:
    """Return the valid items of all pages, each once, or those *before* where that fails."""
    found: dict[str, JsonObject] = {}
    cursor: Any = None
    known: set[str] = set()
    try:
        for _ in range(MAX_PAGES):
            page = await send(kind.method, {} if cursor is None else {"cursor": cursor})
            stated = page.get(kind.member)
            items = stated if isinstance(stated, list) else []
            for item in items:
                if isinstance(item, dict) and _is_valid(kind, item):
                    repaired: Any = repair_surrogates(item, "", [])
                    found.setdefault(repaired[kind.key], repaired)
            cursor = page.get("nextCursor")
            is_last = not isinstance(cursor, str) or is_repeated(items, kind.key, known)
            if is_last or len(found) >= kind.most:
                break
    except CallError as fault:
        # A server that claims a capability and does not have it lists nothing.
        return () if fault.error is not None else before
    return tuple(islice(found.values(), kind.most))


def _is_valid(kind: _Kind, item: JsonObject) -> bool:
    """Return whether clients of all versions accept a list with *item*."""
    try:
        for version in _VERSIONS:
            validate_server_result(kind.method, version, {**_ENVELOPE, kind.member: [item]})
    except ValidationError:
        return False
    return bool(item.get(kind.key))


SCHEME = "mcpg://"
_MOST_LINKS = 10_000
# Comparing an address with a template takes time by its length.
_MOST_MATCHES, _LONGEST_MATCHED = 10_000, 2000


class ServerItem(NamedTuple):
    """A prompt or a resource on its server, and its name or address there."""

    source: ServerSource
    key: str


@dataclass(frozen=True)
class Directory:
    """The prompts and resources of all servers.

    Attributes:
        resources: Resources as entries of `resources/list`, by their addresses.
        templates: Templates as entries of `resources/templates/list`, by their texts.
        prompts: Prompts as entries of `prompts/list`, by their names.
        located: Where each is, by its kind and key.
        sources: The servers, by the names that stand in addresses.
    """

    resources: dict[str, JsonObject] = field(default_factory=dict)
    templates: dict[str, JsonObject] = field(default_factory=dict)
    prompts: dict[str, JsonObject] = field(default_factory=dict)
    located: dict[tuple[str, str], ServerItem] = field(default_factory=dict)
    sources: dict[str, ServerSource] = field(default_factory=dict)

    @cached_property
    def _matchers(self) -> list[tuple[UriTemplate, ServerItem]]:
        found = []
        for text in self.templates:
            try:
                template = UriTemplate.parse(text)
            except InvalidUriTemplate:
                continue
            found.append((template, self.located["templates", text]))
        return found

    def resource(self, uri: str) -> ServerItem | None:
        """Return where the resource at *uri* is, as lists and templates tell."""
        known = self.located.get(("resources", uri))
        if known is not None:
            return known
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        if uri.startswith(SCHEME) and name in self.sources and rest:
            return ServerItem(self.sources[name], rest)
        for template, place in self._matchers:
            if template.match(uri, max_uri_length=_LONGEST_MATCHED) is not None:
                return ServerItem(place.source, uri)
        return None

    def find_changes(self, before: Directory) -> list[str]:
        is_same = {
            "prompts": self.prompts == before.prompts,
            "resources": (self.resources, self.templates) == (before.resources, before.templates),
        }
        return [kind for kind in is_same if not is_same[kind]]

    def prefix_uri(self, source: ServerSource, uri: str) -> str:
        name = next((name for name, one in self.sources.items() if one.id == source.id), "")
        return f"{SCHEME}{name}/{uri}" if name else uri


NOTHING = Directory()
"""The directory before anything was listed."""


def build_directory(lists: Iterable[tuple[ServerSource, _Lists]]) -> Directory:
    """Return the directory of servers in their order, which decides whose names stay."""
    found = Directory()
    listed = list(lists)
    for source, _ in listed:
        name = unique = normalize(source.id, SOURCE_FALLBACK)
        number = 1
        while unique in found.sources:
            number += 1
            unique = f"{name}-{number}"
        found.sources[unique] = source
    for (source, one), name in zip(listed, found.sources, strict=True):
        pairs = [(kind, item) for kind in _KINDS for item in one[kind]]
        for kind, item in pairs:
            items, member = getattr(found, kind), _KINDS[kind].key
            key = shown = str(item[member])
            # An address that begins like ours could pass for one of another server.
            is_ours = key.startswith(SCHEME) and kind != "prompts"
            if key in items or is_ours:
                shown = f"{name}_{key}" if kind == "prompts" else f"{SCHEME}{name}/{key}"
            number = 1
            while shown in items:
                number += 1
                shown = f"{name}_{key}_{number}"
            given = item.get("_meta")
            meta: JsonObject = {**(given if isinstance(given, dict) else {}), "sourceId": source.id}
            items[shown] = {**item, member: shown, "_meta": meta}
            found.located[kind, shown] = ServerItem(source, key)
    return found


def _rewrite_item(item: Any, address: Callable[[str], str]) -> Any:
    """Return an item of a result with the *address* of the resource that it has or links to."""
    if not isinstance(item, dict):
        return item
    if isinstance(item.get("content"), dict):  # a message of a prompt
        return {**item, "content": _rewrite_item(item["content"], address)}
    if isinstance(item.get("resource"), dict) and item.get("type") == "resource":
        return {**item, "resource": _rewrite_uri(item["resource"], address)}
    return _rewrite_uri(item, address) if item.get("type") in {None, "resource_link"} else item


def _rewrite_uri(item: JsonObject, address: Callable[[str], str]) -> JsonObject:
    uri = item.get("uri")
    if not isinstance(uri, str) or (shown := address(uri)) == uri:
        return item
    return {**item, "uri": shown}


LISTING_SECONDS = 10.0
"""Time of all servers to list their prompts and resources; slower ones are known by the last."""

SLOW_SECONDS = 30.0
"""Seconds for which a server that failed is not queried again, so that no list waits for it."""

_RECENT = 1.0
_SHOWN = 200


class RequestError(McpgError):
    """A server responded with a JSON-RPC *error*, or, where that is `None`, not at all."""

    def __init__(self, fault: CallError) -> None:
        super().__init__(fault.message)
        self.error = fault.error


@dataclass(slots=True)
class _KnownLists:
    """The lists of a server, as it last sent them, and when it is queried again."""

    lists: _Lists = field(default_factory=lambda: dict.fromkeys(_KINDS, ()))
    is_fresh: bool = False
    again: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)

    def due(self, *, is_fresh: bool = False) -> float:
        """Return when it is queried; for *is_fresh* see `Primitives.list_directory`."""
        return math.inf if self.is_fresh and not is_fresh else max(self.again, self.backoff.until)


@dataclass(eq=False, slots=True)
class Primitives:
    """The prompts and resources of the servers of a gateway.

    Attributes:
        sources: Returns the sources of the gateway.
        views: What clients see: what all of these views show.
    """

    sources: Callable[[], tuple[Source, ...]]
    sessions: Sessions
    limits: Limits
    views: tuple[View, ...] = ()
    _known: dict[str, _KnownLists] = field(default_factory=dict)
    # Addresses that servers have given out without listing them, the latest ones.
    _owners: OrderedDict[str, ServerSource] = field(default_factory=OrderedDict)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _directory: Directory | None = None

    def narrow(
        self, sources: Callable[[], tuple[Source, ...]], views: tuple[View, ...]
    ) -> Primitives:
        """Return what all *views* show of these, which are listed once for both."""
        lists = self._known, OrderedDict[str, ServerSource](), self._lock
        return Primitives(sources, self.sessions, self.limits, views, *lists)

    @property
    def directory(self) -> Directory:
        return self._directory or NOTHING

    @property
    def due(self) -> float:
        """When the next server is listed that has announced a change, by the event loop's clock."""
        known = (self._known.get(one.id) for one in self.servers)
        return min((one.due() for one in known if one is not None), default=math.inf)

    @property
    def servers(self) -> tuple[ServerSource, ...]:
        return tuple(one for one in self.sources() if isinstance(one, ServerSource))

    async def list_directory(self, *, is_fresh: bool = True) -> Directory:
        """Return the directory of all servers.

        Where it need not be *is_fresh*, only those servers are queried that have announced a change
        and are due, or were never queried.
        """
        async with self._lock:
            servers, now = self.servers, anyio.current_time()
            wanted = [one for one in servers if self._find_known(one).due(is_fresh=is_fresh) <= now]
            with anyio.move_on_after(LISTING_SECONDS):
                async with anyio.create_task_group() as group:
                    for source in wanted:
                        group.start_soon(self._list, source)
            found = build_directory((one, self._find_shown(one)) for one in servers)
            if found != self._directory:
                self._directory = found
            return self.directory

    def invalidate(self, server: Server) -> None:
        for source in self.servers:
            if source.server == server:
                known = self._find_known(source)
                known.is_fresh, known.again = False, 0.0
                known.backoff.record_announcement()

    def forget(self, source: Source) -> None:
        """Drop what is known of a *source* that was removed."""
        self._known.pop(source.id, None)

    def record_call(self, source: Source | None) -> None:
        """Record a call of a tool of *source*, which may have changed what it would list."""
        if isinstance(source, ServerSource):
            known = self._find_known(source)
            if known.again <= anyio.current_time() + _RECENT:  # not one that is too slow
                known.again = known.backoff.until = 0.0

    def rewrite_addresses(self, result: JsonObject, source: Source | None) -> JsonObject:
        """Return a result of *source* with addresses by which clients can read its resources.

        If there are too many to compare all with templates, all have the name of *source*.
        """
        if not isinstance(source, ServerSource):
            return result
        changed = dict(result)
        for member in ("content", "contents", "messages"):
            items = result.get(member)
            if isinstance(items, list):
                address = partial(self._make_address, source)
                if len(items) * len(self.directory.templates) > _MOST_MATCHES:
                    address = partial(self.directory.prefix_uri, source)
                changed[member] = [_rewrite_item(one, address) for one in items]
        return changed if changed != result else result

    def _make_address(self, source: ServerSource, uri: str) -> str:
        """Return the address of a resource that *source* has given out."""
        place = self.directory.resource(uri)
        if place is not None:
            is_own = (place.source.id, place.key) == (source.id, uri)
        else:
            owner = self._owners.setdefault(uri, source)
            self._owners.move_to_end(uri)
            while len(self._owners) > _MOST_LINKS:
                self._owners.popitem(last=False)
            is_own = owner.id == source.id
        return uri if is_own else self.directory.prefix_uri(source, uri)

    async def read(self, uri: str, params: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the result of `resources/read`, with further *params*.

        Raises `NotFoundError` where no server has it, and `RequestError` where its server responds
        with an error, or not at all.
        """
        place = await self.resource(uri)
        return await self._request(
            place.source, "resources/read", {**params, "uri": place.key}, progress
        )

    async def resource(self, uri: str) -> ServerItem:
        """Return where the resource at *uri* is; raises `NotFoundError` where no server has it.

        An address that no server lists belongs to the server that gave it out, or to the only one
        with resources.
        """
        place = (await self._latest()).resource(uri)
        if place is None:
            owners = [self._owners[uri]] if uri in self._owners else []
            for source in self.servers if not owners and self._shows("resources") else ():
                with suppress(CallError):
                    if "resources" in await self.sessions.capabilities(source.server):
                        owners.append(source)
            place = ServerItem(owners[0], uri) if len(owners) == 1 else None
        if place is None or not self._shows("resources"):
            raise NotFoundError(
                f"no server has the resource {uri[:_SHOWN]!r}",
                remedy="list the resources and templates",
            )
        return place

    async def prompt(self, name: str, params: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the result of `prompts/get`, with further *params*.

        Raises `NotFoundError` where no server has it, and `RequestError` where its server responds
        with an error, or not at all.
        """
        wanted = "prompts", name
        place = (await self._latest()).located.get(wanted)
        if place is None:
            place = (await self.list_directory()).located.get(wanted)
        if place is None:
            raise NotFoundError(f"no server has the prompt {name[:_SHOWN]!r}", remedy="list them")
        return await self._request(
            place.source, "prompts/get", {**params, "name": place.key}, progress
        )

    async def complete(self, params: JsonObject) -> JsonObject:
        """Return the result of `completion/complete`.

        Raises `NotFoundError` where no server has it, and `RequestError` where its server responds
        with an error, or not at all.
        """
        ref: Any = params.get("ref")
        directory = await self._latest()
        is_prompt = ref.get("type") == "ref/prompt"
        kind, member = ("prompts", "name") if is_prompt else ("templates", "uri")
        key = str(ref.get(member))
        place = directory.located.get((kind, key))
        if place is None and not is_prompt and self._shows("templates"):
            place = directory.resource(key)
        if place is None:
            raise NotFoundError(f"no server has {key[:_SHOWN]!r}", remedy="list them")
        given: JsonObject = {**params, "ref": {**ref, member: place.key}}
        return await self._request(place.source, "completion/complete", given, None)

    async def watch(self, uris: frozenset[str]) -> dict[tuple[str, str], str]:
        """Subscribe to the resources *uris*, and to no others.

        Returns the addresses by which they were asked for, by source and address there.
        """
        found: dict[tuple[str, str], str] = {}
        for uri in sorted(uris):
            with suppress(NotFoundError):  # its server was removed
                place = await self.resource(uri)
                found[place.source.id, place.key] = uri
        for source in self.servers:
            own = frozenset(key for owner, key in found if owner == source.id)
            self.sessions.watch(source.server, own, by=self)
        return found

    def _shows(self, kind: str) -> bool:
        shown = ItemKind.PROMPT if kind == "prompts" else ItemKind.RESOURCE
        return all(view.shows_kind(shown) for view in self.views)

    def _find_shown(self, source: ServerSource) -> _Lists:
        lists = self._find_known(source).lists
        return {kind: items if self._shows(kind) else () for kind, items in lists.items()}

    async def _latest(self) -> Directory:
        if self._directory is None or not all(
            self._find_known(one).is_fresh for one in self.servers
        ):
            return await self.list_directory(is_fresh=False)
        return self._directory

    async def _list(self, source: ServerSource) -> None:
        known = self._find_known(source)
        known.is_fresh = True  # before the query: a change during it needs another
        known.again = anyio.current_time() + SLOW_SECONDS
        current_caller.set(None)  # what is listed is for all
        current_session.set("")
        before = known.lists

        async def send(method: str, params: JsonObject) -> JsonObject:
            return await self.sessions.request(
                source.server, method, params, timeout=LISTING_SECONDS
            )

        try:
            declared = await self.sessions.capabilities(source.server)
            known.lists = {
                name: await _list_kind(kind, send, before[name])
                if kind.method.partition("/")[0] in declared
                else ()
                for name, kind in _KINDS.items()
            }
            known.again = min(known.again, anyio.current_time() + _RECENT)
        except CallError:
            return
        finally:
            known.backoff.record_list(has_changed=known.lists != before)

    def _find_known(self, source: ServerSource) -> _KnownLists:
        return self._known.setdefault(source.id, _KnownLists())

    async def _request(
        self, source: ServerSource, method: str, params: JsonObject, progress: Progress | None
    ) -> JsonObject:
        seconds = self.limits.seconds(source.server.timeout)
        end = anyio.current_time() + self.limits.longest_seconds
        try:
            result = await self.sessions.request(
                source.server,
                method,
                params,
                timeout=RequestTimeout(seconds, seconds, end),
                progress=progress,
            )
        except CallError as fault:
            raise RequestError(fault) from None
        return self.rewrite_addresses(result, source)
