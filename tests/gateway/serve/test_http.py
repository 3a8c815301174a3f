"""The server over HTTP: who is let through, and what is refused how."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mcpg.errors import UsageError
from mcpg.gateway import FunctionSource, Gateway
from mcpg.gateway.serve import EVERYDAY, INVOKE, META_TOOLS, SEARCH, ServingOptions
from mcpg.gateway.serve.http import AccessCheck, AccessRules, HttpOptions, serve_http
from mcpg.gateway.serve.server import GatewayServer
from mcpg.net.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.anyio

TOKEN = "marker-token-123456"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Line:
    """A tool that says when it is called, and ends when it may."""

    def __init__(self) -> None:
        """A line that nobody holds."""
        self.held = anyio.Event()
        self.may_end = anyio.Event()

    @property
    def source(self) -> FunctionSource:
        """The source of the tool."""

        async def hold() -> str:
            """Hold the line for a while."""
            self.held.set()
            await self.may_end.wait()
            return "held"

        return FunctionSource("local", (hold,))


class Huge(Line):
    """A tool whose result is more than connections buffer."""

    @property
    def source(self) -> FunctionSource:
        """The source of the tool."""

        async def huge() -> str:
            """Return a large text."""
            self.held.set()
            return "x" * 3_000_000

        return FunctionSource("local", (huge,))


@asynccontextmanager
async def reached(
    line: Line | None = None, serving: ServingOptions | None = None, **how: Any
) -> AsyncIterator[str]:
    """Serve a function over HTTP, and give the address."""
    if line is None:
        line = Line()
        line.may_end.set()
    source = line.source
    addresses: list[str] = []
    ready = anyio.Event()

    def told(address: str) -> None:
        addresses.append(address)
        ready.set()

    async with (
        Gateway([source], reserved=META_TOOLS) as gateway,
        anyio.create_task_group() as group,
    ):
        group.start_soon(
            serve_http,
            GatewayServer(gateway, serving or ServingOptions()),
            HttpOptions(**how),
            told,
        )
        await ready.wait()
        yield addresses[0]
        group.cancel_scope.cancel()


def asked(
    address: str, method: str = "POST", body: Any = INITIALIZE, path: str = "", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Send one request, and give status, headers and body of the answer."""
    parts = urlsplit(address)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)) as line:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        line.request(method, path or parts.path, data, {**JSON, **named})
        response = line.getresponse()
        return response.status, dict(response.getheaders()), response.read()


async def ask(*given: Any, **named: Any) -> tuple[int, dict[str, str], bytes]:
    """Send one request from a thread."""
    return await anyio.to_thread.run_sync(partial(asked, *given, **named))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_with_the_token_is_served(mode: str) -> None:
    """A client that bears the token lists, searches and calls, whichever protocol it speaks."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with reached(rules=AccessRules(TOKEN)) as address, create_mcp_http_client(bearer) as web:
        transport = streamable_http_client(address, http_client=web)
        async with Client(transport, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == list(EVERYDAY)
            found = await client.call_tool(SEARCH, {"query": "hold the line"})
            assert found.structured_content["matches"][0]["toolId"] == "hold"
            called = await client.call_tool(INVOKE, {"toolId": "hold"})
            assert called.content[0].text == "held"  # type: ignore[union-attr]


async def test_nobody_else_is() -> None:
    """Without the token, or with another, nothing is told but that one is needed."""
    async with reached(rules=AccessRules(TOKEN)) as address:
        for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \xe4"):
            status, headers, body = await ask(address, Authorization=wrong)
            assert status == 401
            assert headers["www-authenticate"].startswith("Bearer")
            assert TOKEN.encode() not in body
        status, _, body = await ask(address, "GET", None, "/healthz")
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        assert (await ask(address, "GET", None, "/else", Authorization=f"Bearer {TOKEN}"))[0] == 404


async def test_names_of_others_are_refused() -> None:
    """A page of another site can neither take us for its own host nor ask from its origin."""
    async with reached(rules=AccessRules(hosts=("tools.example",))) as address:
        for headers, status in (
            ({}, 200),
            ({"Host": "evil.example"}, 421),
            ({"Host": "tools.example"}, 200),
            ({"Host": "tools.example:8443"}, 200),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "https://tools.example"}, 200),
            ({"Origin": "http://localhost:6274"}, 200),
        ):
            assert (await ask(address, **headers))[0] == status, headers


async def test_what_is_too_much_is_refused() -> None:
    """Requests that are too large, and heads that are, get an answer that says so."""
    async with reached(body_bytes=2000) as address:
        large = {**INITIALIZE, "params": {"text": "x" * 3000}}
        assert (await ask(address, body=large))[0] == 413
        assert (await ask(address, More="x" * 40_000))[0] == 431
        assert (await ask(address, body=b"{"))[0] == 400
        assert (await ask(address))[0] == 200


async def test_sessions_are_counted() -> None:
    """One session more than there may be is refused until another has ended."""
    async with reached(sessions=1) as address:
        status, headers, _ = await ask(address)
        assert status == 200
        assert (await ask(address))[0] == 503
        assert (await ask(address, "DELETE", None, mcp_session_id=headers["mcp-session-id"]))[
            0
        ] == 200
        assert (await ask(address))[0] == 200


async def test_an_abandoned_session_gives_its_place_to_a_new_one() -> None:
    """When all places are taken, the session that was idle longest ends; its client gets a 404."""
    async with reached(sessions=2, spare_seconds=0.0) as address:
        first, second = [(await ask(address))[1]["mcp-session-id"] for _ in range(2)]
        assert (await ask(address))[0] == 200
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await ask(address, body=ping, mcp_session_id=first))[0] == 404
        assert (await ask(address, body=ping, mcp_session_id=second))[0] == 200


async def test_requests_at_once_are_counted() -> None:
    """One request more than there may be at once is told to come later."""
    line = Line()
    async with reached(line, rules=AccessRules(requests=1)) as address:
        async with Client(address, mode="legacy") as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, INVOKE, {"toolId": "hold"})
            await line.held.wait()
            status, headers, _ = await ask(address)
            assert (status, headers["retry-after"]) == (429, "1")
            line.may_end.set()
        assert (await ask(address))[0] == 200


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_call_can_be_ended_with_all_places_taken(method: str) -> None:
    """A cancellation, a ping and the end of a session need no place among the requests."""
    line, ended = Line(), anyio.Event()

    async def call(headers: dict[str, str]) -> None:
        body = {"method": "tools/call", "params": {"name": INVOKE, "arguments": {"toolId": "hold"}}}
        await ask(address, body={"jsonrpc": "2.0", "id": 2, **body}, **headers)
        ended.set()

    async with reached(line, rules=AccessRules(requests=1)) as address:
        _, opened, _ = await ask(address)
        session = {"mcp_session_id": opened["mcp-session-id"]}
        async with anyio.create_task_group() as group:
            group.start_soon(call, session)
            await line.held.wait()
            for body, status in (
                ({"jsonrpc": "2.0", "id": 3, "method": "ping"}, 200),
                ({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, 429),
            ):
                assert (await ask(address, body=body, **session))[0] == status
            if method == "POST":
                told = {"method": "notifications/cancelled", "params": {"requestId": 2}}
                cancelled = {"jsonrpc": "2.0", **told}
                assert (await ask(address, body=cancelled, **session))[0] == 202
            else:
                assert (await ask(address, method, None, **session))[0] == 200
            with anyio.fail_after(30):
                await ended.wait()


async def test_bodies_that_are_still_arriving_are_bounded() -> None:
    """The next one is refused, whatever the number of requests that may run."""
    most = 64
    statuses: list[int] = []
    waiting = 0
    arrived = anyio.Event()

    async def app(_: Any, receive: Any, send: Any) -> None:
        assert (await receive())["body"] == b"last"
        await send({"status": 200})

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    def arriving() -> Any:
        parts = [b"x" * (1 << 20)]

        async def receive() -> Any:
            nonlocal waiting
            if parts:
                return {"type": "http.request", "body": parts.pop(), "more_body": True}
            waiting += 1
            await arrived.wait()
            return {"type": "http.disconnect"}

        return receive

    async def last() -> Any:
        return {"type": "http.request", "body": b"last"}

    guard = AccessCheck(app, AccessRules(requests=2), body_bytes=2 << 20)
    scope: Any = {"type": "http", "method": "POST", "path": "/mcp"}
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    async with anyio.create_task_group() as group:
        for _ in range(most):
            group.start_soon(guard, scope, arriving(), send)
        await anyio.wait_all_tasks_blocked()
        assert (waiting, statuses) == (most, [])
        await guard(scope, last, send)
        assert statuses == [429]
        arrived.set()
    statuses.clear()
    await guard(scope, last, send)
    assert statuses == [200]


async def test_only_what_waits_for_news_is_not_counted() -> None:
    """A header that says so does not: the body of a request does, once it has arrived."""
    claim = {"Mcp_Method": "subscriptions/listen"}
    line = Line()
    async with reached(line, rules=AccessRules(requests=1, body_seconds=0.5)) as address:
        async with Client(address, mode="legacy") as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, INVOKE, {"toolId": "hold"})
            await line.held.wait()
            assert (await ask(address, **claim))[0] == 429
            line.may_end.set()
        parts = urlsplit(address)

        def slow() -> bytes:
            with closing(socket.create_connection((parts.hostname, parts.port), 10)) as sent:
                sent.sendall(
                    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Mcp-Method: subscriptions/listen\r\nContent-Length: 100\r\n\r\n{"
                )
                return sent.recv(100)

        assert (await anyio.to_thread.run_sync(slow))[:12] == b"HTTP/1.1 408"
        # Whoever really waits for news takes nobody's place, and waits for longer.
        async with Client(address) as waiting, waiting.listen(tools_list_changed=True):
            await anyio.sleep(0.7)
            assert (await ask(address))[0] == 200
            async with waiting.listen(tools_list_changed=True):
                assert (await ask(address))[0] == 200


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_servers_follow_each_other_in_one_event_loop(mode: str) -> None:
    """A server that is cancelled closes its socket and connections, whatever is under way."""

    async def call(address: str) -> None:
        with suppress(Exception):  # the server goes
            async with Client(address, mode=mode) as client:
                await client.call_tool(INVOKE, {"toolId": "hold"})

    with anyio.fail_after(60):
        for _ in range(3):
            line = Line()
            async with anyio.create_task_group() as others:
                async with reached(line) as address:
                    async with Client(address, mode=mode) as client:
                        assert not (await client.call_tool(SEARCH, {"query": "line"})).is_error
                    others.start_soon(call, address)
                    parts = urlsplit(address)
                    idle = socket.create_connection((parts.hostname, parts.port), 10)
                    await line.held.wait()
                with closing(idle), suppress(ConnectionError):
                    assert await anyio.to_thread.run_sync(idle.recv, 1) == b""
                others.cancel_scope.cancel()


async def test_a_server_may_be_cancelled_before_it_has_begun() -> None:
    """A cancellation at any time ends the server without an error."""
    async with Gateway(Line().source, reserved=META_TOOLS) as gateway:
        with anyio.CancelScope() as scope:
            await serve_http(
                GatewayServer(gateway, ServingOptions()), HttpOptions(), lambda _: scope.cancel()
            )
        assert scope.cancelled_caught


@pytest.mark.parametrize(
    ("written", "status"),
    [
        (rb"subscriptions/listen", 200),
        (rb"subscriptions\/listen", 200),
        (rb"\u0073ubscriptions/listen", 200),
        (rb"tools/call", 429),
        (rb"a\/b, subscriptions/listen", 429),
    ],
)
async def test_a_subscription_is_recognized_however_it_is_written(
    written: bytes, status: int
) -> None:
    """What waits for news takes nobody's place, by any form that JSON has for its method."""
    begun = anyio.Event()
    sent: list[Any] = []

    async def waiting(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/first":
            await receive()
            begun.set()
            await anyio.sleep(60)
        await send({"status": 200})

    async def receive() -> Any:
        return {"type": "http.request", "body": b'{"id": 1, "method": "' + written + b'"}'}

    async def send(message: Any) -> None:
        sent.append(message)

    guard = AccessCheck(waiting, AccessRules(requests=1))
    scope: Any = {"type": "http", "method": "POST", "headers": [(b"host", b"localhost")]}
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(guard, {**scope, "path": "/first"}, receive, send)
            await begun.wait()
            await guard({**scope, "path": "/second"}, receive, send)
            group.cancel_scope.cancel()
    assert sent[0]["status"] == status


async def test_slow_requests_are_ended() -> None:
    """A connection that sends no head is closed, and nobody waits for a body that does not come."""
    async with reached(header_seconds=0.2, rules=AccessRules(body_seconds=0.3)) as address:
        parts = urlsplit(address)

        def slow(opening: bytes) -> bytes:
            with closing(socket.create_connection((parts.hostname, parts.port), 10)) as line:
                line.sendall(opening)
                return line.recv(100)

        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for opening, answer in (
            (b"", b""),
            (head, b""),
            (head + b"Content-Length: 100\r\n\r\n{", b"HTTP/1.1 408"),
        ):
            got = await anyio.to_thread.run_sync(slow, opening)
            assert got[:12] == answer


async def test_a_client_that_reads_no_response_loses_its_connection_and_place() -> None:
    """Another request takes its place."""
    huge = Huge()
    serving = ServingOptions(result_bytes=1 << 26)
    async with reached(huge, serving, rules=AccessRules(requests=1), read_seconds=0.5) as address:
        parts = urlsplit(address)
        status, headers, _ = await ask(address)
        assert status == 200
        named = {"Mcp-Session-Id": headers["mcp-session-id"]}
        params = {"name": INVOKE, "arguments": {"toolId": "huge"}}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        with closing(http.client.HTTPConnection(parts.hostname or "", parts.port)) as line:
            line.sock = socket.socket()
            line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            line.sock.connect((parts.hostname, parts.port))
            line.request("POST", parts.path, json.dumps(body).encode(), {**JSON, **named})
            await huge.held.wait()
            await until_free(address)
            with pytest.raises((OSError, http.client.HTTPException)):
                line.getresponse().read()


async def until_free(address: str) -> None:
    """Wait until there is a place for one more request."""
    for _ in range(600):
        if (await ask(address))[0] != 429:
            return
        await anyio.sleep(0.1)
    raise AssertionError(address)


async def test_a_guard_that_closes_lets_nobody_in() -> None:
    """When the server ends, what only waits for news ends at once, and nothing new begins."""
    begun = anyio.Event()

    async def waiting(*_: Any) -> None:
        begun.set()
        await anyio.sleep(60)

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    guard = AccessCheck(waiting, AccessRules())
    scope: Any = {
        "type": "http",
        "method": "GET",
        "path": "/mcp",
        "headers": [(b"host", b"localhost")],
    }
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(guard, scope, receive, send)
            await begun.wait()
            guard.close()
        await guard(scope, receive, send)
    assert sent[0]["status"] == 503
    await guard({"type": "websocket"}, receive, send)
    assert len(sent) == 2


def test_a_server_for_others_needs_protection() -> None:
    """Nothing listens where others can reach it without a token and names of its own."""
    for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"):
        assert is_loopback(host)
    for rules, said in (
        (AccessRules(hosts=("x",)), "MCPG_SERVE_TOKEN"),
        (AccessRules(TOKEN), "--allow-host"),
        (AccessRules("short", ("x",)), "openssl"),
        (AccessRules("ä" * 20, ("x",)), "openssl"),
    ):
        with pytest.raises(UsageError) as caught:
            HttpOptions("0.0.0.0", rules=rules)
        assert said in str(caught.value)
        assert TOKEN not in str(caught.value) + repr(rules)
    assert HttpOptions("0.0.0.0", rules=AccessRules(TOKEN, ("x",))).rules.hosts == ("x",)


async def test_a_port_that_is_taken_is_told() -> None:
    """An address that cannot be listened on is a mistake that names it."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with Gateway() as gateway:
            server = GatewayServer(gateway, ServingOptions())
            with pytest.raises(UsageError, match=f"127.0.0.1:{port}"):
                await serve_http(server, HttpOptions(port=port), print)
            unknown = HttpOptions("nowhere.invalid", rules=AccessRules(TOKEN, ("x",)))
            with pytest.raises(UsageError, match=r"nowhere\.invalid"):
                await serve_http(server, unknown, print)


async def test_the_registry_is_behind_the_same_rules() -> None:
    """`POST /search` finds the server of a tool, for those alone who may call it."""
    body = {"query": {"text": "hold the line"}}
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    rules = AccessRules(TOKEN, ("tools.example",))
    async with reached(rules=rules) as address:
        assert (await ask(address, "POST", body, "/search"))[0] == 401
        wrong = {**bearer, "Host": "evil.example"}
        assert (await ask(address, "POST", body, "/search", **wrong))[0] == 421
        status, _, answer = await ask(address, "POST", body, "/search", **bearer)
        (found,) = json.loads(answer)["results"]
        assert status == 200
        assert found["identifier"] == "urn:air:tools.example:server:local"
        assert found["capabilities"] == ["hold"]
        for malformed in (b"[", b"{}", b"\xff", b"[" * 100_000):
            status, _, answer = await ask(address, "POST", malformed, "/search", **bearer)
            assert (status, json.loads(answer)["errorCode"]) == (400, "INVALID_ARGUMENT")
        assert (await ask(address, "POST", {}, "/explore", **bearer))[0] == 501
        assert (await ask(address, "GET", None, "/search", **bearer))[0] == 405
