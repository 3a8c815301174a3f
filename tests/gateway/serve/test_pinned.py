"""Pinned tools, and lists that are the same at every start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from mcpg.errors import Code, UsageError
from mcpg.gateway import (
    FileSource,
    FunctionSource,
    Gateway,
    Limits,
    ReviewedDocuments,
    Selection,
    ServerSource,
    View,
)
from mcpg.gateway.serve import (
    DESCRIBE,
    EVERYDAY,
    INVOKE,
    META_TOOLS,
    SEARCH,
    Exposure,
    ServingOptions,
)
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcpg.errors import Diagnostic
    from mcpg.gateway import Source

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)


def ship_order(order_id: str) -> str:
    """Ship an order."""
    return f"shipped {order_id}"


def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"refunded {order_id}"


SHOP = FunctionSource("shop", (ship_order, refund_order))


@asynccontextmanager
async def served(
    *sources: Source, serving: ServingOptions | None = None, mode: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    """Serve *sources* to a client of the SDK, once they have been read."""
    async with Gateway(sources, live=LIVE, reserved=META_TOOLS, **options) as gateway:
        await gateway.warm_up()
        server = GatewayServer(gateway, serving or ServingOptions())
        async with server.running(), Client(server.sdk, mode=mode, cache=None) as client:
            yield client


async def names(client: Client) -> list[str]:
    """Return the names of the listed tools."""
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_pinned_tools_are_listed_beside_the_others(mode: str) -> None:
    """A pinned tool is listed as it is, in the order of the operator, and called by its name."""
    serving = ServingOptions(pins=("shop::ship_order", "REFUND_ORDER", "ship_order"))
    async with served(SHOP, serving=serving, mode=mode) as client:
        assert await names(client) == [*EVERYDAY, "ship_order", "refund_order"]
        result = await client.call_tool("ship_order", {"order_id": "7"})
        assert result.structured_content == {"result": "shipped 7"}
        assert result.content[0].text == "shipped 7"  # type: ignore[union-attr]
        refused = await client.call_tool("ship_order", {"order": "7"})
        assert refused.is_error


async def test_pinned_tools_stay_where_found_ones_come_and_go() -> None:
    """With found tools, pinned ones come before them, and are not listed twice."""
    serving = ServingOptions(expose=Exposure.FOUND, pins=("ship_order",))
    async with served(SHOP, serving=serving, mode="legacy") as client:
        assert await names(client) == [SEARCH, INVOKE, "ship_order"]
        await client.call_tool(SEARCH, {"query": "refund an order or ship it"})
        assert await names(client) == [SEARCH, INVOKE, "ship_order", "refund_order"]


async def test_what_cannot_be_pinned_is_reported(manifest: Manifest) -> None:
    """Unknown tools, and tools that nobody can call, are not listed; the operator learns why."""
    reported: dict[str, Diagnostic] = {}
    serving = ServingOptions(
        pins=("ship_ordr", "track", "ship_order"),
        on_diagnostics=lambda some: reported.update({one.message: one for one in some}),
    )
    async with served(manifest("post", track="Track"), SHOP, serving=serving) as client:
        assert await names(client) == [*EVERYDAY, "ship_order"]
    told = [one for one in reported.values() if one.code == Code.SERVED_NAME_UNKNOWN]
    assert [one.message for one in told] == [
        "no tool is called 'ship_ordr' (did you mean ship_order?)",
        "the tool 'track' cannot be called",
    ]
    with pytest.raises(UsageError, match="expose all"):
        ServingOptions(pins=tuple(map(str, range(33))))


async def test_a_pin_shows_nothing_that_a_view_hides() -> None:
    """Pins of the operator have no effect on a view that hides them."""
    async with Gateway([SHOP], reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(View("clerk", deny=Selection(tools=("refund_order",))))
        server = GatewayServer(shown, ServingOptions(pins=("refund_order", "ship_order")))
        async with server.running(), Client(server.sdk) as client:
            assert await names(client) == [*EVERYDAY, "ship_order"]


async def test_words_of_the_operator_join_the_search_tool() -> None:
    """What the operator adds is part of one description, to the letter."""
    about = "For orders {of} our shop."
    for expose in (Exposure.META, Exposure.FOUND):
        serving = ServingOptions(expose=expose, about=about)
        async with served(SHOP, serving=serving) as client:
            told = [tool.description or "" for tool in (await client.list_tools()).tools]
        assert told[0].endswith(f" {about}")
        assert not [one for one in told[1:] if about in one]
    with pytest.raises(UsageError, match="1,000"):
        ServingOptions(about="x" * 1001)


async def test_descriptions_do_not_depend_on_who_responds(tmp_path: Path) -> None:
    """Servers are named as the configuration does, with the counts of a reviewed bundle alone."""
    gone = ServerSource("crm", StdioServer("mcp.json: crm", "crm", sys.executable, ("-c", "")))
    program = (str(TESTS / "gitserver.py"),)
    live = ServerSource("git", StdioServer("mcp.json: git", "git", sys.executable, program))
    async with served(gone, live) as client:
        told = (await client.list_tools()).tools[0].description or ""
        assert "Behind this server: the tools of crm, git; they" in told
        found = await client.call_tool(SEARCH, {"query": "status", "sources": ["git"]})
        assert found.structured_content["matches"]  # type: ignore[index]
    tools = [{"name": name, "inputSchema": {}} for name in ("git_status", "git_log", "git_diff")]
    path = tmp_path / "git.json"
    path.write_text(json.dumps({"tools": tools}), "utf-8")
    async with served(live, graph=ReviewedDocuments(str(path))) as client:
        told = (await client.list_tools()).tools[0].description or ""
        assert "Behind this server: 3 tools of git; they" in told
    async with served(gone, live, graph=ReviewedDocuments(str(path))) as client:
        told = (await client.list_tools()).tools[0].description or ""
        assert "Behind this server: the tools of git (3), crm; they" in told


LIST = """
import sys, anyio
sys.path[:0] = {paths!r}
from mcp import Client
from mcpg.gateway import FileSource, Gateway
from mcpg.gateway.serve import Exposure, ServingOptions
from mcpg.gateway.serve.server import GatewayServer

async def main():
    async with Gateway([FileSource("python", "python:catalogue_of_many")]) as gateway:
        await gateway.warm_up()
        for expose in Exposure:
            options = ServingOptions(expose=expose, graph_tools=True, pins=("tool_3", "tool_1"))
            server = GatewayServer(gateway, options)
            async with server.running(), Client(server.sdk, mode="legacy") as client:
                print((await client.list_tools()).model_dump_json())

anyio.run(main)
"""
MODULE = """
from mcpg.sources.authoring import tool

def make(number):
    @tool(categories=["x", "y", "z"], keywords=["k", "l"])
    def one(a: int, b: str = "", c: list[str] | None = None) -> str:
        "Do one thing."
        return ""
    one.__name__ = f"tool_{number}"
    return one

for number in %s:
    globals()[f"tool_{number}"] = make(number)
"""


def test_lists_are_the_same_at_every_start(tmp_path: Path) -> None:
    """No list depends on the order in which tools are read, or on the seed of hashes."""
    lists = set()
    for seed, order in (("0", range(20)), ("1", [*reversed(range(20))])):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "catalogue_of_many.py").write_text(MODULE % [*order], "utf-8")
        program = LIST.format(paths=[str(folder), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        lists.add(done.stdout)
    assert len(lists) == 1
    assert lists.pop().count(b"\n") == len(Exposure)


async def test_a_list_says_how_long_it_is_valid() -> None:
    """A list is valid until servers are listed again; one that a search changes is not."""
    for expose, ttl in ((Exposure.META, 120_000), (Exposure.ALL, 120_000), (Exposure.FOUND, 0)):
        limits = Limits(relist_seconds=120)
        serving = ServingOptions(expose=expose)
        async with served(SHOP, serving=serving, limits=limits) as client:
            listed = await client.list_tools()
            assert (listed.ttl_ms, listed.cache_scope) == (ttl, "private")
    async with served(SHOP, limits=Limits(relist_seconds=0)) as client:
        assert (await client.list_tools()).ttl_ms == 86_400_000
        assert DESCRIBE in await names(client)
