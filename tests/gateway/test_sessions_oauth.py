"""Open connections to a server that wants OAuth, over which tokens come to their end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import httpx
import pytest
from authserver import ACCESS, MACHINE, MACHINE_SECRET, Realm, authorising

from mcpg.gateway.calls import CallError, FaultCode
from mcpg.gateway.sessions import Sessions
from mcpg.sources.client_config import HttpServer, LoginOptions, ServerAccess
from mcpg.sources.live import log_in, log_out
from mcpg.sources.server_entries import CLIENT_CREDENTIALS, OAuth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the tests."""
    return "asyncio"


@pytest.fixture
def realm() -> Iterator[Realm]:
    """Servers of this test alone."""
    with authorising(meets=True) as running:
        yield running


def machine(realm: Realm) -> HttpServer:
    """The server, to be entered with a secret."""
    oauth = OAuth(CLIENT_CREDENTIALS, MACHINE, MACHINE_SECRET)
    return HttpServer("mcp.json: guarded", "guarded", realm.url, oauth=oauth)


def browse(address: str) -> None:
    """Do what a browser does with a person who agrees to everything."""
    httpx.get(address, follow_redirects=True)


async def logged_in(server: HttpServer, folder: Path) -> None:
    """Log in as a person."""
    await anyio.to_thread.run_sync(log_in, server, str(folder), LoginOptions(browse))


async def test_calls_go_side_by_side(realm: Realm) -> None:
    """A call that takes long holds up no other, although both need one token."""
    server = machine(realm)
    async with Sessions(ServerAccess(timeout=20)) as sessions, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(_met, sessions, server)
    assert realm.here == 2


async def _met(sessions: Sessions, server: HttpServer) -> None:
    called = await sessions.call(server, "meet", {}, timeout=10)
    assert not called.is_error


async def test_tokens_that_end_under_way(realm: Realm) -> None:
    """When a token ends, calls at the same time fetch one new token and all succeed."""
    server = machine(realm)
    async with Sessions(ServerAccess(timeout=20)) as sessions:
        await sessions.call(server, "whoami", {}, timeout=10)
        before = len(realm.grants())
        realm.provider.access.clear()
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(_met, sessions, server)
    assert len(realm.grants()) == before + 1


async def test_a_login_while_it_runs(realm: Realm, tmp_path: Path) -> None:
    """A server is entered as soon as somebody has logged in, and its token renewed in place."""
    server = HttpServer("mcp.json: guarded", "guarded", realm.url)
    live = ServerAccess(timeout=20, tokens=str(tmp_path))
    async with Sessions(live) as sessions:
        (refused,) = (await sessions.tools(server)).diagnostics
        assert "run `mcpg login guarded mcp.json`" in refused.message
        await logged_in(server, tmp_path)
        assert len((await sessions.tools(server)).tools) == 2
        realm.provider.access.clear()
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(_met, sessions, server)
        assert realm.grants() == ["authorization_code", "refresh_token"]


async def test_a_login_that_is_removed_under_way(realm: Realm, tmp_path: Path) -> None:
    """A login that was removed is not made again by who was still using it."""
    server = HttpServer("mcp.json: guarded", "guarded", realm.url)
    await logged_in(server, tmp_path)
    async with Sessions(ServerAccess(timeout=20, tokens=str(tmp_path))) as sessions:
        await sessions.call(server, "whoami", {}, timeout=10)
        log_out(server, str(tmp_path))
        realm.provider.access.clear()
        with pytest.raises(CallError, match="stored login was removed: run `mcpg login guarded"):
            await sessions.call(server, "whoami", {}, timeout=10)
    assert not log_out(server, str(tmp_path))


async def test_a_permission_that_is_granted_while_it_runs(realm: Realm, tmp_path: Path) -> None:
    """A missing permission is an authorization fault, until the login that grants it is used."""
    server = HttpServer("mcp.json: guarded", "guarded", realm.url)
    await logged_in(server, tmp_path)
    async with Sessions(ServerAccess(timeout=20, tokens=str(tmp_path))) as sessions:
        await sessions.call(server, "whoami", {}, timeout=10)
        lacking = {"WWW-Authenticate": 'Bearer error="insufficient_scope", scope="write"'}
        realm.instead["/mcp"] = (403, lacking, b"")
        with pytest.raises(CallError, match="lacks a permission") as caught:
            await sessions.call(server, "whoami", {}, timeout=10)
        assert caught.value.code is FaultCode.UNAUTHORIZED
        assert not caught.value.has_died
        del realm.instead["/mcp"]
        await logged_in(server, tmp_path)
        latest = f"Bearer {ACCESS}-{realm.provider.issued}"
        realm.required = latest
        await sessions.call(server, "whoami", {}, timeout=10)


async def test_two_gateways_take_turns(realm: Realm, tmp_path: Path) -> None:
    """Of two gateways with one login, one renews it and the other takes that."""
    one = HttpServer("mcp.json: one", "one", realm.url)
    live = ServerAccess(timeout=20, tokens=str(tmp_path))
    await logged_in(one, tmp_path)
    async with Sessions(live) as first, Sessions(live) as second:
        for sessions in (first, second):
            await sessions.call(one, "whoami", {}, timeout=10)
        realm.provider.access.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(_met, first, one)
            group.start_soon(_met, second, replace(one, name="two"))
    assert realm.grants() == ["authorization_code", "refresh_token"]
