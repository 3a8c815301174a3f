"""Prompts, resources, subscriptions and log messages of servers reach clients."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from forking import forked
from mcp import Client, MCPError
from mcp_types import (
    PromptReference,
    ResourceTemplateReference,
    TextResourceContents,
)
from rawclient import raw_client

from mcpg.gateway import Gateway, ServerSource, prompts_and_resources
from mcpg.gateway.serve import META_TOOLS, PROMPT, READ, SEARCH, Exposure, ServingOptions
from mcpg.gateway.serve.answers import size
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "primitiveserver.py"
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)
ALL = ServingOptions(expose=Exposure.ALL)
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def shop(name: str = "shop", *args: str, **env: str) -> ServerSource:
    """A server with every primitive; *args* are its era and its fault."""
    command = forked(PROGRAM, *(args or ("legacy",)))
    server = StdioServer(f"mcp.json: {name}", name, sys.executable, command, {"NAME": name, **env})
    return ServerSource(name, server)


@asynccontextmanager
async def served(
    *sources: ServerSource, mode: str = "legacy", serving: ServingOptions = ALL, **how: Any
) -> AsyncIterator[Client]:
    """Serve *sources* with all of their tools."""
    async with Gateway(sources, live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, serving)
        async with server.running(), Client(server.sdk, mode=mode, **how) as client:
            await client.list_tools()
            yield client


async def text_of(client: Client, uri: str) -> str:
    """Return the text of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert str(content.uri) == uri
    return content.text


async def prompted(client: Client, name: str, **arguments: str) -> str:
    """Return the text of a prompt."""
    (message,) = (await client.get_prompt(name, arguments)).messages
    return message.content.text  # type: ignore[union-attr]


@ERAS
@MODES
async def test_prompts_and_resources_are_passed_on(era: str, mode: str) -> None:
    """They are listed, read and completed as at the server itself, with the server named."""
    async with served(shop("shop", era), mode=mode) as client:
        assert client.server_capabilities.completions is not None
        resources = (await client.list_resources()).resources
        assert [one.uri for one in resources] == ["note://shared", "shop://own"]
        assert resources[0].meta == {"sourceId": "shop"}
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["item:///{id}/data"]
        for uri in ("note://shared", "item:///7/data", "note://unlisted"):
            assert await text_of(client, uri) == f"shop {uri}"
        prompts = (await client.list_prompts()).prompts
        assert [one.name for one in prompts] == ["greet", "huge"]
        assert await prompted(client, "greet", who="you") == "shop: {'who': 'you'}"
        for ref, of in (
            (PromptReference(name="greet", type="ref/prompt"), "greet"),
            (
                ResourceTemplateReference(type="ref/resource", uri="item:///{id}/data"),
                "item:///{id}/data",
            ),
        ):
            found = await client.complete(ref, {"name": "a", "value": "b"})
            assert found.completion.values == [f"shop {of} b"]


@MODES
async def test_the_first_list_has_the_tools_for_prompts_and_resources(mode: str) -> None:
    """Clients that list tools once, and heed no notification, get them all the same."""
    async with Gateway([shop("shop")], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ALL)
        async with server.running(), Client(server.sdk, mode=mode) as client:
            names = {one.name for one in (await client.list_tools()).tools}
            assert {READ, PROMPT} <= names


@MODES
async def test_errors_are_those_of_the_server(mode: str) -> None:
    """Code, message and data reach the client; an unknown prompt is reported by mcpg."""
    async with served(shop(), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("note://missing")
        error = {"code": -32002, "message": "no such note", "data": {"uri": "note://missing"}}
        assert caught.value.error.model_dump() == error
        with pytest.raises(MCPError, match="no server has the prompt 'nothing'"):
            await client.get_prompt("nothing")


@MODES
async def test_an_error_of_a_server_has_a_limit(mode: str) -> None:
    """A large error reaches the client without its data, in at most the bytes of a result."""
    serving = replace(ALL, result_bytes=2048)
    async with served(shop(), mode=mode, serving=serving) as client:
        for given, message in (("few", "refused"), ("x" * 100_000, "refused [mcpg: parts of")):
            with pytest.raises(MCPError, match=re.escape(message)) as caught:
                await client.get_prompt("greet", {"refuse": given})
            error = caught.value.error.model_dump()
            assert error["code"] == -32602
            assert error["data"] == ({"refuse": given} if given == "few" else None)
            assert size(error) <= 2048


async def test_two_servers_never_collide() -> None:
    """Prompts and addresses of the same name are told apart, in lists, links and completions."""
    async with served(shop("a"), shop("b")) as client:
        uris = [one.uri for one in (await client.list_resources()).resources]
        assert uris == ["note://shared", "a://own", "mcpg://b/note://shared", "b://own"]
        for uri, text in zip(uris, ("a", "a", "b", "b"), strict=True):
            assert (await text_of(client, uri)).startswith(text)
        templates = (await client.list_resource_templates()).resource_templates
        assert templates[1].uri_template == "mcpg://b/item:///{id}/data"
        assert await text_of(client, "mcpg://b/item:///7/data") == "b item:///7/data"
        names = [one.name for one in (await client.list_prompts()).prompts]
        assert names == ["greet", "huge", "b_greet", "b_huge"]
        assert await prompted(client, "greet") == "a: {}"
        assert await prompted(client, "b_greet") == "b: {}"
        ref = PromptReference(name="b_greet", type="ref/prompt")
        found = await client.complete(ref, {"name": "a", "value": "c"})
        assert found.completion.values == ["b greet c"]
        # What a tool links to is read at its own server, also where nobody lists it.
        for owner in ("a", "b"):
            tool = next(
                one.name
                for one in (await client.list_tools()).tools
                if (one.meta or {}).get("sourceId") == owner and one.meta["toolName"] == "link"  # type: ignore[index]
            )
            result = await client.call_tool(tool, {})
            for block in result.content:
                uri = block.uri if block.type == "resource_link" else block.resource.uri  # type: ignore[union-attr]
                assert (await text_of(client, str(uri))).startswith(f"{owner} ")


async def test_links_beyond_a_limit_name_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not compared with templates, and are read at their server all the same."""
    monkeypatch.setattr("mcpg.gateway.prompts_and_resources._MOST_MATCHES", 2)
    async with served(shop()) as client:
        blocks: list[Any] = (await client.call_tool("link", {})).content
        uris = [str(one.uri if one.type == "resource_link" else one.resource.uri) for one in blocks]
        assert uris == [
            "mcpg://shop/note://shared",
            "mcpg://shop/x:un",
            "mcpg://shop/note://shared",
        ]
        for uri in uris:
            assert "shop " in str((await client.read_resource(uri)).contents)


async def test_a_server_has_a_limit_of_templates() -> None:
    """Each address is compared with all of them."""
    templates = [{"name": "t", "uriTemplate": f"t:{n}/{{id}}"} for n in range(1001)]
    env = {
        "NOTE": os.devnull,
        "ANSWERS": json.dumps(
            {"resources/templates/list": {"resourceTemplates": templates}, "resources/list": {}}
        ),
    }
    command = (str(PROGRAM.with_name("callservers.py")), "plain")
    many = StdioServer("mcp.json: many", "many", sys.executable, command, env)
    async with Gateway([ServerSource("many", many)], live=LIVE) as gateway:
        assert len((await gateway.primitives.list_directory()).templates) == 1000


SCHEMES = (
    "https://a.example/x?y=1#z urn:isbn:1 data:,hi ui://widget/a.html file:///C:/a%20b "
    "mcpg://shop/evil custom+x.y:opaque"
)


async def test_addresses_of_every_scheme_are_read() -> None:
    """No scheme is special, except that nobody can pass for an address of another server."""
    async with served(shop(URIS=SCHEMES)) as client:
        uris = [one.uri for one in (await client.list_resources()).resources]
        changed = {"mcpg://shop/evil": "mcpg://shop/mcpg://shop/evil"}
        assert uris == [changed.get(one, one) for one in SCHEMES.split()]
        for shown, uri in zip(uris, SCHEMES.split(), strict=True):
            assert await text_of(client, shown) == f"shop {uri}"


async def test_a_prompt_of_megabytes_is_passed_on() -> None:
    """Its size is that of the server."""
    async with served(shop(SIZE=str(6 << 20))) as client:
        assert len(await prompted(client, "huge")) == 6 << 20


@pytest.mark.parametrize("fault", ["claims", "hangs"])
async def test_one_server_that_fails_costs_no_other(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who claims a capability and does not have it, or says nothing, lists nothing."""
    monkeypatch.setattr(prompts_and_resources, "LISTING_SECONDS", 2.0)
    note = tmp_path / "note"
    bad = shop("bad", "legacy", fault, NOTE=str(note))
    async with served(bad, shop("good")) as client:
        uris = [one.uri for one in (await client.list_resources()).resources]
        assert uris == ["note://shared", "good://own"]
        assert await text_of(client, "note://shared") == "good note://shared"
        assert await prompted(client, "greet") == "good: {}"
        assert (await client.call_tool("gateway_tools_search", {"query": "log"})).content
        assert (await client.list_prompts()).prompts
        # No list waits again for what hangs.
        assert not note.exists() or note.read_text("utf-8").splitlines() == ["hangs"]


@ERAS
@MODES
async def test_changes_are_announced(era: str, mode: str, tmp_path: Path) -> None:
    """A list that a server changes, and a resource that was subscribed to, reach the client."""
    told: list[str] = []
    seen = anyio.Event()

    async def heard(message: Any) -> None:
        method = getattr(message, "method", "")
        told.append(f"{method} {getattr(message.params, 'uri', '')}".strip())
        if {"notifications/prompts/list_changed", f"{UPDATED} note://shared"} <= {*told}:
            seen.set()

    source = shop("shop", era, NOTE=str(tmp_path / "note"))
    async with served(source, mode=mode, message_handler=heard) as client:
        await client.list_prompts()

        async def act() -> None:
            with anyio.fail_after(20):
                while not seen.is_set():
                    await client.call_tool("touch", {})
                    await client.call_tool("change", {})
                    await anyio.sleep(0.3)

        if mode == "legacy":
            await client.subscribe_resource("note://shared")
            await act()
            await client.unsubscribe_resource("note://shared")
        else:
            uris = ["note://shared"]
            async with client.listen(prompts_list_changed=True, resource_subscriptions=uris):
                await act()
        names = [one.name for one in (await client.list_prompts(cache_mode="bypass")).prompts]
        assert "late" in names
    if era == "legacy":
        noted = (tmp_path / "note").read_text("utf-8")
        assert "resources/subscribe {'uri': 'note://shared'}" in noted


async def test_subscriptions_of_a_client_that_has_left_are_withdrawn(tmp_path: Path) -> None:
    """A stream that ends leaves no subscription at the server that nobody else has."""
    async with served(shop(NOTE=str(tmp_path / "note")), mode="auto") as client:
        for uri in ("note://shared", "shop://own"):
            async with client.listen(resource_subscriptions=[uri]):
                pass
            await until_noted(tmp_path / "note", f"resources/unsubscribe {{'uri': '{uri}'}}")


async def test_no_client_has_more_subscriptions_than_allowed() -> None:
    """The limit holds for each stream, and for all streams of the one client."""
    many = [f"note://{number}" for number in range(1000)]
    async with (
        served(shop(), mode="auto") as client,
        client.listen(resource_subscriptions=["note://own"]),
    ):
        for uris in (many, [*many, "note://more"]):
            with pytest.raises(MCPError, match="more than 1,000 subscriptions"):
                await client.listen(resource_subscriptions=uris).__aenter__()
        async with client.listen(resource_subscriptions=many[1:]):
            pass


async def until_noted(path: Path, text: str) -> None:
    """Wait until the server has noted *text*."""
    note = anyio.Path(path)
    for _ in range(300):
        if await note.exists() and text in await note.read_text("utf-8"):
            return
        await anyio.sleep(0.1)
    raise AssertionError(text)


UPDATED = "notifications/resources/updated"


async def test_a_client_that_does_not_read_keeps_no_other_waiting() -> None:
    """Others are notified of tools, prompts and resources; what it has yet to read is bounded."""
    told: list[str] = []
    seen = anyio.Event()

    async def heard(message: Any) -> None:
        told.append(getattr(message, "method", ""))
        wanted = {f"notifications/{kind}/list_changed" for kind in ("tools", "prompts")}
        if {*wanted, UPDATED} <= {*told}:
            seen.set()

    async with Gateway([shop()], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ALL)
        async with (
            server.running(),
            raw_client(server) as stuck,
            Client(server.sdk, mode="legacy", message_handler=heard) as client,
        ):
            await stuck.read_until(await stuck.send("tools/list"))
            await stuck.read_until(await stuck.send("resources/subscribe", uri="note://shared"))
            await client.list_tools()
            await client.list_prompts()
            await client.subscribe_resource("note://shared")
            for _ in range(20):
                await client.call_tool("touch", {})
            await client.call_tool("change", {})
            gateway.add(shop("another"))
            with anyio.fail_after(20):
                await seen.wait()
            assert stuck.unread <= 4  # each change once


async def test_what_is_announced_without_a_change_is_listed_ever_less(tmp_path: Path) -> None:
    """A server that announces a change whenever it is listed causes no endless loop."""
    told: list[str] = []
    tenth = anyio.Event()

    async def heard(message: Any) -> None:
        told.append(getattr(message, "method", ""))
        if len(told) == 10:
            tenth.set()

    note = tmp_path / "note"
    source = shop("shop", "legacy", "announces", NOTE=str(note))
    async with served(source, message_handler=heard) as client:
        await client.list_prompts()
        with anyio.move_on_after(3):
            await tenth.wait()
        listed = note.read_text("utf-8").count("listed")
        for kind in ("prompts", "resources"):
            assert told.count(f"notifications/{kind}/list_changed") <= 1
        assert listed <= 3 * 6  # three lists each time
        assert [one.uri for one in (await client.list_resources()).resources]


async def test_lists_that_differ_each_time_are_listed_ever_less(tmp_path: Path) -> None:
    """Nor does one whose lists never stay the same, for a client that lists what is announced."""
    told, heard = anyio.create_memory_object_stream[str](100)

    async def hear(message: Any) -> None:
        told.send_nowait(getattr(message, "method", ""))

    note = tmp_path / "note"
    source = shop("shop", "legacy", "differs", NOTE=str(note))
    async with told, heard, served(source, message_handler=hear) as client:
        await client.list_prompts()
        with anyio.move_on_after(3):
            async for method in heard:
                if method == "notifications/prompts/list_changed":
                    await client.list_prompts(cache_mode="bypass")
    assert note.read_text("utf-8").count("listed") <= 3 * 6  # three lists each time


async def test_sources_of_a_gateway_in_use_are_announced() -> None:
    """Clients learn of the prompts and resources of a source that is added or removed."""
    told, heard = anyio.create_memory_object_stream[str](100)

    async def hear(message: Any) -> None:
        told.send_nowait(getattr(message, "method", ""))

    async def until_told() -> None:
        wanted = {f"notifications/{kind}/list_changed" for kind in ("prompts", "resources")}
        with anyio.fail_after(20):
            while wanted:
                wanted.discard(await heard.receive())

    async with Gateway([shop()], live=LIVE, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ALL)
        client = Client(server.sdk, mode="legacy", message_handler=hear)
        async with told, heard, server.running(), client:
            await client.list_tools()
            gateway.add(shop("another"))
            await until_told()
            prompts = (await client.list_prompts(cache_mode="bypass")).prompts
            assert "another_greet" in [one.name for one in prompts]
            await gateway.remove("another")
            await until_told()


async def test_log_messages_reach_the_client_that_caused_them(tmp_path: Path) -> None:
    """A level holds for the client and its servers; later servers learn it, too."""
    told: list[Any] = []

    async def logged(params: Any) -> None:
        told.append((params.level, params.data, params.logger, params.meta))

    source = shop(NOTE=str(tmp_path / "note"))
    async with served(source, logging_callback=logged) as client:
        await client.call_tool("log", {})
        meta = {"sourceId": "shop"}
        assert told == [
            ("debug", {"n": "debug"}, "mine", meta),
            ("error", {"n": "error"}, "mine", meta),
        ]
        await client.set_logging_level("warning")
        told.clear()
        await client.call_tool("log", {})
        assert [one[0] for one in told] == ["error"]
        assert "logging/setLevel {'level': 'warning'}" in (tmp_path / "note").read_text("utf-8")


@ERAS
async def test_later_clients_get_the_log_messages_that_they_ask_for(era: str) -> None:
    """Without a level in the request there are none."""
    told: list[str] = []

    async def logged(params: Any) -> None:
        told.append(params.level)

    async with served(shop("shop", era), mode="auto", logging_callback=logged) as client:
        await client.call_tool("log", {})
        assert told == []
        level: Any = {"io.modelcontextprotocol/logLevel": "error"}
        await client.call_tool("log", {}, meta=level)
        assert told == ["error"]


ODD: dict[str, Any] = {
    "prompts/list": {"prompts": [{"name": 7}, {"name": "fine"}, "rubbish", {"name": "fine"}]},
    "resources/list": {"resources": [{"uri": "a:b"}, {"name": "n", "uri": "a:c"}]},
    "resources/templates/list": {"resourceTemplates": "none"},
}


async def test_an_invalid_item_costs_no_other() -> None:
    """What no client could read is left out of its list, and so is what is listed twice."""
    env = {"NOTE": os.devnull, "ANSWERS": json.dumps(ODD)}
    command = (str(PROGRAM.with_name("callservers.py")), "plain")
    odd = StdioServer("mcp.json: odd", "odd", sys.executable, command, env)
    async with served(ServerSource("odd", odd)) as client:
        assert [one.name for one in (await client.list_prompts()).prompts] == ["fine"]
        assert [one.uri for one in (await client.list_resources()).resources] == ["a:c"]
        assert (await client.list_resource_templates()).resource_templates == []


async def test_lists_have_pages() -> None:
    """A list of hundreds comes in pages, each with the cursor of the next."""
    uris = " ".join(f"a:{n}" for n in range(450))
    async with served(shop(URIS=uris)) as client:
        found: list[str] = []
        cursor = None
        for _ in range(3):
            page = await client.list_resources(cursor=cursor)
            found += [one.uri for one in page.resources]
            cursor = page.next_cursor
        assert (found, cursor) == (uris.split(), None)
        with pytest.raises(MCPError, match="invalid cursor"):
            await client.list_resources(cursor="rubbish")


@pytest.mark.parametrize(("era", "count"), [("legacy", 1), ("modern", 2)])
async def test_an_empty_cursor_has_a_page_in_later_versions(era: str, count: int) -> None:
    """From 2026-07-28 on, "" is a cursor; before, it ends a list."""
    async with served(shop("shop", era, "blank")) as client:
        uris = [one.uri for one in (await client.list_resources()).resources]
        assert uris == ["note://shared", "shop://own"][:count]


async def until_listed(client: Client, *names: str) -> None:
    """Wait until clients see the meta-tools of these names."""
    for _ in range(100):
        if {*names} <= {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}:
            return
        await anyio.sleep(0.1)
    raise AssertionError(names)


@MODES
async def test_a_search_finds_prompts_and_resources(mode: str) -> None:
    """They stand beside the tools, and are read by tools that are there where they are."""
    uris = "file:///handbook/returns.md shop://orders/open"
    async with served(shop("shop", URIS=uris), mode=mode) as client:
        await until_listed(client, READ, PROMPT)
        found = (await client.call_tool(SEARCH, {"query": "open orders"})).structured_content
        assert found["resources"][0]["uri"] == "shop://orders/open"
        assert found["resources"][0]["sourceId"] == "shop"
        assert found["resources"][0]["score"] >= 0.35
        told = await client.call_tool(READ, {"uri": found["resources"][0]["uri"]})
        assert told.content[0].resource.text == "shop shop://orders/open"  # type: ignore[union-attr]
        found = (await client.call_tool(SEARCH, {"query": "greet"})).structured_content
        assert found["prompts"][0]["name"] == "greet"
        told = await client.call_tool(PROMPT, {"name": "greet", "arguments": {"who": "you"}})
        assert told.content[0].text == "user: shop: {'who': 'you'}"  # type: ignore[union-attr]
        for name, arguments in ((READ, {"uri": "note://missing"}), (PROMPT, {"name": "nothing"})):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert "no such note" in str(refused.content) or "no server has" in str(refused.content)


async def test_a_large_resource_is_read_in_parts() -> None:
    """A text above the limit is cut with a note that says how to get the next part."""
    async with served(shop(SIZE="300000")) as client:
        await until_listed(client, READ)
        first = await client.call_tool(READ, {"uri": "note://huge"})
        text, note = first.content
        start = len(text.resource.text)  # type: ignore[union-attr]
        assert not first.is_error
        assert f"`offset` {start} " in note.text  # type: ignore[union-attr]
        (rest,) = (await client.call_tool(READ, {"uri": "note://huge", "offset": start})).content
        assert start + len(rest.resource.text) == 300_000  # type: ignore[union-attr]


async def test_without_prompts_and_resources_nothing_is_said_of_them() -> None:
    """No tool gets prompts, and the answer to a search has neither list."""
    async with served(shop("bad", "legacy", "claims")) as client:
        await client.list_prompts()
        names = {tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools}
        assert PROMPT not in names
        found = (await client.call_tool(SEARCH, {"query": "log"})).structured_content
        assert not {"prompts", "resources"} & {*found}
