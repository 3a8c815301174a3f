"""The search of mcpg within the tool searches of frameworks, each with the real package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from servedskills import compare, write_shops

EXAMPLES = Path(__file__).parent.parent / "examples" / "frameworks"

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the examples importable."""
    monkeypatch.syspath_prepend(str(EXAMPLES))


def refund_order(order_id: str) -> str:
    """Give the money for an order back to the customer."""
    return f"refunded {order_id}"


def track_parcel(number: str) -> str:
    """Tell where a parcel is."""
    return f"{number} is on its way"


def book_room(day: str) -> str:
    """Reserve a meeting room."""
    return f"booked for {day}"


TOOLS = (refund_order, track_parcel, book_room)


@pytest.fixture
def anyio_backend() -> str:
    """The frameworks run on asyncio."""
    return "asyncio"


async def test_fastmcp_clients_find_and_call_tools() -> None:
    """Clients see a search and a call; the search has the tool that fits, and none for nonsense."""
    fastmcp = pytest.importorskip("fastmcp", minversion="4.2")
    from fastmcp_search import McpgSearch  # noqa: PLC0415 - an example

    server = fastmcp.FastMCP("shop")
    for tool in TOOLS:
        server.tool(tool)
    server.add_transform(McpgSearch(max_results=2))
    async with fastmcp.Client(server) as client:
        listed = [tool.name for tool in await client.list_tools()]
        assert sorted(listed) == ["call_tool", "search_tools"]
        found = await client.call_tool("search_tools", {"query": "give the customer money back"})
        assert "refund_order" in str(found.content)
        nothing = await client.call_tool("search_tools", {"query": "zxqv wvut"})
        assert "refund_order" not in str(nothing.content)
        call = {"name": "refund_order", "arguments": {"order_id": "7"}}
        assert "refunded 7" in str((await client.call_tool("call_tool", call)).content)
        server.tool(lambda day: day, name="cancel_room", description="Give up a meeting room")
        again = await client.call_tool("search_tools", {"query": "give up a meeting room"})
        assert "cancel_room" in str(again.content)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_fastmcp_clients_get_the_skills_of_fastmcp_servers(tmp_path: Path, transport: str) -> None:
    """Behind the gateway they are those at the server; of equal addresses one is renamed."""
    pytest.importorskip("fastmcp", minversion="4.2")
    write_shops(tmp_path)
    assert compare(sys.executable, tmp_path, transport) == (transport, 3, 11, ())


async def test_pydantic_ai_loads_the_tool_that_was_found() -> None:
    """A model that searches gets the tool that fits, and calls it."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, Tool  # noqa: PLC0415 - an extra package
    from pydantic_ai.capabilities import ToolSearch  # noqa: PLC0415 - as above
    from pydantic_ai.messages import (  # noqa: PLC0415 - as above
        ModelMessage,
        ModelResponse,
        TextPart,
        ToolCallPart,
    )
    from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: PLC0415 - as above
    from pydantic_ai_search import McpgStrategy  # noqa: PLC0415 - an example

    seen: list[list[str]] = []

    def act(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([tool.name for tool in info.function_tools])
        part: Any = TextPart("done")
        if len(seen) == 1:
            part = ToolCallPart(seen[0][0], {"queries": ["where is my parcel"]})
        elif len(seen) == 2:
            part = ToolCallPart("track_parcel", {"number": "12"})
        return ModelResponse(parts=[part])

    agent = Agent(
        FunctionModel(act),
        tools=[Tool(tool, defer_loading=True) for tool in TOOLS],
        capabilities=[ToolSearch(strategy=McpgStrategy())],
    )
    result = await agent.run("where is parcel 12")
    assert "12 is on its way" in str(result.all_messages())
    assert "track_parcel" not in seen[0]
    assert "track_parcel" in seen[1]
    assert "book_room" not in seen[1]


async def test_langgraph_binds_the_tools_of_a_request() -> None:
    """The model of an agent sees the tools that fit, and calls one."""
    pytest.importorskip("langgraph")
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - an extra package
    from langchain_core.messages import AIMessage, BaseMessage  # noqa: PLC0415 - as above
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - as above
    from langchain_core.tools import tool  # noqa: PLC0415 - as above
    from langgraph_agent import make_agent, make_retriever  # noqa: PLC0415 - an example

    bound: list[list[str]] = []

    class Model(BaseChatModel):
        """Calls a tool once."""

        @property
        def _llm_type(self) -> str:
            return "stand-in"

        def bind_tools(self, tools: Any, **_: Any) -> Any:
            bound.append([one.name for one in tools])
            return self

        def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
            has_called = any(isinstance(one, AIMessage) for one in messages)
            call = {"name": "book_room", "args": {"day": "Friday"}, "id": "1"}
            message = AIMessage("", tool_calls=[] if has_called else [call])
            return ChatResult(generations=[ChatGeneration(message=message)])

    tools = [tool(one) for one in TOOLS]
    result = await make_agent(Model(), tools).ainvoke(
        {"messages": [("user", "reserve a meeting room")]}
    )
    assert any("booked for Friday" in str(one.content) for one in result["messages"])
    assert bound[0] == ["book_room"]
    assert make_retriever(tools)("zxqv wvut") == []
