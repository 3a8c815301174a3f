from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from authserver import ACCESS, MACHINE, MACHINE_SECRET, Realm, authorising

from mcpg.errors import Code
from mcpg.sources.client_config import CLIENT_CREDENTIALS, HttpServer, Live, OAuth
from mcpg.sources.live import query_servers
from mcpg.sources.live.errors import TransportErrors
from mcpg.sources.live.oauth import authentication

if TYPE_CHECKING:
    from collections.abc import Iterator

LIVE = Live({"PATH": os.environ["PATH"]}, timeout=10)


@pytest.fixture
def realm() -> Iterator[Realm]:
    """Servers of this test alone."""
    with authorising() as running:
        yield running


def server_of(realm: Realm, **oauth: Any) -> HttpServer:
    """The MCP server of *realm*, to be entered with a secret."""
    known = {"client_id": MACHINE, "client_secret": MACHINE_SECRET}
    said = OAuth(CLIENT_CREDENTIALS, **{**known, **oauth})
    secrets = (said.client_secret,)
    return HttpServer("mcp.json: guarded", "guarded", realm.url, secrets=secrets, oauth=said)


def failure_of(server: HttpServer, live: Live = LIVE) -> str:
    """Say why nothing can be asked."""
    batch = query_servers([server], live)
    (failed,) = batch.diagnostics
    assert (batch.tools, failed.code) == ((), Code.SOURCE_LOAD_FAILED)
    return failed.message


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_secret_lets_in(realm: Realm, method: str) -> None:
    """A server that wants a token is asked with one, which comes back nowhere."""
    batch = query_servers([server_of(realm, method=method, scope="read write")], LIVE)
    assert [tool.name for tool in batch.tools] == ["whoami"]
    assert batch.tools[0].description == "Tell what was let in, such as ***."
    assert [item.code for item in batch.diagnostics] == [Code.TEXT_REPAIRED]
    assert realm.grants() == ["client_credentials"]
    form = next(form for _, path, form in realm.asked if path == "/token")
    assert form is not None
    assert form["scope"] == "read write"
    assert form["resource"] == realm.url


def test_nothing_secret_is_shown(
    realm: Realm, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither secret nor token stands in a repr, a log, the output or a diagnostic."""
    server = server_of(realm)
    batches = [query_servers([one], LIVE) for one in (server, server_of(realm, client_secret="x"))]
    shown = capfd.readouterr()
    told = f"{batches!r} {server!r} {shown.out} {shown.err} {caplog.text}"
    assert MACHINE_SECRET not in told
    assert ACCESS not in told


def test_a_wrong_secret(realm: Realm) -> None:
    """Who is refused is told so, without what the server says."""
    wrong = server_of(realm, client_secret="marker-wrong-secret")
    said = failure_of(wrong)
    assert said == "authorisation server granted no token (HTTP status 401)"


PROTECTED = "/.well-known/oauth-protected-resource/mcp"
METADATA = "/.well-known/oauth-authorization-server"


def test_a_secret_goes_to_its_issuer_alone(realm: Realm) -> None:
    """It is not the server that decides which authorisation server gets a secret."""
    with authorising() as thief:
        told = {"resource": realm.url, "authorization_servers": [f"{thief.origin}/"]}
        realm.instead[PROTECTED] = (200, {}, json.dumps(told).encode())
        assert failure_of(server_of(realm)) == (
            "server names another authorisation server than that of its client "
            "(name that as `issuer` in its `oauth`)"
        )
        assert thief.asked == []
        failure_of(server_of(realm, issuer=thief.origin))
        assert thief.grants()[0] == "client_credentials"


def test_metadata_that_names_another_issuer(realm: Realm) -> None:
    """Metadata must be those of the server that was asked for them."""
    told = {
        "issuer": "https://example.com",
        "authorization_endpoint": f"{realm.origin}/authorize",
        "token_endpoint": f"{realm.origin}/token",
    }
    realm.instead[METADATA] = (200, {}, json.dumps(told).encode())
    said = failure_of(server_of(realm))
    assert said == "OAuth required, but no usable authorisation server is named"
    assert realm.grants() == []


def test_an_endpoint_without_encryption(realm: Realm) -> None:
    """No secret goes over a network unencrypted, wherever metadata lead."""
    told = {
        "issuer": f"{realm.origin}/",
        "authorization_endpoint": f"{realm.origin}/authorize",
        "token_endpoint": "http://example.com/token",
    }
    realm.instead[METADATA] = (200, {}, json.dumps(told).encode())
    said = failure_of(server_of(realm))
    assert said == "address of the authorisation server is not https"


async def endless(send: Any) -> None:
    """Send more than anybody reads."""
    for _ in range(40):
        chunk = b"x" * 1_000_000
        await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def silent(send: Any) -> None:
    """Send nothing for longer than anybody waits."""
    del send
    await anyio.sleep(5)


def test_metadata_without_end(realm: Realm) -> None:
    """What an authorisation server answers is bounded in size."""
    realm.instead[METADATA] = (200, {}, endless)
    assert failure_of(server_of(realm)) == "response is larger than 32 MB"


def test_metadata_that_do_not_come(realm: Realm) -> None:
    """What an authorisation server answers is bounded in time."""
    realm.instead[METADATA] = (200, {}, silent)
    said = failure_of(server_of(realm), Live(timeout=1))
    assert said == "no response within 1 s"


def test_a_redirect_to_another_host(realm: Realm) -> None:
    """A redirect of the token endpoint takes no secret elsewhere."""
    with authorising() as thief:
        realm.instead["/token"] = (307, {"Location": f"{thief.origin}/token"}, b"")
        said = failure_of(server_of(realm))
        assert said == "authorisation server granted no token (HTTP status 307)"
        assert thief.asked == []


def test_an_answer_that_is_no_token(realm: Realm) -> None:
    """Nonsense for a token is told."""
    realm.instead["/token"] = (200, {}, b'{"access_token": 7}')
    said = failure_of(server_of(realm))
    assert said == "authorisation server granted no token"


def test_a_server_elsewhere_is_asked_over_https_alone() -> None:
    """Over http, which is to say unencrypted, there is no OAuth but to this machine."""
    oauth = OAuth(CLIENT_CREDENTIALS, MACHINE, MACHINE_SECRET)
    trouble = TransportErrors()
    far = HttpServer("x", "x", "http://example.com/mcp", oauth=oauth)
    near = HttpServer("x", "x", "http://[::1]:1/mcp", oauth=oauth)
    assert authentication(far, None, trouble, 1) is None
    assert authentication(near, None, trouble, 1) is not None
    key = replace(near, headers={"authorization": "Bearer x"})
    assert authentication(key, None, trouble, 1) is None
    assert authentication(replace(near, oauth=None), None, trouble, 1) is None
