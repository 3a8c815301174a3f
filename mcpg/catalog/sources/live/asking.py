"""Asks servers for their tools, side by side in one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from mcp import Client

from mcpg.catalog.sources.batch import SourceBatch
from mcpg.catalog.sources.live.listing import listing_of, read_listing, reason
from mcpg.catalog.sources.live.muting import muted
from mcpg.catalog.sources.live.transports import AT_ONCE, Living, transport_to
from mcpg.catalog.sources.live.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.catalog.sources.live.listing import Listing
    from mcpg.catalog.sources.servers import Live, Server


def ask_all(servers: Sequence[Server], live: Live, source_id: str | None) -> SourceBatch:
    """Ask *servers* and give their tools in the order of the servers; see `ask_servers`."""
    asking = _Asking(live, len(servers))
    try:
        with muted():
            answers = anyio.run(asking.all, servers)
    finally:
        asking.living.kill()
    pairs = zip(servers, answers, strict=True)
    return SourceBatch.join(read_listing(server, answer, source_id) for server, answer in pairs)


class _Asking:
    """One round of questions."""

    def __init__(self, live: Live, count: int) -> None:
        self.living = Living()
        self._live = live
        self._count = count
        self._done = 0
        self._answers: list[Listing | str] = [""] * count

    async def all(self, servers: Sequence[Server]) -> list[Listing | str]:
        """Give, for each server, its answer or why there is none."""
        self._tell()
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as group:
            for index, server in enumerate(servers):
                group.start_soon(self._one, index, server, limiter)
        return self._answers

    async def _one(self, index: int, server: Server, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            trouble = Trouble()
            transport = transport_to(server, self._live, trouble, self.living)
            try:
                with anyio.fail_after(self._live.timeout):
                    async with Client(transport, cache=None) as client:
                        self._answers[index] = await listing_of(client)
            except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
                self._answers[index] = reason(fault, trouble, self._live.timeout)
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._live.told is not None:
            self._live.told(self._done, self._count)
