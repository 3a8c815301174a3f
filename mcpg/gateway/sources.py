"""The sources of a gateway: where its tools come from, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from mcpg.errors import UsageError
from mcpg.net.addresses import has_control, is_header_name
from mcpg.sources.client_config import secrets_of
from mcpg.sources.openapi.operations import is_base_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from mcpg.catalog.model import SourceDocument, Tool
    from mcpg.sources.client_config import Server


@dataclass(frozen=True, slots=True)
class FileSource:
    """What is read: a manifest, a bundle, a document, a folder of these, or an OpenAPI document.

    Its tools can be found. Those of a module are invoked here, and those of an OpenAPI document by
    HTTP; all others only where another source of the gateway has them.

    Attributes:
        id: Unique in the gateway.
        path: The file or folder, or a module as `python:package.module`.
        source_id: Source id of the tools that do not say theirs, `None` for the file's name.
        base_url: What the paths of an OpenAPI document stand below, `http` or `https`, in place of
            the servers that it names; its query goes with every request.
        headers: Headers of every request; they go to *base_url* and nowhere else.
        secrets: Texts beside these that must not come back in what is said of a failure.

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
            # Few sources have one, and reading documents is none of the others' affair.

            check_addressing(self.base_url, self.headers)


@dataclass(frozen=True, slots=True)
class ServerSource:
    """An MCP server, which is asked for its tools and called.

    Attributes:
        id: Unique in the gateway.
        server: The server.
        timeout: Seconds that it has to tell its tools, `None` for what is usual.
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

# SECTION addressing: Where the operations of an OpenAPI document are called, as a user sets it.


@dataclass(frozen=True, slots=True)
class Addressing:
    """Where the operations of a document are called; the members of `FileSource`.

    Raises:
        UsageError: See `check_addressing`.
    """

    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_addressing(self.base_url, self.headers)


def check_addressing(base_url: str | None, headers: Mapping[str, str]) -> None:
    """Check a base address and the headers that go there; no message repeats them.

    Headers without an address are refused: the document would say who gets them.

    Raises:
        UsageError: They cannot be used.
    """
    if base_url is None:
        message = "there are headers, and no base address that they go to"
        raise UsageError(message, place="headers", remedy="set the base address as well")
    if not is_base_address(base_url):
        message = "the base address is none"
        raise UsageError(message, place="base_url", remedy="write https://HOST/PATH")
    if "@" in urlsplit(base_url).netloc:
        message = "the base address names a user"
        remedy = "give user and password in the header Authorization"
        raise UsageError(message, place="base_url", remedy=remedy)
    for name, text in headers.items():
        if not is_header_name(name):
            raise UsageError("a header has no name that can be sent", place="headers")
        if has_control(text):
            message = f"the header {name!r} holds a control character"
            raise UsageError(message, place="headers", remedy="remove it")


def secrets_of_source(source: FileSource) -> tuple[str, ...]:
    """Give what may be secret: the address, the parts of its path and query, and the headers."""
    base_url = source.base_url or ""
    parts = urlsplit(base_url)
    query = [text for _, text in parse_qsl(parts.query)]
    raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
    known = secrets_of(base_url, source.headers)
    return (*known, *parts.path.split("/"), *query, *raw, *source.secrets)


# SECTION graphsources: Where the documents that a gateway searches come from.


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    """Documents are made of what the sources say of their tools."""


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Documents are read: a bundle, a folder of documents, or one document.

    Attributes:
        path: Where they are.
    """

    path: str


@dataclass(frozen=True, slots=True)
class CustomGraph:
    """Documents are made by the host.

    Attributes:
        documents: Makes them of the tools, which carry their ids; it runs in a thread of its own,
            whenever the tools have changed. `None` is told as a mistake.
    """

    documents: Callable[[Sequence[Tool]], Iterable[SourceDocument]] | None


GraphSource = GeneratedGraph | FileGraph | CustomGraph

GENERATED = GeneratedGraph()
"""What a gateway does unless it is told otherwise."""
