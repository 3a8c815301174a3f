"""Tools that plugins add to those of the server."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from mcp import Client

from mcpg import Engine, UsageError
from mcpg.gateway import FunctionSource, Gateway
from mcpg.gateway.serve import SEARCH, Exposure, ServingOptions
from mcpg.gateway.serve.catalogue import find_plugin_tools
from mcpg.gateway.serve.server import GatewayServer
from mcpg.plugins import registry
from mcpg.plugins.hooks import MetaTool, Plugin

SCHEMA: dict[str, Any] = {"properties": {"word": {"type": "string"}}, "required": ["word"]}


def hold() -> str:
    """Hold the line."""
    return "held"


def count(engine: Engine, arguments: dict[str, Any]) -> dict[str, Any]:
    """Count the tools."""
    if arguments["word"] == "refuse":
        raise UsageError("no such word", remedy="use another")
    return {"tools": len(engine.tools), "word": arguments["word"]}


def fail(*_: object) -> None:
    """Fail."""
    raise ZeroDivisionError


TOOLS = (
    MetaTool("shop_count", "Count tools by a word.", SCHEMA, "shop_tools:count"),
    MetaTool("shop_fail", "Fail.", {}, "shop_tools:fail"),
    MetaTool("shop_count", "Another of the name.", {}, "shop_tools:count"),
    MetaTool(SEARCH, "One of ours.", {}, "shop_tools:count"),
    MetaTool("shop_odd", "Not a schema.", {"type": 3}, "shop_tools:count"),
)


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the option of a server with the tools of a plugin."""
    module = ModuleType("shop_tools")
    vars(module).update(count=count, fail=fail)
    monkeypatch.setitem(sys.modules, "shop_tools", module)
    found = registry.PackagePlugins((("shop", Plugin(meta_tools=TOOLS)),), ())
    monkeypatch.setattr("mcpg.gateway.serve.catalogue.package_plugins", lambda: found)
    tools, noticed = find_plugin_tools()
    assert [one.item.name for one in tools] == ["shop_count", "shop_fail"]
    assert [one.code for one in noticed] == ["plugin_failed"] * 3
    return {"plugin_tools": tools}


@pytest.mark.anyio
@pytest.mark.parametrize("expose", Exposure)
async def test_clients_list_and_call_them(options: dict[str, Any], expose: Exposure) -> None:
    """They stand beside the meta-tools; arguments are checked, and errors are results."""
    async with Gateway(FunctionSource("local", (hold,))) as gateway:
        server = GatewayServer(gateway, ServingOptions(expose=expose, **options))
        async with server.running(), Client(server.sdk) as client:
            listed = {one.name: one for one in (await client.list_tools()).tools}
            assert {SEARCH, "shop_count", "shop_fail"} <= set(listed)
            assert listed["shop_count"].description == "Count tools by a word."

            counted = await client.call_tool("shop_count", {"word": "all"})
            assert counted.structured_content == {"tools": 1, "word": "all"}
            for arguments in ({}, {"word": 3}, {"word": "refuse"}):
                refused = await client.call_tool("shop_count", arguments)
                assert refused.is_error
            failed = await client.call_tool("shop_fail", {})
            assert failed.is_error
            assert "'shop' failed and is skipped: ZeroDivisionError" in failed.content[0].text
