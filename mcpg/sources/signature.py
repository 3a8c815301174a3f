"""The signature of sources: whether reading them again would read the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from mcpg.files import MAX_BYTES, is_file, is_folder
from mcpg.sources.model import PYTHON, may_be_source

_CHUNK = 1 << 18
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class _UnusualError(Exception):
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
            _add(digest, argument, b"")
            for name, path in _files(place, excluded):
                _add(digest, name, _content(path))
    except (_UnusualError, OSError, ValueError):
        return None
    return digest.hexdigest()


def _add(digest: hashlib._Hash, name: str, content: bytes) -> None:
    raw = os.fsencode(name)
    digest.update(b"%d %d " % (len(raw), len(content)))
    digest.update(raw)
    digest.update(content)


def _places(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return the places of *arguments*, each with what matters of its name.

    How they lie to each other decides which files are reached twice.
    """
    if any(argument in ("-", "") or argument.startswith(PYTHON) for argument in arguments):
        raise _UnusualError
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
        raise _UnusualError


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
                raise _UnusualError
            yield f"{prefix}{entry.name}", entry.path


def _content(path: str) -> bytes:
    # Ten thousand times, `open` would take as long as everything else together.
    handle = os.open(path, _READ)
    try:
        data = os.read(handle, _CHUNK)
        if len(data) < _CHUNK:
            return data
        if os.fstat(handle).st_size > MAX_BYTES:
            raise _UnusualError
        return data + b"".join(iter(lambda: os.read(handle, _CHUNK), b""))
    finally:
        os.close(handle)
