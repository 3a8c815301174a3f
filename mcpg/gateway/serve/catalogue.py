"""What the server knows of the catalogue at a moment, made once for each snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcpg.gateway.serve.direct_tools import Listing, listing_of
from mcpg.gateway.serve.schemas import Behind

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.index.manager import Snapshot
    from mcpg.gateway.serve.answers import Serving


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the catalogue.

    Attributes:
        snapshot: What it was made of, `None` before any source has answered.
        behind: What is told of the catalogue.
        listing: What clients see.
    """

    snapshot: Snapshot | None
    behind: Behind
    listing: Listing

    def find(self, tool_id: str) -> Tool | None:
        """Give the tool of this id."""
        return self.snapshot.catalog.get(tool_id) if self.snapshot is not None else None


class Catalogue:
    """Keeps what is known of the catalogue of a gateway.

    Attributes:
        known: The last that was known, without waiting for anything newer.
    """

    def __init__(self, gateway: Gateway, serving: Serving) -> None:
        """Know nothing but the names of the sources."""
        self._gateway = gateway
        self._serving = serving
        self._lock: anyio.Lock | None = None
        behind = Behind.configured(source.id for source in gateway.sources)
        self.known = Known(None, behind, listing_of(None, behind, serving))

    async def latest(self) -> Known:
        """Give what is known now; waits until the sources have been asked once."""
        if self._lock is None:
            self._lock = anyio.Lock()
        snapshot = await self._gateway.snapshot()
        async with self._lock:
            if self.known.snapshot is not snapshot:
                make = partial(_known, snapshot, self._serving)
                self.known = await anyio.to_thread.run_sync(make)
        return self.known

    async def within(self, seconds: float) -> Known:
        """Give what is known now, or after *seconds* what was known before."""
        with anyio.move_on_after(seconds):
            return await self.latest()
        return self.known


def _known(snapshot: Snapshot, serving: Serving) -> Known:
    tools = tuple(tool for tool in snapshot.catalog.tools if tool.enabled)
    behind = Behind.of(tools)
    return Known(snapshot, behind, listing_of(tools, behind, serving))
