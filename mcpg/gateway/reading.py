"""Asking the sources of a gateway for their tools; one that fails says so and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcpg.catalog.sources import read_sources
from mcpg.catalog.sources.batch import SourceBatch
from mcpg.diagnostics import Code, error
from mcpg.errors import McpgError
from mcpg.gateway.sources import FileSource, FunctionSource, ServerSource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcpg.catalog.sources.servers import Server
    from mcpg.gateway.registry import Registry
    from mcpg.gateway.sources import Source

    AskServer = Callable[[Server, float | None], Awaitable[SourceBatch]]


async def ask(registry: Registry, sources: Sequence[Source], server: AskServer) -> None:
    """Ask *sources* side by side, a server by way of *server*, and keep what they say."""
    version = registry.version

    async def one(source: Source) -> None:
        registry.heard(source, await _batch(source, server), version)

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
        from mcpg.catalog.python import read_functions  # noqa: PLC0415 - most gateways have none

        found = read_functions(source.functions, source.id)
    except McpgError as fault:
        advice = f" ({fault.remedy})" if fault.remedy else ""
        failed = error(Code.SOURCE_LOAD_FAILED, f"{fault.message}{advice}", fault.place)
        return SourceBatch(diagnostics=(failed,))
    return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)
