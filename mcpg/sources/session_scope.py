"""Servers that keep state between calls: which clients may share a connection to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcpg.sources.client_config import Server, StdioServer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class SessionScope(StrEnum):
    """Who shares a connection to a server."""

    CLIENT = "client"
    """Nobody: each client session has its own."""
    SHARED = "shared"
    """All clients."""
    TRANSPORT = "transport"
    """All clients, unless the protocol shows that the server tells them apart by connection."""


@dataclass(frozen=True, slots=True)
class ScopeOf:
    """Who shares the connection to one server, and why.

    Attributes:
        scope: Who shares it.
        package: The package of `STATEFUL_PACKAGES` by which it was recognised, "" for none.
    """

    scope: SessionScope
    package: str = ""

    @property
    def description(self) -> str:
        """What an operator needs to know, "" where all is as usual."""
        if self.package:
            return f"one for each session, since {self.package} keeps state"
        each = {SessionScope.CLIENT: "one for each session", SessionScope.SHARED: "shared by all"}
        return each.get(self.scope, "")


STATEFUL_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "@playwright/mcp": ("playwright-mcp", "mcr.microsoft.com/playwright/mcp"),
    "@executeautomation/playwright-mcp-server": ("playwright-mcp-server", "mcp/playwright"),
    "@modelcontextprotocol/server-puppeteer": ("mcp-server-puppeteer", "mcp/puppeteer"),
    "@modelcontextprotocol/server-sequential-thinking": (
        "mcp-server-sequential-thinking",
        "mcp/sequentialthinking",
    ),
    "@angiejones/mcp-selenium": ("mcp-selenium",),
    "@wonderwhy-er/desktop-commander": ("desktop-commander",),
    "chrome-devtools-mcp": (),
}
"""Packages whose tools work on what one process holds, such as the page of a browser, each with
the other names by which it is started: its command and its container image.

A package belongs here if two clients of one process see or change
what the other does, and nothing in its arguments keeps them apart.
"""

_SUFFIXES = {".cmd", ".exe", ".js", ".mjs"}
_VERSION = re.compile(r"(?<=[^@/])(?:@|:)[^@/:]*\Z")


def scope_of(server: Server) -> ScopeOf:
    """Return who shares the connection to *server*: by its setting, or else by its package."""
    if server.sessions is not None:
        return ScopeOf(SessionScope(server.sessions))
    words = (server.command, *server.args) if isinstance(server, StdioServer) else ()
    package = _package_in(words)
    return ScopeOf(SessionScope.CLIENT if package else SessionScope.TRANSPORT, package)


def _package_in(words: Iterable[str]) -> str:
    """Return the package of `STATEFUL_PACKAGES` that a command line names, "" for none."""
    for word in words:
        for package, others in STATEFUL_PACKAGES.items():
            if _names(word).intersection((package, *others)):
                return package
    return ""


def _names(word: str) -> set[str]:
    """Return what a word of a command line may name: a package, an image, a program."""
    plain = word.replace("\\", "/")
    installed = plain.rpartition("node_modules/")[2].split("/")
    path = PurePath(plain)
    program = path.stem if path.suffix.lower() in _SUFFIXES else path.name
    return {
        _VERSION.sub("", plain),
        program,
        *("/".join(installed[:count]) for count in (1, 2) if "node_modules/" in plain),
    }
