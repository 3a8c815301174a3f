"""Sources: the files, folders and servers from which a catalogue is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from mcpg.errors import Code, McpgError, NotFoundError, SourceError, UsageError, error
from mcpg.files import is_folder, text_of_path
from mcpg.sources.client_config import Live, Server, is_address, server_at
from mcpg.sources.folder import FolderFile, walk_folder
from mcpg.sources.live import query_servers
from mcpg.sources.model import (
    PYTHON,
    FileKind,
    RawBundle,
    SourceBatch,
    SourceText,
    decode,
    kind_in_folder,
    kind_of_named,
    missing_source,
    read_text,
)

__all__ = ["RawBundle", "SourceBatch", "read_sources"]

_STDIN_PLACE = "standard input"
_SERVER = "SOURCE"
_SAME_NAME = "another configuration has a server of this name; it is skipped (rename one)"


def read_sources(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    source_id: str | None = None,
    stdin: Callable[[], bytes] | None = None,
    exclude: Collection[str | os.PathLike[str]] = (),
    live: Live | None = None,
    imports: bool = False,
) -> SourceBatch:
    """Read files and folders: manifests, documents, hints files and bundles, in any mixture.

    The content of a file decides what it is. A file that is reached twice is read once. A file of
    a folder that cannot be used becomes a diagnostic, and the others are read. Servers, which are
    named by an address or by the configuration file of a client, are queried concurrently; a
    configuration that is merely found in a folder is not acted on.

    Args:
        arguments: Paths of files and folders, addresses of servers, or names of modules such as
            `python:package.module`; `-` is the standard input.
        source_id: Source id of all tools of manifests, whatever these state.
        stdin: Gives the bytes of the standard input.
        exclude: Files that folders may contain but that are not sources, such as the output.
        live: How servers are queried; `None` to start and reach none.
        imports: Whether modules may be imported, which runs their code.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file that was named cannot be used.
        UsageError: `-` was given where there is no standard input, *source_id* is no Unicode, or
            the MCP SDK is not installed.
    """
    _check_source_id(source_id)
    reader = _Reader(source_id, {os.path.realpath(path) for path in exclude}, live)
    parts: list[SourceBatch] = []
    for argument in dict.fromkeys(os.fspath(argument) for argument in arguments):
        if argument == "-":
            parts.append(_read_stdin(stdin, source_id))
        elif is_address(argument):
            reader.address(argument)
        elif argument.startswith(PYTHON):
            parts.append(_read_module(argument, source_id, imports=imports))
        elif argument and is_folder(argument):
            parts.extend(reader.folder(argument))
        else:
            parts.append(reader.named(argument))
    if reader.servers and live is not None:
        parts.append(query_servers(reader.servers, live, source_id=source_id))
    return SourceBatch.join(parts)


class _Reader:
    """Reads files, each once, and gathers the servers that are to be asked."""

    def __init__(self, source_id: str | None, seen: set[str], live: Live | None) -> None:
        self.servers: list[Server] = []
        self._source_id = source_id
        self._excluded = frozenset(seen)
        self._seen: set[str] = set()
        self._live = live

    def named(self, argument: str) -> SourceBatch:
        """Read a file that the user named."""
        if not argument:
            raise missing_source(argument)
        location = Path(argument)
        try:
            text = read_text(location, argument)
        except NotFoundError:
            raise missing_source(argument) from None
        if not self._is_new(os.path.realpath(location)):
            return SourceBatch()
        name = text_of_path(location.name)
        source = SourceText(
            text, argument, name, self._source_id, stem_names_source=location.is_file()
        )
        kind = kind_of_named(name, text, argument)
        if kind is FileKind.CLIENT:
            return self._configuration(text, argument)
        return source.read_as(kind)

    def address(self, argument: str) -> None:
        """Take note of a server that is named by its address."""
        self.servers.append(server_at(argument, self._allowed(_SERVER)))

    def _configuration(self, text: str, place: str) -> SourceBatch:
        """Take note of the servers that a client's configuration names."""
        from mcpg.sources import client_config  # noqa: PLC0415 - hardly ever needed

        live = self._allowed(place)
        servers, noticed = client_config.read_client_configuration(text, place, live.environ)
        names = {server.name for server in self.servers}
        for server in servers:
            if server.name in names:
                noticed = (*noticed, error(Code.SOURCE_LOAD_FAILED, _SAME_NAME, server.place))
            else:
                self.servers.append(server)
        return SourceBatch(diagnostics=noticed)

    def _allowed(self, place: str) -> Live:
        if self._live is None:
            message = "only `mcpg bundle` and `mcpg generate` query servers"
            raise SourceError(message, place=place, remedy="bundle their tools first")
        return self._live

    def folder(self, argument: str) -> Iterator[SourceBatch]:
        """Read the files of a folder; what cannot be used becomes a diagnostic."""
        files, noticed = walk_folder(argument)
        yield SourceBatch(diagnostics=noticed)
        for file in files:
            resolved = os.path.realpath(file.location)
            if resolved not in self._excluded and self._is_new(resolved):
                yield self._in_folder(file)

    def _in_folder(self, file: FolderFile) -> SourceBatch:
        try:
            text = read_text(file.location, file.place)
            kind = kind_in_folder(file.location.name, text, file.place)
            if kind is None:
                return SourceBatch()
            return SourceText(text, file.place, file.path, self._source_id).read_as(kind)
        except McpgError as fault:
            advice = f" ({fault.remedy})" if fault.remedy else ""
            failed = error(Code.SOURCE_LOAD_FAILED, f"{fault.message}{advice}", fault.place)
            return SourceBatch(diagnostics=(failed,))

    def _is_new(self, resolved: str) -> bool:
        is_new = resolved not in self._seen
        self._seen.add(resolved)
        return is_new


def _check_source_id(source_id: str | None) -> None:
    try:
        (source_id or "").encode()
    except UnicodeEncodeError as fault:
        raise UsageError(
            f"the source id {source_id!a} is not valid Unicode", remedy="write it in UTF-8"
        ) from fault


def _read_module(argument: str, source_id: str | None, *, imports: bool) -> SourceBatch:
    if not imports:
        message = "modules are not imported here: a bundle may come from anywhere"
        raise UsageError(message, place=argument, remedy="put it into a bundle: mcpg bundle")
    from mcpg.sources.python import read_python  # noqa: PLC0415 - only where it is asked for

    found = read_python(argument, source_id)
    return SourceBatch(tools=found.tools, diagnostics=found.diagnostics)


def _read_stdin(stdin: Callable[[], bytes] | None, source_id: str | None) -> SourceBatch:
    if stdin is None:
        remedy = "give a path"
        raise UsageError("`-` was given, but there is no standard input here", remedy=remedy)
    text = decode(stdin(), _STDIN_PLACE)
    source = SourceText(text, _STDIN_PLACE, "stdin.md", source_id, stem_names_source=False)
    return source.read_as(kind_of_named("", text, _STDIN_PLACE))
