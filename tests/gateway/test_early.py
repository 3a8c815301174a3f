"""Gateways whose servers are slow to start: what is known of these answers meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from builders import ids

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.errors import Code
from mcpg.gateway import Gateway, ToolLock, View
from mcpg.gateway.registry import ReviewedDocuments
from mcpg.gateway.views import Selection
from mcpg.review.lock import ApprovedTools, approve, lock_text
from mcpg.review.lock_sources import assembly_changes
from mcpg.sources import read_sources
from mcpg.sources.client_config import ServerAccess

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="a shell delays the server"),
]
SERVER = Path(__file__).parents[1] / "changingserver.py"
DELAY = 'while [ -e "$0" ]; do sleep 0.05; done; exec "$@"'
TOKEN = "marker-token-1234"


def tool(name: str, text: str) -> dict[str, Any]:
    """Describe a tool."""
    return {"name": name, "description": text, "inputSchema": {"type": "object"}}


REFUND = tool("refund_order", "Refund an order")
TRACK = tool("track_parcel", f"Track a parcel with {TOKEN}")
WIRE = tool("wire_money", "Wire money")


class SlowShop:
    """A server that starts only while the file `wait` is not there."""

    def __init__(self, folder: Path, *tools: Any) -> None:
        """Start with *tools*."""
        self.folder = folder
        self.wait, self.file, self.config = (folder / n for n in ("wait", "tools.txt", "mcp.json"))
        self.now(*tools)
        program = [str(self.wait), sys.executable, str(SERVER), str(self.file)]
        entry = {"command": "sh", "args": ["-c", DELAY, *program], "env": {"TOKEN": TOKEN}}
        self.config.write_text(json.dumps({"mcpServers": {"shop": entry}}))

    def now(self, *tools: Any) -> None:
        """Change the tools."""
        self.file.write_text(json.dumps(tools))

    def state(self, *tools: Any) -> list[str]:
        """Write a manifest of *tools* as the server would have them; give its path."""
        path = self.folder / "shop.json"
        path.write_text(json.dumps({"tools": tools}))
        return [str(path)]

    async def start(self) -> None:
        """Let the server start."""
        self.wait.unlink()

    def gateway(self, **options: Any) -> Gateway:
        """Return a gateway of the server that knows its last list."""
        live = ServerAccess(os.environ, listings=str(self.folder / "cache"))
        return Gateway([str(self.config)], live=live, **options)

    @asynccontextmanager
    async def starting(self, **options: Any) -> AsyncIterator[Gateway]:
        """Open a gateway whose server does not start before the end of the block."""
        self.wait.touch()
        try:
            with anyio.fail_after(20):
                async with self.gateway(**options) as gateway:
                    yield gateway
        finally:
            self.wait.unlink(missing_ok=True)


@pytest.fixture
async def shop(tmp_path: Path) -> SlowShop:
    """A server whose tools were listed once."""
    shop = SlowShop(tmp_path, REFUND, TRACK)
    async with shop.gateway() as gateway:
        assert len(await gateway.list_tools()) == 2
    return shop


async def test_the_last_list_answers_while_servers_start(shop: SlowShop) -> None:
    """A search does not wait, is marked, and sees the tools of now as soon as they are known."""
    shop.now(REFUND, WIRE)
    async with shop.starting() as gateway:
        result = await gateway.search("refund an order")
        assert result.matches[0].tool_id == "refund_order"
        assert [one.code for one in result.diagnostics] == [Code.SERVERS_STARTING]
        routed = await gateway.route("refund an order")
        assert Code.SERVERS_STARTING in [one.code for one in routed.diagnostics]
        planned = await gateway.plan("refund an order")
        assert Code.SERVERS_STARTING in [one.code for one in planned.diagnostics]
        assert "***" in (await gateway.describe("track_parcel")).description
        shop.wait.unlink()
        await gateway.build_index()
        result = await gateway.search("wire money")
        assert result.matches[0].tool_id == "wire_money"
        assert Code.SERVERS_STARTING not in [one.code for one in result.diagnostics]
        assert [one.id for one in await gateway.list_tools()] == ["refund_order", "wire_money"]
    (kept,) = (shop.folder / "cache").iterdir()
    assert TOKEN.encode() not in kept.read_bytes()


async def test_a_call_waits_for_its_server(shop: SlowShop) -> None:
    """A tool of the last list is called once its server has started."""
    async with shop.starting() as gateway:
        assert (await gateway.search("refund an order")).matches
        async with anyio.create_task_group() as group:
            group.start_soon(shop.start)
            assert (await gateway.invoke("refund_order")).is_success


async def test_a_server_that_was_never_listed_is_waited_for(tmp_path: Path) -> None:
    """Without a list there is no answer yet; nor is one made of a damaged file."""
    shop = SlowShop(tmp_path, REFUND)
    (tmp_path / "cache").mkdir()
    async with shop.starting() as gateway:
        with anyio.move_on_after(0.5) as scope:
            await gateway.search("refund an order")
        assert scope.cancelled_caught
    async with shop.gateway() as gateway:
        assert await gateway.list_tools()
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(kept.read_bytes()[:-5])
    async with shop.starting() as gateway:
        with anyio.move_on_after(0.5) as scope:
            await gateway.search("refund an order")
        assert scope.cancelled_caught


@pytest.mark.parametrize("on_change", ["warn", "hide"])
async def test_a_lock_holds(shop: SlowShop, on_change: Any) -> None:
    """What nobody has approved is hidden, and a call waits for what the server has now."""
    path = shop.folder / "mcpg.lock"
    stated = assemble(read_sources(shop.state({**REFUND, "description": "Refund"})))
    changes = assembly_changes(ApprovedTools(), stated)
    path.write_text(lock_text(approve(ApprovedTools(), changes)))
    async with shop.starting(lock=ToolLock.read(path, on_change)) as gateway:
        found = await gateway.search("refund an order, track a parcel")
        assert {(one.tool_id, one.summary) for one in found.matches} == (
            set() if on_change == "hide" else {("refund_order", "Refund")}
        )
        with anyio.move_on_after(0.5) as scope:
            await gateway.invoke("refund_order")
        assert scope.cancelled_caught


async def test_a_view_holds(shop: SlowShop) -> None:
    """What a view hides does not exist in it."""
    async with shop.starting() as gateway:
        view = gateway.narrow(View("safe", deny=Selection(tools=("refund_order",))))
        assert ids((await view.search("refund an order, track a parcel")).matches) == [
            "track_parcel"
        ]


@pytest.mark.parametrize("on_change", ["warn", "hide"])
async def test_a_graph_answers_first(shop: SlowShop, on_change: Any) -> None:
    """Tools that a graph states come before the last list, which it may hide."""
    path = shop.folder / "graph.mdld"
    batch = read_sources(shop.state(REFUND, WIRE), source_id="shop")
    write_bundle(path, build_bundle(assemble(batch)))
    async with shop.starting(graph=ReviewedDocuments(str(path), on_change)) as gateway:
        found = await gateway.search("wire money")
        assert found.matches[0].tool_id == "wire_money"
        assert [one.code for one in found.diagnostics][-1:] == [Code.SERVERS_STARTING]
        assert ids((await gateway.search("track a parcel")).matches)[:1] != ["track_parcel"]


def test_the_first_answer_of_serve(tmp_path: Path) -> None:
    """After a bundle was built of them, the first search does not wait for the servers."""
    shop = SlowShop(tmp_path, REFUND, TRACK)
    environ = {**os.environ, "MCPG_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "mcpg"]
    build = [*command, "bundle", "mcp.json", "-q"]
    subprocess.run(build, cwd=tmp_path, env=environ, check=True)
    shop.wait.touch()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "gateway_tools_search", "arguments": {"query": "refund an order"}}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    lines = "".join(f"{json.dumps({'jsonrpc': '2.0', **one})}\n" for one in requests)
    with subprocess.Popen(
        [*command, "serve", "mcp.json"], cwd=tmp_path, env=environ, stdin=-1, stdout=-1, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        messages = (json.loads(line) for line in process.stdout)
        answer = next(one for one in messages if one.get("id") == 2)["result"]["structuredContent"]
        assert shop.wait.exists()
        process.stdin.close()
    assert answer["matches"][0]["toolId"] == "refund_order"
    assert "still starting" in answer["notes"][0]
