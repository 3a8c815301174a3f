"""The search of mcpg as a search transform of FastMCP.

server = FastMCP("tools")
server.add_transform(McpgSearch())
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import anyio.to_thread
from fastmcp.server.context import Context
from fastmcp.server.transforms.search.base import (
    BaseSearchTransform,
    serialize_tools_for_output_json,
)
from fastmcp.tools import Tool

import mcpg
from mcpg.bundle import assemble
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.sources import read_sources


def make_engine(entries: Sequence[dict[str, Any]]) -> mcpg.Engine:
    """Return an engine of tools as a `tools/list` response has them."""
    return mcpg.Engine(Index(compile_assembly(assemble(read_sources(entries)))))


class McpgSearch(BaseSearchTransform):
    """Finds tools by an index that is made anew when the tools have changed."""

    _indexed = ""
    _engine: mcpg.Engine

    def _make_search_tool(self) -> Tool:
        async def search_tools(
            query: Annotated[str, "What is to be done, in any words"],
            ctx: Context = None,  # type: ignore[assignment]
        ) -> Any:
            """Find tools for a request; none if no tool fits."""
            found = await self._search(await self._get_visible_tools(ctx), query)
            return await self._render_results(found)

        return Tool.from_function(fn=search_tools, name=self._search_tool_name)

    async def _search(self, tools: Sequence[Tool], query: str) -> Sequence[Tool]:
        entries = serialize_tools_for_output_json(tools)
        if not entries:
            return []
        shown = json.dumps(entries, sort_keys=True)
        if shown != self._indexed:
            self._engine = await anyio.to_thread.run_sync(make_engine, entries)
            self._indexed = shown
        found = self._engine.search(query, limit=self._max_results, abstain=True)
        by_name = {tool.name: tool for tool in tools}
        return [by_name[match.tool_name] for match in found.matches]
