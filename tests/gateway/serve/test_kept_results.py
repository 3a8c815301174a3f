"""Results that are cut can be read on, by the session that has got them and no other."""

from __future__ import annotations

import base64
import json
import os
import sys
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from forking import forked
from mcp import Client, MCPError

from mcpg.errors import NotFoundError
from mcpg.gateway import FunctionSource, Gateway, Selection, ServerSource, View
from mcpg.gateway.calls import CallResult
from mcpg.gateway.serve import (
    EVERYDAY,
    INVOKE,
    META_TOOLS,
    PROMPT,
    READ,
    SEARCH,
    SMALLEST_BUDGET,
    Exposure,
    ServingOptions,
)
from mcpg.gateway.serve.answers import REST_META_KEY, convert_result, size
from mcpg.gateway.serve.kept_results import KEPT_SECONDS, SCHEME, ResultStore
from mcpg.gateway.serve.prompts_and_resources import resource_answer
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcpg.text.json_values import JsonObject

pytestmark = pytest.mark.anyio

WORDS = "".join(chr(code) for code in (*range(32, 127), 10, 9, 0xE9, 0x4E2D, 0x1F600))
LARGE = "".join(f"{number:,} {WORDS}" for number in range(48_000))
"""More than five megabytes of text, with signs of one to four bytes and escapes of JSON."""


def report() -> str:
    """Return a large report."""
    return LARGE


REPORTS = FunctionSource("reports", (report,))


@asynccontextmanager
async def served(
    serving: ServingOptions | None = None, mode: str = "auto"
) -> AsyncIterator[Client]:
    """Serve the tool with a large result to a client."""
    async with Gateway([REPORTS], reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving or ServingOptions())
        async with server.running(), Client(server.sdk, mode=mode, cache=None) as client:
            yield client


async def read_parts(client: Client, first: Any) -> tuple[str, int]:
    """Return the text of a cut result with all parts after it, and the number of these."""
    rest = first.meta[REST_META_KEY]
    *shown, note = (block.text for block in first.content)
    assert f'`uri` "{rest["uri"]}" and `offset` {rest["offset"]} for the rest' in note
    text, parts = "".join(shown), 0
    assert len(text) == rest["offset"]
    while len(text) < rest["characters"]:
        arguments = {"uri": rest["uri"], "offset": len(text)}
        part = await client.call_tool(READ, arguments)
        assert not part.is_error, part.content
        text += "".join(block.resource.text for block in part.content if block.type == "resource")
        parts += 1
    return text, parts


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_large_result_is_read_in_parts(mode: str) -> None:
    """Five megabytes come in parts within the limit, and are equal to the byte."""
    assert len(LARGE.encode()) > 5_000_000
    async with served(mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == [*EVERYDAY]
        first = await client.call_tool(INVOKE, {"toolId": "report"})
        text, parts = await read_parts(client, first)
        assert text == LARGE
        assert parts > 5_000_000 // ServingOptions().result_bytes
        uri = first.meta[REST_META_KEY]["uri"]  # type: ignore[index]
        beyond = await client.call_tool(READ, {"uri": uri, "offset": len(LARGE)})
        assert beyond.is_error


async def test_a_direct_call_finds_the_tool_that_reads_on() -> None:
    """Where found tools are listed, a cut result lists the tool by which the rest is read."""
    async with served(ServingOptions(expose=Exposure.FOUND), "legacy") as client:
        await client.call_tool(SEARCH, {"query": "large report"})
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [SEARCH, INVOKE, "report"]
        text, _ = await read_parts(client, await client.call_tool("report", {}))
        assert text == LARGE
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [SEARCH, INVOKE, "report", READ]


async def test_another_session_or_view_is_refused() -> None:
    """A handle of another client, another view, or of nobody reads nothing."""
    async with Gateway([REPORTS], reserved=META_TOOLS) as gateway:
        whole = GatewayServer(gateway, ServingOptions())
        view = whole.narrow(View("clerk", Selection(servers=("reports",))))
        async with (
            whole.running(),
            view.running(),
            Client(whole.sdk) as one,
            Client(view.sdk) as other,
        ):
            first = await one.call_tool(INVOKE, {"toolId": "report"})
            uri = first.meta[REST_META_KEY]["uri"]  # type: ignore[index]
            for client, wrong in ((other, uri), (one, f"{uri}x"), (one, SCHEME)):
                refused = await client.call_tool(READ, {"uri": wrong})
                assert refused.is_error
                assert "no such result" in refused.content[0].text  # type: ignore[union-attr]
            assert not (await one.call_tool(READ, {"uri": uri})).is_error


def test_results_are_bound_to_their_session() -> None:
    """A store knows a result for its own session alone."""
    store = ResultStore()
    address = store.keep(["a", "b"], "one")
    assert address is not None
    assert [one["text"] for one in store.read(address, "one")] == ["a", "b"]
    for session in ("", "other", "On"):
        with pytest.raises(NotFoundError):
            store.read(address, session)
    addresses = {store.keep(["a"], "one") for _ in range(100)}
    assert len(addresses) == 100
    assert min(len(one or "") for one in addresses) >= len(SCHEME) + 32


def test_results_expire() -> None:
    """A result that is read goes on, and one that is not is dropped."""
    times = [0.0]
    store = ResultStore(lambda: times[0])
    read, unread = store.keep(["a"], ""), store.keep(["b"], "")
    assert read is not None
    assert unread is not None
    for _ in range(3):
        times[0] += KEPT_SECONDS - 1
        store.read(read, "")
    with pytest.raises(NotFoundError):
        store.read(unread, "")
    times[0] += KEPT_SECONDS + 1
    with pytest.raises(NotFoundError):
        store.read(read, "")


def test_memory_is_bounded() -> None:
    """Results of a session make room for each other; those of all for what is read later."""
    store = ResultStore()
    large = "x" * (10 << 20)
    assert store.keep([large] * 4, "greedy") is None
    first = store.keep([large], "patient")
    greedy = [store.keep([large], "greedy") for _ in range(9)]
    assert first is not None
    store.read(first, "patient")
    kept = []
    for address in greedy:
        try:
            store.read(address or "", "greedy")
            kept.append(address)
        except NotFoundError:
            pass
    assert kept == greedy[-3:]
    others = [store.keep([large], f"session {number}") for number in range(12)]
    with pytest.raises(NotFoundError):
        store.read(first, "patient")
    store.read(others[-1] or "", "session 11")


def read_all(store: ResultStore, result: JsonObject, budget: int) -> str:
    """Return all text of a result that is kept, from its beginning, read in parts."""
    meta: Any = result["_meta"]
    rest = meta[REST_META_KEY]
    text = ""
    for _ in count():
        part: Any = resource_answer(store.read(rest["uri"], ""), len(text), budget)
        assert size(part) <= budget
        found = [one["resource"]["text"] for one in part["content"] if one["type"] == "resource"]
        text += "".join(found)
        if len(text) == rest["characters"]:
            return text
        assert found
    raise AssertionError


def test_all_that_is_left_out_can_be_read() -> None:
    """Images, structured content beside another text, and metadata are read as JSON."""
    store = ResultStore()
    image: JsonObject = {
        "type": "image",
        "data": base64.b64encode(bytes(range(256)) * 20).decode(),
        "mimeType": "image/png",
    }
    content: list[JsonObject] = [
        {"type": "text", "text": "short"},
        image,
        {"type": "text", "text": "end"},
    ]
    left: JsonObject = {
        "structuredContent": {"a": ["b" * 3000]},
        "x-more": 1,
        "_meta": {"c": "d" * 3000},
    }
    wire: JsonObject = {"content": [*content], **left, "isError": False}
    invoked = CallResult("one", wire=wire)
    keep = lambda texts: store.keep(texts, "")  # noqa: E731
    result: Any = convert_result(invoked, SMALLEST_BUDGET, keep=keep)
    assert size(result) <= SMALLEST_BUDGET
    assert result["content"][0]["text"] == "short"
    assert result["_meta"][REST_META_KEY]["offset"] == len("short")
    text = read_all(store, result, SMALLEST_BUDGET)
    assert text.startswith("short{")
    read, end = json.JSONDecoder().raw_decode(text, len("short"))
    assert read == image
    assert text[end:].startswith("end{")
    assert json.loads(text[end + len("end") :]) == left


def test_a_repeated_structured_result_is_kept_once() -> None:
    """Structured content that the text repeats leaves nothing to read on, and is not kept."""
    kept: list[Any] = []
    value = {"a": "b" * 1000}
    text = json.dumps(value, indent=2)
    wire: JsonObject = {"content": [{"type": "text", "text": text}], "structuredContent": {**value}}
    result: Any = convert_result(
        CallResult("one", wire={**wire, "isError": False}), SMALLEST_BUDGET, keep=kept.append
    )
    assert result["content"][0]["text"] == text
    assert "structured result was left out" in result["content"][1]["text"]
    assert not kept
    assert "_meta" not in result


async def test_programs_read_a_kept_result_at_once() -> None:
    """Where servers have resources, the whole of a prompt that is cut is read like one of these."""
    program = forked(Path(__file__).parents[2] / "primitiveserver.py", "legacy")
    environment = {"NAME": "shop", "SIZE": str(600_000)}
    shop = StdioServer("mcp.json: shop", "shop", sys.executable, program, environment)
    sources, live = (
        [ServerSource("shop", shop)],
        ServerAccess({"PATH": os.environ["PATH"]}, timeout=30),
    )
    async with Gateway(sources, live=live, reserved=META_TOOLS) as gateway:
        await gateway.warm_up()
        await gateway.primitives.list_directory()
        server = GatewayServer(gateway, ServingOptions())
        async with server.running(), Client(server.sdk, cache=None) as client:
            cut = await client.call_tool(PROMPT, {"name": "huge"})
            uri = cut.meta[REST_META_KEY]["uri"]  # type: ignore[index]
            contents: Any = (await client.read_resource(uri)).contents
            assert "".join(one.text for one in contents) == f"user: {'x' * 600_000}"
            with pytest.raises(MCPError, match="no such result"):
                await client.read_resource(f"{uri}x")
