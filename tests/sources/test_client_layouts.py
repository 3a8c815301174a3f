"""Each client's own layout is read as its documentation describes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpg.errors import Code, SourceError
from mcpg.sources.client_config import (
    MAX_TIMEOUT,
    HttpServer,
    Server,
    StdioServer,
    is_client_configuration,
    names_servers,
    read_client_configuration,
)
from mcpg.sources.client_inputs import ClientInput
from mcpg.sources.clients import client_files
from mcpg.sources.live.client import ServerTools, read_listing
from mcpg.sources.model import FileKind, kind_of_named

CODEX = """\
model = "gpt-5.1"

[mcp_servers.files]
command = "npx"
args = ["-y", "server", "/tmp"]
env = { MODE = "fast" }
env_vars = ["PRESENT", "ABSENT"]
cwd = "/srv"
startup_timeout_sec = 20
tool_timeout_sec = 1800

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
    timeout: 3600
    available_tools: []
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
    assert files.timeout == 1800
    assert files.env == {"PRESENT": "here", "MODE": "fast"}
    assert isinstance(figma, HttpServer)
    assert figma.headers == {
        "X-Region": "eu",
        "X-Team": "blue-team-secret",
        "Authorization": "Bearer figma-secret-1234",
    }
    assert "figma-secret-1234" in figma.secrets
    assert figma.login_with() == "`mcpg login figma config.toml`"


def test_a_timeout_of_any_size_is_bounded() -> None:
    """The longest timeout is a day, however many digits a number has."""
    text = f'[mcp_servers.a]\ncommand = "x"\ntool_timeout_sec = {"9" * 400}\n'
    assert servers_of(text, "config.toml")["a"].timeout == MAX_TIMEOUT


def test_goose() -> None:
    """Extensions that are servers are taken; those that are parts of Goose are passed over."""
    servers = servers_of(GOOSE, "config.yaml")
    assert servers.keys() == {"filesystem", "remote-tools"}
    files, remote = servers["filesystem"], servers["remote-tools"]
    assert isinstance(files, StdioServer)
    assert (files.command, files.args) == ("npx", ("-y", "server", "/tmp"))
    assert files.env == {"FILES_KEY": "files-secret-1234", "MODE": "fast"}
    assert files.timeout == 3600
    assert isinstance(remote, HttpServer)
    assert (remote.url, remote.headers) == ("https://example.com/mcp", {"X-Region": "eu"})


OPENCODE = """\
{ // servers
  "$schema": "https://opencode.ai/config.json",
  "tools": {"bash": false},
  "mcp": {
    "files": {"type": "local", "command": ["npx", "-y", "server"], "timeout": 5000,
              "environment": {"KEY": "{env:PRESENT}", "NO": "{env:ABSENT}", "V": 3.10}},
    "web": {"type": "remote", "url": "https://example.com/mcp", "timeout": {"request": 90000},
            "headers": {"Authorization": "Bearer {env:DB_TOKEN}"}},
    "off": {"type": "local", "command": ["x"], "enabled": false},
    "jira": {"enabled": true},
  },
}
"""
CRUSH = """\
{"mcp": {
  "files": {"type": "stdio", "command": "npx", "args": ["-y"], "env": {"KEY": "$PRESENT"},
            "timeout": 1200},
  "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "${PRESENT}"}},
  "off": {"type": "stdio", "command": "x", "disabled": true}
}}
"""


def test_opencode() -> None:
    """A command is a list, the environment `environment`, a variable `{env:NAME}`."""
    assert kind_of_named("opencode.jsonc", OPENCODE, "opencode.jsonc") is FileKind.CLIENT
    servers = servers_of(OPENCODE, "opencode.jsonc")
    files, web = servers["files"], servers["web"]
    assert len(servers) == 2
    assert isinstance(files, StdioServer)
    assert (files.command, files.args, files.timeout) == ("npx", ("-y", "server"), 5)
    assert files.env == {"KEY": "here", "NO": "", "V": "3.10"}
    assert isinstance(web, HttpServer)
    assert web.headers == {"Authorization": "Bearer db-secret-123456"}
    assert web.timeout == 90


@pytest.mark.parametrize(
    ("tools", "count"),
    [({"a_*": False}, 1), ({"*": False}, 1), ({"a_*": True, "bash": False}, 0), ([], 0)],
)
def test_tools_that_opencode_disables_are_reported(tools: Any, count: int) -> None:
    """A switch of tools of servers has no effect; one of its own tools does not matter."""
    text = json.dumps({"tools": tools, "mcp": {"a": {"type": "local", "command": ["x"]}}})
    _, noticed = read_client_configuration(text, "opencode.json", {})
    assert [one.code for one in noticed] == [Code.FILTER_IGNORED] * count


def test_crush() -> None:
    """Timeouts are seconds, and variables may have no braces."""
    assert kind_of_named("crush.json", CRUSH, "crush.json") is FileKind.CLIENT
    servers = servers_of(CRUSH, "crush.json")
    files, web = servers["files"], servers["web"]
    assert len(servers) == 2
    assert isinstance(files, StdioServer)
    assert (files.env, files.timeout) == ({"KEY": "here"}, 1200)
    assert isinstance(web, HttpServer)
    assert web.headers == {"X": "here"}


def test_amp() -> None:
    """The member `amp.mcpServers` is one name."""
    text = '{"amp.showCosts": true, "amp.mcpServers": {"a": {"command": "x"}}}'
    assert kind_of_named("settings.json", text, "settings.json") is FileKind.CLIENT
    assert servers_of(text, "settings.json").keys() == {"a"}


def test_copilot() -> None:
    """The type `local` is a program, and `tools` with a star names all tools."""
    text = '{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"]}}}'
    servers, noticed = read_client_configuration(text, "~/.copilot/mcp-config.json", {})
    assert [type(one) for one in servers] == [StdioServer]
    assert noticed == ()


def gemini(entry: dict[str, Any], **mcp: list[str]) -> str:
    """Return settings of Gemini CLI with two servers."""
    return json.dumps({"mcp": mcp, "mcpServers": {"a": entry, "b": {"command": "y"}}})


@pytest.mark.parametrize("mcp", [{"excluded": ["b"]}, {"allowed": ["a"]}])
def test_gemini_leaves_servers_out(mcp: dict[str, list[str]]) -> None:
    """A server that the user excludes, or does not allow, is disabled."""
    servers, (told,) = read_client_configuration(gemini({"command": "x"}, **mcp), "s.json", {})
    assert [one.name for one in servers] == ["a"]
    assert (told.code, told.severity, told.place) == (Code.SOURCE_SKIPPED, "info", "s.json: b")


def test_gemini_expands_variables_without_braces() -> None:
    """In a file of Gemini CLI, `$NAME` is a variable that is set; another is reported."""
    entry = {"command": "x", "env": {"A": "$PRESENT", "B": "a$ABSENT", "C": "$ABSENT"}}
    given = gemini(entry | {"timeout": 500})
    servers, (told,) = read_client_configuration(given, "~/.gemini/settings.json", ENVIRON)
    assert isinstance(servers[0], StdioServer)
    assert servers[0].env == {"A": "here", "B": "a$ABSENT", "C": "$ABSENT"}
    assert servers[0].timeout == 0.5
    assert (told.code, told.severity) == (Code.VALUE_INVALID, "warning")
    assert "`$ABSENT` in its `env` is passed as it is" in told.message


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("$PRESENT", "$PRESENT"),
        ("Bearer $PRESENT", "$PRESENT"),
        ("%PRESENT%", "%PRESENT%"),
        ("$(pass show key)", "$(...)"),
        ("{file:~/key}", "{file:~/key}"),
    ],
)
def test_a_variable_that_is_not_expanded_is_reported(value: str, shown: str) -> None:
    """A server gets a text of another notation as it is, which is a warning."""
    entry = {"url": "https://example.com/mcp", "headers": {"X": value}}
    text = json.dumps({"mcpServers": {"a": entry}})
    (server,), (told,) = read_client_configuration(text, "mcp.json", ENVIRON)
    assert isinstance(server, HttpServer)
    assert server.headers == {"X": value}
    assert (told.code, told.severity) == (Code.VALUE_INVALID, "warning")
    assert f"`{shown}`" in told.message


def test_a_file_of_variables_is_reported() -> None:
    """The file of variables of VS Code is not read, which is a warning."""
    text = '{"servers": {"a": {"command": "x", "envFile": ".env"}}}'
    (_,), (told,) = read_client_configuration(text, "mcp.json", {})
    assert (told.code, told.severity) == (Code.VALUE_INVALID, "warning")


@pytest.mark.parametrize(
    ("lists", "used"),
    [
        ({"includeTools": ["read", "list"]}, ["list", "read"]),
        ({"excludeTools": ["read"]}, ["list", "write"]),
        ({"disabledTools": ["read"]}, ["list", "write"]),
        ({"tools": ["read"]}, ["read"]),
        ({"tools": ["*"]}, ["list", "read", "write"]),
        ({"tools": []}, ["list", "read", "write"]),
        ({"enabled_tools": ["read", "write"], "disabled_tools": ["write"]}, ["read"]),
        ({"includeTools": "read", "excludeTools": [7, "*e*"]}, ["list"]),
    ],
)
def test_a_client_chooses_among_the_tools_of_a_server(lists: Any, used: list[str]) -> None:
    """The lists of a client name the tools of its server that are used; exclusion comes first."""
    text = json.dumps({"mcpServers": {"a": {"command": "x", **lists}}})
    (server,), noticed = read_client_configuration(text, "mcp.json", {})
    assert not noticed
    tools = ({"name": name, "inputSchema": {}} for name in ("list", "read", "write"))
    batch = read_listing(server, ServerTools("x", tuple(tools)))
    assert [tool.name for tool in batch.tools] == used


@pytest.mark.parametrize(
    ("place", "seconds"),
    [
        ("mcp.json", 600),
        ("~/.copilot/mcp-config.json", 0.6),
        ("/home/ann/.aws/amazonq/mcp.json", 0.6),
        (".roo/mcp.json", 600),
    ],
)
def test_the_client_of_a_file_decides_on_its_unit(place: str, seconds: float) -> None:
    """Timeouts are seconds or milliseconds as the client of the file has them."""
    text = '{"mcpServers": {"a": {"command": "x", "timeout": 600}}}'
    assert servers_of(text, place)["a"].timeout == seconds


def test_numbers_stay_as_they_are_written() -> None:
    """A version `3.10` among arguments and variables is not `3.1`."""
    entry = '{"command": "x", "args": [3.10, 1e3, 7], "env": {"V": 3.10}}'
    texts = {
        "mcp.json": f'{{"mcpServers": {{"a": {entry}}}}}',
        "config.toml": '[mcp_servers.a]\ncommand = "x"\nargs = [3.10, 1e3, 7]\nenv = {V = 3.10}\n',
        "config.yaml": f"mcpServers: [{{name: a, {entry[1:]}]",
    }
    for place, text in texts.items():
        server = servers_of(text, place)["a"]
        assert isinstance(server, StdioServer)
        assert (server.args, server.env) == (("3.10", "1e3", "7"), {"V": "3.10"})


def test_the_workspace_of_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file of a project, `${workspaceFolder}` is the folder of the project."""
    text = '{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}/s.py"]}}}'
    monkeypatch.chdir(tmp_path)
    for place in (str(tmp_path / ".vscode/mcp.json"), ".vscode/mcp.json", ".cursor/mcp.json"):
        server = servers_of(text, place)["a"]
        assert isinstance(server, StdioServer)
        assert server.args == (f"{tmp_path}/s.py",)
    monkeypatch.setenv("HOME", str(tmp_path.parent / "home"))
    of_user = servers_of(text, "~/.cursor/mcp.json")["a"]
    assert isinstance(of_user, StdioServer)
    assert of_user.args == (f"{tmp_path}/s.py",)
    # A server of files would get the whole home folder.
    monkeypatch.setenv("HOME", str(tmp_path))
    _, (failed,) = read_client_configuration(text, "~/.cursor/mcp.json", {})
    assert "`${workspaceFolder}` is known to the editor only" in failed.message


def test_variables_of_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Editors name the workspace, the home folder and the separator of paths."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    text = (
        '{"servers": {"a": {"command": "${userHome}${/}x", "args":'
        ' ["${workspaceFolderBasename}${pathSeparator}y"]}}}'
    )
    server = servers_of(text, str(tmp_path / "shop/.vscode/mcp.json"))["a"]
    assert isinstance(server, StdioServer)
    assert server.command == str(tmp_path / "home/x")
    assert server.args == (str(Path("shop/y")),)


INPUTS = """{
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "Key of the shop", "password": true},
    {"type": "promptString", "id": "city", "default": "Oslo"}
  ],
  "servers": {"a": {"command": "x", "args": ["${input:city}"], "env": {"K": "${input:api-key}"}}}
}"""


def test_inputs_of_an_editor() -> None:
    """An input is a variable of the environment, or is asked for, or has its default."""
    ((server,), _) = read_client_configuration(INPUTS, "mcp.json", {"MCPG_INPUT_API_KEY": "k${X}y"})
    assert isinstance(server, StdioServer)
    assert (server.args, server.env) == (("Oslo",), {"K": "k${X}y"})
    assert "k${X}y" in server.named_secrets
    assert "Oslo" not in (*server.named_secrets, *server.secrets[:1])
    asked: list[ClientInput] = []

    def ask(one: ClientInput) -> str:
        asked.append(one)
        return f"{one.name}?"

    ((server,), _) = read_client_configuration(INPUTS, "mcp.json", {"MCPG_INPUT_CITY": "Rome"}, ask)
    assert isinstance(server, StdioServer)
    assert (server.args, server.env) == (("Rome",), {"K": "api-key?"})
    assert [(one.description, one.is_password) for one in asked] == [("Key of the shop", True)]
    nested = f'{{"mcp": {INPUTS}}}'
    (_, (failed,)) = read_client_configuration(nested, "settings.json", {})
    assert "the input `api-key` has no value (set MCPG_INPUT_API_KEY)" in failed.message


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
            "mcpServers": {name: {"command": "user"} for name in ("both", "user", "off")},
            "projects": {
                str(project): {
                    "mcpServers": {"both": {"command": "own"}, "own": {"command": "x"}},
                    "disabledMcpServers": ["off"],
                },
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
