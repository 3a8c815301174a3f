"""Ids of a running gateway: no source that is added or removed renames a tool of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp import Client

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.gateway import FileSource, FunctionSource, Gateway
from mcpg.gateway.serve import EVERYDAY, META_TOOLS, Exposure, ServingOptions
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio


def search(query: str) -> str:
    """Find a page."""
    return f"found {query}"


def fetch(page: str) -> str:
    """Get a page."""
    return page


def named_search() -> Callable[[str], str]:
    """Return another function of the same name."""

    def search(query: str) -> str:
        """Find a product."""
        return f"sold {query}"

    return search


async def listed(gateway: Gateway) -> dict[str, str]:
    """Return the source of each tool, by its id."""
    return {tool.id: tool.source_id for tool in await gateway.list_tools()}


async def test_a_source_that_is_added_renames_no_tool() -> None:
    """The tool that was there first keeps the short id, also when it goes and comes back."""
    docs, shop = FunctionSource("docs", (search,)), FunctionSource("shop", (search, fetch))
    async with Gateway([docs]) as gateway:
        assert await listed(gateway) == {"search": "docs"}
        gateway.add(shop)
        first = {"search": "docs", "shop_search": "shop", "fetch": "shop"}
        assert await listed(gateway) == first
        await gateway.build_index(force=True)
        assert await listed(gateway) == first
        assert await gateway.remove("docs")
        assert await listed(gateway) == {"shop_search": "shop", "fetch": "shop"}
        assert (await gateway.search("find a page")).matches[0].tool_id == "shop_search"
        gateway.add(docs)
        assert await listed(gateway) == first


async def test_a_new_gateway_gives_ids_by_the_names_alone() -> None:
    """Without a bundle, ids don't depend on the order of sources or on earlier gateways."""
    sources = [FunctionSource("docs", (search,)), FunctionSource("shop", (search,))]
    for some in (sources, sources[::-1]):
        async with Gateway(some) as gateway:
            assert await listed(gateway) == {"docs_search": "docs", "shop_search": "shop"}


async def test_ids_stay_when_the_index_of_a_bundle_is_opened_again(
    manifest: Callable[..., FileSource], tmp_path: Path
) -> None:
    """A bundle alone is searched by its own index, unless its tools had other ids meanwhile."""
    path = tmp_path / "graph.mdld"
    write_bundle(path, build_bundle(assemble(read_sources([manifest("docs", search="Find").path]))))
    bundle = FileSource("graph", str(path))
    async with Gateway([bundle]) as gateway:
        assert await listed(gateway) == {"search": "docs"}
        gateway.add(FunctionSource("shop", (search,)))
        assert await listed(gateway) == {"search": "docs", "shop_search": "shop"}
        assert await gateway.remove("shop")
        assert await listed(gateway) == {"search": "docs"}
    async with Gateway([FunctionSource("shop", (search,)), bundle]) as gateway:
        both = {"docs_search": "docs", "shop_search": "shop"}
        assert await listed(gateway) == both
        assert await gateway.remove("shop")
        assert await listed(gateway) == {"docs_search": "docs"}
        assert (await gateway.search("find")).matches[0].tool_id == "docs_search"


async def test_exposed_tools_keep_their_names() -> None:
    """A client calls the same tool by the same name after a source was added."""
    async with Gateway([FunctionSource("docs", (search,))], reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ServingOptions(expose=Exposure.ALL))
        async with server.running(), Client(server.sdk) as client:
            before = [tool.name for tool in (await client.list_tools()).tools]
            assert before[len(EVERYDAY) :] == ["search"]
            gateway.add(FunctionSource("shop", (named_search(),)))
            await gateway.build_index()
            after = [tool.name for tool in (await client.list_tools(cache_mode="reload")).tools]
            assert after[len(EVERYDAY) :] == ["search", "shop_search"]
            called = await client.call_tool("search", {"query": "x"})
            assert called.content[0].text == "found x"  # type: ignore[union-attr]
