"""`--expose on-demand`: each client lists the tools that its own searches have found."""

from __future__ import annotations

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from forking import forked
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from mcpg.gateway import FileSource, FunctionSource, Gateway, ServerSource
from mcpg.gateway.serve import (
    DESCRIBE,
    INVOKE,
    META_TOOLS,
    PROMPT,
    READ,
    ROUTE,
    SEARCH,
    Exposure,
    ServingOptions,
)
from mcpg.gateway.serve.clients import MOST_FOUND, FoundTools
from mcpg.gateway.serve.http import HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcpg.gateway import Source

    Manifest = Callable[..., FileSource]

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).parents[2] / "primitiveserver.py"
FOUND = ServingOptions(expose=Exposure.FOUND)
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
CHANGED = "notifications/tools/list_changed"


def refund_order(order: str) -> str:
    """Refund an order to the customer who paid it."""
    return f"{order} is refunded"


def weather_report(city: str) -> str:
    """Report the weather of a city, with temperature and wind."""
    return f"{city} is sunny"


def numbered(count: int) -> FunctionSource:
    """Functions that print a letter each, `print_letter_0` and so on."""

    def one(number: int) -> Callable[[], str]:
        def work() -> str:
            return str(number)

        work.__name__ = f"print_letter_{number}"
        work.__doc__ = f"Print the letter with number {number}."
        return work

    return FunctionSource("letters", [one(number) for number in range(count)])


SHOP = FunctionSource("shop", [refund_order, weather_report])


async def names(client: Client) -> list[str]:
    """Return the names of the listed tools."""
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def search(client: Client, query: str, limit: int = 1) -> list[str]:
    """Search, and return the ids of the matches."""
    found = await client.call_tool(SEARCH, {"query": query, "limit": limit})
    assert found.structured_content is not None
    return [one["toolId"] for one in found.structured_content["matches"]]


class Heard:
    """A client's handler of notifications."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    async def __call__(self, message: Any) -> None:
        """Note a notification."""
        self.methods.append(getattr(message, "method", ""))

    @property
    def changes(self) -> int:
        """The number of changed lists."""
        return self.methods.count(CHANGED)


@asynccontextmanager
async def served(
    *sources: Source, serving: ServingOptions = FOUND
) -> AsyncIterator[tuple[Gateway, Any]]:
    """Serve *sources* to clients in memory."""
    async with Gateway(sources, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving)
        async with server.running():
            yield gateway, server.sdk


@asynccontextmanager
async def reached(
    *sources: Source, serving: ServingOptions = FOUND, **how: Any
) -> AsyncIterator[str]:
    """Serve *sources* over HTTP, and return the address."""
    addresses: list[str] = []
    ready = anyio.Event()

    def told(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with Gateway(sources, reserved=META_TOOLS) as gateway, anyio.create_task_group() as group:
        group.start_soon(serve_http, GatewayServer(gateway, serving), HttpOptions(**how), told)
        await ready.wait()
        yield addresses[0]
        group.cancel_scope.cancel()


@asynccontextmanager
async def spoken(folder: Path, *options: str, mode: str, **how: Any) -> AsyncIterator[Client]:
    """Run `mcpg serve` as a program over standard input and output."""
    module = folder / "shop_tools.py"
    module.write_text(
        "def refund_order(order: str) -> str:\n"
        '    """Refund an order to the customer who paid it."""\n'
        '    return f"{order} is refunded"\n'
    )
    command = ["-m", "mcpg", "serve", "python:shop_tools", *options]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    parameters = StdioServerParameters(command=sys.executable, args=command, env=env, cwd=folder)
    with anyio.fail_after(60):
        async with Client(stdio_client(parameters), mode=mode, **how) as client:
            yield client


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    with anyio.fail_after(60):
        while not holds():  # noqa: ASYNC110 - the handler has no event
            await anyio.sleep(0.01)


@MODES
async def test_found_tools_are_listed_and_called_over_stdio(mode: str, tmp_path: Path) -> None:
    """A session begins with two tools; what a search finds is announced, listed and callable."""
    heard = Heard()
    (tmp_path / "mcpg.toml").write_text('[serve]\nexpose = "on-demand"\n')
    async with spoken(tmp_path, mode=mode, message_handler=heard) as client:
        assert await names(client) == [SEARCH, INVOKE]
        if mode == "legacy":
            assert await search(client, "refund an order") == ["refund_order"]
            assert heard.changes  # before the response
        else:
            async with client.listen(tools_list_changed=True) as news:
                assert await search(client, "refund an order") == ["refund_order"]
                with anyio.fail_after(60):
                    await anext(aiter(news))
        listed = (await client.list_tools(cache_mode="bypass")).tools
        assert [tool.name for tool in listed] == [SEARCH, INVOKE, "refund_order"]
        assert listed[-1].input_schema["required"] == ["order"]
        result = await client.call_tool("refund_order", {"order": "7"})
        assert result.content[0].text == "7 is refunded"  # type: ignore[union-attr]


async def test_each_session_over_http_has_a_list_of_its_own() -> None:
    """What one client finds is announced and listed to it alone; both may call everything."""
    first, second = Heard(), Heard()
    async with (
        reached(SHOP) as address,
        Client(address, mode="legacy", message_handler=first) as one,
        Client(address, mode="legacy", message_handler=second) as other,
    ):
        assert await names(one) == await names(other) == [SEARCH, INVOKE]
        await search(one, "refund an order")
        assert first.changes == 1
        assert await names(one) == [SEARCH, INVOKE, "refund_order"]
        assert await names(other) == [SEARCH, INVOKE]
        await search(other, "weather of a city")
        assert await names(other) == [SEARCH, INVOKE, "weather_report"]
        assert await names(one) == [SEARCH, INVOKE, "refund_order"]
        assert (first.changes, second.changes) == (1, 1)
        sunny = await one.call_tool("weather_report", {"city": "Lviv"})
        assert sunny.content[0].text == "Lviv is sunny"  # type: ignore[union-attr]


async def test_a_client_without_session_describes_and_invokes() -> None:
    """Over HTTP, later protocols have nothing to recognize a client by: its list stays as it is."""
    async with reached(SHOP) as address, Client(address) as client:
        assert await names(client) == [SEARCH, DESCRIBE, INVOKE, READ]
        await search(client, "refund an order")
        assert await names(client) == [SEARCH, DESCRIBE, INVOKE, READ]
        call = {"toolId": "refund_order", "arguments": {"order": "7"}}
        for result in (
            await client.call_tool(INVOKE, call),
            await client.call_tool("refund_order", {"order": "7"}),
        ):
            assert result.content[0].text == "7 is refunded"  # type: ignore[union-attr]


@MODES
async def test_a_ninth_tool_takes_the_place_of_the_least_recent(mode: str) -> None:
    """Of nine found tools, the one that was found or called longest ago is no longer listed."""
    async with served(numbered(10)) as (_, server), Client(server, mode=mode) as client:
        for number in range(MOST_FOUND):
            assert await search(client, f"print_letter_{number}") == [f"print_letter_{number}"]
        eight = [f"print_letter_{number}" for number in range(8)]
        assert await names(client) == [SEARCH, INVOKE, *eight]
        await client.call_tool("print_letter_0", {})
        await client.call_tool(INVOKE, {"toolId": "print_letter_1"})
        await search(client, "print_letter_8")
        kept = [one for one in eight if one != "print_letter_2"]
        assert await names(client) == [SEARCH, INVOKE, *kept, "print_letter_8"]
        # What is no longer listed can still be called.
        result = await client.call_tool("print_letter_2", {})
        assert result.content[0].text == "2"  # type: ignore[union-attr]
        assert await names(client) == [SEARCH, INVOKE, *kept, "print_letter_8"]
        assert len(await search(client, "print a letter", limit=10)) == 10
        assert len(await names(client)) == 2 + MOST_FOUND


@pytest.mark.parametrize(
    "written", ["PRINT_Letter_0", " print_letter_0 ", "letters::print_letter_0"]
)
async def test_a_call_counts_however_its_tool_is_named(written: str) -> None:
    """A tool that is called by any of its names is a recent one."""
    async with served(numbered(9)) as (_, server), Client(server, mode="legacy") as client:
        for number in range(MOST_FOUND):
            await search(client, f"print_letter_{number}")
        result = await client.call_tool(INVOKE, {"toolId": written})
        assert result.content[0].text == "0"  # type: ignore[union-attr]
        await client.call_tool(INVOKE, {"toolId": "nowhere"})
        await search(client, "print_letter_8")
        rest = [f"print_letter_{number}" for number in range(2, 9)]
        assert await names(client) == [SEARCH, INVOKE, "print_letter_0", *rest]


async def test_a_list_that_stays_is_not_announced() -> None:
    """Finding the same tools again, in another order or none, changes no list."""
    heard = Heard()
    async with (
        served(SHOP) as (_, server),
        Client(server, mode="legacy", message_handler=heard) as client,
    ):
        await search(client, "refund an order")
        await search(client, "weather of a city")
        before = await names(client)
        assert before == [SEARCH, INVOKE, "refund_order", "weather_report"]
        for query in ("weather of a city", "refund an order", "zzyzx"):
            await search(client, query)
        await client.call_tool("weather_report", {"city": "Lviv"})
        assert await names(client) == before
        assert heard.changes == 2


async def test_searches_side_by_side_find_for_both() -> None:
    """The tools of two searches at once are all listed."""
    async with served(numbered(4)) as (_, server), Client(server, mode="legacy") as client:
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(search, client, f"print_letter_{number}")
        listed = await names(client)
        assert listed[:2] == [SEARCH, INVOKE]
        assert sorted(listed[2:]) == [f"print_letter_{number}" for number in range(4)]


@MODES
async def test_a_found_tool_that_goes_is_no_longer_listed(mode: str) -> None:
    """When a tool is removed, its clients are notified; others are not. It returns if it does."""
    heard, other = Heard(), Heard()
    more = numbered(1)
    async with (
        served(SHOP, more) as (gateway, server),
        Client(server, mode=mode, message_handler=heard) as client,
        Client(server, mode="legacy", message_handler=other),
    ):
        await search(client, "print_letter_0")
        await search(client, "refund an order")
        assert await names(client) == [SEARCH, INVOKE, "print_letter_0", "refund_order"]
        before = heard.changes
        await gateway.remove(more.id)
        if mode == "legacy":
            await until(lambda: heard.changes > before)
            assert not other.changes
        assert await names(client) == [SEARCH, INVOKE, "refund_order"]
        with pytest.raises(MCPError, match="unknown tool 'print_letter_0'"):
            await client.call_tool("print_letter_0", {})
        gateway.add(more)
        await gateway.build_index()
        assert await names(client) == [SEARCH, INVOKE, "print_letter_0", "refund_order"]


async def test_only_tools_that_can_be_called_are_listed(manifest: Manifest) -> None:
    """A tool of a manifest is found, but not listed."""
    texts = manifest("texts", refund_invoice="Refund an invoice")
    async with served(SHOP, texts) as (_, server), Client(server) as client:
        assert set(await search(client, "refund", limit=2)) == {"refund_order", "refund_invoice"}
        assert await names(client) == [SEARCH, INVOKE, "refund_order"]
        with pytest.raises(MCPError, match="unknown tool 'refund_invoice'"):
            await client.call_tool("refund_invoice", {})


async def test_a_catalogue_without_calls_is_searched_and_described(manifest: Manifest) -> None:
    """Where nothing can be called, nothing is listed as a tool of its own."""
    texts = manifest("texts", refund_order="Refund an order")
    async with served(texts) as (_, server), Client(server) as client:
        assert await names(client) == [SEARCH, DESCRIBE]
        await search(client, "refund")
        assert await names(client) == [SEARCH, DESCRIBE]


@MODES
async def test_found_tools_are_those_of_the_whole_list(mode: str) -> None:
    """A found tool has the name, the schemas and the annotations that `--expose all` lists."""
    everything = ServingOptions(expose=Exposure.ALL)
    async with served(SHOP, serving=everything) as (_, server), Client(server, mode=mode) as client:
        whole = {tool.name: tool for tool in (await client.list_tools()).tools}
    async with served(SHOP) as (_, server), Client(server, mode=mode) as client:
        await search(client, "refund an order", limit=5)
        listed = (await client.list_tools(cache_mode="bypass")).tools
        assert [tool for tool in listed[2:] if tool != whole[tool.name]] == []
        assert len(listed) > 2


async def test_a_session_that_ends_is_forgotten() -> None:
    """What a client has found does not stay when it has left, and no other client gets it."""
    async with served(SHOP) as (_, server):
        async with Client(server, mode="legacy") as client:
            await search(client, "refund an order")
            assert len(await names(client)) == 3
        async with Client(server, mode="legacy") as client:
            assert await names(client) == [SEARCH, INVOKE]


async def test_what_reads_is_listed_with_the_first_resource_and_prompt() -> None:
    """A search that finds a resource or a prompt, and a link in a result, list what reads it."""
    command = forked(PROGRAM, "legacy")
    server = StdioServer("mcp.json: shop", "shop", sys.executable, command, {"NAME": "shop"})
    live = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
    async with Gateway([ServerSource("shop", server)], live=live, reserved=META_TOOLS) as gateway:
        front = GatewayServer(gateway, FOUND)
        async with front.running(), Client(front.sdk) as client:
            with anyio.fail_after(60):
                while PROMPT not in await names(client):
                    await search(client, "greet")
        async with Client(front.sdk, mode="legacy") as client:
            assert await names(client) == [SEARCH, INVOKE]
            linked = await client.call_tool("link", {})
            assert await names(client) == [SEARCH, INVOKE, READ]
            uri = linked.content[0].uri  # type: ignore[union-attr]
            told = await client.call_tool(READ, {"uri": uri})
            assert told.content[0].resource.text == f"shop {uri}"  # type: ignore[union-attr]


async def test_other_tools_of_the_gateway_are_not_offered() -> None:
    """Routes, plans and questions are not among the tools of `--expose on-demand`."""
    async with served(SHOP) as (_, server), Client(server) as client:
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool(ROUTE, {"query": "refund"})


_names = st.lists(st.sampled_from([f"t{number}" for number in range(14)]), max_size=12)


@given(st.lists(st.tuples(_names, st.sampled_from([f"t{number}" for number in range(14)]))))
def test_lists_are_bounded_and_keep_their_order(steps: list[tuple[list[str], str]]) -> None:
    """At most eight are listed, the best of the last search all are, and none that stays moves."""
    found = FoundTools()
    for new, called in steps:
        before = [*found]
        found.note_call(called)
        changed = found.add(new, lambda name: name != "t13")
        after = [*found]
        assert changed == (before != after)
        assert len(after) == len(set(after)) <= MOST_FOUND
        assert "t13" not in after
        best = [name for name in dict.fromkeys(new) if name != "t13"][:MOST_FOUND]
        assert {*best} <= {*after}
        stayed = [name for name in before if name in after]
        assert after[: len(stayed)] == stayed
        if called in before and len(best) < MOST_FOUND:
            assert called in after
