"""A chat loop over the Anthropic client: the model gets the tools that a search finds.

Run it beside `mcp.json`:

    ANTHROPIC_API_KEY=... python anthropic_chat.py MODEL "where is my parcel"
"""

from __future__ import annotations

import sys
from typing import Any

from anthropic import Anthropic

from mcpg import McpgError
from mcpg.gateway import SyncGateway


def answer(client: Anthropic, gateway: SyncGateway, model: str, request: str) -> str:
    """Return the answer of *model* to *request*."""
    tools = gateway.search(request).as_tools("anthropic")
    offered: Any = tools.definitions
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        message = client.messages.create(
            model=model, max_tokens=1024, messages=messages, tools=offered
        )
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        results = []
        for asked in calls:
            try:
                call = tools.call(asked.name, asked.input)
                invoked = gateway.invoke(call.tool_id, call.arguments)
                content = invoked.text or "; ".join(fault.message for fault in invoked.faults)
                is_error = not invoked.is_success
            except McpgError as error:
                content, is_error = str(error), True
            one = {"type": "tool_result", "tool_use_id": asked.id, "content": content}
            results.append({**one, "is_error": is_error})
        messages += [
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": results},
        ]


if __name__ == "__main__":
    with SyncGateway("mcp.json") as servers:
        print(answer(Anthropic(), servers, *sys.argv[1:3]))
