"""The keeper of a gateway's index: makes it when it is needed, once, and never takes it away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from mcpg.build_cache import KeptMemo
from mcpg.errors import Code, Diagnostic, McpgError, UsageError, error
from mcpg.gateway.calls.model import Fault, FaultCode
from mcpg.gateway.observing import watched_build
from mcpg.gateway.sessions.registry import Built, build, opened
from mcpg.gateway.sources import FileSource, FunctionSource, ServerSource
from mcpg.sources import read_sources
from mcpg.sources.model import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anyio.abc import TaskGroup

    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.gateway.index.graph import Plan
    from mcpg.gateway.sessions.registry import Registry
    from mcpg.gateway.sources import Source
    from mcpg.sources.client_config import Server

    AskServer = Callable[[Server, float | None], Awaitable[SourceBatch]]
    Answer = TypeVar("Answer")

# SECTION snapshot: A snapshot: what a gateway knows at one moment, which never changes.


_NAMED = 5
_SHOWN = 120


class Snapshot:
    """An index with the tools it was made of.

    Attributes:
        version: The state of the registry that it shows.
        engine: Searches it.
        diagnostics: What was noticed while it was made.
    """

    def __init__(self, version: int, built: Built) -> None:
        """Make a snapshot of *built*, which shows the registry in the state *version*."""
        self.version = version
        self.engine = built.engine
        self.diagnostics = built.diagnostics
        self._built = built

    def at(self, version: int) -> Snapshot:
        """Give the same for another state of the registry, which could not be shown."""
        return Snapshot(version, self._built)

    @cached_property
    def catalog(self) -> Catalog:
        """The tools as their sources have them, with the hints of their documents."""
        return self._built.catalog()

    @property
    def tool_count(self) -> int:
        """How many tools can be found."""
        return len(self.engine.index)

    def owner(self, tool: Tool) -> Source | None:
        """Give the source that has *tool*; `None` for tools that are only written about."""
        return self._built.owners.get((tool.source_id, tool.name), self._built.sole)

    def find(
        self, tool: str | None, source_id: str | None = None, name: str | None = None
    ) -> Tool | Fault:
        """Give the one tool that is meant, or why there is none.

        Args:
            tool: An id in any case, `source::name`, or a raw name.
            source_id: With *name*, the server it belongs to.
            name: A raw name, in place of *tool*.
        """
        asked = (tool or "").strip() or (name or "").strip()
        if not asked:
            message = "no tool is named"
            return Fault(FaultCode.NOTHING_NAMED, message, "give the id of one, as search has it")
        found = self._named(asked, is_id=bool((tool or "").strip()))
        if source_id:
            found = [one for one in found if one.source_id.casefold() == source_id.casefold()]
        if len(found) == 1:
            return found[0]
        return _several(asked, found) if found else self._unknown(asked)

    def _named(self, asked: str, *, is_id: bool) -> list[Tool]:
        found = self.catalog.get(asked) if is_id else None
        return [found] if found is not None else self._by_name.get(asked.casefold(), [])

    @cached_property
    def _by_name(self) -> dict[str, list[Tool]]:
        """The tools by their names, with the source and without."""
        names: dict[str, list[Tool]] = {}
        for tool in self.catalog.tools:
            for name in (tool.name, f"{tool.source_id}::{tool.name}"):
                names.setdefault(name.casefold(), []).append(tool)
        return names

    def _unknown(self, asked: str) -> Fault:
        near = self.catalog.suggest(asked)
        remedy = f"did you mean {' or '.join(near)}?" if near else "search for it first"
        return Fault(FaultCode.NOT_FOUND, f"no tool is called {asked[:_SHOWN]!r}", remedy)


def _several(asked: str, found: list[Tool]) -> Fault:
    ids = ", ".join(tool.id for tool in found[:_NAMED])
    message = f"{asked[:_SHOWN]!r} is the name of {len(found)} tools"
    return Fault(FaultCode.AMBIGUOUS, message, f"use an id: {ids}")


# SECTION reading: Asking the sources of a gateway for their tools; one that fails says so and no
# more.


async def ask(registry: Registry, sources: Sequence[Source], server: AskServer) -> None:
    """Ask *sources* side by side, a server by way of *server*, and keep what they say."""
    version = registry.version

    async def one(source: Source) -> None:
        registry.update(source, await _batch(source, server), version)

    async with anyio.create_task_group() as group:
        for source in sources:
            group.start_soon(one, source)


async def _batch(source: Source, server: AskServer) -> SourceBatch:
    if isinstance(source, ServerSource):
        return await server(source.server, source.timeout)
    return await anyio.to_thread.run_sync(_read, source, abandon_on_cancel=True)


def _read(source: FileSource | FunctionSource) -> SourceBatch:
    try:
        if isinstance(source, FileSource):
            return read_sources([source.path], source_id=source.source_id, imports=True)
        from mcpg.sources.python import read_functions  # noqa: PLC0415 - most gateways have none

        found = read_functions(source.functions, source.id)
    except McpgError as fault:
        advice = f" ({fault.remedy})" if fault.remedy else ""
        failed = error(Code.SOURCE_LOAD_FAILED, f"{fault.message}{advice}", fault.place)
        return SourceBatch(diagnostics=(failed,))
    return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)


RETRY = 30.0
"""Seconds after which a source that failed, or a whole index, is tried again."""

PAUSE = 0.5
"""Seconds between two indexes that nobody waits for: servers may announce changes all the time."""


class IndexKeeper:
    """Makes snapshots of what a registry holds.

    Attributes:
        callbacks: What is called whenever a new snapshot is there.
    """

    def __init__(self, registry: Registry, plan: Plan, server: AskServer, group: TaskGroup) -> None:
        """Make a keeper that knows nothing yet.

        Args:
            registry: The sources.
            plan: How an index is made.
            server: Asks a server for its tools; a failure is told in what it gives.
            group: Runs what no caller waits for.
        """
        self.callbacks: list[Callable[[], None]] = []
        self._registry = registry
        self._plan = plan
        self._server = server
        self._group = group
        self._snapshot: Snapshot | None = None
        self._failures: tuple[Diagnostic, ...] = ()
        self._memo = KeptMemo()
        self._building: anyio.Event | None = None
        self._finished = float("-inf")
        self._is_closed = False

    def close(self) -> None:
        """Make no snapshot any more; whoever waits for one is told that there is none."""
        self._is_closed = True

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was noticed while the last index was made, and why there is no newer one."""
        found = self._snapshot.diagnostics if self._snapshot is not None else ()
        return (*found, *self._failures)

    async def latest(self) -> Snapshot:
        """Return a snapshot of all that the registry holds now.

        Raises:
            UsageError: It was closed before there was one.
        """
        return await self._at_least(self._registry.version)

    async def ready(self) -> Snapshot:
        """Return a snapshot at once if there is one that shows all that the host changed itself.

        Raises:
            UsageError: As for `latest`.
        """
        snapshot = await self._at_least(self._registry.required)
        is_time = self._building is None and anyio.current_time() - self._finished > RETRY
        if is_time and (self._registry.retry() or self._failures):
            self.refresh()
        return snapshot

    def refresh(self) -> anyio.Event:
        """Begin with a new snapshot, unless one is being made; give what tells that it is done."""
        if self._building is None:
            self._building = anyio.Event()
            self._group.start_soon(self._make, self._building)
        return self._building

    async def _at_least(self, version: int) -> Snapshot:
        while self._snapshot is None or self._snapshot.version < version:
            if self._is_closed:
                raise UsageError("the gateway was closed", remedy="keep it open until all is done")
            await self.refresh().wait()
        return self._snapshot

    async def _make(self, done: anyio.Event) -> None:
        """Make a snapshot, and another one if something has changed meanwhile."""
        try:
            if self._snapshot is not None and self._snapshot.version >= self._registry.required:
                await anyio.sleep_until(self._finished + PAUSE)
            await self._make_one()
        finally:
            self._finished = anyio.current_time()
            self._building = None
            done.set()
        for callback in self.callbacks:
            with suppress(Exception):  # a host that fails to listen does not end the gateway
                callback()
        if self._snapshot is not None and self._snapshot.version < self._registry.version:
            self.refresh()

    async def _make_one(self) -> None:
        version = self._registry.version
        try:
            built = await self._built()
        except Exception as fault:  # noqa: BLE001 - whatever it is, searches go on
            message = f"the index could not be made ({type(fault).__name__})"
            self._failures = (error(Code.GRAPH_BUILD_FAILED, message),)
            last = self._snapshot or Snapshot(version, build([], self._plan.bare(), KeptMemo()))
            self._snapshot = last.at(version)
        else:
            self._failures = ()
            self._snapshot = Snapshot(version, built)

    async def _built(self) -> Built:
        built = await _in_thread(partial(opened, self._registry.sources, self._plan))
        if built is not None:
            return built
        noticed: list[Diagnostic] = []
        with watched_build(self._plan.equipment.observer, noticed) as tell:
            await ask(self._registry, self._registry.stale(), self._server)
            memo = self._memo.renewed()
            built = await _in_thread(partial(build, self._registry.readings(), self._plan, memo))
            tell(built.engine)
        self._memo = memo
        return replace(built, diagnostics=(*built.diagnostics, *noticed)) if noticed else built


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    # A gateway that is closed does not wait for an index that nobody wants any more.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
