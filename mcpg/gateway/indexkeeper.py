"""The keeper of a gateway's index: makes it when it is needed, once, and never takes it away."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from mcpg.diagnostics import Code, Diagnostic, error
from mcpg.errors import UsageError
from mcpg.gateway.building import Built, build, opened
from mcpg.gateway.observing import watched_build
from mcpg.gateway.reading import ask
from mcpg.gateway.snapshot import Snapshot
from mcpg.memo import KeptMemo

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from mcpg.gateway.plan import Plan
    from mcpg.gateway.reading import AskServer
    from mcpg.gateway.registry import Registry

    Answer = TypeVar("Answer")

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
