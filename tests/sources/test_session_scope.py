"""Who shares a connection to a server, by its setting or its package."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcpg.cli.source_settings import open_entries, read_entries
from mcpg.errors import SourceError
from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer
from mcpg.sources.registry import STATEFUL_PACKAGES, SessionScope, decide_scope, open_sources

if TYPE_CHECKING:
    from pathlib import Path

    from mcpg.sources.client_config import SessionSetting


def program(*words: str, sessions: SessionSetting | None = None) -> StdioServer:
    """A program with its arguments."""
    return StdioServer("mcp.json: x", "x", words[0], words[1:], sessions=sessions)


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "@playwright/mcp@latest", "--isolated"),
        ("npx", "-y", "@playwright/mcp"),
        ("cmd", "/c", "npx", "@playwright/mcp@0.0.83"),
        ("playwright-mcp",),
        ("/usr/local/bin/playwright-mcp", "--headless"),
        (r"C:\npm\playwright-mcp.cmd",),
        ("node", "/srv/node_modules/@playwright/mcp/cli.js"),
        ("docker", "run", "-i", "mcr.microsoft.com/playwright/mcp:v0.0.83"),
        ("docker", "run", "-i", "mcr.microsoft.com/playwright/mcp@sha256:00ff"),
        ("docker", "run", "-i", "mcr.microsoft.com/playwright/mcp:v0.0.83@sha256:00ff"),
        ("podman", "run", "-i", "docker.io/mcp/puppeteer:latest"),
        ("bunx", "chrome-devtools-mcp@1.11.0"),
        ("deno", "run", "npm:@playwright/mcp@latest"),
        ("cmd", "/c", r"C:\npm\PLAYWRIGHT-MCP.CMD"),
        ("powershell", "-File", r"C:\npm\playwright-mcp.ps1"),
        ("xvfb-run", "/usr/local/bin/playwright-mcp"),
        ("node", "node_modules/.bin/playwright-mcp"),
        ("node", "/srv/node_modules/chrome-devtools-mcp/build/src/index.js"),
    ],
)
def test_a_known_package_is_recognised_however_it_is_started(words: tuple[str, ...]) -> None:
    """By its name, its command, its image or its folder, with or without a version."""
    found = decide_scope(program(*words))
    assert found.scope is SessionScope.CLIENT
    assert found.package in STATEFUL_PACKAGES
    assert found.package in found.description


@pytest.mark.parametrize(
    "words",
    [
        ("npx", "@playwright/test"),
        ("npx", "@other/playwright-mcp-like"),
        ("python", "-m", "browser"),
        ("sh", "-c", "npx @playwright/mcp"),
        ("node", "/srv/playwright/mcp/cli.js"),
        ("npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me/playwright-mcp"),
        ("npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/me/desktop-commander/"),
        ("uvx", "mcp-server-git", "--repository", "/src/chrome-devtools-mcp"),
        ("server", r"C:\src\mcp-selenium"),
        ("npx", "docs", "--about=@playwright/mcp"),
        ("node", "/srv/node_modules/@playwright/mcp-extra/cli.js"),
        ("echo", ""),
        ("echo", "@"),
        ("echo", "@/:@"),
        ("echo", "x" * 100_000),
        ("echo", "@a" * 50_000),
    ],
)
def test_what_is_only_similar_is_not_recognised(words: tuple[str, ...]) -> None:
    """There is no guess by a part of a name."""
    assert decide_scope(program(*words)).scope is SessionScope.TRANSPORT


def test_the_setting_counts_before_the_package() -> None:
    """An operator may share what is known to keep state, and the reverse."""
    assert (
        decide_scope(program("chrome-devtools-mcp", sessions="shared")).scope is SessionScope.SHARED
    )
    assert decide_scope(program("weather", sessions="client")).scope is SessionScope.CLIENT
    address = HttpServer("x", None, "http://127.0.0.1/mcp", sessions="client")
    assert decide_scope(address).scope is SessionScope.CLIENT


def test_both_kinds_of_configuration_have_the_setting(tmp_path: Path) -> None:
    """In a client configuration it stands in `mcpg`, in `mcpg.toml` beside the source."""
    entry = {"command": "weather", "mcpg": {"sessions": "client", "trustHints": True}}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"w": entry, "v": {"command": "v"}}}))
    sources, _ = open_sources([str(config)], ServerAccess())
    assert [one.server.sessions for one in sources] == ["client", None]  # type: ignore[union-attr]
    assert sources[0].server.trust_hints  # type: ignore[union-attr]
    given = [
        {"command": "weather", "sessions": "shared"},
        {"path": str(config), "sessions": "shared"},
    ]
    entries = read_entries(given, tmp_path / "mcpg.toml", SourceError)
    opened, _ = open_entries(entries, ServerAccess())
    assert [one.server.sessions for one in opened] == ["shared", "client", "shared"]  # type: ignore[union-attr]


@pytest.mark.parametrize("value", ["Client", "", 1, None, ["client"]])
def test_another_value_is_an_error(tmp_path: Path, value: object) -> None:
    """The error names the key and its values."""
    config = tmp_path / "mcp.json"
    entry = {"command": "weather", "mcpg": {"sessions": value}}
    config.write_text(json.dumps({"mcpServers": {"w": entry}}))
    _, noticed = open_sources([str(config)], ServerAccess())
    assert "`mcpg.sessions` is not client or shared" in noticed[0].message
