"""Bundles served alone: their tools are found and described, and no client is led to call one."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import Client, MCPError

from mcpg.bundle import assemble, build_bundle, encode_bundle
from mcpg.gateway import FileSource, FunctionSource, Gateway
from mcpg.gateway.serve import (
    EVERYDAY,
    GRAPH_TOOLS,
    INVOKE,
    META_TOOLS,
    READ,
    Exposure,
    ServingOptions,
)
from mcpg.gateway.serve.http import HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcpg.gateway import Source

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ALONE = tuple(name for name in EVERYDAY if name not in (INVOKE, READ))
SEARCH, ROUTE, PLAN, DESCRIBE, ASK = ALONE


def hold(seconds: int = 1) -> str:
    """Hold the line for a while."""
    return f"held {seconds} s"


HOLDING = FunctionSource("local", (hold,))


@pytest.fixture
def bundle(manifest: Callable[..., FileSource]) -> FileSource:
    """A bundle of two tools, whose server is not there."""
    made = manifest("shop", refund_order="Refund an order", ship_order="Ship an order")
    path = Path(made.path).with_name("graph.mdld")
    path.write_bytes(encode_bundle(build_bundle(assemble(read_sources([made.path])))))
    return FileSource("graph", str(path))


@asynccontextmanager
async def served(
    *sources: Source, mode: str = "auto", serving: ServingOptions | None = None
) -> AsyncIterator[tuple[Client, Gateway]]:
    """Serve *sources* to a client of the SDK."""
    async with Gateway(sources, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving or ServingOptions())
        async with server.running(), Client(server.sdk, mode=mode) as client:
            yield client, gateway


@asynccontextmanager
async def reached(*sources: Source, mode: str) -> AsyncIterator[tuple[Client, Gateway]]:
    """Serve *sources* to a client of the SDK over HTTP."""
    addresses: list[str] = []
    ready = anyio.Event()

    def told(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with (
        Gateway(sources, reserved=META_TOOLS) as gateway,
        anyio.create_task_group() as group,
    ):
        group.start_soon(serve_http, GatewayServer(gateway, ServingOptions()), HttpOptions(), told)
        await ready.wait()
        async with Client(addresses[0], mode=mode) as client:
            yield client, gateway
        group.cancel_scope.cancel()


async def names(client: Client) -> tuple[str, ...]:
    """Return the tools that *client* sees."""
    return tuple(tool.name for tool in (await client.list_tools()).tools)


@MODES
async def test_a_bundle_is_searched_without_a_tool_that_calls(
    bundle: FileSource, mode: str
) -> None:
    """Over HTTP a bundle alone is searched, described and planned with, but not called."""
    async with reached(bundle, mode=mode) as (client, _):
        assert await names(client) == ALONE
        found = await client.call_tool(SEARCH, {"query": "refund an order"})
        assert found.structured_content["matches"][0]["toolId"] == "refund_order"
        described = await client.call_tool(DESCRIBE, {"toolId": "refund_order"})
        assert described.structured_content["inputSchema"]["type"] == "object"
        planned = await client.call_tool(PLAN, {"goal": "refund an order"})
        assert planned.structured_content["tasks"][0]["toolId"] == "refund_order"
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool(INVOKE, {"toolId": "refund_order"})


@MODES
async def test_nothing_leads_a_model_to_call(bundle: FileSource, mode: str) -> None:
    """Neither instructions, descriptions, schemas nor answers name the tool that is not there."""
    serving = ServingOptions(graph_tools=True)
    async with served(bundle, mode=mode, serving=serving) as (client, _):
        listed = (await client.list_tools()).tools
        assert tuple(tool.name for tool in listed) == (*ALONE, *GRAPH_TOOLS)
        read = [json.dumps(tool.model_dump(mode="json")) for tool in listed]
        read.append(client.instructions or "")
        assert "not called" in read[-1]
        for name, arguments in (
            (SEARCH, {"query": "refund an order"}),
            (SEARCH, {"query": "weather of tomorrow, in order"}),
            (SEARCH, {"query": "zzyzx"}),
            (ROUTE, {"query": "refund an order"}),
            (PLAN, {"goal": "refund and ship an order"}),
            (DESCRIBE, {"toolId": "refund_order"}),
            (ASK, {"question": "show an example call of refund_order"}),
            (ASK, {"question": "what comes after refund_order?"}),
        ):
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error
            read.append(json.dumps(answer.model_dump(mode="json")))
    assert [text for text in read if INVOKE in text] == []
    assert [text for text in read if "call them" in text or "mcpg invoke" in text] == []


@MODES
async def test_the_tool_that_calls_comes_and_goes_with_sources(
    bundle: FileSource, mode: str
) -> None:
    """When a source that can be called is added or removed, clients are notified to list again."""
    heard = anyio.Event()

    async def hear(_: Any) -> None:
        heard.set()

    async def told() -> None:
        nonlocal heard
        with anyio.fail_after(20):
            await heard.wait()
        heard = anyio.Event()

    async with Gateway([bundle], reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ServingOptions())
        async with (
            server.running(),
            Client(server.sdk, mode=mode, message_handler=hear) as client,
            anyio.create_task_group() as group,
        ):
            if mode == "auto":
                listening = anyio.Event()

                async def listen() -> None:
                    async with client.listen(tools_list_changed=True) as news:
                        listening.set()
                        async for _ in news:
                            heard.set()

                group.start_soon(listen)
                await listening.wait()
            assert await names(client) == ALONE
            gateway.add(FunctionSource("local", (hold,)))
            await told()
            assert await names(client) == EVERYDAY
            called = await client.call_tool(INVOKE, {"toolId": "hold"})
            assert called.content[0].text == "held 1 s"  # type: ignore[union-attr]
            assert await gateway.remove("local")
            await told()
            assert await names(client) == ALONE
            group.cancel_scope.cancel()


async def test_a_call_that_is_sent_at_once_waits_for_the_new_source(bundle: FileSource) -> None:
    """A client that has not listed anew can call, too."""
    async with served(bundle) as (client, gateway):
        assert await names(client) == ALONE
        gateway.add(FunctionSource("local", (hold,)))
        called = await client.call_tool(INVOKE, {"toolId": "hold", "arguments": {"seconds": 2}})
        assert called.content[0].text == "held 2 s"  # type: ignore[union-attr]


async def test_what_can_be_called(
    bundle: FileSource, manifest: Callable[..., FileSource], tmp_path: Path
) -> None:
    """Functions, modules and OpenAPI documents can be called; files that describe tools cannot."""
    api = tmp_path / "api" / "openapi.json"
    api.parent.mkdir()
    paths = {"/pets": {"get": {"operationId": "listPets", "responses": {}}}}
    document = {"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": paths}
    api.write_text(json.dumps(document))
    for source, can_call in (
        (FunctionSource("local", (hold,)), True),
        (FileSource("module", "python:colorsys"), True),
        (FileSource("api", str(api)), True),
        # Operations are called of documents that are named, not of those in a folder.
        (FileSource("folder", str(api.parent)), False),
        (bundle, False),
        (manifest("plain", ping="Ping"), False),
        (FileSource("gone", str(tmp_path / "gone.json")), False),
    ):
        async with served(source) as (client, _):
            assert await names(client) == (EVERYDAY if can_call else ALONE), source
        async with served(manifest("other", pong="Pong"), source) as (client, _):
            assert (INVOKE in await names(client)) is can_call, source
    async with served() as (client, _):
        assert await names(client) == ALONE


async def test_only_tools_that_can_be_called_are_exposed(bundle: FileSource) -> None:
    """Tools of a bundle beside a source that runs are found and described, but not listed."""
    serving = ServingOptions(expose=Exposure.ALL)
    async with served(bundle, FunctionSource("local", (hold,)), serving=serving) as (client, _):
        assert await names(client) == (*EVERYDAY, "hold")
        found = await client.call_tool(SEARCH, {"query": "refund an order"})
        assert found.structured_content["matches"][0]["toolId"] == "refund_order"
        described = await client.call_tool(DESCRIBE, {"toolId": "refund_order"})
        assert described.structured_content["description"] == "Refund an order"
    async with served(bundle, serving=serving) as (client, _):
        assert await names(client) == ALONE


async def test_a_source_that_runs_owns_a_tool_of_several(
    manifest: Callable[..., FileSource],
) -> None:
    """A tool that a manifest has as well, even an earlier one, is called and exposed."""
    described = manifest("local", hold="Hold the line for a while.")
    described = FileSource("described", described.path, "local")
    serving = ServingOptions(expose=Exposure.ALL)
    for sources in ((described, HOLDING), (HOLDING, described)):
        async with served(*sources, serving=serving) as (client, _):
            exposed = (await names(client))[len(EVERYDAY) :]
            assert exposed
            for name in exposed:
                called = await client.call_tool(name, {"seconds": 2})
                assert called.content[0].text == "held 2 s"  # type: ignore[union-attr]
