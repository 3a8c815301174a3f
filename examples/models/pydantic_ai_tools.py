"""The tools that a search finds, as a toolset of Pydantic AI.

async with Gateway("mcp.json") as gateway:
    agent = Agent(model, toolsets=[await toolset(gateway, "where is my parcel")])
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset, Tool

from mcpg.gateway import Gateway


async def toolset(gateway: Gateway, request: str) -> FunctionToolset[Any]:
    """Return the tools for *request*."""
    tools = (await gateway.search(request)).as_tools("anthropic")

    def tool_of(definition: dict[str, Any]) -> Tool[Any]:
        async def run(**arguments: Any) -> str:
            call = tools.call(definition["name"], arguments)
            invoked = await gateway.invoke(call.tool_id, call.arguments)
            return invoked.text or "; ".join(fault.message for fault in invoked.faults)

        return Tool.from_schema(
            run,
            name=definition["name"],
            description=definition["description"],
            json_schema=definition["input_schema"],
        )

    return FunctionToolset([tool_of(definition) for definition in tools.definitions])
