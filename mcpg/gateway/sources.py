"""The sources of a gateway: its tools, how they are called, and the documents it searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from mcpg.catalog.model import SourceDocument, Tool
from mcpg.errors import UsageError
from mcpg.net.addresses import has_control, is_header_name
from mcpg.sources.client_config import Server, secrets_of
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
        headers: Headers of every request, sent to *base_url* only.
        secrets: Further texts that error messages must not contain.

    Raises:
        UsageError: *base_url* or *headers* cannot be used, or there are headers without address.
    """

    id: str
    path: str
    source_id: str | None = None
    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.base_url is not None or self.headers:
            check_addressing(self.base_url, self.headers)


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
        functions: The functions, perhaps marked with `mcpg.authoring.tool`.
    """

    id: str
    functions: tuple[Callable[..., Any], ...] = field(repr=False)


Source = FileSource | ServerSource | FunctionSource


@dataclass(frozen=True, slots=True)
class Addressing:
    """Where the operations of an OpenAPI document are called; see `FileSource`.

    Raises:
        UsageError: See `check_addressing`.
    """

    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
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
    known = secrets_of(base_url, source.headers)
    return (*known, *parts.path.split("/"), *query, *raw, *source.secrets)


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    """Documents generated from the tools of the sources."""


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Documents read from a bundle, a folder, or a file.

    Attributes:
        path: Where they are.
    """

    path: str


@dataclass(frozen=True, slots=True)
class CustomGraph:
    """Documents generated by the host.

    Attributes:
        documents: Returns the documents of the tools, which have their ids; runs in a thread
            whenever the tools have changed. `None` is reported as an error.
    """

    documents: Callable[[Sequence[Tool]], Iterable[SourceDocument]] | None


GraphSource = GeneratedGraph | FileGraph | CustomGraph

GENERATED = GeneratedGraph()
"""The default."""
