"""The names of the meta-tools, which no tool behind the gateway may bear as its id."""

from __future__ import annotations

SEARCH = "gateway_tools_search"
ROUTE = "gateway_tools_route"
DESCRIBE = "gateway_tool_describe"
INVOKE = "gateway_tool_invoke"
GRAPH_SCHEMA = "gateway_graph_schema_describe"
GRAPH_SEARCH = "gateway_graph_schema_search"
GRAPH_EXPORT = "gateway_graph_export"

EVERYDAY = (SEARCH, ROUTE, DESCRIBE, INVOKE)
"""What every client sees, in the order in which they are used."""

GRAPH_TOOLS = (GRAPH_SCHEMA, GRAPH_SEARCH, GRAPH_EXPORT)
"""What a client sees of the graph, where it is asked for."""

META_TOOLS: tuple[str, ...] = (*EVERYDAY, *GRAPH_TOOLS)
"""All of them, reserved whether they are shown or not, so that ids do not hang on options."""
