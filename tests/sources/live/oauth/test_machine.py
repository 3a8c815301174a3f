from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from authserver import (
    ACCESS,
    ASSERTION,
    MACHINE,
    MACHINE_PEM,
    MACHINE_SECRET,
    Realm,
    authorising,
)

from mcpg.errors import Code
from mcpg.sources.client_config import HttpServer, ServerAccess, bare_address
from mcpg.sources.live import query_servers
from mcpg.sources.live.credentials import find_authentication
from mcpg.sources.live.requests import TransportErrors
from mcpg.sources.server_entries import CLIENT_CREDENTIALS, JWT_BEARER, PRIVATE_KEY_JWT, OAuth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIVE = ServerAccess({"PATH": os.environ["PATH"]}, timeout=10)


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


def failure_of(server: HttpServer, live: ServerAccess = LIVE) -> str:
    """Say why nothing can be asked."""
    batch = query_servers([server], live)
    (failed,) = batch.diagnostics
    assert (batch.tools, failed.code) == ((), Code.SOURCE_LOAD_FAILED)
    return failed.message.removeprefix(f"{bare_address(server.url)}: ")


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
            "server names another authorization server than its client "
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
    said = failure_of(server_of(realm), ServerAccess(timeout=1))
    assert said == "no response within 1 s (raise its `timeout`, or --server-timeout)"


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


def key_of(realm: Realm, **oauth: Any) -> HttpServer:
    """The MCP server of *realm*, whose client signs with a private key."""
    known = {"client_id": MACHINE, "private_key": MACHINE_PEM, "algorithm": "ES256"}
    said = OAuth(CLIENT_CREDENTIALS, method=PRIVATE_KEY_JWT, **{**known, **oauth})
    return HttpServer("mcp.json: guarded", "guarded", realm.url, secrets=said.secrets, oauth=said)


def assertion_of(realm: Realm, **oauth: Any) -> HttpServer:
    """The MCP server of *realm*, whose client presents the assertion of an identity provider."""
    known = {"client_id": MACHINE, "client_secret": MACHINE_SECRET, "assertion": ASSERTION}
    said = OAuth(JWT_BEARER, **{**known, "issuer": f"{realm.origin}/", **oauth})
    return HttpServer("mcp.json: guarded", "guarded", realm.url, secrets=said.secrets, oauth=said)


@pytest.mark.parametrize("is_file", [False, True])
def test_a_private_key_lets_in(realm: Realm, tmp_path: Path, *, is_file: bool) -> None:
    """A signed assertion stands in for a secret; the key may be in a file, and is sent nowhere."""
    file = tmp_path / "key.pem"
    file.write_text(MACHINE_PEM, "utf-8")
    own = {"private_key": "", "private_key_file": str(file)} if is_file else {}
    batch = query_servers([key_of(realm, scope="read", **own)], LIVE)
    assert [tool.name for tool in batch.tools] == ["whoami"]
    form = next(form for _, path, form in realm.asked if path == "/token")
    assert form is not None
    assert (form["grant_type"], form["scope"]) == ("client_credentials", "read")
    assert "client_secret" not in form
    assert "PRIVATE KEY" not in str(form)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("is_file", [False, True])
def test_an_assertion_lets_in(realm: Realm, tmp_path: Path, method: str, *, is_file: bool) -> None:
    """The assertion of an identity provider is exchanged for a token; it may be in a file."""
    file = tmp_path / "assertion"
    file.write_text(f"{ASSERTION}\n", "utf-8")
    own = {"assertion": "", "assertion_file": str(file)} if is_file else {}
    batch = query_servers([assertion_of(realm, method=method, scope="read", **own)], LIVE)
    assert [tool.name for tool in batch.tools] == ["whoami"]
    assert batch.tools[0].description == "Tell what was let in, such as ***."
    assert realm.grants() == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    form = next(form for _, path, form in realm.asked if path == "/token")
    assert form is not None
    assert (form["scope"], form["resource"]) == ("read", realm.url)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"private_key": "marker-no-key"},
            "private key of the client is not a key in PEM for the algorithm ES256",
        ),
        (
            {"algorithm": "RS256"},
            "private key of the client is not a key in PEM for the algorithm RS256",
        ),
        ({"client_id": "other"}, "authorisation server granted no token (HTTP status 401)"),
        (
            {"private_key": "", "private_key_file": "/nonexistent"},
            "private key of the client cannot be read: no such file or directory",
        ),
        (
            {"private_key": "", "private_key_file": os.devnull},
            "file of the private key of the client is empty",
        ),
        (
            {"private_key": "", "private_key_file": sys.executable},
            "private key of the client cannot be read: it is not text",
        ),
    ],
)
def test_a_private_key_that_is_of_no_use(realm: Realm, own: dict[str, str], said: str) -> None:
    """What is wrong with a key is reported without a word of it."""
    assert failure_of(key_of(realm, **own)) == said


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"assertion": "marker-old"}, "authorisation server granted no token (HTTP status 400)"),
        ({"client_secret": "x"}, "authorisation server granted no token (HTTP status 401)"),
        (
            {"issuer": "http://example.com"},
            "address of the authorisation server is not https",
        ),
        (
            {"assertion": "", "assertion_file": "/nonexistent"},
            "assertion of the client cannot be read: no such file or directory",
        ),
    ],
)
def test_an_assertion_that_is_of_no_use(realm: Realm, own: dict[str, str], said: str) -> None:
    """What is wrong with an assertion is reported without a word of it."""
    assert failure_of(assertion_of(realm, **own)) == said


def test_an_assertion_goes_to_its_issuer_alone(realm: Realm) -> None:
    """An MCP server does not decide which authorisation server gets an assertion."""
    with authorising() as thief:
        told = {"resource": realm.url, "authorization_servers": [f"{thief.origin}/"]}
        realm.instead[PROTECTED] = (200, {}, json.dumps(told).encode())
        assert len(query_servers([assertion_of(realm)], LIVE).tools) == 1
        assert thief.asked == []
        realm.instead[METADATA] = (404, {}, b"")
        assert failure_of(assertion_of(realm)) == (
            "configured issuer publishes no usable metadata of an authorisation server"
        )


def test_keys_and_assertions_are_not_shown(
    realm: Realm, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither key nor assertion is in a repr, a log, the output or a diagnostic."""
    servers = [key_of(realm), key_of(realm, private_key="marker-no-key"), assertion_of(realm)]
    batches = [query_servers([one], LIVE) for one in servers]
    shown = capfd.readouterr()
    told = f"{batches!r} {servers!r} {shown.out} {shown.err} {caplog.text}"
    assert "PRIVATE KEY" not in told
    assert "marker" not in told


def test_a_server_elsewhere_is_asked_over_https_alone() -> None:
    """Over http, which is to say unencrypted, there is no OAuth but to this machine."""
    oauth = OAuth(CLIENT_CREDENTIALS, MACHINE, MACHINE_SECRET)
    trouble = TransportErrors()
    far = HttpServer("x", "x", "http://example.com/mcp", oauth=oauth)
    near = HttpServer("x", "x", "http://[::1]:1/mcp", oauth=oauth)
    assert find_authentication(far, None, trouble, 1) is None
    assert find_authentication(near, None, trouble, 1) is not None
    key = replace(near, headers={"authorization": "Bearer x"})
    assert find_authentication(key, None, trouble, 1) is None
    assert find_authentication(replace(near, oauth=None), None, trouble, 1) is None
