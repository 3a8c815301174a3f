"""Sources that are read again and again, as a gateway and a configuration name them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcpg.errors import McpgError, UsageError
from mcpg.files import is_file, text_of_path
from mcpg.net.addresses import has_control, is_header_name
from mcpg.sources.client_config import Server, StdioServer, find_secrets
from mcpg.sources.model import PYTHON, FileKind, kind_of_named, read_text
from mcpg.sources.openapi.operations import is_base_address


@dataclass(frozen=True, slots=True)
class FileSource:
    """A manifest, a bundle, a document, a folder of these, an OpenAPI document, or a module.

    Tools of a module are called in this process, those of an OpenAPI document over HTTP; others
    can be called only if another source of the gateway has them.

    Attributes:
        id: Unique in the gateway.
        path: The file or folder, or a module as `python:package.module`.
        source_id: Source id of tools without one, `None` for the file's name.
        base_url: Base address of the operations of an OpenAPI document, `http` or `https`, in place
            of the servers that it names; its query is sent with every request.
        headers: Headers of every request, sent to *base_url* only, else to *headers_for* only.
        secrets: Further texts that error messages must not contain.
        timeout: Seconds for a call of an operation or function, `None` for the default.
        allow_private: Whether the servers that an OpenAPI document names may have loopback,
            private or link-local addresses; *base_url* always may.
        headers_for: Address of the server that gets *headers* where there is no *base_url*;
            operations of the document at another server are not called.
        trust_hints: Whether lists of hints that a server states in a manifest count as the
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
    """An MCP server.

    Attributes:
        id: Unique in the gateway.
        server: The server.
        timeout: Seconds to list its tools, `None` for the default.
    """

    id: str
    server: Server
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """Functions of this process.

    Attributes:
        id: Unique in the gateway; the source id of the tools.
        functions: The functions, perhaps marked with `mcpg.sources.authoring.tool`.
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

    Those of servers, functions and OpenAPI documents can, not those of manifests, bundles and
    folders.
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
    """Return the text of the OpenAPI document at *path*, `None` where there is no such document.

    Raises:
        McpgError: The file cannot be read, or holds no tools.
    """
    if not is_file(path):
        return None
    text = read_text(Path(path), path)
    kind = kind_of_named(text_of_path(Path(path).name), text, path)
    return text if kind is FileKind.OPENAPI else None


@dataclass(frozen=True, slots=True)
class Addressing:
    """Where the operations of an OpenAPI document are called; see `FileSource`.

    Raises:
        UsageError: See `check_addressing`.
    """

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

    Raises:
        UsageError: They cannot be used.
    """
    if base_url is None:
        message = "headers need a base address"
        raise UsageError(message, place="headers", remedy="set the base address as well")
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
