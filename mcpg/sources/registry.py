"""Sources that are read again and again, as a gateway and a configuration name them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from mcpg.errors import Diagnostic, McpgError, NotFoundError, SourceError, UsageError
from mcpg.files import is_file, text_of_path
from mcpg.net.addresses import has_control, is_header_name
from mcpg.sources.client_config import (
    Server,
    ServerAccess,
    SessionSetting,
    StdioServer,
    expand,
    find_secrets,
    read_client_configuration,
    repeated_name,
    server_at,
)
from mcpg.sources.model import PYTHON, FileKind, as_list, kind_of_named, missing_source, read_text
from mcpg.sources.openapi import ApiDocument, is_base_address
from mcpg.sources.read import FILE, FOLDER, REGISTERED, SERVER, STDIN, find_kind, registered_path


@dataclass(frozen=True, slots=True)
class FileSource:
    """A manifest, a bundle, a document, a folder of these, an OpenAPI document, or a module.

    Tools of a module are called in this process, those of an OpenAPI document over HTTP; others
    can be called only if another source of the gateway has them.

    Attributes:
        path: The file or folder, or a module as `python:package.module`.
        source_id: Source id of tools without one, `None` for the file's name.
        base_url: Base address of the operations of an OpenAPI document, `http` or `https`, in place
            of the servers that it names; its query is sent with every request.
        headers: Headers of every request, sent to *base_url* only, else to *headers_for* only.
        allow_private: Whether the servers that an OpenAPI document names may have loopback,
            private or link-local addresses; *base_url* always may.
        headers_for: Address of the server that gets *headers* without a *base_url*;
            operations of the document at another server are not called.
        trust_hints: Whether lists of hints of a server in a manifest count as the
            operator's.

    Raises:
        UsageError: *base_url* or *headers* cannot be used, or there are headers without address.
    """

    id: str
    path: str
    source_id: str | None = None
    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout: float | None = None
    allow_private: bool = False
    headers_for: str | None = field(default=None, repr=False)
    trust_hints: bool = False

    def __post_init__(self) -> None:
        if self.base_url is not None or self.headers:
            check_addressing(self.base_url or self.headers_for, self.headers)


@dataclass(frozen=True, slots=True)
class ServerSource:
    """An MCP server, with the seconds to list its tools, `None` for the default."""

    id: str
    server: Server
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """Functions of this process.

    Attributes:
        id: Unique in the gateway; the source id of the tools.
    """

    id: str
    functions: tuple[Callable[..., Any], ...] = field(repr=False)


Source = FileSource | ServerSource | FunctionSource


def not_a_source(given: object) -> UsageError:
    """Return the error for something that is not a source of a gateway."""
    remedy = "use FileSource, ServerSource or FunctionSource of mcpg.gateway"
    if isinstance(given, str | PathLike):
        remedy = "open it with mcpg.gateway.open_sources, or give it to the gateway when it is made"
    return UsageError(f"{type(given).__name__} is not a source", remedy=remedy)


def name_source_kind(source: Source) -> str:
    """Return the kind of a source: `stdio`, `http`, `function` or `file`."""
    if isinstance(source, FileSource):
        return "function" if source.path.startswith(PYTHON) else "file"
    if isinstance(source, FunctionSource):
        return "function"
    return "stdio" if isinstance(source.server, StdioServer) else "http"


def runs_tools(source: Source) -> bool:
    """Return whether tools of *source* can be called; reads the file of a `FileSource`.

    Tools of servers, functions and OpenAPI documents can, tools of manifests, bundles and
    folders cannot.
    """
    if not isinstance(source, FileSource) or source.path.startswith(PYTHON):
        return True
    try:
        return openapi_text(source.path) is not None
    except McpgError:
        return False


def has_runnable(sources: Iterable[Source]) -> bool:
    """Return whether tools of any of *sources* can be called."""
    # Files last: they are read.
    return any(map(runs_tools, sorted(sources, key=lambda one: isinstance(one, FileSource))))


def openapi_text(path: str) -> str | None:
    """Return the text of the OpenAPI document at *path*, `None` if it is not one."""
    if not is_file(path):
        return None
    text = read_text(Path(path), path)
    kind = kind_of_named(text_of_path(Path(path).name), text, path)
    return text if kind is FileKind.OPENAPI else None


@dataclass(frozen=True, slots=True)
class Addressing:
    """Where the operations of an OpenAPI document are called; see `FileSource`."""

    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    allow_private: bool = False

    def __post_init__(self) -> None:
        if self.base_url is not None or self.headers:
            check_addressing(self.base_url, self.headers)


def check_addressing(base_url: str | None, headers: Mapping[str, str]) -> None:
    """Check a base address and the headers sent there; no message repeats them.

    Headers need an address: otherwise the document would choose who gets them.
    """
    if base_url is None:
        message = "headers need a base address"
        raise UsageError(message, place="headers", remedy="also set the base address")
    if not is_base_address(base_url):
        message = "the base address is invalid"
        raise UsageError(message, place="base_url", remedy="write https://HOST/PATH")
    if "@" in urlsplit(base_url).netloc:
        message = "the base address contains a user name"
        remedy = "set user and password in the header Authorization"
        raise UsageError(message, place="base_url", remedy=remedy)
    for name, text in headers.items():
        if not is_header_name(name):
            raise UsageError("invalid header name", place="headers")
        if has_control(text):
            message = f"the header {name!r} contains a control character"
            raise UsageError(message, place="headers", remedy="remove it")


def secrets_of_source(source: FileSource) -> tuple[str, ...]:
    """Return texts that may be secret: the address, parts of its path and query, the headers."""
    base_url = source.base_url or ""
    parts = urlsplit(base_url)
    query = [text for _, text in parse_qsl(parts.query)]
    raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
    known = find_secrets(base_url, source.headers)
    return (*known, *parts.path.split("/"), *query, *raw)


class SessionScope(StrEnum):
    """Who shares a connection to a server."""

    CLIENT = "client"
    """No clients: each client session has its own."""
    SHARED = "shared"
    """All clients."""
    TRANSPORT = "transport"
    """All clients, unless the protocol shows that the server distinguishes connections."""


@dataclass(frozen=True, slots=True)
class ScopeDecision:
    """Who shares the connection to one server, and why.

    Attributes:
        package: The package of `STATEFUL_PACKAGES` by which it was recognized, "" for none.
    """

    scope: SessionScope
    package: str = ""

    @property
    def description(self) -> str:
        """A note for the operator, "" if all is as usual."""
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
"""Packages with tools that share state in one process, such as the page of a browser, each with
the names under which it can be started: its command and its container image.

A package belongs here if two clients of one process see or change
each other's work, and nothing in its arguments keeps them apart.
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
    package to read its source code.
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


SourceLike: TypeAlias = Source | str | os.PathLike[str]
"""The sources that a gateway accepts: a path is opened."""

_STDIN = "-"
_HEADER = "--header"
_ADDRESS = ("base_url", "headers", "secrets", "allow_private")


def open_sources(
    arguments: Sequence[str], live: ServerAccess, *, source_id: str | None = None
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources that *arguments* name, and diagnostics.

    A client's configuration becomes a source for each of its servers, which is called like the
    server; everything else is one source, an argument that is given twice counts once. Nothing is
    started, reached or imported. All tools get *source_id*.

    Returns:
        The sources, whose ids are unique and depend only on the arguments; and a diagnostic
        for each server of a configuration that cannot be used or is disabled.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file does not contain tools, or a header names a variable that is not
            set.
        UsageError: An argument makes no sense, is the standard input, or they are not a list.
    """
    opening = SourceCollector(live)
    for argument in as_list(arguments):
        opening.add_named(argument, source_id=source_id)
    return opening.sources, opening.diagnostics


def collect_sources(
    given: SourceLike | Iterable[SourceLike], live: ServerAccess
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources that a host gives a gateway, and diagnostics.

    They are *given* as sources and arguments of `open_sources`: one, or several.
    """
    if isinstance(given, str | os.PathLike | Source):
        given = [given]
    elif isinstance(given, bytes | Mapping) or not isinstance(given, Iterable):
        raise not_a_source(given)
    opening = SourceCollector(live)
    for one in given:
        if isinstance(one, str | os.PathLike):
            opening.add_named(os.fspath(one))
        else:
            opening.add(one)
    return opening.sources, opening.diagnostics


def with_headers(source: Source, live: ServerAccess) -> FileSource:
    """Return *source*, an OpenAPI document, with the headers of *live* for the server it names.

    They are sent to the server that the document names now, whatever it names later.

    Raises:
        UsageError: It is not an OpenAPI document, or names no server.
        SourceError: A header names a variable that is not set, or the document is malformed.
    """
    text = openapi_text(source.path) if isinstance(source, FileSource) else None
    if text is None or not isinstance(source, FileSource):
        message = "headers are for servers named by their address, or for one OpenAPI document"
        raise UsageError(message, place=_HEADER, remedy="name one, or leave the option out")
    address = ApiDocument(text, source.path).address
    if address is None:
        message = "the document names no server with a host, to which the headers could be sent"
        remedy = "set `base_url` and `headers` of the source in mcpg.toml"
        raise UsageError(message, place=_HEADER, remedy=remedy)
    used: dict[str, str] = {}
    headers = {
        name: expand(value, live.environ, _HEADER, used) for name, value in live.headers.items()
    }
    return replace(source, headers=headers, headers_for=address, secrets=tuple(used.values()))


class SourceCollector:
    """Collects sources, and gives each a unique id."""

    def __init__(self, live: ServerAccess) -> None:
        self._live = live
        self._found: list[tuple[Source, bool]] = []
        self._diagnostics: list[Diagnostic] = []
        self._seen: set[str] = set()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources in the order in which they were found, each with an id of its own."""
        taken = {source.id.casefold() for source, is_fixed in self._found if is_fixed}
        return tuple(
            source if is_fixed else replace(source, id=free_name(source.id, taken))
            for source, is_fixed in self._found
        )

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(self._diagnostics)

    def add_named(
        self,
        argument: str,
        *,
        source_id: str | None = None,
        timeout: float | None = None,
        call_timeout: float | None = None,
        addressing: Addressing | None = None,
        trust_hints: bool = False,
        sessions: SessionSetting | None = None,
    ) -> None:
        """Add the sources that *argument* names; see `open_sources`."""
        found = len(self._found)
        kind = find_kind(argument).name
        self._add_named(argument, kind, source_id, timeout, addressing)
        for place, (source, is_fixed) in enumerate(self._found[found:], found):
            if isinstance(source, FileSource):
                seconds = call_timeout if kind == FILE else source.timeout
                hints = trust_hints or source.trust_hints
                self._found[place] = replace(source, timeout=seconds, trust_hints=hints), is_fixed
            elif isinstance(source, ServerSource):
                server = source.server
                if server.timeout is None and kind == FILE:
                    server = replace(server, timeout=call_timeout)
                if server.sessions is None:
                    server = replace(server, sessions=sessions)
                if trust_hints:
                    server = replace(server, trust_hints=True)
                self._found[place] = replace(source, server=server), is_fixed

    def _add_named(
        self,
        argument: str,
        kind: str,
        source_id: str | None,
        timeout: float | None,
        addressing: Addressing | None,
    ) -> None:
        if kind == FILE:
            self._add_file(argument, source_id, timeout, addressing)
        elif addressing is not None:
            raise _no_document(argument, addressing)
        elif kind == STDIN:
            raise UsageError(
                "a gateway cannot read its sources from standard input",
                place="SOURCE",
                remedy="write it to a file, and pass that",
            )
        elif kind == SERVER:
            if self._is_new(argument):
                server = server_at(argument, self._live)
                if source_id is not None:
                    server = replace(server, name=source_id)
                self.server(server, source_id or server.place, timeout, is_fixed=False)
        else:
            key, name = argument, argument.removeprefix(PYTHON)
            if kind == FOLDER:
                key = os.path.realpath(argument)
                name = PurePath(key).name
            elif kind == REGISTERED and (path := registered_path(argument)):
                key, name = f"{argument.partition(':')[0]}:{path}", PurePath(path).name or argument
            if self._is_new(key):
                source = FileSource(source_id or name or argument, argument, source_id)
                self._found.append((source, False))

    def add(self, source: Source) -> None:
        if not isinstance(source, Source):
            raise not_a_source(source)
        self._found.append((source, True))

    def server(
        self, server: Server, wanted: str, timeout: float | None = None, *, is_fixed: bool
    ) -> None:
        """Add a *server* under the name *wanted*, or a numbered one unless that *is_fixed*.

        A second server of the same fixed name is reported and skipped.
        """
        fixed = {source.id: source for source, is_fixed in self._found if is_fixed}
        first = fixed.get(wanted)
        if is_fixed and isinstance(first, ServerSource):
            self._diagnostics.append(repeated_name(server, first.server))
            return
        is_free = wanted.casefold() not in {name.casefold() for name in fixed}
        self._found.append((ServerSource(wanted, server, timeout), is_fixed and is_free))

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        self._diagnostics += diagnostics

    def _add_file(
        self,
        argument: str,
        source_id: str | None,
        timeout: float | None,
        addressing: Addressing | None,
    ) -> None:
        path = Path(argument)
        try:
            text = read_text(path, argument) if argument else None
        except NotFoundError:
            text = None
        if text is None:
            raise missing_source(argument)
        name = text_of_path(path.name)
        kind = kind_of_named(name, text, argument)
        if addressing is not None and kind is not FileKind.OPENAPI:
            raise _no_document(argument, addressing)
        if not self._is_new(os.path.realpath(path)):
            return
        if kind is FileKind.CLIENT:
            self.configuration(text, argument, source_id, timeout)
            return
        given = {} if addressing is None else {name: getattr(addressing, name) for name in _ADDRESS}
        wanted = source_id or PurePath(name).stem or argument
        self._found.append((FileSource(wanted, argument, source_id, **given), False))

    def configuration(
        self, text: str, place: str, source_id: str | None = None, timeout: float | None = None
    ) -> None:
        servers, diagnostics = read_client_configuration(
            text, place, self._live.environ, self._live.ask
        )
        self._diagnostics += diagnostics
        for server in servers:
            renamed = server if source_id is None else replace(server, name=source_id)
            self.server(renamed, server.name or server.place, timeout, is_fixed=True)

    def _is_new(self, key: str) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def _no_document(argument: str, addressing: Addressing) -> SourceError:
    message, key = "only OpenAPI documents have a base address", "the base address"
    if addressing.base_url is None:
        message, key = "only OpenAPI documents name servers to be called", "`allow_private`"
    remedy = f"remove {key}, or pass the document itself"
    return SourceError(message, place=argument, remedy=remedy)


def free_name(wanted: str, taken: set[str]) -> str:
    """Return *wanted*, numbered if it is *taken* in any case, and add it to *taken*."""
    found, number = wanted, 1
    while found.casefold() in taken:
        number += 1
        found = f"{wanted}-{number}"
    taken.add(found.casefold())
    return found
