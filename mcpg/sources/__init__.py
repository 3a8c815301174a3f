"""Sources: the files, folders and servers from which a catalogue is made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from mcpg.caching.build_cache import NO_BUILD_CACHE, BuildCache
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.errors import (
    Code,
    Diagnostic,
    McpgError,
    NotFoundError,
    Severity,
    SourceError,
    UsageError,
    error,
    info,
    os_reason,
    warning,
)
from mcpg.files import MAX_BYTES, exists, is_file, is_folder, text_of_path
from mcpg.sources.client_config import Live, Server, is_address, server_at
from mcpg.sources.live import query_servers
from mcpg.sources.model import (
    CODE,
    PYTHON,
    FailedSource,
    FileKind,
    RawBundle,
    SourceBatch,
    SourceText,
    as_list,
    decode,
    kind_in_folder,
    kind_of_named,
    likeness,
    may_be_source,
    missing_source,
    read_text,
)

__all__ = ["RawBundle", "SourceBatch", "is_failure", "read_sources", "source_signature"]

_STDIN_PLACE = "standard input"
_HOST_PLACE = "tools of the host"
_SERVER = "SOURCE"


def read_sources(
    arguments: Sequence[str | os.PathLike[str] | Mapping[str, Any] | Tool],
    *,
    source_id: str | None = None,
    stdin: Callable[[], bytes] | None = None,
    exclude: Collection[str | os.PathLike[str]] = (),
    live: Live | None = None,
    imports: bool = False,
    trust_hints: bool = False,
    memo: BuildCache = NO_BUILD_CACHE,
) -> SourceBatch:
    """Read files and folders: manifests, documents, hints files and bundles, in any mixture.

    The content of a file decides what it is. A file that is reached twice is read once. A file of
    a folder that cannot be used becomes a diagnostic, and the others are read. Servers, which are
    named by an address or by the configuration file of a client, are queried concurrently; a
    configuration that is merely found in a folder is not acted on.

    Args:
        arguments: Paths of files and folders, addresses of servers, or names of modules such as
            `python:package.module`, or source code such as `code:src`; `-` is the standard input.
            Tools that the caller holds, as a manifest has them, or as `Tool`.
        source_id: Source id of all tools of manifests and of the caller, whatever these state.
        stdin: Gives the bytes of the standard input.
        exclude: Files that folders may contain but that are not sources, such as the output.
        live: How servers are queried; `None` to start and reach none.
        imports: Whether modules may be imported, which runs their code.
        trust_hints: Whether lists of hints that a server states in a manifest count as the
            operator's.
        memo: What is known of source code that was read before.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file that was named cannot be used.
        UsageError: `-` was given where there is no standard input, *source_id* is no Unicode, the
            MCP SDK is not installed, or an argument has another type.
    """
    arguments = as_list(arguments)
    _check_source_id(source_id)
    excluded = {os.path.realpath(path) for path in exclude}
    reader = _SourceReader(source_id, excluded, live, trust_hints=trust_hints)
    parts = [_read_held(arguments, source_id, trust_hints=trust_hints)]
    for argument in dict.fromkeys(_named_sources(arguments)):
        if argument == "-":
            found = _read_stdin(stdin, source_id, trust_hints=trust_hints)
            parts.append(replace(found, sources=1))
        elif is_address(argument):
            reader.address(argument)
        elif argument.startswith(PYTHON):
            parts.append(_read_module(argument, source_id, imports=imports))
        elif argument.startswith(CODE):
            parts.append(_read_code(argument, memo))
        elif argument and is_folder(argument):
            parts.extend(reader.folder(argument))
        else:
            parts.append(reader.read_named(argument))
    if reader.servers and live is not None:
        parts.append(query_servers(reader.servers, live, source_id=source_id))
    return SourceBatch.join(parts)


def _read_held(
    arguments: Sequence[object], source_id: str | None, *, trust_hints: bool
) -> SourceBatch:
    """Read tools that the caller holds: `Tool`s, and objects, which are read as one manifest."""
    own: dict[str, Any] = {"source_id": source_id} if source_id else {}
    tools = tuple(replace(one, **own) for one in arguments if isinstance(one, Tool))
    entries = [one for one in arguments if isinstance(one, Mapping)]
    if not entries:
        return SourceBatch(tools=tools)
    try:
        text = json.dumps(entries, default=_as_object)
    except (TypeError, ValueError, RecursionError) as fault:
        remedy = "give objects as a tools/list response has them"
        raise UsageError(f"is not JSON: {fault}", place=_HOST_PLACE, remedy=remedy) from None
    source = SourceText(text, _HOST_PLACE, "", source_id, False, trust_hints)
    return SourceBatch.join([SourceBatch(tools=tools), source.read_as(FileKind.MANIFEST)])


def _as_object(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _named_sources(arguments: Sequence[object]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, str | os.PathLike):
            yield os.fspath(argument)
        elif not isinstance(argument, Mapping | Tool):
            message = f"a source is of type {type(argument).__name__}"
            remedy = "use a path, an address, a Tool of mcpg, or a tool as an object of JSON"
            raise UsageError(message, place=_SERVER, remedy=remedy)


class _SourceReader:
    """Reads files, each once, and gathers the servers that are to be asked."""

    def __init__(
        self, source_id: str | None, seen: set[str], live: Live | None, *, trust_hints: bool
    ) -> None:
        self.servers: list[Server] = []
        self._source_id = source_id
        self._excluded = frozenset(seen)
        self._seen: set[str] = set()
        self._live = live
        self._trust_hints = trust_hints

    def read_named(self, argument: str) -> SourceBatch:
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
        given = self._source_id, location.is_file(), self._trust_hints
        source = SourceText(text, argument, name, *given)
        kind = kind_of_named(name, text, argument)
        if kind is FileKind.CLIENT:
            return self._configuration(text, argument)
        return replace(source.read_as(kind), sources=1)

    def address(self, argument: str) -> None:
        """Take note of a server that is named by its address."""
        self.servers.append(server_at(argument, self._require_live(_SERVER)))

    def _configuration(self, text: str, place: str) -> SourceBatch:
        """Take note of the servers that a client's configuration names."""
        from mcpg.sources import client_config  # noqa: PLC0415 - hardly ever needed

        live = self._require_live(place)
        servers, noticed = client_config.read_client_configuration(text, place, live.environ)
        failed = tuple(self._unusable(item, place) for item in noticed if is_failure(item))
        named = {server.name: server for server in self.servers}
        for server in servers:
            if server.name in named:
                repeated = client_config.repeated_name(server, named[server.name])
                noticed = (*noticed, repeated)
            else:
                self.servers.append(server)
        return SourceBatch(diagnostics=noticed, failed=failed, sources=len(failed))

    def _unusable(self, noticed: Diagnostic, place: str) -> FailedSource:
        """Return the server that the configuration at *place* names and that cannot be used."""
        name = self._source_id or (noticed.place or "").removeprefix(f"{place}: ").strip()
        return FailedSource(noticed.place or place, frozenset([name]), is_named=True)

    def _require_live(self, place: str) -> Live:
        if self._live is None:
            message = "only `mcpg bundle` and `mcpg generate` query servers"
            raise SourceError(message, place=place, remedy="bundle their tools first")
        return self._live

    def folder(self, argument: str) -> Iterator[SourceBatch]:
        """Read the files of a folder; what cannot be used becomes a diagnostic."""
        files, noticed = walk_folder(argument)
        failed = tuple(FailedSource(item.place or "") for item in noticed if is_failure(item))
        yield SourceBatch(diagnostics=noticed, failed=failed, sources=len(failed))
        for file in files:
            resolved = os.path.realpath(file.location)
            if resolved not in self._excluded and self._is_new(resolved):
                yield self._in_folder(file)

    def _in_folder(self, file: FolderFile) -> SourceBatch:
        try:
            text = read_text(file.location, file.place)
            kind = kind_in_folder(file.location.name, text, file.place)
            if kind is None:
                return _passed_over(file, text)
            if kind is FileKind.GRAPH:
                # As a rule it is an export of the tools that stand beside it.
                message = "this RDF graph is not read: name the file itself to read it"
                return SourceBatch(diagnostics=(info(Code.SOURCE_SKIPPED, message, file.place),))
            given = self._source_id, True, self._trust_hints
            found = SourceText(text, file.place, file.path, *given).read_as(kind)
            return replace(found, sources=1)
        except McpgError as fault:
            advice = f" ({fault.remedy})" if fault.remedy else ""
            noticed = error(Code.SOURCE_LOAD_FAILED, f"{fault.message}{advice}", fault.place)
            name = self._source_id or PurePath(file.path).stem
            failed = FailedSource(file.place, frozenset([name]), bool(self._source_id))
            return SourceBatch(diagnostics=(noticed,), failed=(failed,), sources=1)

    def _is_new(self, resolved: str) -> bool:
        is_new = resolved not in self._seen
        self._seen.add(resolved)
        return is_new


def _passed_over(file: FolderFile, text: str) -> SourceBatch:
    """Return what there is to say of a file that is no source."""
    found = likeness(file.location.name, text)
    if found is None:
        return SourceBatch(passed_over=(SourceDocument(file.path, "", place=file.place),))
    reason, line = found
    noticed = warning(Code.DOCUMENT_IGNORED, f"this file {reason}", f"{file.place}:{line}")
    return SourceBatch(diagnostics=(noticed,))


def is_failure(noticed: Diagnostic) -> bool:
    """Return whether a diagnostic has the reason why a source could not be read."""
    return noticed.code == Code.SOURCE_LOAD_FAILED and noticed.severity == Severity.ERROR


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
    return SourceBatch(tools=found.tools, diagnostics=found.diagnostics, sources=1)


def _read_code(argument: str, memo: BuildCache) -> SourceBatch:
    # Its packages are an extra.
    from mcpg.code.read import read_code  # noqa: PLC0415

    pages, noticed = read_code(argument, memo)
    return SourceBatch(documents=pages, diagnostics=noticed, sources=1)


def _read_stdin(
    stdin: Callable[[], bytes] | None, source_id: str | None, *, trust_hints: bool
) -> SourceBatch:
    if stdin is None:
        remedy = "give a path"
        raise UsageError("`-` was given, but there is no standard input here", remedy=remedy)
    text = decode(stdin(), _STDIN_PLACE)
    source = SourceText(text, _STDIN_PLACE, "stdin.md", source_id, False, trust_hints)
    return source.read_as(kind_of_named("", text, _STDIN_PLACE))


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder that may be a source.

    Attributes:
        location: Where to open it.
        path: Its path relative to the folder, with `/`.
        place: The folder as given and the path, for messages.
    """

    location: Path
    path: str
    place: str


def walk_folder(folder: str) -> tuple[tuple[FolderFile, ...], tuple[Diagnostic, ...]]:
    """Find the files in *folder* and below that may be sources, sorted by path.

    Hidden files and folders, folders behind symbolic links and files of other types are passed
    over. A link to a file outside the folder is passed over with a diagnostic, since a folder
    from strangers must not show files that are not its own; so is a pipe, which could block.

    Raises:
        SourceError: The folder itself cannot be read.
    """
    failed: list[OSError] = []
    noticed: list[Diagnostic] = []
    files: list[FolderFile] = []
    root = os.path.realpath(folder)
    for location in sorted(_locations(folder, failed), key=lambda item: _relative(item, folder)):
        path = _relative(location, folder)
        place = f"{_prefix(folder)}{path}"
        fault = _fault(location, root)
        if fault is None:
            files.append(FolderFile(location, text_of_path(path), place))
        else:
            shown = place if _is_unicode(location.name) else ascii(place)[1:-1]
            noticed.append(warning(Code.SOURCE_SKIPPED, f"{fault}; it is ignored", shown))
    noticed.extend(_unreadable(fault, folder) for fault in failed)
    return tuple(files), tuple(noticed)


def _fault(location: Path, root: str) -> str | None:
    """Return why a file of the folder *root* cannot be a source, or `None`."""
    if not _is_unicode(location.name):
        return "the name of this file is not Unicode"
    if location.is_symlink() and not Path(os.path.realpath(location)).is_relative_to(root):
        return "this link points outside its folder"
    if exists(location) and not is_file(location):
        return "this is a pipe or a device, not a regular file"
    return None


def _locations(folder: str, failed: list[OSError]) -> Iterator[Path]:
    for here, folders, names in os.walk(folder, onerror=failed.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and may_be_source(name):
                yield Path(here, name)


def _unreadable(fault: OSError, folder: str) -> Diagnostic:
    message = f"this folder cannot be read: {os_reason(fault)}"
    path = _relative(Path(str(fault.filename)), folder)
    if path == ".":
        remedy = "check its permissions"
        raise SourceError(message, place=folder, remedy=remedy) from fault
    return error(Code.SOURCE_LOAD_FAILED, message, f"{_prefix(folder)}{path}")


def _relative(location: Path, folder: str) -> str:
    return location.relative_to(folder).as_posix()


def _prefix(folder: str) -> str:
    """Write the folder as given, so that a path can follow."""
    shown = Path(folder).as_posix()
    if shown == ".":
        return ""
    return shown if shown.endswith("/") else f"{shown}/"


def _is_unicode(name: str) -> bool:
    try:
        os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


_CHUNK = 1 << 18
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _UnsupportedSourceError(Exception):
    """Something whose reading depends on more than names and contents."""


def source_signature(
    arguments: Sequence[str], *, source_id: str | None = None, exclude: Collection[str] = ()
) -> str | None:
    """Sign everything that `read_sources` would read, with the arguments that it depends on.

    Equal signatures mean equal sources, wherever they stand: names, relative places and contents
    count, times do not. Nothing is parsed.

    Returns:
        SHA-256 in hexadecimal; `None` where the sources cannot be signed, such as standard input,
        links, and files that cannot be read.
    """
    digest = hashlib.sha256(repr(source_id).encode())
    excluded = {os.path.realpath(path) for path in exclude}
    try:
        for argument, place in _places(arguments):
            _add_name(digest, argument, 0)
            for name, path in _files(place, excluded):
                _add_file(digest, name, path)
    except (_UnsupportedSourceError, OSError, ValueError):
        return None
    return digest.hexdigest()


def _add_name(digest: hashlib._Hash, name: str, size: int) -> None:
    """Add the name of what has so many bytes, which are to follow."""
    raw = os.fsencode(name)
    digest.update(b"%d %d " % (len(raw), size))
    digest.update(raw)


def _places(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return the places of *arguments*, each with what matters of its name.

    How they lie to each other decides which files are reached twice.
    """
    if any(argument in ("-", "") or argument.startswith((PYTHON, CODE)) for argument in arguments):
        raise _UnsupportedSourceError
    places = [os.path.realpath(argument) for argument in arguments]
    for argument, place in zip(arguments, places, strict=True):
        name = "/" if is_folder(place) else Path(argument).name
        yield f"{name}\0{os.path.relpath(place, places[0])}", place


def _files(place: str, excluded: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return the files at *place*, a file or a folder, with their names in it."""
    if is_folder(place):
        yield from _files_below(place, "", excluded)
    elif is_file(place):
        yield "", place
    else:
        # What is read from a pipe is gone.
        raise _UnsupportedSourceError


def _files_below(folder: str, prefix: str, excluded: Collection[str]) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            # A folder behind a link is none of the sources.
            if not entry.is_symlink():
                yield from _files_below(entry.path, f"{prefix}{entry.name}/", excluded)
        elif may_be_source(entry.name) and entry.path not in excluded:
            if not entry.is_file(follow_symlinks=False):
                raise _UnsupportedSourceError
            yield f"{prefix}{entry.name}", entry.path


def _add_file(digest: hashlib._Hash, name: str, path: str) -> None:
    # Ten thousand times, `open` would take as long as everything else together.
    handle = os.open(path, _READ)
    try:
        data = os.read(handle, _CHUNK)
        size = len(data) if len(data) < _CHUNK else os.fstat(handle).st_size
        if size > MAX_BYTES:
            raise _UnsupportedSourceError
        _add_name(digest, name, size)
        digest.update(data)
        left = size - len(data)
        while left and (data := os.read(handle, _CHUNK)):
            digest.update(data)
            left -= len(data)
        if left:  # it was changed meanwhile
            raise _UnsupportedSourceError
    finally:
        os.close(handle)
