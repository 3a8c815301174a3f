"""A chat loop over the OpenAI client: the model gets the tools that a search finds for the request.

Run it beside `mcp.json`:

    OPENAI_API_KEY=... python openai_chat.py MODEL "where is my parcel"
"""

from __future__ import annotations

import sys
from typing import Any

from openai import OpenAI

from mcpg import McpgError
from mcpg.gateway import SyncGateway


def answer(client: OpenAI, gateway: SyncGateway, model: str, request: str) -> str:
    """Return the answer of *model* to *request*."""
    tools = gateway.search(request).as_tools("openai")
    messages: list[Any] = [{"role": "user", "content": request}]
    offered: Any = {"tools": tools.definitions} if tools.definitions else {}
    while True:
        completion = client.chat.completions.create(model=model, messages=messages, **offered)
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for asked in message.tool_calls:
            try:
                call = tools.call(asked.function.name, asked.function.arguments)
                invoked = gateway.invoke(call.tool_id, call.arguments)
                content = invoked.text or "; ".join(fault.message for fault in invoked.faults)
            except McpgError as error:
                content = str(error)
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": content})


if __name__ == "__main__":
    with SyncGateway("mcp.json") as servers:
        print(answer(OpenAI(), servers, *sys.argv[1:3]))
