"""Watching sources: which files they are read from, and which of these have changed.

Size, time and number of every file are compared, rather than events of the operating system
awaited. That takes a millisecond for a hundred files, works on network drives and in containers,
and needs no package.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path

from mcpg.sources.client_config import is_address
from mcpg.sources.model import CODE, PYTHON, may_be_source

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
            stamp = None if real in excluded else _stamp(real)
            if stamp is not None:
                found[real] = stamp
    return found


def _iterate_files(source: str) -> Iterator[str]:
    if source in ("", "-") or "\0" in source or is_address(source):
        return
    if source.startswith(CODE):
        yield from _below(source.removeprefix(CODE), lambda _: True)
    elif source.startswith(PYTHON):
        for path in _module_places(source):
            yield from _below(path, lambda name: name.endswith(".py"))
    else:
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


def _module_places(source: str) -> list[str]:
    """Return the file or the folders of the package that `python:package.module` begins with."""
    top = source.removeprefix(PYTHON).partition(":")[0].partition(".")[0]
    spec = PathFinder.find_spec(top, [str(Path.cwd()), *sys.path])
    if spec is None:
        return []
    return list(spec.submodule_search_locations or filter(None, [spec.origin]))


def _stamp(path: str) -> Stamp | None:
    try:
        known = os.stat(path)  # noqa: PTH116 - thousands of times
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(known.st_mode)
    return (known.st_size, known.st_mtime_ns, known.st_ino) if is_file else None


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
