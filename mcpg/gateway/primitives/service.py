"""Prompts and resources of the servers of a gateway: listed, read, completed and subscribed to."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from mcpg.errors import McpgError, NotFoundError
from mcpg.gateway.calls import CallError, Limits
from mcpg.gateway.primitives.directory import (
    NOTHING,
    Directory,
    ResourceLinks,
    ServerItem,
    build_directory,
)
from mcpg.gateway.primitives.lists import ServerLists, list_all
from mcpg.gateway.server_state import Backoff
from mcpg.gateway.sessions import RequestTimeout
from mcpg.gateway.sources import ServerSource, Source
from mcpg.json_types import JsonObject
from mcpg.sources.client_config import Server
from mcpg.sources.live.requests import current_caller, current_session

if TYPE_CHECKING:
    from mcpg.gateway.sessions import Sessions
    from mcpg.sources.live.requests import Progress

LISTING_SECONDS = 10.0
"""Time of all servers to list their prompts and resources; slower ones are known by the last."""

SLOW_SECONDS = 30.0
"""Seconds for which a server that failed is not queried again, so that no list waits for it."""

_RECENT = 1.0
_SHOWN = 200


class RequestError(McpgError):
    """A server responded with an error, or not at all.

    Attributes:
        error: The JSON-RPC error of the server, `None` if it did not respond.
    """

    def __init__(self, fault: CallError) -> None:
        super().__init__(fault.message)
        self.error = fault.error


class _KnownLists:
    """The lists of a server, as it last sent them, and when it is queried again."""

    def __init__(self) -> None:
        self.lists = ServerLists()
        self.is_fresh = False
        self.again = 0.0
        self.backoff = Backoff()

    def due(self, *, is_fresh: bool = False) -> float:
        """Return when it is queried; for *is_fresh* see `Primitives.listed`."""
        again = max(self.again, self.backoff.until)
        return math.inf if self.is_fresh and not is_fresh else again


class Primitives:
    """The prompts and resources of the servers of a gateway."""

    def __init__(
        self, sources: Callable[[], tuple[Source, ...]], sessions: Sessions, limits: Limits
    ) -> None:
        """Serve the prompts and resources of *sources*; nothing is listed yet."""
        self._sources = sources
        self._sessions = sessions
        self._limits = limits
        self._known: dict[str, _KnownLists] = {}
        self._links = ResourceLinks()
        self._lock = anyio.Lock()
        self._directory: Directory | None = None

    @property
    def directory(self) -> Directory:
        """The directory as it was last listed."""
        return self._directory or NOTHING

    @property
    def due(self) -> float:
        """When the next server is listed that has announced a change, by the event loop's clock."""
        return min((one.due() for one in self._known.values()), default=math.inf)

    @property
    def servers(self) -> tuple[ServerSource, ...]:
        """The servers among the sources."""
        return tuple(one for one in self._sources() if isinstance(one, ServerSource))

    async def list_directory(self, *, is_fresh: bool = True) -> Directory:
        """Return the directory of all servers.

        Args:
            is_fresh: Whether servers are queried that announce no changes; else only those that
                have announced one and are due, or were never queried.
        """
        async with self._lock:
            servers, now = self.servers, anyio.current_time()
            wanted = [one for one in servers if self._of(one).due(is_fresh=is_fresh) <= now]
            with anyio.move_on_after(LISTING_SECONDS):
                async with anyio.create_task_group() as group:
                    for source in wanted:
                        group.start_soon(self._list, source)
            self._known = {one.id: self._of(one) for one in servers}
            found = build_directory((one, self._of(one).lists) for one in servers)
            if found != self._directory:
                self._directory = found
            return self.directory

    def invalidate(self, server: Server) -> None:
        """Record that a server has announced a change of its lists."""
        for source in self.servers:
            if source.server == server:
                known = self._of(source)
                known.is_fresh, known.again = False, 0.0
                known.backoff.record_announcement()

    def record_call(self, source: Source | None) -> None:
        """Record a call of a tool of *source*, which may have changed what it would list."""
        if isinstance(source, ServerSource):
            known = self._of(source)
            if known.again <= anyio.current_time() + _RECENT:  # not one that is too slow
                known.again = known.backoff.until = 0.0

    def rewrite_addresses(self, result: JsonObject, source: Source | None) -> JsonObject:
        """Return a result of *source* with addresses by which its resources are read here."""
        if not isinstance(source, ServerSource):
            return result
        return self._links.rewrite_addresses(result, source, self.directory)

    async def read(self, uri: str, params: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the result of `resources/read`.

        Args:
            uri: The address.
            params: Further parameters of the request.
            progress: Receives progress that the server reports.

        Raises:
            NotFoundError: No server has the resource.
            RequestError: Its server responds with an error, or not at all.
        """
        place = await self.resource(uri)
        return await self._request(
            place.source, "resources/read", {**params, "uri": place.key}, progress
        )

    async def resource(self, uri: str) -> ServerItem:
        """Return where the resource at *uri* is.

        An address that no server lists belongs to the server that gave it out, or to the only one
        with resources.

        Raises:
            NotFoundError: No server has it.
        """
        directory = await self._latest()
        owner = self._links.owner(uri)
        place = directory.resource(uri) or (ServerItem(owner, uri) if owner is not None else None)
        if place is None and (only := await self._only()) is not None:
            place = ServerItem(only, uri)
        if place is None:
            raise NotFoundError(
                f"no server has the resource {uri[:_SHOWN]!r}",
                remedy="list the resources and templates",
            )
        return place

    async def prompt(self, name: str, params: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the result of `prompts/get`; for the arguments see `read`.

        Raises:
            NotFoundError: No server has the prompt.
            RequestError: Its server responds with an error, or not at all.
        """
        place = (await self._latest()).prompt(name)
        if place is None:
            place = (await self.list_directory()).prompt(name)
        if place is None:
            raise NotFoundError(f"no server has the prompt {name[:_SHOWN]!r}", remedy="list them")
        return await self._request(
            place.source, "prompts/get", {**params, "name": place.key}, progress
        )

    async def complete(self, params: JsonObject) -> JsonObject:
        """Return the result of `completion/complete`.

        Raises:
            NotFoundError: No server has the prompt or the template.
            RequestError: Its server responds with an error, or not at all.
        """
        ref: Any = params.get("ref")
        directory = await self._latest()
        is_prompt = ref.get("type") == "ref/prompt"
        member = "name" if is_prompt else "uri"
        key = str(ref.get(member))
        place = directory.prompt(key) if is_prompt else directory.template(key)
        if place is None:
            raise NotFoundError(f"no server has {key[:_SHOWN]!r}", remedy="list them")
        given: JsonObject = {**params, "ref": {**ref, member: place.key}}
        return await self._request(place.source, "completion/complete", given, None)

    async def watch(self, uris: frozenset[str]) -> dict[tuple[str, str], str]:
        """Subscribe to the resources *uris*, and to no others.

        Returns:
            The addresses by which they were asked for, by source and address there.
        """
        found: dict[tuple[str, str], str] = {}
        for uri in sorted(uris):
            with suppress(NotFoundError):  # its server was removed
                place = await self.resource(uri)
                found[place.source.id, place.key] = uri
        for source in self.servers:
            own = frozenset(key for owner, key in found if owner == source.id)
            self._sessions.watch(source.server, own)
        return found

    async def _latest(self) -> Directory:
        if self._directory is None or not all(self._of(one).is_fresh for one in self.servers):
            return await self.list_directory(is_fresh=False)
        return self._directory

    async def _only(self) -> ServerSource | None:
        """Return the only server that declares resources."""
        found = []
        for source in self.servers:
            try:
                declared = await self._sessions.capabilities(source.server)
            except CallError:
                continue
            if "resources" in declared:
                found.append(source)
        return found[0] if len(found) == 1 else None

    async def _list(self, source: ServerSource) -> None:
        known = self._of(source)
        known.is_fresh = True  # before the query: a change during it needs another
        known.again = anyio.current_time() + SLOW_SECONDS
        current_caller.set(None)  # what is listed is for all
        current_session.set("")
        before = known.lists

        async def send(method: str, params: JsonObject) -> JsonObject:
            return await self._sessions.request(
                source.server, method, params, timeout=LISTING_SECONDS
            )

        try:
            declared = await self._sessions.capabilities(source.server)
            known.lists = await list_all(declared, send, before)
            known.again = min(known.again, anyio.current_time() + _RECENT)
        except CallError:
            return
        finally:
            known.backoff.record_list(has_changed=known.lists != before)

    def _of(self, source: ServerSource) -> _KnownLists:
        return self._known.setdefault(source.id, _KnownLists())

    async def _request(
        self, source: ServerSource, method: str, params: JsonObject, progress: Progress | None
    ) -> JsonObject:
        seconds = self._limits.seconds(source.server.timeout)
        end = anyio.current_time() + self._limits.longest_seconds
        try:
            result = await self._sessions.request(
                source.server,
                method,
                params,
                timeout=RequestTimeout(seconds, seconds, end),
                progress=progress,
            )
        except CallError as fault:
            raise RequestError(fault) from None
        return self.rewrite_addresses(result, source)
