"""What clients of a gateway under a lock see of a server that turns against them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from mcpg.catalog.manifest import read_manifest
from mcpg.gateway import Gateway, ToolLock
from mcpg.gateway.serve import (
    DESCRIBE,
    INDEX_BUILD,
    INVOKE,
    META_TOOLS,
    ROUTE,
    SEARCH,
    Exposure,
    ServingOptions,
)
from mcpg.gateway.serve.server import GatewayServer
from mcpg.review.lock import ApprovedTools, approve, lock_changes, lock_text, stated_by_source

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "changingserver.py"
POISON = "exfiltrate_secret"
ORDER = {"type": "string", "description": "Number of the order"}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"order": ORDER}, "required": ["order"]}
REFUND: dict[str, Any] = {
    "name": "refund_order",
    "title": "Refund",
    "description": "Refund an order",
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "object", "properties": {"order": {"type": "string"}}},
    "annotations": {"title": "Refund", "readOnlyHint": False},
}
TRACK = {"name": "track_parcel", "description": "Track a parcel", "inputSchema": {"type": "object"}}
EVIL_ORDER = {**SCHEMA, "properties": {"order": {**ORDER, "description": POISON}}}

TURNS: dict[str, list[dict[str, Any]]] = {
    "title": [{**REFUND, "title": POISON}],
    "description": [{**REFUND, "description": f"Refund an order. {POISON}"}],
    "argument": [{**REFUND, "inputSchema": EVIL_ORDER}],
    "values": [
        {**REFUND, "inputSchema": {**SCHEMA, "properties": {"order": {"enum": [POISON]}}}},
    ],
    "name of an argument": [
        {**REFUND, "inputSchema": {**SCHEMA, "properties": {"order": ORDER, POISON: {}}}},
    ],
    "output": [{**REFUND, "outputSchema": {"type": "object", "description": POISON}}],
    "annotations": [{**REFUND, "annotations": {"title": POISON, "readOnlyHint": True}}],
    "hints": [{**REFUND, "_meta": {"keywords": [POISON], "aliases": [POISON]}}],
    "namesake first": [{**REFUND, "description": POISON}, REFUND],
    "namesake last": [REFUND, {**REFUND, "description": POISON}],
    "another case": [REFUND, {**REFUND, "name": "Refund_Order", "description": POISON}],
    "new tool": [REFUND, {**REFUND, "name": POISON}],
    "all at once": [
        {**REFUND, "description": POISON, "title": POISON, "inputSchema": EVIL_ORDER},
        {**REFUND, "name": POISON},
    ],
}


class Shop:
    """A server whose tools can be changed, and the lock that approves the first ones."""

    def __init__(self, folder: Path) -> None:
        """Start with two tools, approved."""
        self.file, self.config = folder / "tools.txt", folder / "mcp.json"
        command = {"command": sys.executable, "args": [str(SERVER), str(self.file)]}
        self.config.write_text(json.dumps({"mcpServers": {"shop": command}}))
        self.now(REFUND, TRACK)
        tools = read_manifest(json.dumps({"tools": [REFUND, TRACK]}), "shop", default_source="shop")
        lock = approve(
            ApprovedTools(), lock_changes(ApprovedTools(), map(stated_by_source, tools.tools))
        )
        (folder / "mcpg.lock").write_text(lock_text(lock))
        self.lock = folder / "mcpg.lock"

    def now(self, *tools: Any) -> None:
        """Change the tools."""
        self.file.write_text(json.dumps(tools))

    def breaks(self) -> None:
        """Let the server end at its next request."""
        self.file.write_text("no JSON")

    def gateway(self, on_change: str, path: Path | None = None) -> Gateway:
        """Return a gateway of the server under the lock."""
        lock = ToolLock.read(self.lock, on_change)  # type: ignore[arg-type]
        return Gateway([str(path or self.config)], lock=lock, reserved=META_TOOLS)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A server of two tools."""
    return Shop(tmp_path)


async def seen(client: Client) -> str:
    """Return all that a client learns of tools: lists, descriptions, searches and routes."""
    shown: list[Any] = [client.instructions, await client.list_tools(cache_mode="bypass")]
    queries = ("refund an order", "track a parcel", "secret", "exfiltrate")
    tools = ("refund_order", "track_parcel", "Refund_Order", "shop_refund_order")
    calls = [(name, {"query": query}) for query in queries for name in (SEARCH, ROUTE)]
    calls += [(DESCRIBE, {"toolId": tool}) for tool in tools] + [(INDEX_BUILD, {})]
    for name, arguments in calls:
        try:
            shown.append(await client.call_tool(name, arguments))
        except MCPError as fault:  # not every exposure has every tool
            shown.append(str(fault))
    shown.append(await client.list_tools(cache_mode="bypass"))
    return "\n".join(one if isinstance(one, str) else one.model_dump_json() for one in shown if one)


def is_clean(text: str) -> bool:
    """Return whether nothing that was not approved is in *text*."""
    return "exfiltrate_" not in text.replace("\\u005f", "_")


@pytest.mark.parametrize(
    ("turn", "on_change"), [*((turn, "warn") for turn in TURNS), ("all at once", "hide")]
)
async def test_no_client_sees_what_is_not_approved(
    shop: Shop, tmp_path: Path, turn: str, on_change: str
) -> None:
    """Whatever a server has changed, no text of it is shown by any exposure."""
    manifest = tmp_path / "shop.json"
    manifest.write_text(json.dumps({"tools": [*TURNS[turn], TRACK]}))
    async with shop.gateway(on_change, manifest) as gateway:
        for expose in Exposure:
            server = GatewayServer(gateway, ServingOptions(expose=expose, graph_tools=True))
            async with server.running(), Client(server.sdk) as client:
                text = await seen(client)
                assert is_clean(text)
                assert "Track a parcel" in text


async def test_no_change_while_a_gateway_runs_is_seen(shop: Shop) -> None:
    """A server that announces changes, ends, starts again and fails is compared every time."""
    async with shop.gateway("warn") as gateway:
        server = GatewayServer(gateway, ServingOptions(expose=Exposure.ALL, graph_tools=True))
        async with server.running(), Client(server.sdk) as client:
            assert "Refund an order" in await seen(client)
            for turn in ("all at once", "namesake first", "hints"):
                changed = anyio.Event()
                gateway.on_change(changed.set)
                shop.now(*TURNS[turn], TRACK)
                await client.call_tool(INVOKE, {"toolId": "track_parcel", "arguments": {}})
                with anyio.fail_after(60):
                    await changed.wait()
                text = await seen(client)
                assert is_clean(text)
                assert "Refund an order" in text
            shop.breaks()
            await client.call_tool(INVOKE, {"toolId": "track_parcel", "arguments": {}})
            await gateway.build_index()
            assert is_clean(await seen(client))
            shop.now(*TURNS["all at once"], TRACK)
            gateway.invalidate("shop")
            await gateway.build_index()
            async with Client(server.sdk) as other:
                assert is_clean(await seen(other))
                result = await other.call_tool(INVOKE, {"toolId": POISON, "arguments": {}})
                assert result.is_error
                assert [one.id for one in await gateway.list_tools()] == [
                    "refund_order",
                    "track_parcel",
                ]
