"""The catalogue as clients see it, computed once for each snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcpg.catalog.model import Tool
from mcpg.gateway.index.manager import Snapshot
from mcpg.gateway.serve.answers import Serving
from mcpg.gateway.serve.direct_tools import Listing, listing_of
from mcpg.gateway.serve.schemas import InstructionsContext

if TYPE_CHECKING:
    from mcpg.gateway.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Known:
    """A state of the catalogue.

    Attributes:
        snapshot: Its snapshot, `None` before the sources have been read.
        context: Facts for instructions and descriptions.
        listing: The tools that clients see.
    """

    snapshot: Snapshot | None
    context: InstructionsContext
    listing: Listing

    def find(self, tool_id: str) -> Tool | None:
        """Return the tool with this id."""
        return self.snapshot.catalog.get(tool_id) if self.snapshot is not None else None


class Catalogue:
    """The latest state of a gateway's catalogue.

    Attributes:
        known: The last computed state.
    """

    def __init__(self, gateway: Gateway, serving: Serving) -> None:
        """Start with the names of the sources alone."""
        self._gateway = gateway
        self._serving = serving
        self._lock: anyio.Lock | None = None
        context = InstructionsContext.configured(source.id for source in gateway.sources)
        self.known = Known(None, context, listing_of(None, context, serving))

    async def latest(self) -> Known:
        """Return the current state, after the sources have been read once."""
        if self._lock is None:
            self._lock = anyio.Lock()
        snapshot = await self._gateway.snapshot()
        async with self._lock:
            if self.known.snapshot is not snapshot:
                make = partial(_known, snapshot, self._serving)
                self.known = await anyio.to_thread.run_sync(make)
        return self.known

    async def within(self, seconds: float) -> Known:
        """Return the current state, or after *seconds* the previous one."""
        with anyio.move_on_after(seconds):
            return await self.latest()
        return self.known


def _known(snapshot: Snapshot, serving: Serving) -> Known:
    tools = tuple(tool for tool in snapshot.catalog.tools if tool.enabled)
    context = InstructionsContext.of(tools)
    return Known(snapshot, context, listing_of(tools, context, serving))
