"""The tools that a search finds, as LangChain tools.

with SyncGateway("mcp.json") as gateway:
    agent = create_agent(model, langchain_tools(gateway, "where is my parcel"))
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool

from mcpg.gateway import SyncGateway


def langchain_tools(gateway: SyncGateway, request: str) -> list[StructuredTool]:
    """Return the tools for *request*."""
    tools = gateway.search(request).as_tools("anthropic")

    def tool_of(definition: dict[str, Any]) -> StructuredTool:
        def run(**arguments: Any) -> str:
            call = tools.call(definition["name"], arguments)
            invoked = gateway.invoke(call.tool_id, call.arguments)
            return invoked.text or "; ".join(fault.message for fault in invoked.faults)

        return StructuredTool(
            name=definition["name"],
            description=definition["description"],
            args_schema=definition["input_schema"],
            func=run,
        )

    return [tool_of(definition) for definition in tools.definitions]
