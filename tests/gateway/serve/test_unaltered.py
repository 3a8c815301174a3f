"""Results and errors reach clients as the servers gave them."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import pytest
from mcp import Client, MCPError
from mcp_types import Request
from pydantic import RootModel

from mcpg.gateway import Gateway, ServerSource
from mcpg.gateway.serve import INVOKE, META_TOOLS, SEARCH, Exposure, ServingOptions
from mcpg.gateway.serve.answers import size
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
ALL = ServingOptions(expose=Exposure.ALL)
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
TEXT = {"type": "text", "text": "x"}


class AnyRequest(Request[dict[str, Any], str]):
    """A request whose parameters are sent as they are."""


class AnyResult(RootModel[dict[str, Any]]):
    """A result of which nothing is dropped."""


def raw(answer: Any, **more: Any) -> ServerSource:
    """A server whose tool gives *answer*, a result or an error, and has *more* members."""
    env = {"NOTE": os.devnull, "RAW": json.dumps(answer), "TOOL": json.dumps(more)}
    command = (str(TESTS / "callservers.py"), answer.get("mode", "raw"))
    server = StdioServer("mcp.json: hand", "hand", sys.executable, command, env)
    return ServerSource("hand", server)


@asynccontextmanager
async def served(
    source: ServerSource, mode: str, serving: ServingOptions = ALL
) -> AsyncIterator[Client]:
    """Serve *source* with all of its tools."""
    async with Gateway([source], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving)
        async with server.running(), Client(server.sdk, mode=mode) as client:
            yield client


async def call(client: Client, name: str, arguments: Any, **meta: Any) -> Any:
    """Call a tool; return the result as it came, without what the version of the protocol adds."""
    params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
    request = AnyRequest(method="tools/call", params=params)
    result = (await client.session.send_request(request, AnyResult)).root
    result.get("_meta", {}).pop("io.modelcontextprotocol/serverInfo", None)
    if not result.get("_meta", True):
        del result["_meta"]
    return {key: value for key, value in result.items() if key != "resultType"}


OWN = {"content": [TEXT], "isError": True, "structuredContent": {"code": 7}}
RESULTS: list[Any] = [
    {"content": [{"type": "text", "text": '{"a": [1, null]}'}]},
    {"content": [], "structuredContent": {"a": None, "b": [1.5, {"c": "\u2028"}]}},
    {"content": [{**TEXT, "_meta": {"k": 1}, "annotations": {"priority": 0.5}}]},
    {"content": [{**TEXT, "vendor": {"x": None}}], "vendor": True, "_meta": {"a.b/c": [None]}},
    {"content": [TEXT, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
    {"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "t", "_meta": {}}}]},
    OWN,
]


@MODES
@pytest.mark.parametrize("result", RESULTS, ids=range(len(RESULTS)))
async def test_a_result_is_as_its_server_gave_it(result: Any, mode: str) -> None:
    """No member is added, replaced or dropped, neither of a success nor of a failure."""
    async with served(raw(result), mode) as client:
        assert await call(client, "first", {}) == result
        assert await call(client, INVOKE, {"toolId": "first"}) == result


@MODES
async def test_an_error_of_the_protocol_is_as_its_server_gave_it(mode: str) -> None:
    """Code, message and data of an error reach the client; through a meta-tool, beside a text."""
    error = {"code": -32602, "message": "unknown tool", "data": {"why": [1]}}
    async with served(raw({"error": error}), mode) as client:
        with pytest.raises(MCPError) as caught:
            await call(client, "first", {})
        assert caught.value.error.model_dump() == error
        told = await call(client, INVOKE, {"toolId": "first"})
        assert told["isError"]
        assert "unknown tool" in told["content"][0]["text"]
        assert told["_meta"]["error"] == error
        assert "structuredContent" not in told


@MODES
@pytest.mark.parametrize("member", ["message", "data"])
async def test_a_large_error_of_the_protocol_is_cut(member: str, mode: str) -> None:
    """It takes no more bytes than a result, and says what it lacks; a small part is kept whole."""
    error = {"code": -32602, "message": "refused", member: "x" * 100_000}
    serving = replace(ALL, result_bytes=8192)
    async with served(raw({"error": error}), mode, serving) as client:
        with pytest.raises(MCPError, match="parts of this error are omitted") as caught:
            await call(client, "first", {})
        told = caught.value.error.model_dump()
        assert told["code"] == -32602
        assert size(told) <= 8192
        assert told["message"].startswith("refused" if member == "data" else "xxxx")
        result = await call(client, INVOKE, {"toolId": "first"})
        assert size(result) <= 8192
        assert result["_meta"]["toolId"] == "first"
        assert "parts of this error are omitted" in result["_meta"]["error"]["message"]


@MODES
async def test_an_error_of_a_tool_with_an_output_schema_can_be_read(mode: str) -> None:
    """No structured content of an error is there that the schema refuses."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    async with served(raw(OWN, outputSchema=schema), mode) as client:
        told = await call(client, "first", {})
        assert (told["content"], told["isError"]) == ([TEXT], True)
        assert "structuredContent" not in told
        assert told["_meta"] == {"structuredContent": {"code": 7}}
        # The meta-tools have output schemas, too.
        told = await call(client, SEARCH, {})
        assert (told["isError"], "structuredContent" in told) == (True, False)
        assert told["_meta"]["faults"][0]["code"] == "arguments_invalid"


@MODES
async def test_a_tool_is_listed_as_its_server_lists_it(mode: str) -> None:
    """Each member of an entry arrives, those of later versions too; tasks are run by us."""
    given = {
        "title": "First",
        "description": "Does  it.\n",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer", "x-order": 1}},
            "x-vendor": [None],
        },
        "outputSchema": {"type": "object", "properties": {}, "x-vendor": True},
        "icons": [{"src": "data:,a", "mimeType": "image/png", "sizes": ["48x48"], "later": 1}],
        "annotations": {"title": "A", "readOnlyHint": True, "later": {"b": None}},
        "_meta": {"a.example/b": {"c": None}},
        "later": {"d": [None]},
        "execution": {"taskSupport": "optional"},
    }
    async with served(raw({"content": []}, **given), mode) as client:
        request = AnyRequest(method="tools/list", params={})
        listed = (await client.session.send_request(request, AnyResult)).root["tools"]
    tool = next(one for one in listed if one["name"] == "first")
    ours = {"toolId": "first", "toolName": "first", "sourceId": "hand"}
    assert ours.items() <= tool["_meta"].items()
    expected = {key: value for key, value in given.items() if key not in {"execution", "_meta"}}
    assert {key: value for key, value in tool.items() if key in expected} == expected
    assert tool.keys() == {"name", "_meta", *expected}
    assert tool["_meta"]["a.example/b"] == {"c": None}


@MODES
async def test_meta_of_a_request_reaches_the_server(mode: str) -> None:
    """Trace context and members of vendors go through, what concerns us alone does not."""
    given = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "a.example/b": {"c": None}}
    async with served(raw({"mode": "plain"}), mode) as client:
        for name, arguments in (("first", {"a": 1}), (INVOKE, {"toolId": "first"})):
            told = await call(client, name, arguments, **given, progressToken="ours")
            seen = json.loads(told["content"][0]["text"])["_meta"]
            assert seen == given


@MODES
async def test_the_context_of_a_task_reaches_the_server(mode: str) -> None:
    """Query, context and summary stand in `_meta`, under the name of the .NET gateway."""
    given = {"query": "q", "context": {"a": "b"}, "contextSummary": "s"}
    async with served(raw({"mode": "plain"}), mode) as client:
        told = await call(client, INVOKE, {"toolId": "first", **given})
        seen = json.loads(told["content"][0]["text"])["_meta"]
        assert seen == {"managedCodeMcpGateway": given}


@MODES
async def test_a_blank_result_is_passed_on(mode: str) -> None:
    """A result without content has none behind us."""
    async with served(raw({"content": []}), mode) as client:
        assert await call(client, "first", {}) == {"content": []}


@MODES
async def test_a_time_out_names_the_settings(mode: str) -> None:
    """A call has the seconds that it asks for, and its error says how to get more."""
    async with served(raw({"mode": "mute"}), mode) as client:
        told = await call(client, INVOKE, {"toolId": "first", "timeout": 0.2})
        text = told["content"][0]["text"]
        assert "no response within 0.2 s" in text
        assert "mcpg serve --timeout" in text
        told = await call(client, INVOKE, {"toolId": "first", "timeout": 0})
        assert "arguments_invalid" in told["_meta"]["faults"][0]["code"]


@MODES
async def test_a_brief_call_takes_no_thread(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated call whose arguments and result are brief is checked in the event loop."""
    threads: list[Any] = []
    run_sync = anyio.to_thread.run_sync

    async def counted(work: Any, *given: Any, **how: Any) -> Any:
        threads.append(work)
        return await run_sync(work, *given, **how)

    async with served(raw({"content": [TEXT]}), mode) as client:
        await call(client, "first", {})
        monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
        assert await call(client, "first", {}) == {"content": [TEXT]}
        assert not threads
        await call(client, "first", {"note": "x" * 100_000})
        assert threads
