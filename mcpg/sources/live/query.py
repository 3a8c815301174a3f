"""Queries of several servers side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import anyio
from anyio.lowlevel import checkpoint

from mcpg.sources.client_config import Server, ServerAccess
from mcpg.sources.live.programs import MAX_OPENING, ProcessGroups
from mcpg.sources.model import ServerListing


def query_all(
    servers: Sequence[Server],
    live: ServerAccess,
    source_id: str | None,
    timeouts: Sequence[float | None],
) -> tuple[ServerListing, ...]:
    """Query *servers* for their tools; see `mcpg.sources.live.query_each`."""
    groups = ProcessGroups()
    try:
        found = anyio.run(_query_side_by_side, servers, live, groups, source_id, timeouts)
    finally:
        groups.kill()
    return tuple(found)


async def _query_side_by_side(
    servers: Sequence[Server],
    live: ServerAccess,
    groups: ProcessGroups,
    source_id: str | None,
    timeouts: Sequence[float | None],
) -> list[ServerListing]:
    listings: dict[int, ServerListing] = {}
    told = live.told or (lambda *_: None)
    told(0, len(servers))
    begin = time.perf_counter()
    await groups.start_early(servers[:MAX_OPENING], live.environ)
    # The programs start while this is imported, which takes most of a second.
    from mcpg.sources.live import client, transports  # noqa: PLC0415 - an extra

    await checkpoint()  # an interrupt during the import ends the query here

    async def query(index: int, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            start = begin if index < MAX_OPENING else time.perf_counter()
            timed = replace(live, timeout=timeouts[index] or live.timeout)
            listings[index] = await client.query_listing(
                servers[index], timed, groups, source_id, start
            )
        told(len(listings), len(servers))

    with transports.sdk_muted():
        limiter = anyio.CapacityLimiter(MAX_OPENING)
        async with anyio.create_task_group() as group:
            for index in range(len(servers)):
                group.start_soon(query, index, limiter)
    return [listings[index] for index in range(len(servers))]
