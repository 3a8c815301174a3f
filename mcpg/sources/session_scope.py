"""Servers that keep state between calls: which clients may share a connection to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from mcpg.sources.client_config import Server, StdioServer


class SessionScope(StrEnum):
    """Who shares a connection to a server."""

    CLIENT = "client"
    """Nobody: each client session has its own."""
    SHARED = "shared"
    """All clients."""
    TRANSPORT = "transport"
    """All clients, unless the protocol shows that the server tells them apart by connection."""


@dataclass(frozen=True, slots=True)
class ScopeDecision:
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

_SUFFIXES = {".bat", ".cmd", ".exe", ".js", ".mjs", ".ps1"}
_VERSION = re.compile(r"(?<=[^@/])(?:@|:)[^@/:]*\Z")
_DIGEST = re.compile(r"@sha256:[0-9a-f]+\Z")
_REGISTRY = re.compile(r"\A(?:npm:|docker\.io/)")
_INSTALLED = "node_modules/"
_PROGRAMS = {"bin", ".bin"}
"""Folders of programs."""


def decide_scope(server: Server) -> ScopeDecision:
    """Return who shares the connection to *server*: by its setting, or else by its package."""
    if server.sessions is not None:
        return ScopeDecision(SessionScope(server.sessions))
    package = ""
    if isinstance(server, StdioServer):
        # Wherever the program is, its name counts.
        program = _stem(PurePath(server.command.replace("\\", "/")))
        words = [_names(server.command) | {program}, *map(_names, server.args)]
        named = (
            package
            for names in words
            for package, others in STATEFUL_PACKAGES.items()
            if not names.isdisjoint((package, *others))
        )
        package = next(named, "")
    return ScopeDecision(SessionScope.CLIENT if package else SessionScope.TRANSPORT, package)


def _names(word: str) -> set[str]:
    """Return what a word of a command line may name: a package, an image, a program.

    The path of any other file or folder names nothing: a server may be given the folder of a
    package whose source code it reads.
    """
    plain = word.replace("\\", "/")
    path = PurePath(plain)
    names = {_VERSION.sub("", _DIGEST.sub("", _REGISTRY.sub("", plain)))}
    if path.suffix.lower() in _SUFFIXES or path.parent.name in _PROGRAMS:
        names.add(_stem(path))
    _, is_installed, below = plain.rpartition(_INSTALLED)
    if is_installed:
        folders = below.split("/")
        names |= {"/".join(folders[:count]) for count in (1, 2)}
    return names


def _stem(path: PurePath) -> str:
    """Return the name of a program without what only its system needs."""
    return path.stem.lower() if path.suffix.lower() in _SUFFIXES else path.name
