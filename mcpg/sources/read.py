"""Reads sources: decides the kind of each by one table, and reads it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.machinery import PathFinder
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
from mcpg.plugins.hooks import SourceContent, SourceKind, SourceRequest
from mcpg.plugins.registry import Registered, load_reference, own_items, package_plugins
from mcpg.sources.client_config import (
    Server,
    ServerAccess,
    is_address,
    read_client_configuration,
    repeated_name,
    server_at,
)
from mcpg.sources.live import query_servers
from mcpg.sources.model import (
    PYTHON,
    SKILL_FILE,
    SKILLS,
    FailedSource,
    FileKind,
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

_STDIN_PLACE = "standard input"
_HOST_PLACE = "tools of the host"
_SERVER = "SOURCE"
_NO_UNICODE = "the name of this file is not Unicode"


def read_sources(
    arguments: Sequence[str | os.PathLike[str] | Mapping[str, Any] | Tool],
    *,
    source_id: str | None = None,
    stdin: Callable[[], bytes] | None = None,
    exclude: Collection[str | os.PathLike[str]] = (),
    live: ServerAccess | None = None,
    imports: bool = False,
    trust_hints: bool = False,
    memo: BuildCache = NO_BUILD_CACHE,
) -> SourceBatch:
    """Read files and folders: manifests, documents, hints files and bundles, in any mixture.

    The content of a file decides its kind. A file that is reached twice is read once. A file of
    a folder that cannot be used becomes a diagnostic, and the others are read. Servers, which are
    named by an address or by the configuration file of a client, are queried concurrently; a
    configuration that is merely found in a folder is not acted on.

    Args:
        arguments: Paths of files and folders, addresses of servers, or names of modules such as
            `python:package.module`, or source code such as `code:src`; `-` is the standard input.
            The caller's own tools, as a manifest has them, or as `Tool`.
        source_id: Source id of all tools of manifests and of the caller, whatever these specify.
        stdin: Gives the bytes of the standard input.
        exclude: Files that folders may contain but that are not sources, such as the output.
        live: How servers are queried; `None` to start and reach none.
        imports: Whether modules may be imported, which runs their code.
        trust_hints: Whether a server's lists of hints in a manifest count as the
            operator's.
        memo: Results of reading source code before.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A file that was named cannot be used.
        UsageError: `-` was given without a standard input, *source_id* is not Unicode, the
            MCP SDK is not installed, or an argument has another type.
    """
    arguments = as_list(arguments)
    try:
        (source_id or "").encode()
    except UnicodeEncodeError as fault:
        message = f"the source id {source_id!a} is not valid Unicode"
        raise UsageError(message, remedy="write it in UTF-8") from fault
    excluded = frozenset(os.path.realpath(path) for path in exclude)
    reader = _SourceReader(source_id, stdin, live, imports, trust_hints, memo, excluded)
    parts = [_read_held(arguments, source_id, trust_hints=trust_hints)]
    for one in arguments:
        if not isinstance(one, str | os.PathLike | Mapping | Tool):
            message = f"a source is of type {type(one).__name__}"
            remedy = "use a path, an address, a Tool of mcpg, or a tool as an object of JSON"
            raise UsageError(message, place=_SERVER, remedy=remedy)
    paths = (os.fspath(one) for one in arguments if isinstance(one, str | os.PathLike))
    for argument in dict.fromkeys(paths):
        parts.extend(find_kind(argument).read(reader, argument))
    if reader.servers and live is not None:
        parts.append(query_servers(reader.servers, live, source_id=source_id))
    return SourceBatch.join(parts)


def _read_held(
    arguments: Sequence[object], source_id: str | None, *, trust_hints: bool
) -> SourceBatch:
    """Read the caller's own tools: `Tool`s, and objects, which are read as one manifest."""
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


@dataclass(slots=True)
class _SourceReader:
    """Reads files, each once, and gathers the servers that are to be asked; see `read_sources`."""

    source_id: str | None
    stdin: Callable[[], bytes] | None
    live: ServerAccess | None
    imports: bool
    trust_hints: bool
    memo: BuildCache
    excluded: frozenset[str]
    servers: list[Server] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def standard_input(self, _: str) -> Iterator[SourceBatch]:
        if self.stdin is None:
            message = "`-` was given, but standard input is not available here"
            raise UsageError(message, remedy="give a path")
        text = decode(self.stdin(), _STDIN_PLACE)
        given = self.source_id, False, self.trust_hints
        source = SourceText(text, _STDIN_PLACE, "stdin.md", *given)
        yield replace(source.read_as(kind_of_named("", text, _STDIN_PLACE)), sources=1)

    def server(self, argument: str) -> Iterator[SourceBatch]:
        """Take note of a server that is named by its address."""
        self.servers.append(server_at(argument, self._require_live(_SERVER)))
        yield SourceBatch()

    def module(self, argument: str) -> Iterator[SourceBatch]:
        if not self.imports:
            message = "modules are not imported here: a bundle may come from anywhere"
            raise UsageError(message, place=argument, remedy="put it into a bundle: mcpg bundle")
        from mcpg.sources.python import read_python  # noqa: PLC0415 - an extra

        found = read_python(argument, self.source_id)
        yield SourceBatch(tools=found.tools, diagnostics=found.diagnostics, sources=1)

    def plugin_source(self, argument: str) -> Iterator[SourceBatch]:
        found, noticed = find_registered(argument)
        assert found is not None  # noqa: S101 - its kind was found
        kind = found.item
        request = SourceRequest(argument, self.source_id, self.memo)

        def read() -> SourceBatch:
            content = load_reference(kind.read)(request)
            if not isinstance(content, SourceContent):
                raise TypeError(f"it returned {type(content).__name__}, not SourceContent")
            documents = tuple(content.documents)
            if not all(isinstance(one, SourceDocument) for one in documents):
                raise TypeError("its documents are not SourceDocument values")
            tools = SourceBatch()
            if content.tools:
                text = json.dumps([*content.tools], default=_as_object)
                name = PurePath(kind.path(argument)).name or argument.partition(":")[2] or argument
                tools = SourceText(text, argument, name, self.source_id).read_as(FileKind.MANIFEST)
            own = SourceBatch(
                documents=documents, diagnostics=tuple(content.diagnostics), sources=1
            )
            return SourceBatch.join([own, tools])

        if not found.owner:
            yield read()
            return
        batch = found.attempt(read)
        if isinstance(batch, Diagnostic):
            message = f"the plugin {found.owner!r} cannot read it"
            failed = error(Code.SOURCE_LOAD_FAILED, message, argument)
            batch = SourceBatch(
                diagnostics=(batch, failed), failed=(FailedSource(argument),), sources=1
            )
        yield SourceBatch.join([SourceBatch(diagnostics=noticed), batch])

    def file(self, argument: str) -> Iterator[SourceBatch]:
        if not argument:
            raise missing_source(argument)
        location = Path(argument)
        try:
            text = read_text(location, argument)
        except NotFoundError:
            fault = missing_source(argument)
            # Plugins that failed might have read it.
            told = "; ".join(one.message for one in find_registered(argument)[1])
            remedy = f"{fault.remedy}; {told}" if told else fault.remedy
            raise NotFoundError(fault.message, place=fault.place, remedy=remedy) from None
        if not self._is_new(os.path.realpath(location)):
            return
        name = text_of_path(location.name)
        given = self.source_id, location.is_file(), self.trust_hints
        source = SourceText(text, argument, name, *given)
        kind = kind_of_named(name, text, argument)
        if kind is FileKind.CLIENT:
            yield self._configuration(text, argument)
        else:
            yield replace(source.read_as(kind), sources=1)

    def _configuration(self, text: str, place: str) -> SourceBatch:
        """Take note of the servers that a client's configuration names."""
        live = self._require_live(place)
        servers, noticed = read_client_configuration(text, place, live.environ, live.ask)
        failed: list[FailedSource] = []
        for item in filter(is_failure, noticed):
            name = self.source_id or (item.place or "").removeprefix(f"{place}: ").strip()
            failed.append(FailedSource(item.place or place, frozenset([name]), is_named=True))
        named = {server.name: server for server in self.servers}
        self.servers += [one for one in servers if one.name not in named]
        repeated = (repeated_name(one, named[one.name]) for one in servers if one.name in named)
        noticed = (*noticed, *repeated)
        return SourceBatch(diagnostics=noticed, failed=tuple(failed), sources=len(failed))

    def _require_live(self, place: str) -> ServerAccess:
        if self.live is None:
            message = "only `mcpg bundle` and `mcpg generate` query servers"
            raise SourceError(message, place=place, remedy="bundle their tools first")
        return self.live

    def folder(self, argument: str) -> Iterator[SourceBatch]:
        """Read the files of a folder; an unusable file becomes a diagnostic."""
        files, noticed = walk_folder(argument)
        failed = tuple(FailedSource(item.place or "") for item in noticed if is_failure(item))
        yield SourceBatch(diagnostics=noticed, failed=failed, sources=len(failed))
        skills = {one.location.parent for one in files if one.location.name == SKILL_FILE}
        if skills:
            yield from self.plugin_source(f"{SKILLS}{argument}")
        for file in files:
            if skills and not skills.isdisjoint(file.location.parents):
                continue  # a part of a skill
            resolved = os.path.realpath(file.location)
            if resolved not in self.excluded and self._is_new(resolved):
                yield self._in_folder(file)

    def _in_folder(self, file: FolderFile) -> SourceBatch:
        try:
            text = read_text(file.location, file.place)
            kind = kind_in_folder(file.location.name, text, file.place)
            if kind is None:
                found = likeness(file.location.name, text)
                if found is None:
                    ignored = SourceDocument(file.path, "", place=file.place)
                    return SourceBatch(passed_over=(ignored,))
                place = f"{file.place}:{found[1]}"
                noticed = warning(Code.DOCUMENT_IGNORED, f"this file {found[0]}", place)
                return SourceBatch(diagnostics=(noticed,))
            if kind is FileKind.GRAPH:
                # As a rule it is an export of the tools beside it.
                message = "this RDF graph is not read: name the file itself to read it"
                return SourceBatch(diagnostics=(info(Code.SOURCE_SKIPPED, message, file.place),))
            given = self.source_id, True, self.trust_hints
            batch = SourceText(text, file.place, file.path, *given).read_as(kind)
            return replace(batch, sources=1)
        except McpgError as fault:
            advice = f" ({fault.remedy})" if fault.remedy else ""
            noticed = error(Code.SOURCE_LOAD_FAILED, f"{fault.message}{advice}", fault.place)
            name = self.source_id or PurePath(file.path).stem
            failed = FailedSource(file.place, frozenset([name]), bool(self.source_id))
            return SourceBatch(diagnostics=(noticed,), failed=(failed,), sources=1)

    def _is_new(self, resolved: str) -> bool:
        is_new = resolved not in self._seen
        self._seen.add(resolved)
        return is_new


def is_failure(noticed: Diagnostic) -> bool:
    """Return whether a diagnostic has the reason why a source could not be read."""
    return noticed.code == Code.SOURCE_LOAD_FAILED and noticed.severity == Severity.ERROR


STDIN, SERVER, MODULE, REGISTERED = "standard input", "server", "module", "registered"
FOLDER, FILE = "folder", "file"


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """A kind of arguments that name sources: a test for it, and its reader."""

    name: str
    test: Callable[[str], bool]
    read: Callable[[_SourceReader, str], Iterator[SourceBatch]]


KINDS = (
    ArgumentKind(STDIN, lambda one: one == "-", _SourceReader.standard_input),
    ArgumentKind(SERVER, is_address, _SourceReader.server),
    ArgumentKind(MODULE, lambda one: one.startswith(PYTHON), _SourceReader.module),
    ArgumentKind(REGISTERED, lambda one: _find_own(one) is not None, _SourceReader.plugin_source),
    ArgumentKind(FOLDER, lambda one: bool(one) and is_folder(one), _SourceReader.folder),
    ArgumentKind(
        REGISTERED, lambda one: find_registered(one)[0] is not None, _SourceReader.plugin_source
    ),
    ArgumentKind(FILE, lambda _: True, _SourceReader.file),
)
"""The kinds of sources in the order in which they are tried; the first that fits counts. Kinds of
other packages are searched for if nothing has the name."""


def find_kind(argument: str) -> ArgumentKind:
    """Return the kind of the source that *argument* names."""
    return next(one for one in KINDS if one.test(argument))


def find_registered(argument: str) -> tuple[Registered[SourceKind] | None, tuple[Diagnostic, ...]]:
    """Return the kind of *argument* that a plugin registers, and plugins that failed."""
    own = _find_own(argument)
    if own is not None:
        return Registered("", own), ()
    if not argument or exists(argument):
        return None, ()
    packages = package_plugins()
    noticed = packages.diagnostics
    for one in packages.items(SourceKind):
        is_its = one.attempt(partial(one.item.test, argument))
        if isinstance(is_its, Diagnostic):
            noticed = (*noticed, is_its)
        elif is_its:
            return one, noticed
    return None, noticed


def registered_path(argument: str) -> str:
    """Return the file or folder of a source of a kind that a plugin registers, "" for none."""
    found, _ = find_registered(argument)
    path = found.attempt(partial(found.item.path, argument)) if found else ""
    return path if isinstance(path, str) else ""


def _find_own(argument: str) -> SourceKind | None:
    # Arguments of our own kinds have a word and a colon before the source, except a skill.
    kinds = own_items(SourceKind) if ":" in argument or argument.endswith(SKILL_FILE) else ()
    return next((one for one in kinds if one.test(argument)), None)


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder that may be a source.

    Attributes:
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
    found: list[Path] = []
    for here, folders, names in os.walk(folder, onerror=failed.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        wanted = (name for name in names if not name.startswith(".") and may_be_source(name))
        found += [Path(here, name) for name in wanted]
    for path, location in sorted((one.relative_to(folder).as_posix(), one) for one in found):
        place = f"{_prefix(folder)}{path}"
        fault = _fault(location, root)
        if fault is None:
            files.append(FolderFile(location, text_of_path(path), place))
        else:
            shown = ascii(place)[1:-1] if fault == _NO_UNICODE else place
            noticed.append(warning(Code.SOURCE_SKIPPED, f"{fault}; it is ignored", shown))
    for cause in failed:
        message = f"this folder cannot be read: {os_reason(cause)}"
        path = Path(str(cause.filename)).relative_to(folder).as_posix()
        if path == ".":
            raise SourceError(message, place=folder, remedy="check its permissions") from cause
        noticed.append(error(Code.SOURCE_LOAD_FAILED, message, f"{_prefix(folder)}{path}"))
    return tuple(files), tuple(noticed)


def _fault(location: Path, root: str) -> str | None:
    """Return why a file of the folder *root* cannot be a source, or `None`."""
    try:
        os.fsencode(location.name).decode("utf-8")
    except UnicodeDecodeError:
        return _NO_UNICODE
    if location.is_symlink() and not Path(os.path.realpath(location)).is_relative_to(root):
        return "this link points outside its folder"
    if exists(location) and not is_file(location):
        return "this is a pipe or a device, not a regular file"
    return None


def _prefix(folder: str) -> str:
    """Write the folder as given, so that a path can follow."""
    shown = Path(folder).as_posix()
    if shown == ".":
        return ""
    return shown if shown.endswith("/") else f"{shown}/"


_CHUNK = 1 << 18
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _UnsupportedSourceError(Exception):
    """The reading of a source depends on more than names and contents."""


def source_signature(
    arguments: Sequence[str], *, source_id: str | None = None, exclude: Collection[str] = ()
) -> str | None:
    """Sign everything that `read_sources` would read, with the arguments that it depends on.

    Equal signatures mean equal sources, wherever they are: names, relative places and contents
    count, times do not. Nothing is parsed. Standard input, links, and files that cannot be read
    have no signature: then it is `None`.
    """
    digest = hashlib.sha256(repr(source_id).encode())
    excluded = {os.path.realpath(path) for path in exclude}
    try:
        kinds = {find_kind(argument).name for argument in arguments}
        if "" in arguments or not kinds <= {FOLDER, FILE}:
            return None
        places = [os.path.realpath(argument) for argument in arguments]
        for argument, place in zip(arguments, places, strict=True):
            has_files = is_folder(place)
            # The relative positions of places decide which files are reached twice.
            name = "/" if has_files else Path(argument).name
            _add_name(digest, f"{name}\0{os.path.relpath(place, places[0])}", 0)
            if not has_files and not is_file(place):  # a pipe can be read only once
                return None
            found = _files_below(place, "", excluded) if has_files else [("", place)]
            for below, path in found:
                _add_file(digest, below, path)
    except (_UnsupportedSourceError, OSError, ValueError):
        return None
    return digest.hexdigest()


def _add_name(digest: hashlib._Hash, name: str, size: int) -> None:
    """Add the name of content of so many bytes, which are to follow."""
    raw = os.fsencode(name)
    digest.update(b"%d %d " % (len(raw), size))
    digest.update(raw)


def _files_below(
    folder: str, prefix: str, excluded: Collection[str], *, is_skill: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the files that may be sources, and all files of skills, by path."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    is_skill = is_skill or any(entry.name == SKILL_FILE for entry in entries)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            # A folder behind a link is none of the sources.
            if not entry.is_symlink():
                below = f"{prefix}{entry.name}/"
                yield from _files_below(entry.path, below, excluded, is_skill=is_skill)
        elif (is_skill or may_be_source(entry.name)) and entry.path not in excluded:
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


Stamp = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, and number of a file."""

_FOREIGN = frozenset({"node_modules", "__pycache__", "site-packages"})
_OWN = __name__.partition(".")[0]


def watched_files(sources: Iterable[str], exclude: Collection[str] = ()) -> dict[str, Stamp]:
    """Return the files that *sources* are read from, with marks that change when they do.

    Servers and standard input have none. Files that cannot be inspected count as missing.
    """
    excluded = {os.path.realpath(path) for path in exclude}
    found: dict[str, Stamp] = {}
    for source in sources:
        for path in _iterate_files(source):
            real = os.path.realpath(path)
            with suppress(OSError, ValueError):
                known = os.stat(real)  # noqa: PTH116 - thousands of times
                if real not in excluded and stat.S_ISREG(known.st_mode):
                    found[real] = (known.st_size, known.st_mtime_ns, known.st_ino)
    return found


def _iterate_files(source: str) -> Iterator[str]:
    kind = find_kind(source).name if source and "\0" not in source else STDIN
    if kind == MODULE:
        # The file or the folders of the package that `python:package.module` begins with.
        top = source.removeprefix(PYTHON).partition(":")[0].partition(".")[0]
        spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
        found = [spec.origin] if spec is not None else []
        for path in (spec and spec.submodule_search_locations) or filter(None, found):
            yield from _below(path, lambda name: name.endswith(".py"))
    elif kind == REGISTERED:
        yield from _below(registered_path(source), lambda _: True)
    elif kind in (FOLDER, FILE):
        yield from _below(source, may_be_source)


def _below(path: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """Return the file at *path*, or the wanted files below the folder there."""
    if not Path(path).is_dir():
        yield path
        return
    skills: tuple[str, ...] = ()
    for here, folders, names in os.walk(path):
        folders[:] = [one for one in folders if one[0] != "." and one not in _FOREIGN]
        skills += (f"{here}{os.sep}",) if SKILL_FILE in names else ()
        is_skill = f"{here}{os.sep}".startswith(skills)
        for name in names:
            if name[0] != "." and (is_skill or is_wanted(name)):
                yield f"{here}{os.sep}{name}"


def changed_files(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> list[str]:
    """Return the files that were added, changed or removed, sorted."""
    both = before.keys() | after.keys()
    return sorted(path for path in both if before.get(path) != after.get(path))


def forget_modules(changed: Collection[str]) -> None:
    """Have Python import anew the packages of which a file has *changed*."""
    stale = {
        name.partition(".")[0]
        for name, module in [*sys.modules.items()]
        if (file := getattr(module, "__file__", None)) and os.path.realpath(file) in changed
    }
    for name in [*sys.modules]:
        if name.partition(".")[0] in stale - {_OWN}:
            del sys.modules[name]
