"""A chat loop over the OpenAI client in which the model searches, as often as it needs.

The model begins with a search. Each search offers it four tools, which it can call until it has
searched twice more.

Run it beside `mcp.json`:

    OPENAI_API_KEY=... python searching_chat.py MODEL "find my parcel, and cancel it if it is late"
"""

from __future__ import annotations

import json
import sys
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Any

from openai import OpenAI

from mcpg import McpgError
from mcpg.gateway import SyncGateway

if TYPE_CHECKING:
    from mcpg.catalog.api_tools import ApiTools

TASK = {"type": "string", "description": "The task, in any words."}
FIND: Any = {
    "name": "find_tools",
    "description": "Find tools for a task. Afterwards, call those that are found.",
    "parameters": {"type": "object", "properties": {"task": TASK}, "required": ["task"]},
}


class FoundTools:
    """The tools that the last two searches of a conversation have found."""

    def __init__(self, gateway: SyncGateway) -> None:
        self.gateway = gateway
        self.lists: deque[ApiTools] = deque(maxlen=2)

    def definitions(self) -> list[Any]:
        """Return the functions for the next request: the search first, then what it has found."""
        named = (zip(one.origins, one.definitions, strict=True) for one in self.lists)
        found = dict(chain.from_iterable(named))  # a tool has the same name in every list
        found.pop(FIND["name"], None)  # no two functions of a request may have the same name
        return [{"type": "function", "function": FIND}, *found.values()]

    def answer(self, name: str, arguments: str) -> str:
        """Return the result of a call of the model, or why there is none."""
        try:
            if name == FIND["name"]:
                return self.find(str(json.loads(arguments)["task"]))
            tools = next(one for one in self.lists if name in one.origins)
            call = tools.call(name, arguments)
            invoked = self.gateway.invoke(call.tool_id, call.arguments)
            return invoked.text or "; ".join(fault.message for fault in invoked.faults)
        except McpgError as error:
            return str(error)
        except (ValueError, LookupError, TypeError, StopIteration):
            return "invalid call: find a tool with find_tools, and pass what it requires"

    def find(self, task: str) -> str:
        """Search, and return the names of the tools that are offered from now on."""
        tools = self.gateway.search(task, limit=4).as_tools("openai")
        self.lists.append(tools)
        return f"found: {', '.join(tools.origins) or 'nothing'}"


def answer(client: OpenAI, gateway: SyncGateway, model: str, request: str) -> str:
    """Return the answer of *model* to *request*."""
    found = FoundTools(gateway)
    messages: list[Any] = [{"role": "user", "content": request}]
    while True:
        offered: Any = found.definitions()
        completion = client.chat.completions.create(model=model, messages=messages, tools=offered)
        message: Any = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for asked in message.tool_calls:
            content = found.answer(asked.function.name, asked.function.arguments)
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": content})


if __name__ == "__main__":
    with SyncGateway("mcp.json") as servers:
        print(answer(OpenAI(), servers, *sys.argv[1:3]))
