"""Sessions of clients: which of them have a server of their own, how many, and how long."""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import pytest
from counterserver import Handler
from counterserver import counts as counted_calls
from mcp import Client
from processes import children

from mcpg.gateway import Gateway, Limits, ServerSource
from mcpg.gateway.serve import INVOKE, META_TOOLS, SEARCH, Exposure, ServingOptions
from mcpg.gateway.serve.http import HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mcpg.sources.client_config import SessionSetting

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs /proc")]

TESTS = Path(__file__).parents[2]
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
ALL = ServingOptions(expose=Exposure.ALL)
WHO = {"name": "test", "version": "1"}
KEYS = "a-random-text-of-one", "a-random-text-of-two"


def counter(sessions: SessionSetting | None = "client", *words: str) -> ServerSource:
    """A program that counts its calls."""
    args = ("-S", str(TESTS / "counterserver.py"), *words)
    server = StdioServer("m.json: c", "c", sys.executable, args, sessions=sessions)
    return ServerSource("c", server)


@contextmanager
def remote(*, assigns: bool, sessions: SessionSetting | None = None) -> Iterator[ServerSource]:
    """A server at an address that counts the calls of each session, if it *assigns* any."""
    handler = type("Counting", (Handler,), {"assigns": assigns})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        yield ServerSource("c", HttpServer("m.json: c", "c", url, oauth=None, sessions=sessions))
        server.shutdown()
        thread.join()


@asynccontextmanager
async def reached(
    source: ServerSource, limits: Limits | None = None, **http: Any
) -> AsyncIterator[tuple[str, Gateway]]:
    """Serve *source* over HTTP, and return the address."""
    addresses: list[str] = []
    ready = anyio.Event()

    def told(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with (
        Gateway([source], live=LIVE, reserved=META_TOOLS, limits=limits) as gateway,
        anyio.create_task_group() as group,
    ):
        await gateway.build_index()
        group.start_soon(serve_http, GatewayServer(gateway, ALL), HttpOptions(**http), told)
        await ready.wait()
        yield addresses[0], gateway
        group.cancel_scope.cancel()


async def counted(client: Client, key: str = "") -> tuple[int, str]:
    """Call the counter: return how often it was called, and who it is."""
    meta: Any = {"mcpg/session": key} if key else None
    result = await client.call_tool("count", {}, meta=meta)
    text = result.content[0].text  # type: ignore[union-attr]
    assert not result.is_error, text
    number, _, who = text.partition(" ")
    return int(number), who


async def refusal(client: Client) -> tuple[str, str]:
    """Call the counter in vain: return the code and the text of the fault."""
    result = await client.call_tool(INVOKE, {"toolId": "count"})
    assert result.is_error
    fault = result.meta["faults"][0]  # type: ignore[index]
    assert fault["message"] in result.content[0].text  # type: ignore[union-attr]
    return fault["code"], fault["message"]


async def gone(before: set[int], most: int = 0) -> bool:
    """Return whether at most so many of the children since *before* are left, in a while."""
    for _ in range(300):
        if len(children() - before) <= most:
            return True
        await anyio.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("sessions", "counts"), [("client", (1, 1, 2)), ("shared", (1, 2, 3)), (None, (1, 2, 3))]
)
async def test_clients_share_a_server_unless_it_is_one_for_each(
    sessions: SessionSetting | None, counts: tuple[int, ...]
) -> None:
    """By default a program is shared; by its setting each session has a process of its own."""
    async with (
        reached(counter(sessions)) as (address, _),
        Client(address, mode="legacy") as first,
        Client(address, mode="legacy") as second,
    ):
        seen = [await counted(client) for client in (first, second, first)]
        assert tuple(number for number, _ in seen) == counts
        assert (seen[0][1] == seen[1][1]) == (sessions != "client")


async def test_a_known_package_is_one_for_each() -> None:
    """A program that is known to keep state needs no setting."""
    async with (
        reached(counter(None, "@playwright/mcp@latest")) as (address, _),
        Client(address, mode="legacy") as first,
        Client(address, mode="legacy") as second,
    ):
        assert [(await counted(one))[0] for one in (first, second)] == [1, 1]


@pytest.mark.parametrize(
    ("assigns", "sessions", "counts"),
    [
        (True, None, (1, 1, 2)),
        (False, None, (1, 2, 3)),
        (True, "shared", (1, 2, 3)),
        (True, "client", (1, 1, 2)),
    ],
)
async def test_a_server_that_assigns_sessions_has_one_for_each_client(
    assigns: bool, sessions: SessionSetting | None, counts: tuple[int, ...]
) -> None:
    """Over HTTP the protocol shows which servers tell their clients apart."""
    counted_calls.clear()
    with remote(assigns=assigns, sessions=sessions) as source:
        async with (
            reached(source) as (address, _),
            Client(address, mode="legacy") as first,
            Client(address, mode="legacy") as second,
        ):
            seen = [(await counted(client))[0] for client in (first, second, first)]
        assert tuple(seen) == counts


async def test_a_client_without_a_session_names_one_or_is_refused() -> None:
    """It shares no state with others, and the error names both ways out."""
    async with (
        reached(counter()) as (address, _),
        Client(address) as one,
        Client(address) as other,
    ):
        code, message = await refusal(one)
        assert code == "no_session"
        assert "mcpg/session" in message
        assert 'sessions = "shared"' in message
        seen = [
            await counted(client, key)
            for client, key in ((one, KEYS[0]), (other, KEYS[1]), (other, KEYS[0]))
        ]
        assert [number for number, _ in seen] == [1, 1, 2]
        assert seen[0][1] == seen[2][1] != seen[1][1]


@pytest.mark.parametrize("key", ["short", "x" * 257, 7, {"a": 1}])
async def test_a_session_that_can_be_guessed_is_refused(key: Any) -> None:
    """Whoever guesses the name of a session would have its state."""
    async with reached(counter()) as (address, _), Client(address) as client:
        with pytest.raises(Exception, match="16 to 256 characters"):
            await client.call_tool("count", {}, meta={"mcpg/session": key})


async def test_any_text_of_json_names_a_session() -> None:
    """Half a pair of surrogates is no UTF-8, and no internal error."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": WHO,
        "io.modelcontextprotocol/clientCapabilities": {},
        "mcpg/session": "\ud800" * 16,
    }
    params = {"name": "count", "arguments": {}, "_meta": envelope}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "count",
    }

    def call(address: str) -> str:
        request = urllib.request.Request(address, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())

    async with reached(counter()) as (address, _):
        assert '"1 ' in await anyio.to_thread.run_sync(call, address)


async def test_clients_without_sessions_share_what_is_not_known_to_keep_state() -> None:
    """Most servers that assign sessions keep nothing; one that does can be named."""
    with remote(assigns=True) as source:
        async with reached(source) as (address, _), Client(address) as one, Client(address) as two:
            assert [(await counted(client))[0] for client in (one, two)] == [1, 2]
            assert (await counted(two, KEYS[0]))[0] == 1


async def test_the_server_of_a_session_ends_with_it() -> None:
    """A session that its client ends, or whose client vanishes, leaves no process."""
    before = children()
    async with reached(counter(), idle_seconds=1) as (address, _):
        async with Client(address, mode="legacy") as client:
            await counted(client)
            assert len(children() - before) == 2  # its own, and the one that lists tools
        assert await gone(before, 1)
        await anyio.to_thread.run_sync(call_and_vanish, address)
        assert len(children() - before) == 2
        assert await gone(before, 1)


def call_and_vanish(address: str) -> None:
    """Begin a session, call the counter, and end neither the session nor anything else."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": WHO}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for method, params in (
        ("initialize", about),
        ("notifications/initialized", {}),
        ("tools/call", {"name": "count", "arguments": {}}),
    ):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("notifications/"):
            message["id"] = 1
        data = json.dumps(message).encode()
        request = urllib.request.Request(address, data, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            headers.setdefault("Mcp-Session-Id", answer.headers["Mcp-Session-Id"])
            text = answer.read().decode()
    assert '"1 ' in text


async def test_an_idle_server_ends_within_its_session() -> None:
    """After the time without a call it is ended, and the next call begins a new one."""
    before = children()
    limits = Limits(session_seconds=0.5)
    async with reached(counter(), limits) as (address, _), Client(address) as client:
        first, second = [(await counted(client, KEYS[0]), await gone(before, 1)) for _ in range(2)]
        assert [first[0][0], second[0][0]] == [1, 1]
        assert first[1]
        assert second[1]


@pytest.mark.parametrize(
    "limits", [Limits(sessions_per_source=2), Limits(sessions=2)], ids=["source", "total"]
)
async def test_a_session_too_many_is_refused_by_name_of_the_limit(limits: Limits) -> None:
    """It shares nothing silently, and has its turn when another has ended."""
    name = "sessions_per_source" if limits.sessions_per_source == 2 else "sessions"
    before = children()
    async with (
        reached(counter(), limits) as (address, _),
        Client(address, mode="legacy") as first,
        Client(address, mode="legacy") as last,
    ):
        async with Client(address, mode="legacy") as second:
            assert [(await counted(one))[0] for one in (first, second)] == [1, 1]
            code, message = await refusal(last)
            assert code == "session_limit"
            assert f"limits.{name} in mcpg.toml" in message
            assert (await counted(first))[0] == 2
        assert await gone(before, 2)
        assert (await counted(last))[0] == 1


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_standard_streams_there_is_one_client(mode: str) -> None:
    """It needs no process beside the one that lists the tools."""
    before = children()
    async with Gateway([counter()], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ALL)
        async with server.running(), Client(server.sdk, mode=mode) as client:
            await client.list_tools()
            assert [(await counted(client))[0] for _ in range(2)] == [1, 2]
            assert len(children() - before) == 1


async def test_a_program_tells_its_sessions_apart() -> None:
    """Calls without a session belong to one; each other has a process until it is ended."""
    before = children()
    async with Gateway([counter()], live=LIVE) as gateway:

        async def call(session: str = "") -> str:
            return (await gateway.invoke("count", session=session)).text.partition(" ")[0]

        assert [await call(one) for one in ("", "a", "b", "a", "")] == ["1", "1", "1", "2", "2"]
        assert len(children() - before) == 3
        await gateway.end_session("a")
        assert await gone(before, 2)
        assert [await call(one) for one in ("a", "b")] == ["1", "2"]
    assert await gone(before)


async def test_what_is_listed_during_a_call_is_listed_for_all() -> None:
    """The server of a session that announces a change makes no further one start."""
    before = children()
    changed = anyio.Event()
    async with Gateway([counter()], live=LIVE) as gateway:
        await gateway.build_index()
        gateway.on_change(changed.set)
        await gateway.invoke("count", {"announces": True}, session="a")
        with anyio.fail_after(20):
            await changed.wait()
        assert len(children() - before) == 2


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_what_a_request_makes_mcpg_list_is_listed_for_all(mode: str) -> None:
    """A source added at run time is read on behalf of nobody: no session, no process of its own."""
    before = children()
    another = counter("client", "another")
    added = replace(another, id="d", server=replace(another.server, name="d"))
    async with reached(counter()) as (address, gateway), Client(address, mode=mode) as client:
        await client.list_tools()
        gateway.add(added)
        found = await client.call_tool(SEARCH, {"query": "count"})
        assert "d_count" in found.content[0].text  # type: ignore[union-attr]
        with pytest.raises(Exception, match="resource"):
            await client.read_resource("nowhere://at/all")
        assert len(children() - before) == 2


async def test_many_sessions_leave_nothing() -> None:
    """Neither processes nor entries of tables."""
    before = children()
    async with reached(counter()) as (address, gateway):
        sizes = []
        for _ in range(2):
            for _ in range(10):
                async with Client(address, mode="legacy") as client:
                    assert (await counted(client))[0] == 1
            assert await gone(before, 1)
            sizes.append(entries(gateway.sessions))
        assert sizes[0] == sizes[1]


def entries(value: object) -> dict[str, int]:
    """Return the sizes of the containers of an object."""
    kinds = (list, dict, set)
    return {name: len(one) for name, one in vars(value).items() if isinstance(one, kinds)}
