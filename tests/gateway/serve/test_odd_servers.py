"""Servers that flood, send invalid messages, or fail at what they claim, behind the gateway."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    PromptReference,
    TextContent,
    TextResourceContents,
)
from rawclient import raw_client

from mcpg.gateway import Gateway, ServerSource
from mcpg.gateway.serve import INVOKE, META_TOOLS, Exposure, ServingOptions
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from mcpg.errors import Diagnostic

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "floodserver.py"
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ADDRESSES = {
    "note:1": "level 1",
    "note://plain/a/b%20c": "level 2, reserved characters",
    "note://plain/fragment#a": "level 2, a fragment",
    "note://shop/north,rome/items": "level 3, several variables",
    "files/a/b": "level 4, an exploded list, and no scheme",
    "note://shop;color=red;size=1": "level 3, parameters of a path",
    "note://shop/search?query=caf%C3%A9&page=2": "level 3, a query",
    "note://shop/more?fixed=1&page=2": "level 3, a continued query",
    "note://short/abc": "level 4, a prefix",
    "note://{unclosed": "not a template",
    "NOTE:1": "a scheme in upper case, which no template has",
    "note://shop/caf\u00e9 bar": "neither spaces nor letters are escaped",
    "data:,hello": "no place",
    "": "nothing",
}


@asynccontextmanager
async def served(mode: str = "legacy") -> AsyncIterator[Client]:
    """Serve the server with all of its tools."""
    server = StdioServer("mcp.json: odd", "odd", sys.executable, (str(PROGRAM),))
    source = ServerSource("odd", server)
    async with Gateway([source], live=LIVE, reserved=META_TOOLS) as gateway:
        serving = GatewayServer(gateway, ServingOptions(expose=Exposure.ALL))
        async with serving.running(), Client(serving.sdk, mode=mode, cache=None) as client:
            await client.list_tools()
            yield client


async def call(client: Client, name: str) -> CallToolResult:
    """Call a tool, without the checks that the client of the SDK makes of results."""
    request = CallToolRequest(params=CallToolRequestParams(name=name, arguments={}))
    return await client.session.send_request(request, CallToolResult)


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@MODES
async def test_what_a_server_sends_beside_its_result_ends_no_call(mode: str) -> None:
    """Floods and invalid messages cost neither the result nor the calls that follow."""
    async with served(mode) as client:
        for tool in ("flood", "meta", "malformed", "twice", "progress", "flood", "meta"):
            result = await call(client, tool)
            assert text_of(result) == f"{tool} done"
            assert not result.is_error
        assert (await client.list_prompts()).prompts


async def test_progress_of_any_number_is_passed_on() -> None:
    """Negative, equal and falling progress reaches the client, and ends nothing."""
    seen: list[float] = []

    async def report(progress: float, _: float | None, __: str | None) -> None:
        seen.append(progress)

    async with served() as client:
        result = await client.call_tool("progress", {}, progress_callback=report)
        assert text_of(result) == "progress done"
        assert set(seen) <= {-1, 0, 0.25, 0.5, 1e308, 3}
        assert seen


@MODES
async def test_a_result_that_does_not_fit_its_schema_is_passed_on(mode: str) -> None:
    """The client judges a result by the schema of its tool, not the gateway."""
    async with served(mode) as client:
        result = await call(client, "invalid")
        assert result.structured_content == {"n": "no number"}
        assert not result.is_error


async def test_meta_of_any_size_is_passed_on() -> None:
    """What a server attaches to a result reaches the client."""
    async with served() as client:
        result = await call(client, "meta")
        assert result.meta is not None
        assert len(result.meta["example.com/huge"]) == 100 << 10


@MODES
async def test_claims_that_fail_return_the_error_of_the_server(mode: str) -> None:
    """Prompts and completions that fail do so by code, message and data."""
    async with served(mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("greet")
        error = {"code": -32603, "message": "prompts/get fails", "data": {"is": "here"}}
        assert caught.value.error.model_dump() == error
        ref = PromptReference(name="greet", type="ref/prompt")
        with pytest.raises(MCPError, match="completion/complete fails"):
            await client.complete(ref, {"name": "a", "value": "b"})
        assert text_of(await call(client, "meta")) == "meta done"


async def test_a_subscription_that_fails_costs_nothing_else() -> None:
    """A server that claims subscriptions and refuses them goes on to be read."""
    async with served() as client:
        await client.subscribe_resource("note:1")
        (content,) = (await client.read_resource("note:1")).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == "at note:1"


async def test_a_crash_is_reported_with_its_exit_code(tmp_path: Path) -> None:
    """Who runs the server learns of it at once, and of a regular exit nothing."""
    told: list[tuple[str, str, str]] = []
    reported = anyio.Event()

    def report(diagnostics: Iterable[Diagnostic]) -> None:
        errors = [one for one in diagnostics if one.severity == "error"]
        told[:] = [(one.code, one.message, one.place) for one in errors]
        if told:
            reported.set()

    def source(mode: str) -> ServerSource:
        program = (str(PROGRAM.with_name("callservers.py")), mode)
        env = {"NOTE": str(tmp_path / "note")}
        return ServerSource(
            mode, StdioServer(f"mcp.json: {mode}", mode, sys.executable, program, env)
        )

    sources = [source("dies_after"), source("dies")]
    async with Gateway(sources, live=LIVE, reserved=META_TOOLS) as gateway:
        serving = GatewayServer(gateway, ServingOptions(on_diagnostics=report))
        async with serving.running(), Client(serving.sdk) as client:
            for tool, is_error in (("dies_after_first", False), ("dies_first", True)):
                result = await client.call_tool(INVOKE, {"toolId": tool})
                assert result.is_error is is_error
            with anyio.fail_after(30):
                await reported.wait()
    assert told == [("source_load_failed", "server exited (code 3)", "mcp.json: dies")]


async def test_templates_of_every_level() -> None:
    """An address of a template of RFC 6570, or of none, reaches the only server as it is."""
    async with served() as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert "note://shop{;color,size}" in [one.uri_template for one in templates]
        for uri, kind in ADDRESSES.items():
            (content,) = (await client.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            assert content.text == f"at {uri}", kind


async def until_exists(path: Path) -> None:
    """Wait until there is a file at *path*."""
    for _ in range(600):
        if await anyio.Path(path).exists():
            return
        await anyio.sleep(0.1)
    raise AssertionError(path)


@pytest.mark.parametrize(("flood", "most"), [("large_flood", 1000), ("long_flood", 10)])
async def test_messages_that_a_client_does_not_read_are_dropped(
    flood: str, most: int, tmp_path: Path
) -> None:
    """A flood during the call of a client that has stopped reading takes bounded memory."""
    note = tmp_path / "note"
    server = StdioServer(
        "mcp.json: odd", "odd", sys.executable, (str(PROGRAM),), {"NOTE": str(note)}
    )
    async with Gateway([ServerSource("odd", server)], live=LIVE, reserved=META_TOOLS) as gateway:
        serving = GatewayServer(gateway, ServingOptions(expose=Exposure.ALL))
        async with (
            serving.running(),
            raw_client(serving) as stuck,
            Client(serving.sdk, mode="legacy", cache=None) as client,
        ):
            await client.list_tools()
            number = await stuck.send("tools/call", name=flood, arguments={})
            await until_exists(note)
            # The server responds in order, so the flood has arrived before this result.
            assert text_of(await call(client, "meta")) == "meta done"
            methods = await stuck.read_until(number)
            assert 0 < methods.count("notifications/message") <= most
