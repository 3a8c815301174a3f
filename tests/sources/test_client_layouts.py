"""Each client's own layout is read as its documentation describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcpg.errors import SourceError
from mcpg.sources.client_config import (
    HttpServer,
    Server,
    StdioServer,
    is_client_configuration,
    names_servers,
    read_client_configuration,
)
from mcpg.sources.clients import client_files

if TYPE_CHECKING:
    from pathlib import Path

CODEX = """\
model = "gpt-5.1"

[mcp_servers.files]
command = "npx"
args = ["-y", "server", "/tmp"]
env = { MODE = "fast" }
env_vars = ["PRESENT", "ABSENT"]
cwd = "/srv"
startup_timeout_sec = 20

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Team" = "TEAM", "X-Absent" = "ABSENT" }

[mcp_servers.off]
command = "npx"
enabled = false
"""
GOOSE = """\
GOOSE_MODE: smart_approve
extensions:
  developer: {type: builtin, name: developer, enabled: true}
  computercontroller: {type: platform, name: computercontroller, enabled: true}
  filesystem:
    type: stdio
    name: filesystem
    enabled: true
    cmd: npx
    args: ["-y", "server", "/tmp"]
    env_keys: [FILES_KEY]
    envs: {MODE: fast}
    timeout: 300
  remote-tools:
    type: streamable_http
    name: remote-tools
    enabled: true
    uri: "https://example.com/mcp"
    headers: {X-Region: eu}
  off: {type: stdio, name: off, enabled: false, cmd: npx, args: []}
"""
CONTINUE = """\
name: My Config
version: 1.0.0
schema: v1
mcpServers:
  - name: SQLite MCP
    command: npx
    args: ["-y", "mcp-sqlite", "/db", --token, "${{ secrets.DB_TOKEN }}"]
    env:
      DB_TOKEN: ${{ secrets.DB_TOKEN }}
  - name: Remote
    type: streamable-http
    url: https://example.com/mcp
  - name: Older
    type: sse
    url: https://example.com/sse
"""
ENVIRON = {
    "PRESENT": "here",
    "FIGMA_TOKEN": "figma-secret-1234",
    "TEAM": "blue-team-secret",
    "FILES_KEY": "files-secret-1234",
    "DB_TOKEN": "db-secret-123456",
}


def servers_of(text: str, place: str) -> dict[str | None, Server]:
    """Return the servers that can be used, by name; none may be an error."""
    servers, noticed = read_client_configuration(text, place, ENVIRON)
    assert not [one for one in noticed if one.severity == "error"]
    return {server.name: server for server in servers}


def test_codex() -> None:
    """Tables of `mcp_servers` name programs, addresses, and variables that are passed on if set."""
    assert names_servers(CODEX, "config.toml")
    servers = servers_of(CODEX, "config.toml")
    assert servers.keys() == {"files", "figma"}
    files, figma = servers["files"], servers["figma"]
    assert isinstance(files, StdioServer)
    assert (files.command, files.args, files.cwd) == ("npx", ("-y", "server", "/tmp"), "/srv")
    assert files.env == {"PRESENT": "here", "MODE": "fast"}
    assert isinstance(figma, HttpServer)
    assert figma.headers == {
        "X-Region": "eu",
        "X-Team": "blue-team-secret",
        "Authorization": "Bearer figma-secret-1234",
    }
    assert "figma-secret-1234" in figma.secrets
    assert figma.login == "`mcpg login figma config.toml`"


def test_goose() -> None:
    """Extensions that are servers are taken; those that are parts of Goose are passed over."""
    servers = servers_of(GOOSE, "config.yaml")
    assert servers.keys() == {"filesystem", "remote-tools"}
    files, remote = servers["filesystem"], servers["remote-tools"]
    assert isinstance(files, StdioServer)
    assert (files.command, files.args) == ("npx", ("-y", "server", "/tmp"))
    assert files.env == {"FILES_KEY": "files-secret-1234", "MODE": "fast"}
    assert isinstance(remote, HttpServer)
    assert (remote.url, remote.headers) == ("https://example.com/mcp", {"X-Region": "eu"})


def test_a_secret_that_only_goose_knows_is_named() -> None:
    """A key in the keyring of Goose is reported as the variable that stands for it."""
    _, noticed = read_client_configuration(GOOSE, "config.yaml", {})
    (failed,) = (one for one in noticed if one.severity == "error")
    assert "the environment variable `FILES_KEY` is not set" in failed.message


def test_continue() -> None:
    """Servers in a list have their name in them, and secrets are variables."""
    servers = servers_of(CONTINUE, "config.yaml")
    first, remote, older = servers["SQLite MCP"], servers["Remote"], servers["Older"]
    assert isinstance(first, StdioServer)
    assert first.env == {"DB_TOKEN": "db-secret-123456"}
    assert first.args[-1] == "db-secret-123456"
    assert isinstance(remote, HttpServer)
    assert isinstance(older, HttpServer)
    assert (remote.is_sse, older.is_sse) == (False, True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder within a project of Claude Code."""
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    return inner.parent


def test_projects_of_claude_code(project: Path) -> None:
    """The servers of the project around the working folder count, before those of the user."""
    text = json.dumps(
        {
            "mcpServers": {"both": {"command": "user"}, "user": {"command": "user"}},
            "projects": {
                str(project): {"mcpServers": {"both": {"command": "own"}, "own": {"command": "x"}}},
                str(project.parent / "other"): {"mcpServers": {"other": {"command": "y"}}},
            },
        }
    )
    assert is_client_configuration(text)
    servers = servers_of(text, ".claude.json")
    assert servers.keys() == {"both", "user", "own"}
    both = servers["both"]
    assert isinstance(both, StdioServer)
    assert both.command == "own"


def test_projects_elsewhere_are_passed_over(project: Path) -> None:
    """A file whose servers are all of other projects names none here."""
    elsewhere = {str(project.parent / "other"): {"mcpServers": {"a": {"command": "x"}}}}
    assert not names_servers(json.dumps({"projects": elsewhere}), ".claude.json")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[mcp_servers.a]\ncommand = 5", "config.toml"),
        ("extensions: {a: {type: stdio}}", "config.yaml"),
        ("mcpServers: [{name: a}]", "config.yaml"),
        ('{"mcpServers": {"a": "npx"}}', "mcp.json"),
    ],
)
def test_an_entry_that_makes_no_sense_is_reported(text: str, place: str) -> None:
    """A server that names neither a program nor an address costs no other."""
    servers, (failed,) = read_client_configuration(text, place, {})
    assert (servers, failed.place) == ((), f"{place}: a")


@pytest.mark.parametrize(
    ("text", "place", "at"),
    [
        ("[mcp_servers.a]\ncommand = npx", "config.toml", "config.toml:2:11"),
        ("extensions:\n  a: [x\n", "config.yaml", "config.yaml:2"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(text: str, place: str, at: str) -> None:
    """TOML and YAML are reported as JSON is."""
    with pytest.raises(SourceError) as caught:
        names_servers(text, place)
    assert caught.value.place == at


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('model = "o3"', "config.toml"),
        ("mcp_servers = 5", "config.toml"),
        ("extensions: [one, two]", "config.yaml"),
        ("# extensions:\nGOOSE_MODE: auto", "config.yaml"),
        ("mcpServers: []", "config.yml"),
    ],
)
def test_settings_without_servers_name_none(text: str, place: str) -> None:
    """Other settings of a client, and other files of that format, are no configuration."""
    assert is_client_configuration(text, place) == ("mcpServers" in text)


@pytest.mark.parametrize(
    ("system", "client", "path"),
    [
        ("linux", "Codex", "~/.codex/config.toml"),
        ("win32", "Codex", "~/.codex/config.toml"),
        ("linux", "Goose", "~/.config/goose/config.yaml"),
        ("darwin", "Goose", "~/.config/goose/config.yaml"),
        ("win32", "Goose", "~/AppData/Roaming/Block/goose/config/config.yaml"),
        ("darwin", "Continue", "~/.continue/config.yaml"),
    ],
)
def test_their_usual_places(system: str, client: str, path: str) -> None:
    """The files are where the documentation of each client has them."""
    files = client_files("/work", "/home/ann", system, {})
    assert next(one.shown for one in files if one.client == client) == path


def test_codex_may_have_its_folder_elsewhere() -> None:
    """`CODEX_HOME` names it."""
    files = client_files("/work", "/home/ann", "linux", {"CODEX_HOME": "/etc/codex"})
    assert "/etc/codex/config.toml" in [one.path for one in files if one.client == "Codex"]
