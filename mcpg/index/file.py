"""The index file: its place, its freshness, and how it is written."""

from __future__ import annotations

import mmap
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from mcpg.errors import OutputError
from mcpg.files import atomic_write, is_link, output_error
from mcpg.index.layout import (
    FIXED_SIZE,
    KEY_SIZE,
    MAGIC,
    NO_STAMP,
    Buffer,
    Header,
    StaleIndexError,
    Stamp,
    head_size,
    restamp_index,
)
from mcpg.index.reader import Index
from mcpg.index.recipe import hash_recipe
from mcpg.index.tables import Section, spool_sections, with_section

SUFFIX = ".idx"

OPENED, WRITTEN, CACHED, IN_MEMORY = "opened", "written", "cached", "in memory"
"""How an index was obtained: found fresh; built and written beside its source, or into the cache
folder; built, and kept only in memory because neither could be written.
"""

# To map a small file and read its blocks there takes less time, and no more memory than its length.
_MOST_MAPPED = 4 << 20
_TIME_LIMIT = 1 << 63
_INODES = 1 << 64


class OpenedIndex(NamedTuple):
    """An index, how it was come by (`OPENED`, `WRITTEN`, `CACHED`, `IN_MEMORY`), and its file."""

    index: Index  # type: ignore[assignment]  # no one looks an item up by `tuple.index`
    how: str
    path: str | None = None


def open_index(path: str, *, in_blocks: bool = False) -> Index:
    """Open the index file at *path*, checked as in `Index`.

    It is mapped into memory; in blocks, a file above 4 MB is read from offsets if the system can.
    `StaleIndexError` is raised unless it is a whole index of this version.
    """
    if in_blocks and hasattr(os, "pread") and _stamp(path)[0] > _MOST_MAPPED:
        return _read_in_blocks(path)
    return Index(_map_file(path), in_blocks=in_blocks)


def write_index(path: str, data: bytes | Iterable[Buffer]) -> None:
    """Write an index, or its parts, into the file at *path*, atomically.

    A link to a file other than an index is an `OutputError`.
    """
    # A link may come with the bundle, and point to any file of the user.
    if is_link(path):
        begin = b""
        with suppress(OSError, ValueError), open(path, "rb", opener=_open_regular) as stream:
            begin = stream.read(len(MAGIC))
        if begin != MAGIC:
            message = "cannot be written: it is a link to a file that is not an index"
            raise OutputError(message, place=path, remedy="remove the link")
    atomic_write(path, data, special=False)


def write_index_beside(source: str, sections: Iterable[Section], header: Header) -> str:
    """Put the index of the file *source* beside it, and return the path of the index.

    The *sections* are never all in memory. A stamp of *source* is added to the *header* where
    *source* has the content of its key.
    """
    path, stamp = source + SUFFIX, _stamp(source)
    with ExitStack() as stack:
        try:
            parts = stack.enter_context(spool_sections(sections, str(Path(path).parent)))
        except OSError as fault:
            raise output_error(path, fault) from fault
        is_present = header.key == content_key(source) and stamp == _stamp(source)
        write_index(path, parts(header._replace(stamp=stamp) if is_present else header))
    return path


def content_key(path: str) -> bytes:
    """Return the SHA-256 of the file at *path*."""
    import hashlib  # noqa: PLC0415 - needed only when the time of a file has changed

    with open(path, "rb", opener=_open_regular) as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def index_for(
    source: str, build: Callable[[], bytes], *, recipe: bytes = b"", cache_dir: str | None = None
) -> OpenedIndex:
    """Return the index of the file *source*, found fresh or built.

    It is searched beside its source and in *cache_dir*, and written to the first of them that is
    writable. Any number of processes may do this at once. *build* returns the bytes of the index,
    whose key is the `content_key` of *source*; *recipe* is its further input.
    """
    stamp = _stamp(source)
    for path, index in _iter_fresh(source, recipe, cache_dir):
        return OpenedIndex(index, OPENED, path)
    return _build_index(source, stamp, build, cache_dir)


def renew_index(source: str, build: Callable[[], bytes], *, cache_dir: str | None = None) -> Index:
    """Build the index of the file *source* as `index_for` does, whether there is one or not."""
    return _build_index(source, _stamp(source), build, cache_dir).index


def fresh_index(
    source: str, recipe: bytes, cache_dir: str | None = None, *, in_blocks: bool = False
) -> Index | None:
    """Open the index of the file *source*, `None` unless one matches its present content.

    It is searched as by `index_for`, and checked as in `Index`.
    """
    fresh = _iter_fresh(source, recipe, cache_dir, in_blocks=in_blocks)
    return next((index for _, index in fresh), None)


def add_section(source: str, section: Section, recipe: bytes, cache_dir: str | None = None) -> None:
    """Add *section* to the index of the file *source*.

    Nothing happens without a fresh index, or if its file cannot be written. A damaged index is not
    changed: new checksums would hide the damage.
    """
    for path, index in _iter_fresh(source, recipe, cache_dir):
        with suppress(OutputError, StaleIndexError):
            index.verify()
            write_index(path, with_section(index.data, section))
        return


def _places(source: str, cache_dir: str | None) -> list[tuple[str, str]]:
    beside = (source + SUFFIX, WRITTEN)
    return [beside] if cache_dir is None else [beside, (cached_path(source, cache_dir), CACHED)]


def _iter_fresh(
    source: str, recipe: bytes, cache_dir: str | None, *, in_blocks: bool = False
) -> Iterator[tuple[str, Index]]:
    """Yield the indexes that match the present content of *source*, each with its path."""
    stamp, number = _stamp(source), hash_recipe(recipe)
    for path, _ in _places(source, cache_dir):
        try:
            index = open_index(path, in_blocks=in_blocks)
            header = index.header
            if header.recipe != number:
                continue
            if header.stamp != stamp or stamp == NO_STAMP:
                if header.key == bytes(KEY_SIZE) or header.key != content_key(source):
                    continue
                # The source has another time but the old content, so it need not be hashed again.
                # It does not matter if the file cannot be written.
                if stamp == _stamp(source) != NO_STAMP:
                    with suppress(OutputError):
                        write_index(path, restamp_index(_map_file(path), stamp))
        except (StaleIndexError, OSError):
            continue
        yield path, index


def _build_index(
    source: str, stamp: Stamp, build: Callable[[], bytes], cache_dir: str | None
) -> OpenedIndex:
    data = build()
    # Otherwise it is unknown which content was built: the key decides.
    if stamp == _stamp(source):
        data = restamp_index(data, stamp)
    for path, how in _places(source, cache_dir):
        with suppress(OutputError, StaleIndexError):
            write_index(path, data)
            # Mapped, the memory is shared with every other process that opens it.
            return OpenedIndex(open_index(path), how, path)
    return OpenedIndex(Index(data), IN_MEMORY)


class _File:
    """A file that stays open as long as something reads it."""

    def __init__(self, path: str) -> None:
        self._descriptor = _open_regular(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)

    def read(self, start: int, size: int) -> bytes:
        """Return *size* bytes from *start*, fewer where the file ends."""
        try:
            return os.pread(self._descriptor, size, start)
        except OSError as fault:
            raise StaleIndexError(f"it cannot be read: {fault}") from fault


def _read_in_blocks(path: str) -> Index:
    try:
        file = _File(path)
        # Memory that takes room only where it is written.
        memory = mmap.mmap(-1, file.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError) as fault:
        raise StaleIndexError(f"it cannot be opened: {fault}") from fault
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        # A page of 2 MB would take as much as all blocks that a search reads.
        with suppress(OSError):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    data = memoryview(memory)
    first = file.read(0, FIXED_SIZE)
    data[: len(first)] = first
    first = file.read(0, head_size(data))
    data[: len(first)] = first
    return Index(data, in_blocks=True, read=file.read)


def _map_file(path: str) -> Buffer:
    try:
        with open(path, "rb", opener=_open_regular) as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as fault:
        raise StaleIndexError(f"it cannot be opened: {fault}") from fault


def _open_regular(path: str, flags: int) -> int:
    # Opening a pipe would wait for a writer.
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError("it is not a regular file")
    return os.open(path, flags)


def _stamp(path: str) -> Stamp:
    """Return values that change whenever the file at *path* does.

    If all files have one modification time, as in a reproducible image, many contents share size
    and time. The time of a status change and the inode cannot be set.
    """
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return NO_STAMP
    times = found.st_mtime_ns, found.st_ctime_ns
    # Some file systems have times before 1678 and after 2262, which a header has no room for.
    if not all(-_TIME_LIMIT <= time < _TIME_LIMIT for time in times):
        return NO_STAMP
    return found.st_size, *times, found.st_ino % _INODES


def cached_path(source: str, cache_dir: str, suffix: str = SUFFIX) -> str:
    """Return the file in *cache_dir* for data made from or for *source*.

    Files of the same name in different folders differ by the hash of their paths. If two hashes are
    equal, the content of the file decides.
    """
    full = os.path.abspath(source)  # noqa: PTH100 - `Path.absolute` keeps `..`
    name = f"{Path(full).name}-{zlib.crc32(os.fsencode(full)):08x}{suffix}"
    return str(Path(cache_dir, name))
