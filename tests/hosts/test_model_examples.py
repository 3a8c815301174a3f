"""The examples for models, with the real packages of the APIs and frameworks, where installed."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from loopback import answer, serving
from pydantic import TypeAdapter

import mcpg
from mcpg.catalog.api_tools import api_tools
from mcpg.gateway import FunctionSource, Gateway, SyncGateway

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
REQUEST = "where is my parcel"


def parcel_status(number: str) -> str:
    """Tell where a parcel is now."""
    return f"{number} is in Lviv"


def parcel_cancel(number: str) -> str:
    """Cancel a parcel."""
    message = f"{number} is gone"
    raise ValueError(message)


SOURCE = FunctionSource("post", [parcel_status, parcel_cancel])


def example(name: str) -> Any:
    """Return the example *name* as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gateway() -> Iterator[SyncGateway]:
    """A gateway in front of two functions."""
    with SyncGateway(SOURCE) as opened:
        yield opened


def chosen(identity: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a call of a function in Chat Completions."""
    function = {"name": name, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def completion(**message: Any) -> dict[str, Any]:
    """Return a response of Chat Completions."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def test_the_openai_client_calls_found_tools(gateway: SyncGateway) -> None:
    """Results, failures and made-up names reach the model; the last text is the answer."""
    openai = pytest.importorskip("openai")
    calls = [
        chosen("c1", "parcel_status", '{"number": "T1"}'),
        chosen("c2", "parcel_cancel", '{"number": "T1"}'),
        chosen("c3", "parcel_burn", "{}"),
        chosen("c4", "parcel_status", "{"),
    ]
    script = [completion(content=None, tool_calls=calls), completion(content="In Lviv.")]
    with serving(*map(answer, script)) as server:
        client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
        found = example("openai_chat").answer(client, gateway, "m", REQUEST)
    assert found == "In Lviv."
    first, second = (asked.body for asked in server.asked)
    names = {one["function"]["name"] for one in first["tools"]}
    assert names == {"parcel_status", "parcel_cancel"}
    results = {one["tool_call_id"]: one["content"] for one in second["messages"][2:]}
    assert results["c1"] == "T1 is in Lviv"
    assert "T1 is gone" in results["c2"]
    assert "no tool was given as 'parcel_burn'" in results["c3"]
    assert "not a JSON object" in results["c4"]


def test_a_model_searches_and_calls_what_it_finds(gateway: SyncGateway) -> None:
    """The first request has the search alone, the next also what was found; errors reach it."""
    openai = pytest.importorskip("openai")
    early = [
        chosen("c0", "parcel_status", "{}"),
        chosen("c1", "find_tools", "{"),
        chosen("c2", "find_tools", '{"task": "where is my parcel"}'),
    ]
    late = [
        chosen("c3", "parcel_status", '{"number": "T1"}'),
        chosen("c4", "parcel_cancel", '{"number": "T1"}'),
        chosen("c5", "parcel_status", "{"),
    ]
    script = [
        completion(content=None, tool_calls=early),
        completion(content=None, tool_calls=late),
        completion(content="In Lviv."),
    ]
    with serving(*map(answer, script)) as server:
        client = openai.OpenAI(api_key="none", base_url=server.url, max_retries=0)
        found = example("searching_chat").answer(client, gateway, "m", REQUEST)
    assert found == "In Lviv."
    offered = [[one["function"]["name"] for one in asked.body["tools"]] for asked in server.asked]
    assert offered[0] == ["find_tools"]
    assert offered[1] == offered[2]
    assert offered[1][0] == "find_tools"
    assert {*offered[1][1:]} == {"parcel_status", "parcel_cancel"}
    messages = server.asked[2].body["messages"]
    results = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
    assert "invalid call" in results["c0"]
    assert "invalid call" in results["c1"]
    assert "parcel_status" in results["c2"]
    assert results["c3"] == "T1 is in Lviv"
    assert "T1 is gone" in results["c4"]
    assert "not a JSON object" in results["c5"]


def test_a_found_tool_called_like_the_search_is_not_offered() -> None:
    """A request with two functions of the same name is refused as a whole."""
    pytest.importorskip("openai")

    def find_tools(name: str) -> str:
        """Find hammers and saws."""
        return name

    with SyncGateway(FunctionSource("shed", [find_tools])) as shed:
        found = example("searching_chat").FoundTools(shed)
        assert found.find("hammers and saws") == "found: find_tools"
        assert [one["function"]["name"] for one in found.definitions()] == ["find_tools"]


def message(*content: dict[str, Any]) -> dict[str, Any]:
    """Return a response of the Messages API."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    members = {"id": "1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return {**members, "stop_reason": "end_turn", "stop_sequence": None, "content": content}


def test_the_anthropic_client_calls_found_tools(gateway: SyncGateway) -> None:
    """Failures are marked as errors of the tool."""
    anthropic = pytest.importorskip("anthropic")
    number = {"number": "T1"}
    calls = [
        {"type": "tool_use", "id": "c1", "name": "parcel_status", "input": number},
        {"type": "tool_use", "id": "c2", "name": "parcel_cancel", "input": number},
        {"type": "tool_use", "id": "c3", "name": "parcel_burn", "input": {}},
    ]
    script = [message(*calls), message({"type": "text", "text": "In Lviv."})]
    with serving(*map(answer, script)) as server:
        client = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
        found = example("anthropic_chat").answer(client, gateway, "m", REQUEST)
    assert found == "In Lviv."
    first, second = (asked.body for asked in server.asked)
    assert {one["name"] for one in first["tools"]} == {"parcel_status", "parcel_cancel"}
    results = {one["tool_use_id"]: one for one in second["messages"][2]["content"]}
    assert (results["c1"]["content"], results["c1"]["is_error"]) == ("T1 is in Lviv", False)
    assert "T1 is gone" in results["c2"]["content"]
    assert results["c2"]["is_error"] is results["c3"]["is_error"] is True


@pytest.mark.parametrize(
    ("api", "place", "kind"),
    [
        ("openai", "openai.types.chat", "ChatCompletionToolParam"),
        ("openai-responses", "openai.types.responses", "ToolParam"),
        ("anthropic", "anthropic.types", "ToolUnionParam"),
        ("mcp", "mcp.types", "Tool"),
    ],
)
def test_definitions_are_of_the_types_of_the_client(api: Any, place: str, kind: str) -> None:
    """All tools of the examples are what the package declares, deferred and strict ones as well."""
    adapter = TypeAdapter(getattr(pytest.importorskip(place), kind))
    tools = mcpg.load(EXAMPLES.parent / "tools").tools
    deferred = tools[2:] if api in {"openai-responses", "anthropic"} else ()
    for strict in {False, api.startswith("openai")}:
        found = api_tools(api, tools if not deferred else tools[:2], deferred, strict=strict)
        assert len(found.origins) == len(tools)
        for definition in found.definitions:
            checked = adapter.validate_python(definition)
            # Members that the package does not declare are dropped.
            assert api == "mcp" or checked.keys() == definition.keys()
            for one in definition.get("tools", ()):
                namespaced = pytest.importorskip("openai.types.responses.namespace_tool_param")
                kept = TypeAdapter(namespaced.ToolFunction).validate_python(one)
                assert kept.keys() == one.keys()
                assert one["defer_loading"] is True


def test_found_tools_are_langchain_tools(gateway: SyncGateway) -> None:
    """LangChain calls them by name, with arguments of the tool's own schema."""
    pytest.importorskip("langchain_core")
    tools = {one.name: one for one in example("langchain_tools").langchain_tools(gateway, REQUEST)}
    assert tools["parcel_status"].invoke({"number": "T1"}) == "T1 is in Lviv"
    assert "T1 is gone" in tools["parcel_cancel"].invoke({"number": "T1"})
    assert [*tools["parcel_status"].args] == ["number"]


def test_found_tools_are_a_toolset_of_pydantic_ai() -> None:
    """An agent calls each of them, and reads what it returns."""
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.test import TestModel  # noqa: PLC0415 - if it is installed

    async def asked() -> str:
        async with Gateway(SOURCE) as opened:
            tools = await example("pydantic_ai_tools").toolset(opened, REQUEST)
            result = await pydantic_ai.Agent(TestModel(), toolsets=[tools]).run(REQUEST)
            return str(result.output)

    found = asyncio.run(asked())
    assert "is in Lviv" in found
    assert "is gone" in found
