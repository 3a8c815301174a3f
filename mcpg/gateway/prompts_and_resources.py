"""Prompts, resources and skills of the servers of a gateway: read, completed and subscribed to."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio

from mcpg.errors import Code, Diagnostic, McpgError, NotFoundError, warning
from mcpg.gateway import skills
from mcpg.gateway.calls import CallError, FaultCode, Limits
from mcpg.gateway.directory import (
    KINDS,
    NOTHING,
    Directory,
    Lists,
    ServerItem,
    build_directory,
    find_below,
    find_extensions,
    list_kind,
    read_item,
    rewrite_item,
    rewrite_uri,
)
from mcpg.gateway.sessions import Backoff, RequestTimeout, Sessions
from mcpg.gateway.views import ItemKind, View
from mcpg.skills.folder import Skill
from mcpg.sources.client_config import Server
from mcpg.sources.live.requests import Progress, current_caller, current_session
from mcpg.sources.registry import ServerSource, Source
from mcpg.text.json_values import JsonObject

LISTING_SECONDS = 10.0
"""Time of all servers to list their prompts and resources; slower ones are known by the last."""

SLOW_SECONDS = 30.0
"""Seconds for which a server that failed is not queried again, so that no list waits for it."""

_RECENT = 1.0
_SHOWN = 200
_MOST_FAULTS, _MOST_UNLISTED, _MOST_LINKS = 20, 1000, 10_000
# Comparing an address with a template takes time by its length.
_MOST_MATCHES = 10_000
_SHOWN_KINDS = {"prompts": ItemKind.PROMPT, "skills": ItemKind.SKILL}


class RequestError(McpgError):
    """A server responded with a JSON-RPC *error*, or, if that is `None`, not at all."""

    def __init__(self, fault: CallError) -> None:
        super().__init__(fault.message)
        self.error = fault.error


@dataclass(slots=True)
class _KnownLists:
    """The lists of a server, as it last sent them, and the time of the next query.

    Attributes:
        lists: The lists.
        capabilities: Its declared capabilities, `None` if unknown.
        roots: The folders of its skills, folded.
        faults: The faults of its skills.
        changed: The digests of files that differed when they were read, by their addresses.
    """

    lists: Lists = field(default_factory=lambda: dict.fromkeys(KINDS, ()))
    capabilities: JsonObject | None = None
    roots: frozenset[str] = frozenset()
    faults: list[str] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)
    is_fresh: bool = False
    again: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)

    def note_skills(self, faults: list[str]) -> None:
        """Record the folders of the listed skills, and their *faults*."""
        entries = self.lists["skills"]
        self.roots = frozenset(skills.fold(skills.find_root(one)) for one in entries)
        self.faults = faults
        files = [one for entry in entries for one in skills.list_files(entry) if self.changed]
        promised = {(one["uri"], one["digest"]) for one in files}
        self.changed = {uri: one for uri, one in self.changed.items() if (uri, one) in promised}

    def due(self, *, is_fresh: bool = False) -> float:
        """Return the time of the next query; for *is_fresh* see `Primitives.list_directory`."""
        return math.inf if self.is_fresh and not is_fresh else max(self.again, self.backoff.until)


@dataclass(eq=False, slots=True)
class Primitives:
    """The prompts and resources of the servers of a gateway.

    Attributes:
        sources: Returns the sources of the gateway.
        find_local: Returns the skills of bundles and folders, as far as these have been read.
        views: The views; clients see what all of them show.
    """

    sources: Callable[[], tuple[Source, ...]]
    find_local: Callable[[], Awaitable[tuple[Skill, ...]]]
    sessions: Sessions
    limits: Limits
    views: tuple[View, ...] = ()
    _known: dict[str, _KnownLists] = field(default_factory=dict)
    # The latest unlisted addresses that servers have given out, and the folders of skills that they
    # serve without listing them.
    _owners: OrderedDict[str, ServerSource] = field(default_factory=OrderedDict)
    _unlisted: OrderedDict[str, ServerItem] = field(default_factory=OrderedDict)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _directory: Directory | None = None

    def narrow(
        self,
        sources: Callable[[], tuple[Source, ...]],
        find_local: Callable[[], Awaitable[tuple[Skill, ...]]],
        views: tuple[View, ...],
    ) -> Primitives:
        """Return the part that all *views* show; both share the servers' lists."""
        given = sources, find_local, self.sessions, self.limits, views
        return Primitives(*given, self._known, _lock=self._lock)

    @property
    def directory(self) -> Directory:
        return self._directory or NOTHING

    @property
    def due(self) -> float:
        """The next list of a server that has announced a change, by the event loop's clock."""
        known = (self._known.get(one.id) for one in self.servers)
        return min((one.due() for one in known if one is not None), default=math.inf)

    @property
    def servers(self) -> tuple[ServerSource, ...]:
        return tuple(one for one in self.sources() if isinstance(one, ServerSource))

    async def list_directory(self, *, is_fresh: bool = True) -> Directory:
        """Return the directory of all servers.

        Unless it must be *is_fresh*, only servers are queried that have announced a change and are
        due, or were never queried.
        """
        async with self._lock:
            servers, now = self.servers, anyio.current_time()
            wanted = [one for one in servers if self._find_known(one).due(is_fresh=is_fresh) <= now]
            with anyio.move_on_after(LISTING_SECONDS):
                async with anyio.create_task_group() as group:
                    for source in wanted:
                        group.start_soon(self._list, source)
            lists = [(one, self._find_shown(one)) for one in servers]
            found = build_directory(lists, await self.find_local())
            noticed = [one for source in servers for one in self._find_faults(source)]
            found = replace(found, diagnostics=tuple(noticed))
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
        """Forget a *source* that was removed."""
        self._known.pop(source.id, None)

    def record_call(self, source: Source | None) -> None:
        """Record a call of a tool of *source*, which may have changed its lists."""
        if isinstance(source, ServerSource):
            known = self._find_known(source)
            if known.again <= anyio.current_time() + _RECENT:  # except a slow one
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
                changed[member] = [rewrite_item(one, address) for one in items]
        return changed if changed != result else result

    def _make_address(self, source: ServerSource, uri: str) -> str:
        """Return the address of a resource that *source* has given out."""
        roots = self.directory.roots
        moved = self.directory.prefix_uri(source, uri) if roots else uri
        if moved != uri and find_below(moved, roots) is not None:
            return moved  # as other files of a renamed skill
        place = self._find(uri)
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

        Raises `NotFoundError` if no server has it, and `RequestError` if its server responds
        with an error, or not at all.
        """
        local = (await self._latest()).find_local(uri)
        if local is not None:
            return skills.read_file(*local, uri)
        place = await self.resource(uri)
        result = await self._request(
            place.source, "resources/read", {**params, "uri": place.key}, progress
        )
        self._verify(uri, place, result)
        return result

    async def resource(self, uri: str) -> ServerItem:
        """Return where the resource at *uri* is; raises `NotFoundError` if no server has it.

        An address that no server lists belongs to the server that gave it out, or to the only one
        with resources.
        """
        await self._latest()
        place = self._find(uri)
        if place is None:
            owners = [self._owners[uri]] if uri in self._owners else []
            for source in self.servers if not owners and self._shows("resources") else ():
                with suppress(CallError):
                    if "resources" in await self.sessions.capabilities(source.server):
                        owners.append(source)
            place = ServerItem(owners[0], uri) if len(owners) == 1 else None
        if place is None or not self._may_read(uri, place):
            raise NotFoundError(
                f"no server has the resource {uri[:_SHOWN]!r}",
                remedy="list the resources and templates",
            )
        return place

    async def skill(self, uri: str, params: JsonObject) -> JsonObject:
        """Return the result of `skills/get`, with further *params*.

        A skill that is not listed comes from the first server that has it. Raises as `read` does.
        """
        directory = await self._latest()
        is_local = directory.find_local(uri) is not None
        if is_local and uri in directory.skills:
            return {"skill": directory.skills[uri]}
        place = directory.find_listed(uri) or find_below(uri, self._unlisted)
        result = None
        if place is not None and place.source in self._find_servers_of_skills():
            result = await self._get_skill(place, uri, params)
        elif place is None and not is_local:
            result = await self._get_unlisted(uri, params)
        if result is None:
            message = f"no server has the skill {uri[:_SHOWN]!r}"
            raise NotFoundError(message, remedy="list the skills")
        return result

    async def _get_unlisted(self, uri: str, params: JsonObject) -> JsonObject | None:
        """Return the skill at *uri* of the first server that has it, or `None`."""
        answers: dict[str, JsonObject] = {}

        async def get(source: ServerSource) -> None:
            with suppress(RequestError):
                answers[source.id] = await self._get_skill(ServerItem(source, uri), uri, params)

        servers = [one for one in self._find_servers_of_skills() if self._is_free(uri, one)]
        async with anyio.create_task_group() as group:
            for source in servers:
                group.start_soon(get, source)
        first = next((one for one in servers if one.id in answers), None)
        if first is None:
            return None
        root = skills.find_root({"uri": uri})
        self._unlisted[root] = ServerItem(first, root)
        self._unlisted.move_to_end(root)
        while len(self._unlisted) > _MOST_UNLISTED:
            self._unlisted.popitem(last=False)
        return answers[first.id]

    def _is_free(self, uri: str, source: ServerSource) -> bool:
        """Return whether no other server has a skill in the folder of an unlisted one at *uri*."""
        start = f"{skills.fold(skills.find_root({'uri': uri}))}/"
        directory = self.directory
        others = [one for one, place in directory.roots.items() if place.source.id != source.id]
        return not any(skills.fold(one).startswith(start) for one in (*others, *directory.local))

    async def _get_skill(self, place: ServerItem, uri: str, params: JsonObject) -> JsonObject:
        given: JsonObject = {**params, "uri": place.key}
        result = await self._request(place.source, "skills/get", given, None)
        try:
            entry = skills.read_entry(result.get("skill"))
        except ValueError as fault:
            raise RequestError(CallError(FaultCode.TOOL_FAILED, str(fault))) from None
        if entry["uri"] != place.key:
            message = "the server responded with another skill"
            raise RequestError(CallError(FaultCode.TOOL_FAILED, message))
        return {**result, "skill": skills.move_entry(entry, uri.removesuffix(place.key))}

    async def read_directory(self, uri: str, params: JsonObject) -> JsonObject:
        """Return the result of `resources/directory/read`, with further *params*.

        If a server does not read folders, its skills' files determine the folders. Raises as `read`
        does.
        """
        is_local = (await self._latest()).find_local(uri) is not None
        place = None if is_local else await self.resource(uri)
        if place is not None and self._reads_directories(place.source):
            given: JsonObject = {**params, "uri": place.key}
            result = await self._request(place.source, "resources/directory/read", given, None)
            stated: Any = result.get("resources")
            items = [read_item(KINDS["resources"], one, []) for one in stated or ()]
            address = partial(self._make_address, place.source)
            return {**result, "resources": [rewrite_uri(one, address) for one in items if one]}
        skill = self.directory.find_skill(uri)
        stated = skill["resources"] if skill is not None else []
        listed: Any = self.directory.resources
        if stated == skills.DYNAMIC:
            stated = listed.values()
        files = skills.list_folder(uri, [listed.get(one["uri"], one) for one in stated])
        if not files:
            message = f"no folder of a skill has the address {uri[:_SHOWN]!r}"
            raise NotFoundError(message, remedy="list the skills")
        return {"resources": [*files]}

    @property
    def skill_settings(self) -> JsonObject | None:
        """The settings of the extension for skills, `None` if no server has it.

        A server that has not been reached yet may have it.
        """
        if self.directory.local:
            return {skills.DIRECTORY_READ: True}
        if not self._shows("skills") or not self.servers:
            return None
        is_known = all(self._find_known(one).capabilities is not None for one in self.servers)
        if is_known and not self._find_servers_of_skills():
            return None
        reads = not is_known or any(map(self._reads_directories, self.servers))
        return {skills.DIRECTORY_READ: True} if reads else {}

    def _find_servers_of_skills(self) -> list[ServerSource]:
        """Return the servers with the extension for skills, none if these are hidden."""
        servers = self.servers if self._shows("skills") else ()
        return [one for one in servers if self._find_settings(one) is not None]

    def _find_settings(self, source: ServerSource) -> JsonObject | None:
        """Return the settings of the extension for skills of a server, `None` without it."""
        settings = find_extensions(self._find_known(source).capabilities or {}).get(
            skills.EXTENSION
        )
        return settings if isinstance(settings, dict) else None

    def _reads_directories(self, source: ServerSource) -> bool:
        return (self._find_settings(source) or {}).get(skills.DIRECTORY_READ) is True

    def _find(self, uri: str) -> ServerItem | None:
        """Return where the resource at *uri* is, if known."""
        known = self.directory
        found = known.find_listed(uri) or find_below(uri, self._unlisted)
        return found or known.match_template(uri)

    def _may_read(self, uri: str, place: ServerItem) -> bool:
        """Return whether the kind of the resource at *uri* is shown: files of skills are skills."""
        is_skill = find_below(uri, self._unlisted) is not None
        is_skill = is_skill or skills.is_within(place.key, self._find_known(place.source).roots)
        return self._shows("skills" if is_skill else "resources")

    def _verify(self, uri: str, place: ServerItem, result: JsonObject) -> None:
        """Record that a file of a skill differs from its entry, and list its server anew."""
        skill = self.directory.find_skill(uri)
        promise = skills.find_promise(skill, uri) if skill is not None else None
        if skill is None or promise is None or skills.is_as_listed(skill, uri, result):
            return
        known = self._find_known(place.source)
        if known.changed.get(place.key) != promise["digest"]:
            known.changed[place.key] = str(promise["digest"])
            self.invalidate(place.source.server)

    def _find_faults(self, source: ServerSource) -> Iterator[Diagnostic]:
        """Yield the diagnostics of the shown skills of a server."""
        known = self._find_known(source)
        if not self._shows("skills"):
            return
        for fault in known.faults[:_MOST_FAULTS]:
            yield warning(Code.SKILL_LEFT_OUT, fault, source.id)
        if len(known.faults) > _MOST_FAULTS:
            more = f"{len(known.faults) - _MOST_FAULTS:,} more skills are left out"
            yield warning(Code.SKILL_LEFT_OUT, more, source.id)
        for uri in [*known.changed][:_MOST_FAULTS]:
            message = f"the file {ascii(uri)[:_SHOWN]} differs from the entry in its skill"
            yield warning(Code.SKILL_DIGEST_MISMATCH, message, source.id)

    async def prompt(self, name: str, params: JsonObject, progress: Progress | None) -> JsonObject:
        """Return the result of `prompts/get`, with further *params*.

        Raises `NotFoundError` if no server has it, and `RequestError` if its server responds
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

        Raises `NotFoundError` if no server has it, and `RequestError` if its server responds
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
        """Subscribe to exactly the resources *uris*.

        Returns the requested addresses, by source and address there.
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
        shown = _SHOWN_KINDS.get(kind, ItemKind.RESOURCE)
        return all(view.shows_kind(shown) for view in self.views)

    def _find_shown(self, source: ServerSource) -> Lists:
        known = self._find_known(source)
        shown = {kind: items if self._shows(kind) else () for kind, items in known.lists.items()}
        if known.roots and self._shows("skills") != self._shows("resources"):
            is_shown = self._shows("skills")
            shown["resources"] = tuple(
                one
                for one in known.lists["resources"]
                if skills.is_within(str(one["uri"]), known.roots) == is_shown
            )
        return shown

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
        current_caller.set(None)  # lists are for all
        current_session.set("")
        before = known.lists

        async def send(method: str, params: JsonObject) -> JsonObject:
            return await self.sessions.request(
                source.server, method, params, timeout=LISTING_SECONDS
            )

        try:
            declared = await self.sessions.capabilities(source.server)
            known.capabilities = declared
            for name, kind in KINDS.items():
                found: tuple[JsonObject, ...] = ()
                faults: list[str] = []
                if kind.is_declared(declared):
                    if kind.extension:  # until it responds, or the time of all runs out
                        known.faults = [f"did not list its {name} in time"]
                    found = await list_kind(kind, send, before[name], faults)
                known.lists = {**known.lists, name: found}
                if kind.extension:
                    known.note_skills(faults)
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
