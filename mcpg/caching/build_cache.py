"""A cache of the results of pure functions, kept between runs.

The key of a result is the SHA-256 of everything it depends on, so no entry can be stale. The file
is used only if its checksum is right and the same program wrote it; otherwise the cache is empty.
Times play no part.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader, FileIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from mcpg.files import atomic_write, open_at_once

if TYPE_CHECKING:
    from mcpg.caching.build_pool import Workers

T = TypeVar("T")

MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of a cache in memory; later results are not kept."""

MOST_SAVED = 1024 * 1024 * 1024
"""Maximum size of a cache in a file; later results are not kept."""

_MAGIC = b"mcpgmemo"
# A result follows its key and its length.
_HEAD = struct.Struct("=32sQ")
_SEAL = 32
_IN_MEMORY = 8 * 1024 * 1024
_CHUNK = 1024 * 1024
# Of this version, equal values have equal bytes, whatever else refers to their parts.
_MARSHAL_VERSION = 2
# The average length of a run: few things to recompute, and many to look up at once.
_PER_RUN = 64
# Packages whose versions affect how texts are read.
_PACKAGES = ("PyYAML", "PyStemmer")


class ResultFile(Mapping[bytes, bytes]):
    """Results in a file, with only the keys in memory.

    *places* are the start of each result, times 2**32, plus its length. Access raises `OSError` or
    `ValueError` if a result cannot be read, or the disk is full.
    """

    def __init__(self, file: IO[bytes], places: dict[bytes, int] | None = None) -> None:
        self._file = file
        self._places = {} if places is None else places
        self._end = 0
        self._lock = Lock()

    def __getitem__(self, key: bytes) -> bytes:
        start, length = divmod(self._places[key], 1 << 32)
        with self._lock:
            self._file.seek(start)
            data = self._file.read(length)
        if len(data) != length:
            raise ValueError("the file ends early")
        return data

    def __setitem__(self, key: bytes, data: bytes) -> None:
        """Add the result of *key* to a file that was empty, unless it is there."""
        with self._lock:
            if key in self._places:  # another thread was faster
                return
            self._file.seek(self._end)
            self._file.write(data)
            self._places[key] = self._end << 32 | len(data)
            self._end += len(data)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        self._file.close()


def _open_results(path: Path | str) -> ResultFile:
    # Results are read one by one: a buffer would be filled for each.
    file = open(path, "rb", buffering=0, opener=open_at_once)  # noqa: SIM115 - stays open
    try:
        return ResultFile(file, _read_places(file))
    except BaseException:
        file.close()
        raise


def _read_places(file: FileIO) -> dict[bytes, int]:
    places: dict[bytes, int] = {}
    end, at = os.fstat(file.fileno()).st_size - _SEAL, len(_MAGIC)
    reader, digest = BufferedReader(file, _CHUNK), hashlib.sha256(_MAGIC)
    is_whole = reader.read(at) == _MAGIC
    while is_whole and at + _HEAD.size <= end:
        key, length = _HEAD.unpack(head := reader.read(_HEAD.size))
        at += _HEAD.size
        is_whole = length <= end - at
        if is_whole:
            places[key] = at << 32 | length
            digest.update(head)
            digest.update(reader.read(length))
            at += length
    if not is_whole or at != end or reader.read() != _seal(digest.digest()):
        raise ValueError("the file is damaged, or of another program")
    reader.detach()
    return places


class ResultKind(NamedTuple, Generic[T]):
    """The results of one pure function.

    Attributes:
        name: The name that distinguishes them from other results.
        encode: Writes a result as bytes; `None` if it is not worth storing.
        decode: Reads what `encode` wrote; may raise `ValueError`, `TypeError`, `KeyError`,
            `IndexError` or `AttributeError` for anything else.
        make: Computes the encoded result from its input in another process: a function of a module.
            `None` if that is impossible.
    """

    name: str
    encode: Callable[[T], bytes | None]
    decode: Callable[[bytes], T]
    make: Callable[[bytes], bytes | None] | None = None


class BuildCache:
    """A null cache: every result is computed. `keeps` is whether computing ahead is useful."""

    keeps = False

    def recall(self, kind: ResultKind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the result of *work*, one of *kind*, which depends on what *given* returns."""
        _ = self, kind, given
        return work()

    def ahead(
        self, kinds: Sequence[ResultKind[Any]], given: Iterable[bytes], *, shares: bool = False
    ) -> None:
        """Announce results that will be needed, so that other processes can begin with them.

        Each of *kinds* has a `make`. A share is left to this process if it *shares* the work,
        because the others have more to do.
        """

    def __enter__(self) -> Self:
        """Return the cache."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End what works ahead, and close all files."""


NO_BUILD_CACHE = BuildCache()
"""The null cache."""


class StoredBuildCache(BuildCache):
    """A cache that can be saved to a file and loaded again; close a loaded one.

    It has results from an earlier run; *fresh* receives the results of this run.
    """

    keeps = True

    def __init__(
        self, known: Mapping[bytes, bytes] | None = None, fresh: ResultFile | None = None
    ) -> None:
        self._known: Mapping[bytes, bytes] = {} if known is None else known
        self._used: set[bytes] = set()  # known results that this run has used
        self._fresh: dict[bytes, bytes] | ResultFile = {} if fresh is None else fresh
        self._room = MOST_BYTES if fresh is None else MOST_SAVED
        self.workers: Workers | None = None  # who compute results ahead of their use

    def ahead(
        self, kinds: Sequence[ResultKind[Any]], given: Iterable[bytes], *, shares: bool = False
    ) -> None:
        """Start to compute unknown results in other processes."""
        if self.workers is None:
            return
        keyed = (([_make_key(kind, one) for kind in kinds], one) for one in given)
        unknown = (pair for pair in keyed if not all(map(self._known.__contains__, pair[0])))
        if shares:
            jobs = self.workers.jobs
            unknown = (pair for number, pair in enumerate(unknown, 1) if number % jobs)
        self.workers.start([kind.make for kind in kinds if kind.make], unknown, self._keep)

    def recall(self, kind: ResultKind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the cached result, or compute it with *work*."""
        if self._room < 0:
            return work()
        key = _make_key(kind, given())
        known = self._find_result(key)
        if known is not None:
            try:
                return kind.decode(known)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                return work()
        result = work()
        data = kind.encode(result)
        if data is not None:
            self._keep(key, data)
        return result

    def _find_result(self, key: bytes) -> bytes | None:
        if self.workers is not None:
            self.workers.wait_for(key, self._keep)
        try:
            known = self._known.get(key)
            if known is None:
                return self._fresh.get(key)
        except (OSError, ValueError):  # the file was cut short after it had been opened
            return None
        if key not in self._used:
            self._room -= _HEAD.size + len(known)
            if self._room >= 0:
                self._used.add(key)
        return known

    def _keep(self, key: bytes, data: bytes) -> None:
        if key in self._fresh or key in self._known:
            return
        self._room -= _HEAD.size + len(data)
        try:
            if self._room >= 0:
                self._fresh[key] = data
        except OSError:  # no space for the temporary file
            self._room = -1

    @property
    def has_changed(self) -> bool:
        """Whether the results used differ from those loaded."""
        return bool(self._fresh) or len(self._used) < len(self._known)

    def make_next(self) -> StoredBuildCache:
        """Return a cache for the next run, with the results used in this one, in memory."""
        return StoredBuildCache({key: self._known[key] for key in self._used} | dict(self._fresh))

    def close(self) -> None:
        """End the processes, and close all files."""
        with ExitStack() as held:  # an interrupt may end the wait for the processes
            for one in (self._fresh, self._known, self.workers):
                held.callback(_close, one)

    def pack(self) -> Iterator[bytes]:
        """Return the content of a cache file with the results used so far, in parts.

        The file of earlier results is closed then, so that it can be replaced. `OSError` or
        `ValueError` is raised if it cannot be read any more.
        """
        used = [key for key in self._known if key in self._used]  # in the order of their file
        digest, part = hashlib.sha256(), bytearray(_MAGIC)
        for held, keys in ((self._known, used), (self._fresh, [*self._fresh])):
            for key in keys:
                data = held[key]
                part += _HEAD.pack(key, len(data)) + data
                if len(part) >= _CHUNK:
                    digest.update(part)
                    yield bytes(part)
                    part.clear()
        digest.update(part)
        yield bytes(part) + _seal(digest.digest())
        _close(self._known)


def _close(held: object) -> None:
    if hasattr(held, "close"):  # a dictionary has no file
        held.close()


def cut_runs(things: Iterable[T], name: Callable[[T], bytes]) -> Iterator[Sequence[T]]:
    """Cut *things* into runs, so that one result can be kept for all of a run.

    A run ends by the name of its last thing, so that adding or removing one leaves other runs
    unchanged.
    """
    run: list[T] = []
    for thing in things:
        run.append(thing)
        if not zlib.crc32(name(thing)) % _PER_RUN:
            yield run
            run = []
    if run:
        yield run


def encode_parts(parts: Any) -> bytes:
    """Write *parts*, plain values in tuples and lists, for the key of a result."""
    try:
        return marshal.dumps(parts, _MARSHAL_VERSION)
    except ValueError:  # such as a number as its author wrote it
        return repr(parts).encode()


def _make_key(kind: ResultKind[T], given: bytes) -> bytes:
    return hashlib.sha256(b"%s\0%s" % (kind.name.encode(), given)).digest()


def load_build_cache(path: Path | str) -> StoredBuildCache:
    """Load a cache file; a missing, damaged or foreign file is an empty cache."""
    folder = Path(path).parent
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    # It has no name, or loses it with the process, and is closed with the cache.
    file = SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115
    fresh = ResultFile(file)
    try:
        return StoredBuildCache(_open_results(path), fresh)
    except (OSError, ValueError, OverflowError, MemoryError):
        return StoredBuildCache(None, fresh)


def save_build_cache(path: Path | str, memo: StoredBuildCache) -> None:
    """Save *memo* to the file at *path* atomically, unless nothing has changed."""
    if memo.has_changed:
        atomic_write(path, memo.pack(), sync=False, special=False)


def _seal(digest: bytes) -> bytes:
    """Return the seal after results with *digest*, if this program computed them."""
    return hashlib.sha256(_digest_program() + digest).digest()


@cache
def _digest_program() -> bytes:
    """Return a digest of the program: package files, interpreter, and text libraries.

    The version by itself would not notice edits of the package.
    """
    whole = hashlib.sha256(f"{sys.version} {sys.byteorder}".encode())
    for name in _PACKAGES:
        try:
            whole.update(f" {name} {version(name)}".encode())
        except PackageNotFoundError:  # pragma: no cover - both are required
            whole.update(f" {name} unknown".encode())
    for one in sorted(Path(__file__).parents[1].rglob("*")):
        if one.is_file() and one.suffix != ".pyc":
            whole.update(hashlib.sha256(one.read_bytes()).digest())
    return whole.digest()
