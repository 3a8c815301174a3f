"""What tells whether the files of sources have changed: signatures, and stamps to look again."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

from mcpg.files import MAX_BYTES, is_file, is_folder
from mcpg.sources.model import PYTHON, may_be_source
from mcpg.sources.read import (
    FILE,
    FOLDER,
    MODULE,
    REGISTERED,
    STDIN,
    find_kind,
    registered_path,
)

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
        kinds = {find_kind(argument).name for argument in arguments}
        if "" in arguments or not kinds <= {FOLDER, FILE}:
            return None
        places = [os.path.realpath(argument) for argument in arguments]
        for argument, place in zip(arguments, places, strict=True):
            has_files = is_folder(place)
            # How places lie to each other decides which files are reached twice.
            name = "/" if has_files else Path(argument).name
            _add_name(digest, f"{name}\0{os.path.relpath(place, places[0])}", 0)
            if not has_files and not is_file(place):  # what is read from a pipe is gone
                return None
            found = _files_below(place, "", excluded) if has_files else [("", place)]
            for below, path in found:
                _add_file(digest, below, path)
    except (_UnsupportedSourceError, OSError, ValueError):
        return None
    return digest.hexdigest()


def _add_name(digest: hashlib._Hash, name: str, size: int) -> None:
    """Add the name of what has so many bytes, which are to follow."""
    raw = os.fsencode(name)
    digest.update(b"%d %d " % (len(raw), size))
    digest.update(raw)


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


Stamp = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, and number of a file."""

_FOREIGN = frozenset({"node_modules", "__pycache__", "site-packages"})
_OWN = __name__.partition(".")[0]


def watched_files(sources: Iterable[str], exclude: Collection[str] = ()) -> dict[str, Stamp]:
    """Return the files that *sources* are read from, with what tells whether they have changed.

    Servers and standard input are none. What cannot be looked at counts as missing.

    Args:
        sources: As for `read_sources`.
        exclude: Files that are not sources, such as the output.
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
    for here, folders, names in os.walk(path):
        folders[:] = [one for one in folders if one[0] != "." and one not in _FOREIGN]
        for name in names:
            if name[0] != "." and is_wanted(name):
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
