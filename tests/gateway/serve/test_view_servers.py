"""Views over HTTP: each token opens one, and a header can only narrow it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import pytest
from rawclient import INITIALIZE

from mcpg.cli.settings import Settings
from mcpg.errors import UsageError
from mcpg.gateway import FunctionSource, Gateway, ItemKind, Selection, View
from mcpg.gateway.from_settings import (
    GatewayRequest,
    find_view,
    make_gateway,
    read_tokens,
    read_views,
)
from mcpg.gateway.serve import META_TOOLS, READ, Exposure, ServingOptions
from mcpg.gateway.serve.answers import REST_META_KEY
from mcpg.gateway.serve.http import PATH, AccessRules, HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.sources.registry import FileSource

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from mcpg.sources.registry import Source

pytestmark = pytest.mark.anyio

CLERK, AUDITOR, OPERATOR = "clerk-0123456789", "auditor-0123456789", "operator-0123456789"
VIEWS = {
    "clerk": View("clerk", Selection(servers=("shop",))),
    "auditor": View("auditor", Selection(tools=("list_*", "search"))),
}


def list_orders() -> str:
    """List the orders."""
    return "orders " * 2000


def refund_order() -> str:
    """Refund an order."""
    return "refund"


def list_customers() -> str:
    """List the customers."""
    return "customers"


SOURCES = (
    FunctionSource("shop", (list_orders, refund_order)),
    FunctionSource("crm", (list_customers,)),
)


@asynccontextmanager
async def reached(
    rules: AccessRules, sources: Sequence[Source] = SOURCES
) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the sources with the views over HTTP to a client."""
    addresses: list[str] = []
    ready = anyio.Event()

    def note(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with (
        Gateway(sources, reserved=META_TOOLS) as gateway,
        anyio.create_task_group() as group,
    ):
        served = GatewayServer(gateway, ServingOptions(expose=Exposure.ALL, result_bytes=4096))
        group.start_soon(serve_http, served, HttpOptions(rules=rules), note, VIEWS)
        await ready.wait()
        async with httpx2.AsyncClient(
            base_url=addresses[0].removesuffix(PATH), timeout=30
        ) as client:
            yield client
        group.cancel_scope.cancel()


async def send(client: httpx2.AsyncClient, method: str, params: Any, **headers: str) -> Any:
    """Send a request; return the response."""
    accepted = {"Accept": "application/json, text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post(PATH, json=body, headers={**accepted, **named})


async def open_session(
    client: httpx2.AsyncClient, token: str = "", view: str = ""
) -> dict[str, str]:
    """Open a session; return the headers of its requests."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Mcpg_View": view} if view else {}
    response = await send(client, "initialize", INITIALIZE, **headers)
    assert response.status_code == 200, response.text
    return {**headers, "mcp_session_id": response.headers["mcp-session-id"]}


async def list_tools(client: httpx2.AsyncClient, session: dict[str, str]) -> list[str]:
    """Return the names of the listed tools that are no meta-tools."""
    text = (await send(client, "tools/list", {}, **session)).text
    message = json.loads(text.partition("data: ")[2])
    return [one["name"] for one in message["result"]["tools"] if one["name"] not in META_TOOLS]


async def test_each_token_opens_its_view() -> None:
    """The token of a request decides what exists, and without one nothing does."""
    rules = AccessRules(OPERATOR, view_tokens={"clerk": CLERK, "auditor": AUDITOR})
    expected = {
        CLERK: ["list_orders", "refund_order"],
        AUDITOR: ["list_customers", "list_orders"],
        OPERATOR: ["list_customers", "list_orders", "refund_order"],
    }
    async with reached(rules) as client:
        for token, tools in expected.items():
            assert await list_tools(client, await open_session(client, token)) == tools
        for token in ("clerk", f"{CLERK}x", CLERK.upper()):
            response = await send(client, "initialize", INITIALIZE, Authorization=f"Bearer {token}")
            assert response.status_code == 401
    async with reached(AccessRules(view_tokens={"clerk": CLERK})) as client:
        assert (await send(client, "initialize", INITIALIZE)).status_code == 401


@pytest.mark.parametrize(
    ("view", "names"),
    [
        (View("a", Selection(tools=("refund_order",))), []),
        (View("a", Selection(tools=("*::refund_order",))), []),
        (View("a", Selection(tools=("Shop::refund_order",))), ["shop"]),
        (View("a", Selection(categories=("money",))), []),
        (View("a", read_only=True, kinds=frozenset({ItemKind.TOOL})), []),
        (View("a", Selection(servers=("shop",), categories=("money",))), ["shop"]),
        (View("a", deny=Selection(servers=("crm",))), ["shop"]),
    ],
)
async def test_instructions_name_no_server_that_may_be_hidden(view: View, names: list[str]) -> None:
    """Before tools are read, a client sees the servers that its view is sure to show, or names."""
    async with Gateway(SOURCES, reserved=META_TOOLS) as gateway:
        served = GatewayServer(gateway.narrow(view), ServingOptions())
        instructions = served.sdk.instructions or ""
        assert [one for one in ("shop", "crm") if one in instructions] == names


async def test_a_header_only_narrows() -> None:
    """A request that names a view sees what is in that one and in the view of its token."""
    async with reached(AccessRules(view_tokens={"clerk": CLERK, "auditor": AUDITOR})) as client:
        for token, view in ((CLERK, "auditor"), (AUDITOR, "clerk")):
            narrowed = await open_session(client, token, view)
            assert await list_tools(client, narrowed) == ["list_orders"]
        same = await open_session(client, CLERK, "clerk")
        assert await list_tools(client, same) == ["list_orders", "refund_order"]
        for view in ("nothing", "clerk, auditor", "Clerk"):
            headers = {"Authorization": f"Bearer {CLERK}", "Mcpg_View": view}
            assert (await send(client, "initialize", INITIALIZE, **headers)).status_code == 400
    async with reached(AccessRules()) as client:
        session = await open_session(client, view="auditor")
        assert await list_tools(client, session) == ["list_customers", "list_orders"]


async def test_the_registry_shows_what_the_view_shows(tmp_path: Path) -> None:
    """`POST /search` finds servers by the tools of the view of its token, and no others."""
    listed = {"name": "io.github.acme/orders", "description": "Orders of customers", "remotes": []}
    (tmp_path / "registry.json").write_text(json.dumps([{**listed, "version_detail": {}}]), "utf-8")
    sources = (*SOURCES, FileSource("registry", str(tmp_path / "registry.json")))
    expected = {
        CLERK: {"shop"},
        AUDITOR: {"crm", "shop"},
        OPERATOR: {"crm", "shop", "orders"},
    }
    rules = AccessRules(OPERATOR, view_tokens={"clerk": CLERK, "auditor": AUDITOR})
    async with reached(rules, sources) as client:
        for token, names in expected.items():
            headers = {"Authorization": f"Bearer {token}"}
            body = {"query": {"text": "list orders of customers"}}
            answer = (await client.post("/search", json=body, headers=headers)).json()
            found = {one["identifier"].rpartition(":")[2]: one for one in answer["results"]}
            assert found.keys() == names
            if token == AUDITOR:
                assert found["shop"]["capabilities"] == ["list_orders"]
        wrong = {"Authorization": f"Bearer {CLERK}", "Mcpg-View": "nothing"}
        assert (await client.post("/search", json=body, headers=wrong)).status_code == 400


async def test_a_session_belongs_to_its_view() -> None:
    """No request of another view can use a session, also where the token would do."""
    rules = AccessRules(OPERATOR, view_tokens={"clerk": CLERK})
    async with reached(rules) as client:
        session = await open_session(client, CLERK)
        for token, view in ((OPERATOR, ""), (CLERK, "auditor"), (OPERATOR, "auditor")):
            headers = {
                **session,
                "Authorization": f"Bearer {token}",
                **({"Mcpg_View": view} if view else {}),
            }
            assert (await send(client, "tools/list", {}, **headers)).status_code == 404
        assert await list_tools(client, session) == ["list_orders", "refund_order"]


async def call_tool(
    client: httpx2.AsyncClient, session: dict[str, str], name: str, **arguments: Any
) -> Any:
    """Call a tool, and return its result."""
    called = {"name": name, "arguments": arguments}
    text = (await send(client, "tools/call", called, **session)).text
    return json.loads(text.partition("data: ")[2])["result"]


async def test_a_handle_belongs_to_its_session_and_view() -> None:
    """The rest of a result is read by the session that has got it alone, whatever the token."""
    rules = AccessRules(OPERATOR, view_tokens={"clerk": CLERK})
    async with reached(rules) as client:
        own = await open_session(client, CLERK)
        cut = await call_tool(client, own, "list_orders")
        rest = cut["_meta"][REST_META_KEY]
        read = {"uri": rest["uri"], "offset": rest["offset"]}
        part = await call_tool(client, own, READ, **read)
        assert "orders orders" in part["content"][0]["resource"]["text"]
        for token, view in ((CLERK, ""), (CLERK, "clerk"), (CLERK, "auditor"), (OPERATOR, "")):
            other = await open_session(client, token, view)
            refused = await call_tool(client, other, READ, **read)
            assert refused["isError"]
            assert "no such result" in refused["content"][0]["text"]


SETTINGS = """\
[views.clerk]
servers = ["shop"]
read_only = true
kinds = ["tool", "prompt"]

[views.clerk.deny]
tools = ["shop::refund_*"]

[views.Back-office]
categories = ["sales"]
"""


def test_settings_define_views(tmp_path: Path) -> None:
    """Views stand in the configuration file, and their tokens in the environment alone."""
    (tmp_path / "mcpg.toml").write_text(SETTINGS, "utf-8")
    views = read_views(Settings(tmp_path))
    clerk = View(
        "clerk",
        Selection(servers=("shop",)),
        Selection(tools=("shop::refund_*",)),
        read_only=True,
        kinds=frozenset([ItemKind.TOOL, ItemKind.PROMPT]),
    )
    office = View("Back-office", Selection(categories=("sales",)))
    assert views == {"clerk": clerk, "Back-office": office}
    environ = {"MCPG_SERVE_TOKEN": "a", "MCPG_SERVE_TOKEN_BACK_OFFICE": "b", "PATH": "c"}
    assert read_tokens(environ, views) == {"": "a", "Back-office": "b"}
    with pytest.raises(UsageError, match="did you mean 'clerk'"):
        find_view("clark", views, "--view")
    for wrong, message in (
        ({"MCPG_SERVE_TOKEN_OFFICE": "x"}, "token of no view"),
        ({"MCPG_SERVE_TOKEN_CLERK": "x", "MCPG_SERVE_TOKEN": "x"}, "same token"),
    ):
        with pytest.raises(UsageError, match=message):
            read_tokens(wrong, views)
    with pytest.raises(UsageError, match="same variable"):
        read_tokens({}, {"a-b": clerk, "a_b": office})


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[views.all]\n", "views.all", "show everything"),
        ("[views.all]\nread_only = false\n", "views.all", "show everything"),
        ("[views.a]\nserver = ['x']\n", "mcpg.toml:2: views.a.server", "mean 'servers'?"),
        ("[views.a]\ndeny = 3\n", "mcpg.toml:2: views.a.deny", "write [views.a.deny]"),
        ("[views.a]\nservers = 'x'\n", "mcpg.toml:2: views.a.servers", "'x'"),
        ("[views.a]\nkinds = ['tools']\n", "mcpg.toml:2: views.a.kinds[0]", "'tools'"),
        ("[views.a.deny]\nread_only = true\n", "mcpg.toml:2: views.a.deny.read_only", "unknown"),
        ("[views.'a b']\nservers = ['x']\n", "views", "not the name"),
        ("views = 7\n", "mcpg.toml:1: views", "7"),
    ],
)
def test_a_wrong_view_is_an_error(tmp_path: Path, text: str, place: str, message: str) -> None:
    """A mistake in a view names the line, and stops what serves views alone."""
    (tmp_path / "mcpg.toml").write_text(text, "utf-8")
    settings = Settings(tmp_path)
    assert settings.find("limit") is None
    with pytest.raises(UsageError) as caught:
        read_views(settings)
    assert str(caught.value.place).endswith(place)
    assert message in str(caught.value)


def test_servers_that_no_view_shows_are_not_started(tmp_path: Path) -> None:
    """If views alone are served, a gateway has no server that none of them can show."""
    servers = {name: {"command": "false"} for name in ("shop", "crm", "vault")}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    views = [View("a", Selection(servers=("SHOP",))), View("b", Selection(tools=("crm::list_*",)))]
    settings = Settings(tmp_path)
    wanted = GatewayRequest([str(path)])
    assert [one.id for one in make_gateway(wanted, settings).sources] == ["shop", "crm", "vault"]
    narrowed = make_gateway(wanted, settings, views=views)
    assert [one.id for one in narrowed.sources] == ["shop", "crm"]
