from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from authserver import ACCESS, REFRESH, Realm, authorising

from mcpg.errors import OutputError, SourceError, UsageError
from mcpg.sources.client_config import HttpServer, LoginOptions, ServerAccess, bare_address
from mcpg.sources.live import log_in, log_out, query_servers
from mcpg.sources.live.oauth import LoginFile
from mcpg.sources.server_entries import CLIENT_CREDENTIALS, OAuth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGAIN = "run `mcpg login guarded mcp.json`"


@pytest.fixture
def realm() -> Iterator[Realm]:
    """Servers of this test alone."""
    with authorising() as running:
        yield running


def browse(address: str) -> None:
    """Do what a browser does with a person who agrees to everything."""
    answer = httpx.get(address, follow_redirects=True, timeout=10)
    assert answer.status_code == 200
    assert "marker" not in answer.text


def server_of(realm: Realm, **oauth: Any) -> HttpServer:
    """The MCP server of *realm*."""
    return HttpServer("mcp.json: guarded", "guarded", realm.url, oauth=OAuth(**oauth))


def manner(**more: Any) -> LoginOptions:
    """How tests log in."""
    return LoginOptions(**{"show": browse, "seconds": 20, "step": 10, **more})


def live(folder: Path) -> ServerAccess:
    """Ask servers with the logins of *folder*."""
    return ServerAccess({"PATH": os.environ["PATH"]}, timeout=10, tokens=str(folder))


def asked(server: HttpServer, folder: Path) -> list[str]:
    """Return the names of the tools, or why there are none."""
    batch = query_servers([server], live(folder))
    start = f"{bare_address(server.url)}: "
    reasons = [one.message.removeprefix(start) for one in batch.diagnostics]
    return [tool.name for tool in batch.tools] or reasons


def file_in(folder: Path) -> Path:
    """Return the only login of *folder*."""
    (file,) = folder.glob("*.login.json")
    return file


def change(folder: Path, **members: Any) -> None:
    """Change the only login of *folder*."""
    file = file_in(folder)
    file.write_text(json.dumps({**json.loads(file.read_bytes()), **members}), "utf-8")


def logged_in(realm: Realm, folder: Path, **oauth: Any) -> HttpServer:
    """Log in, and give the server."""
    server = server_of(realm, **oauth)
    assert log_in(server, str(folder), manner()).is_new
    return server


def test_a_person_logs_in_once(realm: Realm, tmp_path: Path) -> None:
    """After a login in a browser, the server is asked without one."""
    server = server_of(realm)
    (refused,) = asked(server, tmp_path)
    assert refused == (
        f"authentication required (HTTP status 401): {AGAIN}, or set a key in the headers"
    )
    assert realm.paths() == ["/mcp"] * len(realm.paths())
    told = log_in(server, str(tmp_path), manner())
    assert (told.is_new, told.tools) == (True, 1)
    (params,) = realm.provider.asked
    assert params.code_challenge
    assert params.resource == realm.url
    assert asked(server, tmp_path) == ["whoami"]
    assert realm.grants() == ["authorization_code"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_login_is_its_owners_alone(realm: Realm, tmp_path: Path) -> None:
    """The file can be read by its owner alone, as can the folder, and is replaced whole."""
    folder = tmp_path / "logins"
    logged_in(realm, folder)
    assert stat.S_IMODE(file_in(folder).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    logged_in(realm, folder)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".lock"}


def test_nothing_secret_is_shown(
    realm: Realm,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Tokens and codes stand in no output, log, repr or document."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    batch = query_servers([server], live(tmp_path))
    login = LoginFile(str(tmp_path), realm.url).read()
    shown = capfd.readouterr()
    told = f"{batch!r} {server!r} {login!r} {shown.out} {shown.err} {caplog.text}"
    assert "marker" not in told.replace(f"{ACCESS}-1", "")  # an old one, which nobody uses


def test_an_ended_token_is_renewed(realm: Realm, tmp_path: Path) -> None:
    """A token whose time is over is renewed before it is used, and the new one is kept."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=time.time() - 1)
    assert asked(server, tmp_path) == ["whoami"]
    assert realm.grants() == ["authorization_code", "refresh_token"]
    kept = json.loads(file_in(tmp_path).read_bytes())
    assert kept["tokens"]["refresh_token"] == f"{REFRESH}-2"
    assert kept["expires"] > time.time()
    assert asked(server, tmp_path) == ["whoami"]
    assert realm.grants() == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize("expires", [None, 1e12])
def test_a_refused_token_is_renewed(realm: Realm, tmp_path: Path, expires: float | None) -> None:
    """A token that the server does not take any more is renewed, whatever its time."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=expires)
    realm.provider.access.clear()
    assert asked(server, tmp_path) == ["whoami"]
    assert realm.grants() == ["authorization_code", "refresh_token"]


def test_a_login_that_has_ended(realm: Realm, tmp_path: Path) -> None:
    """Where nothing can be renewed, a person is told to log in again; none is bothered."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    realm.provider.refresh.clear()
    realm.provider.access.clear()
    assert asked(server, tmp_path) == [f"stored login has expired: {AGAIN}"]
    assert len(realm.provider.clients) == len(realm.provider.asked) == 1


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        (
            'error="insufficient_scope", scope="files:write ' + "\\x1b[31m" + '"',
            " (files:write): run `mcpg login guarded mcp.json --scope files:write`",
        ),
        ('error="insufficient_scope"', f": name it as `scope` in its `oauth`, and {AGAIN}"),
    ],
)
@pytest.mark.parametrize("renews", [True, False])
def test_a_login_that_lacks_a_permission(
    realm: Realm, tmp_path: Path, stated: str, shown: str, *, renews: bool
) -> None:
    """A missing scope is reported as such, not as a login that has expired; nothing is renewed."""
    server = logged_in(realm, tmp_path)
    if not renews:
        login = LoginFile(str(tmp_path), realm.url).read()
        assert login is not None
        change(tmp_path, tokens={"access_token": login.tokens["access_token"]})
    realm.instead["/mcp"] = (403, {"WWW-Authenticate": f"Bearer {stated}"}, b"")
    (refused,) = asked(server, tmp_path)
    assert refused == f"stored login lacks a permission that the server requires{shown}"
    assert realm.grants() == ["authorization_code"]


def test_a_login_that_lacks_a_permission_beside_others(realm: Realm, tmp_path: Path) -> None:
    """The command to log in anew keeps the scopes that the login has."""
    server = logged_in(realm, tmp_path)
    login = LoginFile(str(tmp_path), realm.url).read()
    assert login is not None
    change(tmp_path, tokens={**login.tokens, "scope": "files:read"})
    challenge = 'Bearer error="insufficient_scope", scope="files:write files:read"'
    realm.instead["/mcp"] = (403, {"WWW-Authenticate": challenge}, b"")
    (refused,) = asked(server, tmp_path)
    assert refused.endswith(
        "(files:write files:read): run `mcpg login guarded mcp.json"
        " --scope 'files:read files:write'`"
    )


def test_a_login_with_another_scope(realm: Realm, tmp_path: Path) -> None:
    """A login requests the scope of its options, in place of the configured one."""
    server = server_of(realm, scope="files:read")
    shown: list[str] = []
    options = LoginOptions(show=shown.append, scope="files:read files:write", seconds=5)
    with pytest.raises(SourceError):
        log_in(server, str(tmp_path), options)
    assert parse_qs(urlsplit(shown[0]).query)["scope"] == ["files:read files:write"]


def test_a_token_without_more(realm: Realm, tmp_path: Path) -> None:
    """A login without a refresh token lasts as long as its token."""
    server = logged_in(realm, tmp_path)
    login = LoginFile(str(tmp_path), realm.url).read()
    assert login is not None
    change(tmp_path, tokens={"access_token": login.tokens["access_token"]})
    assert asked(server, tmp_path) == ["whoami"]
    realm.provider.access.clear()
    assert asked(server, tmp_path) == [f"stored login has expired: {AGAIN}"]


def test_a_renewal_that_fails_for_now(realm: Realm, tmp_path: Path) -> None:
    """An authorisation server that is down ends no login."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    realm.instead["/token"] = (503, {}, b"marker")
    assert asked(server, tmp_path) == ["stored login cannot be renewed now (HTTP status 503)"]
    del realm.instead["/token"]
    assert asked(server, tmp_path) == ["whoami"]


def test_a_refresh_token_stays_where_it_was_made(realm: Realm, tmp_path: Path) -> None:
    """A server that leads to another authorisation server gets no token for it."""
    server = logged_in(realm, tmp_path)
    realm.provider.access.clear()
    with authorising() as thief:
        told = {"resource": realm.url, "authorization_servers": [f"{thief.origin}/"]}
        path = "/.well-known/oauth-protected-resource/mcp"
        realm.instead[path] = (200, {}, json.dumps(told).encode())
        assert asked(server, tmp_path) == [f"authorisation server has changed: {AGAIN}"]
        assert thief.paths() == []
        assert thief.provider.clients == {}


def test_two_processes_at_once(realm: Realm, tmp_path: Path) -> None:
    """Of processes that find a token ended at once, one renews it, and no token is lost."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    code = (
        "import sys; from mcpg.sources.live import client, query_servers\n"
        "from mcpg.sources.client_config import HttpServer, ServerAccess\n"
        "server = HttpServer('x', 'x', sys.argv[1])\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "batch = query_servers([server], ServerAccess(timeout=20, tokens=sys.argv[2]))\n"
        "print([tool.name for tool in batch.tools], [one.message for one in batch.diagnostics])\n"
    )
    command = [sys.executable, "-c", code, realm.url, str(tmp_path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        assert asked(server, tmp_path) == ["whoami"]
        assert other.communicate(timeout=30)[0] == "['whoami'] []\n"
    assert realm.grants() == ["authorization_code", "refresh_token"]
    assert asked(server, tmp_path) == ["whoami"]


def test_many_connections_of_one_process(realm: Realm, tmp_path: Path) -> None:
    """Connections of one process share what one of them renews, whichever is first."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    servers = [replace(server, place=f"mcp.json: {name}", name=name) for name in "abcd"]
    batch = query_servers(servers, live(tmp_path))
    assert [tool.source_id for tool in batch.tools] == ["a", "b", "c", "d"]
    assert realm.grants() == ["authorization_code", "refresh_token"]


def test_a_lock_that_is_not_let_go(realm: Realm, tmp_path: Path) -> None:
    """A process that hangs while it renews holds up the others for no longer than they wait."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, expires=1.0)
    (name,) = {file.name.partition(".")[0] for file in tmp_path.glob("*.login.json")}
    code = (
        "import sys, filelock\nlock = filelock.FileLock(sys.argv[1])\nlock.acquire()\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / f".{name}.lock")]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        batch = query_servers([server], replace(live(tmp_path), timeout=1))
        other.kill()
    (failed,) = batch.diagnostics
    start = f"{bare_address(server.url)}: "
    assert failed.message.removeprefix(start).startswith(
        ("another program has been renewing the login", "no response within")
    )
    assert asked(server, tmp_path) == ["whoami"]


def test_logging_out(realm: Realm, tmp_path: Path) -> None:
    """A login that is forgotten lets nobody in, and can be forgotten once."""
    server = logged_in(realm, tmp_path)
    assert log_out(server, str(tmp_path))
    assert not log_out(server, str(tmp_path))
    assert asked(server, tmp_path)[0].startswith("authentication required")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema": "mcpg/login/1"}',
        b"\xff",
        b'{"schema": "mcpg/login/2", "url": ""}',
    ],
)
def test_a_file_that_is_no_login(realm: Realm, tmp_path: Path, content: bytes) -> None:
    """A damaged file counts as no login."""
    server = logged_in(realm, tmp_path)
    file_in(tmp_path).write_bytes(content)
    assert asked(server, tmp_path)[0].startswith("authentication required")


@pytest.mark.parametrize(
    "members",
    [
        {"expires": "soon"},
        {"endpoint": None},
        {"client": []},
        {"tokens": {"access_token": ["x"]}},
        {"tokens": {}},
        {"url": "https://example.com/"},
    ],
)
def test_a_login_of_other_kinds(realm: Realm, tmp_path: Path, members: dict[str, Any]) -> None:
    """A file whose parts are of other kinds, or that is of another server, counts as no login."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, **members)
    assert asked(server, tmp_path)[0].startswith("authentication required")


@pytest.mark.parametrize(
    "members", [{"client": {}}, {"server": {"issuer": 7}}, {"resource": {"resource": "x"}}]
)
def test_a_login_that_cannot_be_read(realm: Realm, tmp_path: Path, members: dict[str, Any]) -> None:
    """A file of which the SDK can make nothing is told."""
    server = logged_in(realm, tmp_path)
    change(tmp_path, **members)
    assert asked(server, tmp_path) == [f"stored login cannot be read: {AGAIN}"]


def test_a_folder_in_which_nothing_can_be_kept(realm: Realm, tmp_path: Path) -> None:
    """Before a person takes trouble, it is seen that the login can be kept."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError) as caught:
        log_in(server_of(realm), str(tmp_path / "file"), manner())
    assert caught.value.remedy == "name another folder with MCPG_LOGIN_DIR"
    assert realm.asked == []


def test_a_login_that_cannot_be_removed(realm: Realm, tmp_path: Path) -> None:
    """What cannot be removed is told by its path."""
    server = logged_in(realm, tmp_path)
    file = file_in(tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(OutputError) as caught:
        log_out(server, str(tmp_path))
    assert caught.value.place == str(file)


def refusal(server: HttpServer, folder: Path, **more: Any) -> str:
    """Say why nobody is logged in; nothing is kept."""
    with pytest.raises((SourceError, UsageError)) as caught:
        log_in(server, str(folder), manner(**more))
    assert not list(folder.glob("*.login.json"))
    assert "marker" not in str(caught.value)
    return caught.value.message


def test_a_person_who_says_no(realm: Realm, tmp_path: Path) -> None:
    """A login that is refused is told, and the browser is not opened again."""
    realm.provider.agrees = False
    assert refusal(server_of(realm), tmp_path) == "the login was refused"
    assert len(realm.provider.asked) == 1


def test_a_browser_that_never_comes_back(realm: Realm, tmp_path: Path) -> None:
    """A login has its time."""
    said = refusal(server_of(realm), tmp_path, show=lambda _: None, seconds=1)
    assert said == "no response within 1 s"


@pytest.mark.parametrize("query", ["state=other&code=marker-code", "state=other"])
def test_a_visit_that_is_not_ours(realm: Realm, tmp_path: Path, query: str) -> None:
    """Who brings another state brings nothing."""

    def show(address: str) -> None:
        back = httpx.URL(address).params["redirect_uri"]
        assert httpx.get(back.replace("/callback", "/other")).status_code == 404
        assert httpx.get(back).status_code == 400
        assert httpx.get(f"{back}?{query}").status_code == 200
        assert httpx.get(f"{back}?{query}").status_code == 400

    said = refusal(server_of(realm), tmp_path, show=show)
    assert said == "the response from the browser does not belong to this login"
    assert realm.grants() == []


def test_a_token_that_is_refused_at_once(realm: Realm, tmp_path: Path) -> None:
    """A server that does not take the token it has just got is told, and nothing is kept."""

    def show(address: str) -> None:
        browse(address)
        realm.instead["/mcp"] = (401, {}, b"marker")

    said = refusal(server_of(realm), tmp_path, show=show)
    assert said == "another login required although one was just made"


def test_a_server_that_registers_nobody(realm: Realm, tmp_path: Path) -> None:
    """Where a client must be registered by hand, the message says what failed."""
    realm.instead["/register"] = (403, {}, b"marker")
    said = refusal(server_of(realm), tmp_path)
    assert said == "authorisation server registered no client (HTTP status 403)"


def test_a_server_that_wants_no_login(tmp_path: Path) -> None:
    """Where tools are to be had without, nothing is kept."""
    with authorising(is_open=True) as realm:
        told = log_in(server_of(realm), str(tmp_path), manner())
    assert (told.is_new, told.tools) == (False, 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            HttpServer("x", "x", "https://example.com/mcp", {"Authorization": "Bearer x"}),
            "its headers let mcpg in already",
        ),
        (
            HttpServer("x", "x", "https://example.com/mcp", oauth=None),
            "its configuration disables OAuth",
        ),
        (
            HttpServer(
                "x", "x", "https://example.com/mcp", oauth=OAuth(CLIENT_CREDENTIALS, "a", "b")
            ),
            "it uses the grant client_credentials, so no login is needed",
        ),
        (
            HttpServer("x", "x", "http://example.com/mcp"),
            "a login would be sent over the network unencrypted",
        ),
        (
            HttpServer("x", "x", "https://example.com/mcp", oauth=OAuth(redirect="cursor://x/y")),
            "its `redirectUri` is not an address of this machine",
        ),
        (
            HttpServer("x", "x", "http://[::1]:1/mcp", oauth=OAuth(redirect="http://localhost:x")),
            "its `redirectUri` is not an address of this machine",
        ),
    ],
)
def test_servers_to_which_nobody_logs_in(server: HttpServer, message: str, tmp_path: Path) -> None:
    """What needs no login, or must not have one, is told before anything is asked."""
    assert refusal(server, tmp_path) == message


def test_a_client_that_is_registered_already(realm: Realm, tmp_path: Path) -> None:
    """A configured client is used as it stands; its secret is kept in no file."""
    logged_in(realm, tmp_path / "first")
    (client,) = realm.provider.clients.values()
    port = httpx.URL(str((client.redirect_uris or [""])[0])).port
    oauth = {
        "client_id": client.client_id,
        "client_secret": client.client_secret,
        "method": client.token_endpoint_auth_method,
        "issuer": f"{realm.origin}/",
        "redirect": f"http://127.0.0.1:{port}/callback",
    }
    server = logged_in(realm, tmp_path, **oauth)
    assert len(realm.provider.clients) == 1
    assert str(client.client_secret) not in file_in(tmp_path).read_text("utf-8")
    change(tmp_path, expires=1.0)
    assert asked(server, tmp_path) == ["whoami"]
    other = server_of(realm, **{**oauth, "client_id": "another"})
    assert asked(other, tmp_path) == [f"stored login belongs to another client: {AGAIN}"]


def test_a_client_of_another_issuer(realm: Realm, tmp_path: Path) -> None:
    """A client's secret goes to its issuer alone, also in a login."""
    server = server_of(
        realm, client_id="me", client_secret="marker-secret-1", issuer="https://example.com"
    )
    said = refusal(server, tmp_path)
    assert said.startswith("server names another authorization server than its client")
    assert realm.provider.asked == []


def come_back(address: str) -> None:
    """Bring any code back, as a page would that is nobody's authorisation server."""
    query = httpx.URL(address).params
    answer = httpx.get(f"{query['redirect_uri']}?code=any&state={query['state']}")
    assert answer.status_code == 200


RESOURCE = "/.well-known/oauth-protected-resource"
METADATA = "/.well-known/oauth-authorization-server"
NOTHING: tuple[int, dict[str, str], bytes] = (404, {}, b"")


def test_an_issuer_that_publishes_nothing(realm: Realm, tmp_path: Path) -> None:
    """A server gets no secret of its authorisation server, whose documents cannot be had."""
    issuer = f"{realm.origin}/realms/none"
    with authorising(issuer) as stranger:
        oauth = {"client_id": "me", "client_secret": "marker-secret-1", "issuer": issuer}
        said = refusal(server_of(stranger, **oauth), tmp_path, show=come_back)
        assert said == "OAuth required, but no usable authorisation server is named"
        assert stranger.grants() == []
        assert any("realms/none" in path for path in realm.paths("GET"))


def test_a_server_that_claims_to_be_the_issuer(realm: Realm, tmp_path: Path) -> None:
    """Whoever publishes the name of an issuer at another place gets no secret."""
    issuer = "https://auth.example.com"
    claim = {
        "issuer": issuer,
        "authorization_endpoint": f"{realm.origin}/authorize",
        "token_endpoint": f"{realm.origin}/token",
        "response_types_supported": ["code"],
    }
    realm.instead |= {RESOURCE: NOTHING, f"{RESOURCE}/mcp": NOTHING}
    realm.instead[METADATA] = (200, {}, json.dumps(claim).encode())
    server = server_of(realm, client_id="me", client_secret="marker-secret-1", issuer=issuer)
    said = refusal(server, tmp_path, show=come_back)
    assert said.startswith("server names another authorization server than its client")
    assert realm.grants() == []


def test_a_login_made_elsewhere_gets_no_secret(realm: Realm, tmp_path: Path) -> None:
    """A login is renewed only where the secret of its client belongs."""
    logged_in(realm, tmp_path)
    client = json.loads(file_in(tmp_path).read_bytes())["client"]
    server = server_of(
        realm,
        client_id=client["client_id"],
        client_secret="marker-secret-1",
        issuer="https://auth.example.com",
    )
    change(tmp_path, expires=1.0)
    (said,) = asked(server, tmp_path)
    assert said.startswith("server names another authorization server than its client")
    assert realm.grants() == ["authorization_code"]


def test_an_address_in_other_letters(realm: Realm, tmp_path: Path) -> None:
    """A login is renewed however the address is written."""
    realm.instead |= dict.fromkeys((RESOURCE, f"{RESOURCE}/mcp", METADATA), NOTHING)
    url = realm.url.replace("127.0.0.1", "LocalHost")
    server = HttpServer("mcp.json: guarded", "guarded", url)
    assert log_in(server, str(tmp_path), manner()).is_new
    change(tmp_path, expires=1.0)
    assert asked(server, tmp_path) == ["whoami"]
    assert realm.grants() == ["authorization_code", "refresh_token"]


def test_a_port_that_is_taken(realm: Realm, tmp_path: Path) -> None:
    """A port at which nothing can be received is told."""
    taken = httpx.URL(realm.origin).port
    said = refusal(server_of(realm), tmp_path, port=taken)
    assert said.startswith(f"nothing can be received at port {taken}: ")
