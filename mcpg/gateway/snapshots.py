"""The index of a gateway: built when it is needed, once, as snapshots that never change."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from inspect import isawaitable
from itertools import islice

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcpg.caching.build_cache import StoredBuildCache
from mcpg.catalog.catalog import Catalog
from mcpg.catalog.model import Tool
from mcpg.engine.loading import with_graphs_read
from mcpg.errors import Code, Diagnostic, McpgError, UsageError, error
from mcpg.gateway.calls import Fault, FaultCode
from mcpg.gateway.index_build import BuiltIndex, IndexSpec, build, build_view, open_existing
from mcpg.gateway.registry import GENERATED, ReviewedDocuments, SourceReading, SourceRegistry
from mcpg.gateway.views import View, name_server
from mcpg.search.observer import GuardedObserver
from mcpg.search.telemetry import build_facts
from mcpg.sources import read_sources
from mcpg.sources.client_config import Server
from mcpg.sources.live.client import find_kept_listing
from mcpg.sources.model import SourceBatch
from mcpg.sources.python import read_functions
from mcpg.sources.registry import FileSource, FunctionSource, ServerSource, Source, runs_tools
from mcpg.values import Answer, format_count

ListTools = Callable[[Server, float | None], Awaitable[SourceBatch]]

OnIndex = Callable[[], Awaitable[None] | None]
"""Called after each new index, and awaited if it is asynchronous."""

_NAMED = 5
_SHOWN = 120
_MOST_GONE = 10_000
"""How many tools that are there no more keep their ids."""


_EARLY = -1


class Snapshot:
    """An index with its tools.

    Attributes:
        version: Version of the registry that it shows, negative if no server has responded yet.
        built: The built index with its catalog and sources.
        engine: Engine of the index.
        diagnostics: Diagnostics of the build.
    """

    def __init__(self, version: int, built: BuiltIndex) -> None:
        self.version = version
        self.engine = built.engine
        self.diagnostics = built.diagnostics
        self.built = built

    def __repr__(self) -> str:
        return f"<Snapshot {self.version}: {format_count(self.tool_count, 'tool')}>"

    @property
    def is_early(self) -> bool:
        """Whether its tools are from lists before this gateway was opened."""
        return self.version == _EARLY

    @cached_property
    def catalog(self) -> Catalog:
        """The tools as their sources have them, with the hints of their documents."""
        return self.built.catalog()

    @property
    def tool_count(self) -> int:
        return len(self.engine.index)

    def owner(self, tool: Tool) -> Source | None:
        """Return the source of *tool*; `None` for tools that only documents describe."""
        return self.built.owners.get((tool.source_id, tool.name), self.built.sole)

    def can_call(self, tool: Tool) -> bool:
        owner = self.owner(tool)
        return owner is not None and owner.id in self._runners

    @cached_property
    def owner_ids(self) -> frozenset[str]:
        """The ids of the sources that have any of the tools."""
        owners = map(self.owner, self.catalog.tools)
        return frozenset(one.id for one in owners if one is not None)

    @cached_property
    def _runners(self) -> frozenset[str]:
        owners = {one.id: one for one in (*self.built.owners.values(), self.built.sole) if one}
        return frozenset(one.id for one in owners.values() if runs_tools(one))

    def find_by_id(self, tool_id: str) -> Tool | None:
        """Return the tool with this id, in any case; `None` before the tools were needed once."""
        catalog: Catalog | None = vars(self).get("catalog")
        return catalog.get(tool_id) if catalog is not None else None

    def find(
        self, tool: str | None, source_id: str | None = None, name: str | None = None
    ) -> Tool | Fault:
        """Return the named tool, or the fault if no tool or several have the name.

        Args:
            tool: An id in any case, `source::name`, or a raw name.
            source_id: Its source, if the name is ambiguous without it.
            name: A raw name, instead of *tool*.
        """
        tool, name = (tool or "").strip(), (name or "").strip()
        if not (tool or name):
            message = "no tool is named"
            return Fault(FaultCode.NOTHING_NAMED, message, "pass the id of a search result")
        by_id = self.catalog.get(tool) if tool else None
        wanted = tool or name
        if by_id is None and wanted.casefold() in self._hidden_tools:
            return _make_hidden_fault(self._hidden_tools[wanted.casefold()])
        found = [by_id] if by_id is not None else self._by_name.get(wanted.casefold(), [])
        if source_id:
            found = [one for one in found if one.source_id.casefold() == source_id.casefold()]
        if len(found) == 1:
            return found[0]
        if not found:
            for hidden in self._hidden_tools.values():
                if hidden.name.casefold() == wanted.casefold():
                    return _make_hidden_fault(hidden)
            near = self.catalog.suggest(wanted)
            remedy = (
                f"did you mean {' or '.join(near)}?"
                if near
                else "check the name, or search for the tool"
            )
            return Fault(FaultCode.NOT_FOUND, f"no tool is called {wanted[:_SHOWN]!r}", remedy)
        ids = ", ".join(one.id for one in found[:_NAMED])
        message = f"{wanted[:_SHOWN]!r} is the name of {len(found)} tools"
        return Fault(FaultCode.AMBIGUOUS, message, f"use an id: {ids}")

    @cached_property
    def _hidden_tools(self) -> dict[str, Tool]:
        hidden = self.built.review.hidden.values()
        names = {f"{tool.source_id}::{tool.name}".casefold(): tool for tool in hidden}
        return names | {tool.id: tool for tool in hidden if tool.id}

    @cached_property
    def _by_name(self) -> dict[str, list[Tool]]:
        names: dict[str, list[Tool]] = {}
        for tool in self.catalog.tools:
            for name in (tool.name, f"{tool.source_id}::{tool.name}"):
                names.setdefault(name.casefold(), []).append(tool)
        return names


def _make_hidden_fault(tool: Tool) -> Fault:
    name, source_id = tool.name[:_SHOWN], tool.source_id[:_SHOWN]
    message = (
        f"the tool {name!r} of {source_id!r} is hidden: its source's definition was not reviewed"
    )
    remedy = "the operator can review it, build the bundle again, and restart the gateway"
    return Fault(FaultCode.NOT_FOUND, message, remedy)


async def read_into(registry: SourceRegistry, list_tools: ListTools) -> None:
    """Read the stale sources of *registry* concurrently; *list_tools* queries a server."""
    version = registry.version

    async def read(source: Source) -> None:
        if isinstance(source, ServerSource):
            batch = await list_tools(source.server, source.timeout)
        else:
            batch = await _in_thread(partial(_read, source))
        registry.update(source, batch, version)

    async with anyio.create_task_group() as group:
        for source in registry.stale():
            group.start_soon(read, source)


def read_early(sources: Iterable[Source], plan: IndexSpec, folder: str) -> list[SourceReading]:
    """Read *sources* without starting a server; none if nothing is known of any server.

    The tools of a server come from the graph, or else from its last list in *folder*.
    """
    stated: tuple[Tool, ...] = ()
    if isinstance(plan.graph, ReviewedDocuments):
        with suppress(McpgError):  # the build reports it
            stated = plan.load(plan.graph.path).catalog.tools
    readings: list[SourceReading] = []
    is_known = False
    for source in sources:
        if isinstance(source, ServerSource):
            own = tuple(one for one in stated if one.source_id in name_server(source))
            kept = SourceBatch(tools=own) if own else find_kept_listing(source.server, folder)
            batch = kept or SourceBatch()
            is_known = is_known or bool(batch.tools)
        else:
            batch = _read(source)
        readings.append(SourceReading(source, batch))
    return readings if is_known else []


def _read(source: FileSource | FunctionSource) -> SourceBatch:
    try:
        if isinstance(source, FileSource):
            batch = read_sources(
                [source.path],
                source_id=source.source_id,
                imports=True,
                trust_hints=source.trust_hints,
            )
            return with_graphs_read(batch)
        found = read_functions(source.functions, source.id)
    except McpgError as fault:
        advice = f" ({fault.remedy})" if fault.remedy else ""
        message = f"{fault.message}{advice}"
        failed = error(Code.SOURCE_LOAD_FAILED, message, fault.place)
        return SourceBatch(diagnostics=(failed,))
    return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)


RETRY = 30.0
"""Seconds after which a failed source or build is retried."""

PAUSE = 0.5
"""Seconds between two background builds, since servers may announce changes all the time."""


@dataclass(eq=False, slots=True)
class IndexManager:
    """Builds snapshots of a registry.

    Attributes:
        registry: The sources.
        plan: How an index is built.
        list_tools: Lists the tools of a server; reports failures as diagnostics.
        group: Runs background builds.
        callbacks: Called after each new snapshot.
        whole: Builds the whole snapshots, if this one shows only a part; else `None`.
        views: The views; it shows what all of them show.
        listings: The folder of last lists of tools, which are used until the first snapshot is
            built; `None` to wait for that.
    """

    registry: SourceRegistry
    plan: IndexSpec
    list_tools: ListTools
    group: TaskGroup
    callbacks: list[OnIndex] = field(default_factory=list)
    whole: IndexManager | None = None
    views: tuple[View, ...] = ()
    listings: str | None = None
    _early: Snapshot | None = None
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _snapshot: Snapshot | None = None
    _failures: tuple[Diagnostic, ...] = ()
    _memo: StoredBuildCache = field(default_factory=StoredBuildCache)
    _named: dict[str, Tool] = field(default_factory=dict)
    _building: anyio.Event | None = None
    _finished: float = -math.inf
    _is_closed: bool = False

    def close(self) -> None:
        """Build no more; waiting callers get an error."""
        self._is_closed = True

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of the last build, and of a failed newer one."""
        found = self._snapshot.diagnostics if self._snapshot is not None else ()
        return (*found, *self._failures)

    @property
    def current(self) -> Snapshot | None:
        """The last snapshot, `None` before the first build."""
        return self._snapshot

    async def latest(self) -> Snapshot:
        return await self._at_least(self.registry.version)

    async def ready(self) -> Snapshot:
        """Return a snapshot with all changes by the host itself, at once if there is one."""
        snapshot = await self._at_least(self.registry.required)
        is_time = self._building is None and anyio.current_time() - self._finished > RETRY
        if is_time and (self.registry.retry() or self._failures):
            self.refresh()
        return snapshot

    async def early(self) -> Snapshot | None:
        """Return a snapshot of the servers' previous tools, until the first one is built.

        It begins that build. Return `None` if there is a newer snapshot, or nothing is known.
        """
        if self._snapshot is not None or self.listings is None:
            return None
        self.refresh()
        async with self._lock:
            if self._early is None and self.listings is not None:
                with suppress(Exception):  # the build reports it
                    self._early = await self._build_early(self.listings)
                if self._early is None:
                    self.listings = None
        return self._early if self.current is None else None

    async def _build_early(self, listings: str) -> Snapshot | None:
        sources = self.registry.sources
        readings = await _in_thread(partial(read_early, sources, self.plan, listings))
        make = build
        if self.whole is not None:
            whole = await self.whole.early()
            if whole is None:
                return None
            make = partial(build_view, whole.built, self.views)
        if not readings:
            return None
        built = await _in_thread(partial(make, readings, self.plan, StoredBuildCache()))
        snapshot = Snapshot(_EARLY, built)
        tools = (await _in_thread(lambda: snapshot.catalog)).tools
        self._named |= {tool.id: tool for tool in tools}  # clients may use these ids
        return snapshot

    def follow(self) -> None:
        """Start a build if there is a snapshot, for clients that have seen it."""
        if self._snapshot is not None:
            self.refresh()

    def refresh(self) -> anyio.Event:
        """Start a build unless one is running; return the event that it sets at its end."""
        if self._building is None:
            self._building = anyio.Event()
            self.group.start_soon(self._make, self._building)
        return self._building

    async def _at_least(self, version: int) -> Snapshot:
        while self._snapshot is None or self._snapshot.version < version:
            if self._is_closed:
                raise UsageError(
                    "the gateway was closed", remedy="keep it open until all calls end"
                )
            await self.refresh().wait()
        return self._snapshot

    async def _make(self, done: anyio.Event) -> None:
        """Build a snapshot, and another one if the registry has changed meanwhile."""
        try:
            if self._snapshot is not None and self._snapshot.version >= self.registry.required:
                await anyio.sleep_until(self._finished + PAUSE)
            await self._build()
        finally:
            self._finished = anyio.current_time()
            self._building = None
            done.set()
        for callback in self.callbacks:
            with suppress(Exception):  # an error of the host does not end the gateway
                outcome = callback()
                if isawaitable(outcome):
                    await outcome
        if self._snapshot is not None and self._snapshot.version < self.registry.version:
            self.refresh()

    async def _build(self) -> None:
        version, plan = self.registry.version, self.plan
        try:
            plan = replace(plan, earlier=await _in_thread(self._earlier))
            built, make = None, build
            if self.whole is None:
                built = await _in_thread(partial(open_existing, self.registry.sources, plan))
            else:
                whole = await self.whole.latest()
                make = partial(build_view, whole.built, self.views)
            if built is None:
                observer = plan.services.observer
                watched = GuardedObserver.of(observer).build() if observer else nullcontext()
                with watched as report:
                    await read_into(self.registry, self.list_tools)
                    plan = replace(plan, earlier=await _in_thread(self._earlier))
                    memo = self._memo.make_next()
                    built = await _in_thread(partial(make, self.registry.readings(), plan, memo))
                    if report is not None:
                        report(build_facts(built.engine.index))
                self._memo = memo
                if report is not None:
                    built = replace(built, diagnostics=(*built.diagnostics, *report.diagnostics))
        except Exception as fault:  # noqa: BLE001 - searches go on with the last index
            message = f"the index build failed ({type(fault).__name__})"
            self._failures = (error(Code.GRAPH_BUILD_FAILED, message),)
            bare = replace(self.plan, graph=GENERATED)
            last = self._snapshot.built if self._snapshot else build([], bare, StoredBuildCache())
            self._snapshot = Snapshot(version, last)
        else:
            self._failures = ()
            self._snapshot = Snapshot(version, built)
        self._early = None

    def _earlier(self) -> tuple[Tool, ...]:
        """Return the tools of all snapshots so far, each with its id, the present ones first."""
        if self._snapshot is not None:
            present = {tool.id: tool for tool in self._snapshot.catalog.tools}
            gone = (item for item in self._named.items() if item[0] not in present)
            # A server that keeps renaming its tools must not fill the memory.
            self._named = present | dict(islice(gone, _MOST_GONE))
        return tuple(self._named.values())


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    # A closing gateway does not wait for a build.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
