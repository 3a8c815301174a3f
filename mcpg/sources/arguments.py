"""Builds the sources of a gateway from command-line arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TypeAlias

from mcpg.errors import Diagnostic, NotFoundError, SourceError, UsageError
from mcpg.files import is_file, text_of_path
from mcpg.sources.client_config import (
    Live,
    Server,
    SessionSetting,
    expand,
    read_client_configuration,
    repeated_name,
    server_at,
)
from mcpg.sources.model import (
    PYTHON,
    FileKind,
    as_list,
    kind_of_named,
    missing_source,
    read_text,
)
from mcpg.sources.openapi.operations import ApiDocument
from mcpg.sources.read import (
    FILE,
    MODULE,
    REGISTERED,
    SERVER,
    STDIN,
    find_kind,
    registered_path,
)
from mcpg.sources.registry import Addressing, FileSource, ServerSource, Source, not_a_source

SourceLike: TypeAlias = Source | str | os.PathLike[str]
"""What a gateway takes for a source: a path is opened."""

_STDIN = "-"
_HEADER = "--header"


def open_sources(
    arguments: Sequence[str], live: Live, *, source_id: str | None = None
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources that *arguments* name, and diagnostics.

    A client's configuration becomes a source for each of its servers, which is called like the
    server; everything else is one source. Nothing is started, reached or imported.

    Args:
        arguments: Files and folders, addresses of servers, and modules as
            `python:package.module`. One that is given twice counts once.
        live: The environment from which variables are filled in, and headers for addresses.
        source_id: Source id of all tools, in place of what the sources say.

    Returns:
        The sources, whose ids are unique and depend on nothing but the arguments; and a diagnostic
        for each server of a configuration that cannot be used or is disabled.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file is nothing that holds tools, or a header names a variable that is not
            set.
        UsageError: An argument makes no sense, is the standard input, or they are not a list.
    """
    opening = SourceCollector(live)
    for argument in as_list(arguments):
        opening.add_named(argument, source_id=source_id)
    return opening.sources, opening.diagnostics


def collect_sources(
    given: SourceLike | Iterable[SourceLike], live: Live
) -> tuple[tuple[Source, ...], tuple[Diagnostic, ...]]:
    """Return the sources that a host gives a gateway, and diagnostics.

    Args:
        given: Sources, and arguments of `open_sources`: one, or several.
        live: As for `open_sources`.

    Raises:
        UsageError: One is something else.
        NotFoundError: As for `open_sources`.
        SourceError: As for `open_sources`.
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


def with_headers(source: Source, live: Live) -> FileSource:
    """Return *source*, an OpenAPI document, with the headers of *live* for the server it names.

    They are sent to the server that the document names now, whatever it names later.

    Raises:
        UsageError: It is no OpenAPI document, or names no server.
        SourceError: A header names a variable that is not set, or the document is malformed.
    """
    if not isinstance(source, FileSource) or not is_file(source.path):
        raise _no_headers()
    path = Path(source.path)
    text = read_text(path, source.path)
    if kind_of_named(text_of_path(path.name), text, source.path) is not FileKind.OPENAPI:
        raise _no_headers()
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


def _no_headers() -> UsageError:
    message = "headers are for servers named by their address, or for one OpenAPI document"
    return UsageError(message, place=_HEADER, remedy="name one, or leave the option out")


class SourceCollector:
    """Collects sources, and gives each a unique id."""

    def __init__(self, live: Live) -> None:
        """Start empty; variables come from the environment of *live*."""
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
        """Diagnostics of the arguments and configurations."""
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
        """Add what *argument* names; see `open_sources`.

        Args:
            argument: A file, a folder, an address, or a module.
            source_id: Source id of its tools.
            timeout: Seconds for a server to list its tools.
            call_timeout: Seconds for a call without progress, unless a configuration has others.
            addressing: Where the operations of an OpenAPI document are called.
            trust_hints: Whether lists of hints that a server states count as the operator's.
            sessions: Whether sessions share a server, unless a configuration says.
        """
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
            self._named_file(argument, source_id, timeout, addressing)
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
                server = _rename_server(server_at(argument, self._live), source_id)
                self.server(server, source_id or server.place, timeout, is_fixed=False)
        elif kind == MODULE:
            self._file(argument, argument, argument.removeprefix(PYTHON), source_id)
        elif kind == REGISTERED:
            path, word = registered_path(argument), argument.partition(":")[0]
            key = f"{word}:{path}" if path else argument
            self._file(key, argument, PurePath(path).name or argument, source_id)
        else:
            real = os.path.realpath(argument)
            self._file(real, argument, PurePath(real).name, source_id)

    def add(self, source: Source) -> None:
        """Add *source* under its own id.

        Raises:
            UsageError: It is no source.
        """
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
        """Add *diagnostics*."""
        self._diagnostics += diagnostics

    def _named_file(
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
        real = os.path.realpath(path)
        kind = kind_of_named(name, text, argument)
        if addressing is not None and kind is not FileKind.OPENAPI:
            raise _no_document(argument, addressing)
        if kind is not FileKind.CLIENT:
            self._file(real, argument, PurePath(name).stem, source_id, addressing)
        elif self._is_new(real):
            self.configuration(text, argument, source_id, timeout)

    def configuration(
        self, text: str, place: str, source_id: str | None = None, timeout: float | None = None
    ) -> None:
        """Add the servers of a client's configuration.

        Args:
            text: The whole file.
            place: Its path, for messages.
            source_id: Source id of all tools, in place of the names of the servers.
            timeout: Seconds for a server to list its tools.

        Raises:
            SourceError: The text is no such configuration.
        """
        servers, diagnostics = read_client_configuration(text, place, self._live.environ)
        self._diagnostics += diagnostics
        for server in servers:
            name = server.name or server.place
            self.server(_rename_server(server, source_id), name, timeout, is_fixed=True)

    def _file(
        self,
        key: str,
        path: str,
        name: str,
        source_id: str | None,
        addressing: Addressing | None = None,
    ) -> None:
        if self._is_new(key):
            source = FileSource(source_id or name or path, path, source_id)
            if addressing is not None:
                source = replace(
                    source,
                    base_url=addressing.base_url,
                    headers=addressing.headers,
                    secrets=addressing.secrets,
                    allow_private=addressing.allow_private,
                )
            self._found.append((source, False))

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


def _rename_server(server: Server, source_id: str | None) -> Server:
    return server if source_id is None else replace(server, name=source_id)


def free_name(wanted: str, taken: set[str]) -> str:
    """Return *wanted*, numbered if it is *taken* in any case, and add it to *taken*."""
    found, number = wanted, 1
    while found.casefold() in taken:
        number += 1
        found = f"{wanted}-{number}"
    taken.add(found.casefold())
    return found
