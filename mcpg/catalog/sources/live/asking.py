"""Asks servers for their tools, side by side in one thread."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from mcp import Client

from mcpg.catalog.sources.live.listing import listing_of, reason, reply_of
from mcpg.catalog.sources.live.muting import muted
from mcpg.catalog.sources.live.transports import AT_ONCE, Living, transport_to
from mcpg.catalog.sources.live.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.catalog.sources.live.listing import Listing
    from mcpg.catalog.sources.replies import Reply
    from mcpg.catalog.sources.servers import Live, Server


def ask_all(
    servers: Sequence[Server],
    live: Live,
    source_id: str | None,
    timeouts: Sequence[float | None],
) -> tuple[Reply, ...]:
    """Ask *servers* and give what they replied, in their order; see `ask_each`."""
    asking = _Asking(live, timeouts)
    try:
        with muted():
            answers = anyio.run(asking.all, servers)
    finally:
        asking.living.kill()
    return tuple(
        reply_of(server, answer, seconds, source_id)
        for server, (answer, seconds) in zip(servers, answers, strict=True)
    )


class _Asking:
    """One round of questions."""

    def __init__(self, live: Live, timeouts: Sequence[float | None]) -> None:
        self.living = Living()
        self._live = live
        self._timeouts = [seconds or live.timeout for seconds in timeouts]
        self._done = 0
        self._answers: list[tuple[Listing | str, float]] = [("", 0.0)] * len(timeouts)

    async def all(self, servers: Sequence[Server]) -> list[tuple[Listing | str, float]]:
        """Give, for each server, its answer or why there is none, and the seconds it took."""
        self._tell()
        limiter = anyio.CapacityLimiter(AT_ONCE)
        async with anyio.create_task_group() as group:
            for index, server in enumerate(servers):
                group.start_soon(self._one, index, server, limiter)
        return self._answers

    async def _one(self, index: int, server: Server, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            start = time.perf_counter()
            live = replace(self._live, timeout=self._timeouts[index])
            answer = await self._answer(server, live)
            self._answers[index] = answer, time.perf_counter() - start
        self._done += 1
        self._tell()

    async def _answer(self, server: Server, live: Live) -> Listing | str:
        trouble = Trouble()
        transport = transport_to(server, live, trouble, self.living)
        answer: Listing | str = ""
        try:
            with anyio.fail_after(live.timeout):
                async with Client(transport, cache=None) as client:
                    answer = await listing_of(client, trouble)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the others go on
            return reason(fault, trouble, live.timeout)
        return answer

    def _tell(self) -> None:
        if self._live.told is not None:
            self._live.told(self._done, len(self._timeouts))
