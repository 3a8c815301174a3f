"""Servers asked for their tools, through the `mcp` SDK, which is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.catalog.sources.batch import SourceBatch
    from mcpg.catalog.sources.servers import Live, Server

__all__ = ["ask_servers"]


def ask_servers(
    servers: Sequence[Server], live: Live, *, source_id: str | None = None
) -> SourceBatch:
    """Ask *servers* for their tools, side by side, each with its own time limit.

    A server that cannot be asked becomes a diagnostic. Programs that were started have ended when
    this returns, however it does.

    Args:
        servers: The servers; their order is that of the tools, whoever answers first.
        live: How they are asked.
        source_id: Source id of all tools, in place of the servers' names.

    Raises:
        UsageError: The SDK is not installed.
    """
    try:
        from mcpg.catalog.sources.live.asking import ask_all  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as fault:
        raise UsageError(
            f"servers cannot be asked without the MCP SDK: {fault.name} is not installed",
            place=servers[0].place,
            remedy="pip install 'mcpg-graph[mcp]'",
        ) from None
    return ask_all(servers, live, source_id)
