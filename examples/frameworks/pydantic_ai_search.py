"""The search of mcpg as the strategy of the tool search of Pydantic AI.

agent = Agent(model, tools=tools, capabilities=[ToolSearch(strategy=McpgStrategy())])

Tools that are made with `defer_loading=True` are hidden from the model until it has found them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

import mcpg
from mcpg.bundle import assemble
from mcpg.engine.loading import compile_assembly
from mcpg.index import Index
from mcpg.sources import read_sources


class McpgStrategy:
    """Finds tools by an index that is made anew when the tools have changed."""

    _indexed = ""
    _engine: mcpg.Engine

    def __call__(
        self, _: RunContext[Any], queries: Sequence[str], tools: Sequence[ToolDefinition]
    ) -> list[str]:
        """Return the names of the tools for *queries*, the surest first."""
        entries = [
            {
                "name": tool.name,
                "description": tool.description or "",
                "inputSchema": tool.parameters_json_schema,
            }
            for tool in tools
        ]
        if not entries:
            return []
        shown = json.dumps(entries, sort_keys=True)
        if shown != self._indexed:
            assembly = assemble(read_sources(entries))
            self._engine, self._indexed = mcpg.Engine(Index(compile_assembly(assembly))), shown
        matches = [
            match for query in queries for match in self._engine.search(query, abstain=True).matches
        ]
        ranked = sorted(matches, key=lambda match: -match.score)
        return list(dict.fromkeys(match.tool_name for match in ranked))
