"""What a view hides does not exist for its clients: they cannot tell it from a smaller gateway."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from forking import forked
from rawclient import INITIALIZE, raw_client

from mcpg.bundle import assemble, build_bundle, write_bundle
from mcpg.catalog.model import HintRule, SourceDocument, Tool
from mcpg.errors import Code, NotFoundError, UsageError
from mcpg.gateway import (
    FileSource,
    FunctionSource,
    Gateway,
    ReviewedDocuments,
    Selection,
    ServerSource,
    View,
)
from mcpg.gateway.registry import GENERATED
from mcpg.gateway.serve import META_TOOLS, Exposure, ServingOptions
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources import SourceBatch
from mcpg.sources.client_config import ServerAccess, StdioServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcpg.gateway import Source
    from mcpg.gateway.registry import DocumentSource

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=30)


def search(query: str) -> str:
    """Search the records."""
    return query


def list_orders(customer_id: str) -> str:
    """List the orders of a customer."""
    return customer_id


def refund_order(order_id: str) -> str:
    """Refund an order to the card that paid it."""
    return order_id


def merge_accounts(account_id: str, other_account_id: str) -> str:
    """Merge two accounts of a zephyr customer."""
    return account_id + other_account_id


def delete_customer(customer_id: str) -> str:
    """Delete a customer with all orders."""
    return customer_id


def server(name: str, **env: str) -> ServerSource:
    """A server with prompts and resources; all of these servers have the same ones."""
    program = forked(TESTS / "primitiveserver.py", "legacy")
    return ServerSource(
        name, StdioServer(f"mcp.json: {name}", name, sys.executable, program, {"NAME": name, **env})
    )


STOCK = {
    "peek_stock": "Tell how many pieces of a product are in stock.",
    "list_orders": "List the orders of goods that are on their way to the stock.",
    "purge_stock": "Purge the quicksilver stock of all products that nobody orders.",
}
ORDERS = FunctionSource("orders", (search, list_orders, refund_order))
CRM = FunctionSource("crm", (search, merge_accounts, delete_customer, list_orders))
VIEW = View("clerk", deny=Selection(servers=("crm", "Vault"), tools=("stock::purge_*",)))


def stock(folder: Path, *names: str) -> FileSource:
    """A manifest with those tools of the stock that have the *names*."""
    folder.mkdir()
    path = folder / "stock.json"
    tools = [{"name": name, "description": STOCK[name], "inputSchema": {}} for name in names]
    path.write_text(json.dumps({"tools": tools}), "utf-8")
    return FileSource("stock", str(path))


@asynccontextmanager
async def served(
    sources: Sequence[Source],
    view: View | None,
    serving: ServingOptions | None = None,
    graph: DocumentSource = GENERATED,
) -> AsyncIterator[Any]:
    """Connect a client to a *view* of a gateway to *sources*, once all of these have been read."""
    async with Gateway(sources, graph=graph, live=LIVE, reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(view) if view is not None else gateway
        one = GatewayServer(shown, serving or ServingOptions())
        async with one.running():
            await shown.warm_up()
            await shown.primitives.list_directory()
            async with raw_client(one) as client:
                yield client


HIDDEN = (
    *("merge_accounts", "delete_customer", "crm_search", "crm::search", "crm_list_orders"),
    *("purge_stock", "stock::purge_stock", "vault_greet", "mcpg://vault/note://shared"),
    *("merge_acounts", "purge-stok", "crm", "vault", "vault://own", "search", "list_orders"),
)
REQUESTS = (
    *("merge two zephyr accounts", "delete a customer", "purge quicksilver", "customer", "zephyr"),
    *("which account has orders", "merge_accounts", "purgestock", "crm search", "vault", "orders"),
    *("qwicksilver", "zephir acounts", "delte custommer", "greet of vault", "note"),
)


def make_requests() -> list[tuple[str, dict[str, Any]]]:
    """Return requests of every method that are aimed at hidden names and words."""
    called: list[tuple[str, dict[str, Any]]] = []
    for text in (*HIDDEN, *REQUESTS):
        called += [
            ("gateway_tools_search", {"query": text, "limit": 50}),
            ("gateway_tools_route", {"query": text}),
            ("gateway_plan", {"goal": f"{text}, then refund the order"}),
            ("gateway_ask", {"question": f"what comes after {text}"}),
            ("gateway_graph_schema_search", {"query": text}),
        ]
    for name in HIDDEN:
        called += [
            ("gateway_tool_describe", {"toolId": name}),
            ("gateway_tool_invoke", {"toolId": name, "arguments": {"query": "x"}}),
            ("gateway_ask", {"question": f"what provides the customer_id of {name}"}),
            ("gateway_tools_search", {"query": "orders", "sources": [name], "limit": 3}),
            ("gateway_tools_search", {"query": "orders", "categories": [name]}),
            ("gateway_tools_search", {"query": "refund", "contextTools": [name]}),
            ("gateway_graph_export", {"around": [name]}),
            ("gateway_resource_read", {"uri": name}),
            ("gateway_prompt_get", {"name": name}),
            (name, {}),
        ]
    called += [(name, {}) for name in ("gateway_graph_schema_describe", "gateway_graph_export")]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": name, "arguments": arguments}) for name, arguments in called
    ]
    for name in HIDDEN:
        argument = {"name": "city", "value": name}
        requests += [
            ("resources/read", {"uri": name}),
            ("resources/subscribe", {"uri": name}),
            ("skills/get", {"uri": name}),
            ("resources/directory/read", {"uri": name}),
            ("prompts/get", {"name": name, "arguments": {}}),
            (
                "completion/complete",
                {"ref": {"type": "ref/prompt", "name": name}, "argument": argument},
            ),
            (
                "completion/complete",
                {"ref": {"type": "ref/resource", "uri": name}, "argument": argument},
            ),
            ("tools/list", {"cursor": f"after:{name}"}),
            ("prompts/list", {"cursor": f"after:{name}"}),
        ]
    lists = ("tools", "prompts", "resources", "resources/templates", "skills")
    requests += [(f"{kind}/list", {}) for kind in lists]
    return [*requests, ("initialize", INITIALIZE), ("ping", {}), ("crm/search", {})]


REBUILD = ("tools/call", {"name": "gateway_tool_index_build", "arguments": {}})


async def converse(*where: Any) -> list[list[str]]:
    """Return what a client of `served` gets for all requests, to the byte."""
    async with served(*where) as client:
        return [
            await client.ask(method, **params) for method, params in [*make_requests(), REBUILD]
        ]


@pytest.mark.parametrize("expose", Exposure)
async def test_a_view_is_a_smaller_gateway(expose: Exposure, tmp_path: Path) -> None:
    """No answer of a view differs by a byte from one of a gateway without what it hides."""
    serving = ServingOptions(expose=expose, graph_tools=True)
    whole = stock(tmp_path / "whole", *STOCK)
    part = stock(tmp_path / "part", "peek_stock", "list_orders")
    crm, vault = CRM, server("vault")
    seen = await converse((crm, ORDERS, vault, whole, server("notes")), VIEW, serving)
    expected = await converse((ORDERS, part, server("notes")), None, serving)
    requests = [*make_requests(), REBUILD]
    for request, one, other in zip(requests, seen, expected, strict=True):
        assert one == other, request
    assert len(requests) > 400


LEDGER = {
    "list_orders": "List the orders of a customer.",
    "refund_order": "Refund an order.",
    "purge_ledger": "Purge the quicksilver ledger.",
}
SECRETS = ("purge", "quicksilver", "ledger")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    """A bundle of tools that name each other as next steps, with a page on a hidden one."""
    tools = tuple(Tool("", "shop", name, description=text) for name, text in LEDGER.items())
    steps = pairwise([*LEDGER, *LEDGER])
    rules = tuple(HintRule(first, next_steps=(then,)) for first, then in steps)
    front = "title: On the ledger\ntool: false\ngraph_related: [purge_ledger]"
    text = f"---\n{front}\n---\n\nQuicksilver.\n"
    batch = SourceBatch(tools, rules, (SourceDocument("page.md", text),))
    target = tmp_path / "graph.mdld"
    write_bundle(target, build_bundle(assemble(batch)))
    return str(target)


@pytest.mark.parametrize("is_reviewed", [True, False])
async def test_documents_lead_to_nothing_hidden(graph: str, is_reviewed: bool) -> None:
    """A bundle's documents have no links to hidden tools, and its pages are hidden by default."""
    view = View("clerk", Selection(tools=("shop::refund_*", "list_orders")))
    shop = FunctionSource("shop", (list_orders, refund_order))
    sources: list[Source] = [shop] if is_reviewed else [FileSource("graph", graph)]
    reviewed: DocumentSource = ReviewedDocuments(graph) if is_reviewed else GENERATED
    serving = ServingOptions(graph_tools=True)
    requests = [
        ("gateway_tools_search", {"query": "purge the quicksilver ledger"}),
        ("gateway_tools_search", {"query": "refund an order"}),
        ("gateway_plan", {"goal": "list the orders, refund one, purge the ledger"}),
        ("gateway_ask", {"question": "what comes after refund_order"}),
        ("gateway_graph_schema_search", {"query": "ledger of orders"}),
        ("gateway_graph_export", {}),
        ("gateway_tool_describe", {"toolId": "refund_order"}),
        ("gateway_tool_index_build", {}),
    ]
    async with served(sources, view, serving, reviewed) as client:
        for name, arguments in requests:
            told = "".join(await client.ask("tools/call", name=name, arguments=arguments)).lower()
            given = json.dumps(arguments).lower()
            assert not [word for word in SECRETS if word in told and word not in given], name
        exported = await client.ask("tools/call", name="gateway_graph_export", arguments={})
        assert "list_orders" in exported[0]
        assert "refund_order" in exported[0]


async def test_a_change_of_what_is_hidden_is_announced_to_nobody() -> None:
    """Clients of a view hear of changes that they can see, and of no others."""
    view = View("clerk", Selection(servers=("orders",)))
    async with Gateway([ORDERS, CRM], reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(view)
        one = GatewayServer(shown, ServingOptions(expose=Exposure.ALL))
        async with one.running(), raw_client(one) as client:
            listed = await client.ask("tools/list")
            assert "delete_customer" not in listed[0]
            await gateway.remove("crm")
            await shown.build_index()
            await anyio.wait_all_tasks_blocked()
            assert await client.ask("tools/list") == listed
            gateway.add(FunctionSource("more", (merge_accounts,)))
            gateway.add(FunctionSource("Orders-2", (delete_customer,)))
            await shown.build_index()
            await anyio.wait_all_tasks_blocked()
            assert await client.ask("ping") == ['{"jsonrpc":"2.0","result":{}}']


async def test_views_share_the_processes_of_servers(tmp_path: Path) -> None:
    """Two views of a server start it once; each lists its prompts and resources once for both."""
    noted = tmp_path / "noted"
    shared = server("notes", NOTE=str(noted))
    async with Gateway([shared], live=LIVE, reserved=META_TOOLS) as gateway:
        pids = set()
        for name in ("one", "other"):
            shown = gateway.narrow(View(name, Selection(servers=("notes",))))
            pids.add((await shown.invoke("who")).text)
            assert "note://shared" in (await shown.primitives.list_directory()).resources
        bare = gateway.narrow(View("bare", Selection(tools=("who",))))
        assert [tool.id for tool in await bare.list_tools()] == ["who"]
        directory = await bare.primitives.list_directory()
        shown_items = {*directory.resources, *directory.templates, *directory.prompts}
        assert not shown_items
        for uri in ("note://shared", "mcpg://notes/note://shared", "x:unlisted"):
            with pytest.raises(NotFoundError):
                await bare.primitives.read(uri, {}, None)
    assert len(pids) == 1


async def test_names_of_nothing_are_reported_to_the_operator() -> None:
    """A view whose names are those of nothing shows nothing, and says so to its operator alone."""
    view = View(
        "clerk", Selection(servers=("orderz",)), Selection(tools=("x*",), categories=("y",))
    )
    async with Gateway([ORDERS], reserved=META_TOOLS) as gateway:
        shown = gateway.narrow(view)
        assert await shown.list_tools(include_disabled=True) == ()
        told = [one.message for one in shown.diagnostics if one.code == Code.SERVED_NAME_UNKNOWN]
        assert [one.rpartition(" the ")[2] for one in told] == [
            "server 'orderz', which does not exist",
            "category 'y', which does not exist",
            "tool 'x*', which does not exist",
        ]
    view = View("clerk", Selection(tools=("crm::x", "y")), Selection(("crm",)))
    async with Gateway([ORDERS], reserved=META_TOOLS, left_out=("CRM",)) as gateway:
        shown = gateway.narrow(view)
        await shown.list_tools()
        assert not [one for one in shown.diagnostics if one.code == Code.SERVED_NAME_UNKNOWN]
        shown = gateway.narrow(View("clerk", Selection(tools=("orders::x", "ordres::*"))))
        await shown.list_tools()
        told = [one.message for one in shown.diagnostics if one.code == Code.SERVED_NAME_UNKNOWN]
        assert len(told) == 2
    with pytest.raises(UsageError, match="show everything"):
        View("all")


async def test_a_server_does_not_choose_its_view() -> None:
    """A server that the configuration does not name enters no view by the name that it states."""
    program = str(TESTS / "sdkserver.py")
    unnamed = ServerSource("address", StdioServer("address", None, sys.executable, (program,)))
    async with Gateway([unnamed, ORDERS], live=LIVE, reserved=META_TOOLS) as gateway:
        (stated,) = {tool.source_id for tool in await gateway.list_tools()} - {"orders"}
        for allow, deny, is_shown in (
            (Selection((stated,)), Selection(), False),
            (Selection(tools=(f"{stated}::*",)), Selection(), False),
            (Selection(("address",)), Selection(), True),
            (Selection(tools=("address::*",)), Selection(), True),
            (Selection(("address",)), Selection((stated,)), False),
            (Selection(("address",)), Selection(tools=(f"{stated}::*",)), False),
        ):
            shown = gateway.narrow(View("clerk", allow, deny))
            names = {tool.source_id for tool in await shown.list_tools()}
            assert names == ({stated} if is_shown else set()), (allow, deny)
