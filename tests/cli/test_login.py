"""`mcpg login` and `mcpg logout`: which server, which browser, and what every command gains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from typing import TYPE_CHECKING

import httpx
import pytest
from authserver import Realm, authorising

from mcpg.cli.environment import login_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shop import Run


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    """Servers for all tests here."""
    with authorising() as running:
        yield running


@pytest.fixture
def logins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where logins are kept in this test."""
    path = folder.parent / f"{folder.name}-logins"
    monkeypatch.setenv("MCPG_LOGIN_DIR", str(path))
    return path


@pytest.fixture
def config(folder: Path, realm: Realm) -> Path:
    """The configuration of a client: an address, a program, and what cannot be used."""
    entries = {
        "guarded": {"url": realm.url},
        "program": {"command": "true"},
        "broken": {"url": "https://example.com", "headers": {"X": "${NOT_SET_AT_ALL}"}},
    }
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}), "utf-8")
    return path


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A browser in which a person agrees to everything; the addresses that it was given."""
    seen: list[str] = []

    def opened(address: str) -> bool:
        seen.append(address)
        return httpx.get(address, follow_redirects=True).status_code == 200

    monkeypatch.setattr(webbrowser, "open", opened)
    return seen


def test_a_login_serves_every_command(
    run: Callable[..., Run], config: Path, logins: Path, browser: list[str], realm: Realm
) -> None:
    """After one login in a browser, tools are bundled without any; after a logout, they are not."""
    refused = run("bundle", "mcp.json", "-o", "-")
    assert (
        "authentication required (HTTP status 401): run `mcpg login guarded mcp.json`"
        in refused.err
    )
    assert browser == []
    done = run("login", "guarded", "mcp.json")
    assert (done.code, done.out) == (0, "")
    assert done.err == "a browser is opened: log in there\nlogged in to mcp.json: guarded: 1 tool\n"
    assert len(browser) == 1
    bundled = run("bundle", realm.url, "-o", "graph.mdld")
    assert (bundled.code, "wrote graph.mdld: 1 tool" in bundled.err) == (0, True)
    assert "marker-access" not in (config.parent / "graph.mdld").read_text("utf-8")
    assert len(list(logins.glob("*.login.json"))) == 1
    gone = run("logout", "guarded", "mcp.json")
    assert (gone.code, gone.err) == (0, "logged out of mcp.json: guarded\n")
    again = run("logout", realm.url)
    assert (again.code, again.err) == (0, f"no login to {realm.origin}\n")
    assert "authentication required" in run("bundle", realm.url, "-o", "-").err


def test_a_server_of_the_configuration_file(
    run: Callable[..., Run], folder: Path, logins: Path, browser: list[str], realm: Realm
) -> None:
    """A server of [[sources]] is named by its id; the doctor says what to do, and uses it."""
    text = f'[[sources]]\nid = "guarded"\nurl = "{realm.url}"\n[[sources]]\npath = "x"\n'
    (folder / "mcpg.toml").write_text(text, "utf-8")
    assert "run `mcpg login guarded`" in " ".join(run("doctor").out.split())
    assert run("login", "guarded").code == 0
    assert "run `mcpg login guarded`" not in run("doctor").out
    assert len(list(logins.glob("*.login.json"))) == len(browser) == 1


@pytest.mark.usefixtures("logins", "config")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["program", "mcp.json"], "it is a program, which needs no login"),
        (["stdio:true"], "it is a program, which needs no login"),
        (["broken", "mcp.json"], "mcp.json: broken: the environment variable `NOT_SET_AT_ALL`"),
        (["gaurded", "mcp.json"], "did you mean 'guarded'?"),
        (["other", "mcp.json"], "it names guarded, program"),
        (["other", "nowhere.json"], "nowhere.json: no such file"),
        (["other"], "name an address, or the file that names the server"),
        (["https://example.com", "--timeout", "0"], "0 s is out of range"),
        (["https://example.com", "--port", "70000"], "70000 is not a port"),
        (["http://example.com/mcp"], "a login would be sent over the network unencrypted"),
    ],
)
def test_what_makes_no_sense(run: Callable[..., Run], words: list[str], told: str) -> None:
    """Who cannot be logged in to is told, with what to do instead."""
    done = run("login", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_login_that_fails(
    run: Callable[..., Run], logins: Path, browser: list[str], realm: Realm
) -> None:
    """A login that is refused is an error, and nothing is kept."""
    realm.provider.agrees = False
    done = run("login", realm.url)
    realm.provider.agrees = True
    assert done.code == 2
    assert f"error: {realm.origin}: the login was refused\n" in done.err
    assert len(browser) == 1
    assert not list(logins.glob("*"))


def test_a_server_that_wants_no_login(
    run: Callable[..., Run], logins: Path, browser: list[str]
) -> None:
    """Where nobody needs to log in, that is said, and no browser is opened."""
    with authorising(is_open=True) as realm:
        done = run("login", realm.url)
    assert (done.code, done.err) == (0, f"{realm.origin} requires no login: 1 tool\n")
    assert browser == []
    assert not list(logins.glob("*"))


@pytest.mark.parametrize("fault", [None, webbrowser.Error("marker"), OSError("marker")])
def test_where_no_browser_can_be_opened(
    run: Callable[..., Run],
    logins: Path,
    realm: Realm,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception | None,
) -> None:
    """The address is printed, so that a person can open it all the same."""

    def opened(address: str) -> bool:
        httpx.get(address, follow_redirects=True)
        if fault is not None:
            raise fault
        return False

    monkeypatch.setattr(webbrowser, "open", opened)
    done = run("login", realm.url)
    assert done.code == 0
    assert done.out.startswith(f"{realm.origin}/authorize?")
    assert "no browser can be opened\n" in done.err
    assert logins.exists()


@pytest.mark.usefixtures("logins")
def test_without_a_browser(folder: Path, realm: Realm) -> None:
    """The address comes on standard output at once, for a browser anywhere on this machine."""
    command = [sys.executable, "-m", "mcpg", "login", realm.url, "--no-browser"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, cwd=folder) as program:
        assert program.stdout is not None
        address = program.stdout.readline().strip()
        assert httpx.get(address, follow_redirects=True).status_code == 200
        rest, told = program.communicate(timeout=30)
    assert (program.returncode, rest) == (0, "")
    assert told.endswith(f"logged in to {realm.origin}: 1 tool\n")


def test_where_logins_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable names the folder, else it is where the platform keeps data; none is none."""
    monkeypatch.setenv("MCPG_LOGIN_DIR", str(tmp_path / "mine"))
    assert login_folder() == str(tmp_path / "mine")
    monkeypatch.delenv("MCPG_LOGIN_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert login_folder() == str(tmp_path / "mcpg" / "logins")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert login_folder() == str(tmp_path / ".local/share/mcpg/logins")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert login_folder() == str(tmp_path / "Library/Application Support/mcpg/logins")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert login_folder() == str(tmp_path / "mcpg" / "logins")
    monkeypatch.delenv("LOCALAPPDATA")
    assert login_folder() is None


def test_without_a_folder(run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be kept, nobody is logged in."""
    monkeypatch.delenv("MCPG_LOGIN_DIR", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    done = run("login", "https://example.com/mcp")
    assert done.code == 2
    assert "name one with MCPG_LOGIN_DIR" in done.err
    assert os.environ.get("MCPG_LOGIN_DIR") is None
