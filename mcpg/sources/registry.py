"""The sources of a gateway, their registry, and the graph of documents that it searches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from mcpg.catalog.model import SourceDocument, Tool
from mcpg.errors import McpgError, Severity, UsageError
from mcpg.files import is_file, text_of_path
from mcpg.net.addresses import has_control, is_header_name
from mcpg.review.lock import ApprovedTools, read_lock
from mcpg.search.results import wrong_type
from mcpg.sources.client_config import Server, StdioServer, find_secrets
from mcpg.sources.model import PYTHON, FileKind, SourceBatch, kind_of_named, read_text
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


@dataclass(frozen=True, slots=True)
class GeneratedGraph:
    """Documents generated from the tools of the sources."""


class OnChange(StrEnum):
    """What becomes of a tool whose source changes its definition after the review of a graph."""

    WARN = "warn"
    """It is reported, and described with the reviewed text."""
    HIDE = "hide"
    """It is reported and hidden, as are tools that were never reviewed."""
    ACCEPT = "accept"
    """It is described with the text of its source."""


@dataclass(frozen=True, slots=True)
class FileGraph:
    """Documents read from a bundle, a folder, or a file, which were reviewed.

    Attributes:
        path: Where they are.
        on_change: What becomes of tools that differ from the reviewed ones: `warn`, `hide` or
            `accept`.

    Raises:
        UsageError: *on_change* is something else.
    """

    path: str
    on_change: OnChange | Literal["warn", "hide", "accept"] = OnChange.WARN

    def __post_init__(self) -> None:
        if self.on_change not in tuple(OnChange):
            choices = ", ".join(OnChange)
            raise UsageError(f"unknown value {self.on_change!r}", remedy=f"use one of {choices}")


@dataclass(frozen=True, slots=True)
class ToolLock:
    """Definitions of tools that were approved; see `mcpg lock`.

    Attributes:
        lock: What was approved.
        place: The lock file, for messages.
        on_change: What becomes of tools that have changed since: `warn` describes them as approved,
            `hide` hides them. Tools that the lock lacks are hidden.

    Raises:
        UsageError: *on_change* is something else.
    """

    lock: ApprovedTools = field(repr=False)
    place: str
    on_change: OnChange | Literal["warn", "hide"] = OnChange.WARN

    def __post_init__(self) -> None:
        if self.on_change not in (OnChange.WARN, OnChange.HIDE):
            raise UsageError(
                f"unknown value {self.on_change!r}",
                remedy="use 'warn' or 'hide': a lock approves what is to be accepted",
            )

    @classmethod
    def read(
        cls, path: str | PathLike[str], on_change: OnChange | Literal["warn", "hide"] = "warn"
    ) -> ToolLock:
        """Read the lock file at *path*.

        Raises:
            NotFoundError: There is no such file.
            InputError: It is no valid lock.
            UsageError: See `ToolLock`.
        """
        return cls(read_lock(path), text_of_path(fspath(path)), on_change)


@dataclass(frozen=True, slots=True)
class CustomGraph:
    """Documents generated by the host.

    Attributes:
        documents: Returns the documents of the tools, which have their ids; runs in a thread
            whenever the tools have changed, and is awaited on the event loop of the gateway if it
            is asynchronous. `None` is reported as an error.
    """

    documents: (
        Callable[[Sequence[Tool]], Iterable[SourceDocument] | Awaitable[Iterable[SourceDocument]]]
        | None
    )


GraphSource = GeneratedGraph | FileGraph | CustomGraph

GENERATED = GeneratedGraph()
"""The default."""


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The tools and documents that one source returned."""

    source: Source
    batch: SourceBatch


@dataclass(slots=True)
class _RegisteredSource:
    """A source, what it last returned, and as of which versions it changed and was queried."""

    source: Source
    batch: SourceBatch | None = None
    changed: int = 0
    queried: int = -1
    has_failed: bool = False

    @property
    def is_fresh(self) -> bool:
        return self.queried >= self.changed


class SourceRegistry:
    """Sources by their ids, in the order in which they were added.

    Attributes:
        version: Grows with every change.
        required: The least version for a request now: changes made by the host are seen at once,
            those of a server when they are known.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        """Register *sources*.

        Raises:
            UsageError: Two have the same id.
        """
        self.version = 0
        self.required = 0
        self._entries: dict[str, _RegisteredSource] = {}
        for source in sources:
            self.add(source)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources."""
        return tuple(entry.source for entry in self._entries.values())

    def add(self, source: Source) -> None:
        """Register *source*.

        Raises:
            UsageError: It is no source, or its id is blank, or another one's, in any case.
        """
        if not isinstance(source, Source):
            raise not_a_source(source)
        key = _key(source.id)
        if not key:
            raise UsageError("a source has no id", remedy="give it one")
        if key in self._entries:
            message = f"there is a source {source.id!r} already"
            raise UsageError(message, place=source.id, remedy="give it another id")
        entry = self._entries[key] = _RegisteredSource(source)
        self._record_change(entry, is_required=True)

    def remove(self, source_id: str) -> Source | None:
        """Remove a source and return it, `None` where there is none of this id."""
        entry = self._entries.pop(_key(source_id), None)
        if entry is None:
            return None
        self._record_change(is_required=True)
        return entry.source

    def invalidate(self, source_id: str) -> bool:
        """Record that a source has changed; return whether it is registered."""
        entry = self._entries.get(_key(source_id))
        if entry is None:
            return False
        self._record_change(entry, is_required=False)
        return True

    def invalidate_all(self) -> None:
        """Record that every source has to be queried again."""
        self._record_change(*self._entries.values(), is_required=True)

    def retry(self) -> bool:
        """Record that failed sources have to be queried again; return whether there are any.

        Those that wait for it already do not count.
        """
        failed = [one for one in self._entries.values() if one.has_failed and one.is_fresh]
        if failed:
            self._record_change(*failed, is_required=False)
        return bool(failed)

    def stale(self) -> tuple[Source, ...]:
        """Return the sources that have to be queried."""
        return tuple(entry.source for entry in self._entries.values() if not entry.is_fresh)

    def update(self, source: Source, batch: SourceBatch, version: int) -> None:
        """Record what *source* returned. Where it failed, what it returned before is kept.

        Args:
            source: The source.
            batch: What it returned.
            version: The version when its query began: later changes need another.
        """
        entry = self._entries.get(_key(source.id))
        if entry is None or entry.source is not source:
            return  # it was removed meanwhile
        entry.queried = version
        is_empty = not (batch.tools or batch.documents or batch.bundles)
        entry.has_failed = is_empty and any(
            one.severity == Severity.ERROR for one in batch.diagnostics
        )
        if entry.has_failed and entry.batch is not None:
            batch = replace(entry.batch, diagnostics=batch.diagnostics)
        entry.batch = batch

    def readings(self) -> list[SourceReading]:
        """Return what every source last returned."""
        return [
            SourceReading(entry.source, entry.batch)
            for entry in self._entries.values()
            if entry.batch is not None
        ]

    def _record_change(self, *entries: _RegisteredSource, is_required: bool) -> None:
        self.version += 1
        for entry in entries:
            entry.changed = self.version
        if is_required:
            self.required = self.version


def _key(source_id: str) -> str:
    if not isinstance(source_id, str):
        raise wrong_type("the id of a source", source_id, "text")
    return source_id.strip().casefold()
