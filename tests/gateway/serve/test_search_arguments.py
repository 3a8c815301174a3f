"""Filters of the served search, arguments by the names of the .NET gateway, and index builds."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from mcpg.gateway import FileSource, FunctionSource, Gateway
from mcpg.gateway.serve import INDEX_BUILD, INVOKE, META_TOOLS, PLAN, ROUTE, SEARCH, ServingOptions
from mcpg.gateway.serve.schemas import INPUTS
from mcpg.gateway.serve.server import GatewayServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcpg.gateway import Source

pytestmark = pytest.mark.anyio

TOOLS = [
    {
        "name": "order_refund",
        "description": "Refund an order.",
        "categories": ["money"],
        "annotations": {"readOnlyHint": False},
    },
    {
        "name": "order_get",
        "description": "Get an order, before a refund.",
        "categories": ["orders"],
        "annotations": {"readOnlyHint": True},
    },
]


def write(path: Path, tools: list[dict[str, Any]]) -> None:
    """Write a manifest."""
    path.write_text(json.dumps({"tools": tools}), "utf-8")


@pytest.fixture
def shop(tmp_path: Path) -> FileSource:
    """A manifest with a tool that reads and one that writes, of a source with a space."""
    path = tmp_path / "shop.json"
    write(path, TOOLS)
    return FileSource("Web shop", str(path), "Web shop")


def refund_check(query: str, context: dict[str, str], contextSummary: str) -> str:  # noqa: N803 - the name of the .NET gateway
    """Check a refund of an order."""
    return json.dumps([query, context, contextSummary])


@asynccontextmanager
async def served(*sources: Source) -> AsyncIterator[Client]:
    """Serve *sources* with all meta-tools."""
    async with Gateway(sources, reserved=META_TOOLS) as gateway:
        server = GatewayServer(gateway, ServingOptions(graph_tools=True))
        async with server.running(), Client(server.sdk) as client:
            yield client


async def asked(client: Client, name: str, **arguments: Any) -> Any:
    """Return the structured answer of a meta-tool."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def found(client: Client, **arguments: Any) -> set[str]:
    """Return the ids of all tools in the answer to a search, whatever their role."""
    answer = await asked(client, SEARCH, query="refund an order", **arguments)
    roles = ("matches", "prerequisites", "related", "nextSteps")
    return {one["toolId"] for role in roles for one in answer.get(role, ())}


async def test_a_search_is_filtered(shop: FileSource) -> None:
    """Sources, also as descriptions write them, categories and read-only tools narrow a search."""
    async with served(shop, FunctionSource("other", (refund_check,))) as client:
        everything = {"order_refund", "order_get", "refund_check"}
        assert await found(client) == everything
        assert await found(client, sources=["other"]) == {"refund_check"}
        for name in ("Web shop", "web shop", "web_shop"):
            assert await found(client, sources=[name]) == {"order_refund", "order_get"}
        assert await found(client, categories=["Money"]) == {"order_refund"}
        assert await found(client, readOnly=True) == {"order_get"}
        assert await found(client, readOnly=False, sources=[], categories=[]) == everything


async def test_a_filter_of_an_unknown_name_is_noted(shop: FileSource) -> None:
    """Nothing is offered instead, and a note has the names that are close."""
    async with served(shop) as client:
        answer = await asked(client, SEARCH, query="refund", sources=["web shap"])
        assert answer["matches"] == []
        assert any("did you mean 'Web shop'" in note for note in answer["notes"])


def test_filters_cost_few_tokens() -> None:
    """The listing grows by 45 tokens at most, of four bytes each."""
    listed: Any = INPUTS[SEARCH]["properties"]
    filters = {name: listed[name] for name in ("sources", "categories", "readOnly")}
    assert len(json.dumps(filters, separators=(",", ":"))) <= 45 * 4


@pytest.mark.parametrize("name", [SEARCH, ROUTE, PLAN])
async def test_a_context_is_an_object_a_text_or_a_summary(name: str, shop: FileSource) -> None:
    """Searches take the context as the .NET gateway does, and rank with all of it."""
    async with served(shop) as client:
        asks = {"goal" if name == PLAN else "query": "order"}
        plain, *others = [
            await asked(client, name, **asks, **context)
            for context in (
                {},
                {"context": "refund"},
                {"contextSummary": "refund"},
                {"context": {"wish": "refund"}},
                {"context": {}, "contextSummary": "refund"},
            )
        ]
        assert plain not in others
        refused = await client.call_tool(name, {**asks, "contextSummary": {"wish": "refund"}})
        assert "contextSummary" in refused.content[0].text  # type: ignore[union-attr]


async def test_arguments_of_the_net_gateway_are_understood(shop: FileSource) -> None:
    """Its names stand for ours, which count where both are given; null is as if left out."""
    async with served(shop) as client:
        for limits in ({"maxResults": 1}, {"limit": 1, "maxResults": 2}):
            answer = await asked(client, SEARCH, query="order", context=None, **limits)
            assert len(answer["matches"]) == 1
        answer = await asked(client, ROUTE, query="order", maxCategories=1, maxToolsPerCategory=1)
        assert [len(one["tools"]) for one in answer["categories"]] == [1]
        refused = await client.call_tool(SEARCH, {"query": "order", "maxResults": 0})
        assert refused.is_error
        assert "/limit" in refused.content[0].text  # type: ignore[union-attr]
        refused = await client.call_tool(SEARCH, {"query": None})
        assert 'the argument "query" is missing' in refused.content[0].text  # type: ignore[union-attr]


async def test_a_call_has_the_context_of_the_task() -> None:
    """Query, context and summary fill the arguments of these names, unless they are given."""
    async with served(FunctionSource("other", (refund_check,))) as client:
        given = {"query": "q", "context": {"a": "b"}, "contextSummary": "s"}
        called = await client.call_tool(INVOKE, {"toolId": "refund_check", **given})
        assert json.loads(called.content[0].text) == [*given.values()]  # type: ignore[union-attr]
        own = {"query": "mine"}
        arguments = {"toolId": "refund_check", "arguments": own, **given}
        called = await client.call_tool(INVOKE, arguments)
        assert json.loads(called.content[0].text)[0] == "mine"  # type: ignore[union-attr]


async def test_the_index_is_built_again(shop: FileSource, tmp_path: Path) -> None:
    """Sources are read again, and the answer has their tools and what failed."""
    missing = tmp_path / "gone.json"
    missing.write_text('{"tools": [{"name": "ping"}]}', "utf-8")
    async with served(shop, FileSource("gone", str(missing), "gone")) as client:
        await found(client)
        write(Path(shop.path), TOOLS[:1])
        missing.unlink()
        answer = await asked(client, INDEX_BUILD)
        assert {"sourceId": "Web shop", "tools": 1} in answer["sources"]
        assert answer["hasVectors"] is False
        assert any(one["severity"] == "error" for one in answer["diagnostics"])
        assert "order_get" not in await found(client)
