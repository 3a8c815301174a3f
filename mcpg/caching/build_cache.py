"""A cache of the results of pure functions, kept between runs.

The key of a result is the SHA-256 of everything it depends on, so no entry can be stale. The file
is used only if its checksum is right and the same program wrote it; otherwise the cache is empty.
Times play no part.
"""

from __future__ import annotations

import marshal
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import accumulate
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from mcpg.files import atomic_write, open_at_once

if TYPE_CHECKING:
    from mcpg.caching.build_pool import Workers


_DIGEST = 32
_NUMBER = 8
_IN_MEMORY = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


class StoredResults(Mapping[bytes, bytes]):
    """Results in a file, by key.

    Args:
        file: The file.
        keys: The keys, in the order of the results.
        ends: Where the first result begins, and where each ends.
    """

    def __init__(self, file: IO[bytes], keys: list[bytes], ends: array[int]) -> None:
        self._file = file
        self._places = {key: place for place, key in enumerate(keys)}
        self._ends = ends
        self._lock = Lock()

    def sizes(self, keys: Iterable[bytes]) -> Iterator[int]:
        """Return the size of each result."""
        for place in map(self._places.__getitem__, keys):
            yield self._ends[place + 1] - self._ends[place]

    def content(self, keys: Iterable[bytes]) -> Iterator[bytes]:
        """Return the results one after the other, in parts.

        Raises:
            OSError, ValueError: They cannot be read.
        """
        first = last = 0
        for place in map(self._places.__getitem__, keys):
            # Results that follow each other are read at once.
            if place != last or self._ends[last] - self._ends[first] > _CHUNK:
                yield self._read_span(first, last)
                first = place
            last = place + 1
        yield self._read_span(first, last)

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        self._file.close()

    def get(self, key: bytes, default: Any = None) -> Any:
        """Return the result of *key*.

        Raises:
            OSError, ValueError: It cannot be read.
        """
        place = self._places.get(key)
        return default if place is None else self._read_span(place, place + 1)

    def __getitem__(self, key: bytes) -> bytes:
        place = self._places[key]
        return self._read_span(place, place + 1)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _read_span(self, first: int, last: int) -> bytes:
        start, end = self._ends[first], self._ends[last]
        with self._lock:
            return _read_exactly(self._file, start, end - start)


class PackedResults(StoredResults):
    """The results in a packed file.

    The file holds a head, the number of results, their lengths, their keys, and the results.

    Args:
        path: The file.
        head: Size of the head, in bytes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no such file.
    """

    def __init__(self, path: Path | str, head: int) -> None:
        # Results are read one by one: a buffer would be filled for each.
        file = open(path, "rb", buffering=0, opener=open_at_once)  # noqa: SIM115 - as above
        try:
            self.head = _read_exactly(file, 0, head)
            keys, ends = _contents(file, head)
        except BaseException:
            file.close()
            raise
        super().__init__(file, keys, ends)

    def body(self) -> Iterator[bytes]:
        """Return what follows the head, in parts."""
        self._file.seek(len(self.head))
        while part := self._file.read(_CHUNK):
            yield part


class PendingResults(StoredResults):
    """Results that wait to be saved, few of them in memory and many in a temporary file.

    The file has no name, or loses it with the process.

    Args:
        folder: Where the file is.
    """

    def __init__(self, folder: Path | str) -> None:
        file = SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))  # noqa: SIM115 - see `close`
        super().__init__(file, [], array("Q", [0]))

    def __setitem__(self, key: bytes, data: bytes) -> None:
        """Add the result of *key*, unless it has one.

        Raises:
            OSError: There is no room for it.
        """
        with self._lock:
            if key in self._places:  # another thread was faster
                return
            self._file.seek(self._ends[-1])
            self._file.write(data)
            self._ends.append(self._ends[-1] + len(data))
            self._places[key] = len(self._places)


def pack_results(
    held: Sequence[tuple[Mapping[bytes, bytes], Collection[bytes]]],
) -> Iterator[bytes]:
    """Return what a packed file holds after its head, in parts.

    Args:
        held: Results, and the keys of those of them that it holds.
    """
    sizes = array("Q")
    for results, keys in held:
        if isinstance(results, StoredResults):
            sizes.extend(results.sizes(keys))
        else:
            sizes.extend(len(results[key]) for key in keys)
    yield array("Q", [len(sizes)]).tobytes() + sizes.tobytes()
    for _, keys in held:
        yield b"".join(keys)
    for results, keys in held:
        if isinstance(results, StoredResults):
            yield from results.content(keys)
        else:
            yield from map(results.__getitem__, keys)


def _contents(file: IO[bytes], head: int) -> tuple[list[bytes], array[int]]:
    """Return the keys in a packed file, where its first result begins and where each ends."""
    (count,) = array("Q", _read_exactly(file, head, _NUMBER))
    if count * (_NUMBER + _DIGEST) > file.seek(0, SEEK_END):
        raise ValueError("the file ends early")
    lengths = array("Q", _read_exactly(file, head + _NUMBER, _NUMBER * count))
    first = head + _NUMBER * (count + 1)
    keys = _read_exactly(file, first, _DIGEST * count)
    ends = array("Q", accumulate(lengths, initial=first + len(keys)))
    return [keys[at : at + _DIGEST] for at in range(0, len(keys), _DIGEST)], ends


def _read_exactly(file: IO[bytes], start: int, length: int) -> bytes:
    file.seek(start)
    data = file.read(length)
    if len(data) != length:
        raise ValueError("the file ends early")
    return data


T = TypeVar("T")

MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of a cache in memory; later results are not kept."""

MOST_SAVED = 1024 * 1024 * 1024
"""Maximum size of a cache in a file; later results are not kept."""

_MAGIC = b"mcpgmemo"
_OVERHEAD = _DIGEST + 8  # the key of a result and its length
# Of this version, equal values have equal bytes, whatever else refers to their parts.
_MARSHAL_VERSION = 2
# So many things a run has on average: few to compute again, and many to look up at once.
_PER_RUN = 64
# Packages whose versions decide what a text means.
_PACKAGES = ("PyYAML", "PyStemmer")


class ResultKind(NamedTuple, Generic[T]):
    """The results of one pure function.

    Attributes:
        name: What tells them from those of others.
        encode: Writes a result as bytes; `None` when it is not worth keeping.
        decode: Reads what `encode` wrote; may raise `ValueError`, `TypeError`, `KeyError`,
            `IndexError` or `AttributeError` for anything else.
        make: Computes from what a result depends on what `encode` writes of it, in another
            process: a function of a module. `None` where that cannot be done.
    """

    name: str
    encode: Callable[[T], bytes | None]
    decode: Callable[[bytes], T]
    make: Callable[[bytes], bytes | None] | None = None


class BuildCache:
    """A null cache: every result is computed.

    Attributes:
        keeps: Whether results are kept, so that it pays to compute what may be asked for.
    """

    keeps = False

    def recall(self, kind: ResultKind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the result of *work*.

        Args:
            kind: Which function's result it is.
            given: Returns everything that the result depends on; equal bytes mean equal results.
            work: Computes the result.
        """
        _ = self, kind, given
        return work()

    def ahead(
        self, kinds: Sequence[ResultKind[Any]], given: Iterable[bytes], *, shares: bool = False
    ) -> None:
        """Take note of what will be asked for, so that other processes can begin with it.

        Args:
            kinds: Which functions' results these are; each kind has a `make`.
            given: What each result depends on.
            shares: Whether a share is left to this process, because the others have more to do.
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
    """A cache that can be saved to a file and loaded again; one that was loaded is to be closed.

    Args:
        known: Results from an earlier run.
        fresh: Takes those that this run adds.
    """

    keeps = True

    def __init__(
        self,
        known: Mapping[bytes, bytes] | None = None,
        fresh: PendingResults | None = None,
    ) -> None:
        self._known: Mapping[bytes, bytes] = {} if known is None else known
        self._used: set[bytes] = set()  # those known that this run has asked for
        self._fresh: dict[bytes, bytes] | PendingResults = {} if fresh is None else fresh
        self._room = MOST_BYTES if fresh is None else MOST_SAVED
        self._workers: Workers | None = None

    def employ(self, workers: Workers) -> None:
        """Let *workers* compute results ahead of their use."""
        self._workers = workers

    def ahead(
        self, kinds: Sequence[ResultKind[Any]], given: Iterable[bytes], *, shares: bool = False
    ) -> None:
        """Start to compute, in other processes, what is not known."""
        if self._workers is None:
            return
        keyed = (([make_result_key(kind, one) for kind in kinds], one) for one in given)
        unknown = (pair for pair in keyed if not all(map(self._known.__contains__, pair[0])))
        if shares:
            jobs = self._workers.jobs
            unknown = (pair for number, pair in enumerate(unknown, 1) if number % jobs)
        self._workers.start([kind.make for kind in kinds if kind.make], unknown, self._keep)

    def recall(self, kind: ResultKind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the cached result, or compute it with *work*."""
        if self._room < 0:
            return work()
        key = make_result_key(kind, given())
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
        if self._workers is not None:
            self._workers.wait_for(key, self._keep)
        try:
            known = self._known.get(key)
            if known is None:
                return self._fresh.get(key)
        except (OSError, ValueError):  # the file was cut short after it had been opened
            return None
        if key not in self._used:
            self._room -= _OVERHEAD + len(known)
            if self._room >= 0:
                self._used.add(key)
        return known

    def _keep(self, key: bytes, data: bytes) -> None:
        if key in self._fresh or key in self._known:
            return
        self._room -= _OVERHEAD + len(data)
        try:
            if self._room >= 0:
                self._fresh[key] = data
        except OSError:  # there is no room for the temporary file
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
            for one in (self._fresh, self._known, self._workers):
                held.callback(_close, one)

    def pack(self) -> Iterator[bytes]:
        """Return the content of a cache file with the results used so far, in parts.

        The file that results of an earlier run are in is closed then, so that it can be replaced.

        Raises:
            OSError, ValueError: That file cannot be read any more.
        """
        used = [key for key in self._known if key in self._used]  # in the order of their file
        held = (self._known, used), (self._fresh, [*self._fresh])
        yield _MAGIC + _seal(pack_results(held))
        yield from pack_results(held)
        _close(self._known)


def _close(held: object) -> None:
    if hasattr(held, "close"):  # a dictionary has no file
        held.close()


def cut_runs(things: Iterable[T], name: Callable[[T], bytes]) -> Iterator[Sequence[T]]:
    """Cut *things* into runs, so that one result can be kept for all of a run.

    A run ends by the name of its last thing: where one is added or removed, the other runs stay.
    """
    from zlib import crc32  # noqa: PLC0415 - who only opens an index needs none

    run: list[T] = []
    for thing in things:
        run.append(thing)
        if not crc32(name(thing)) % _PER_RUN:
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


def make_result_key(kind: ResultKind[T], given: bytes) -> bytes:
    """Return the key of the result of *kind* that depends on *given*."""
    return _sha256(b"%s\0%s" % (kind.name.encode(), given))


def load_build_cache(path: Path | str) -> StoredBuildCache:
    """Load a cache file; one that is missing, damaged or foreign is an empty cache."""
    with suppress(OSError):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    used = PendingResults(Path(path).parent)
    try:
        known = PackedResults(path, len(_MAGIC) + _DIGEST)
    except (OSError, ValueError, OverflowError, MemoryError):
        return StoredBuildCache(None, used)
    if known.head != _MAGIC + _seal(known.body()):
        known.close()
        return StoredBuildCache(None, used)
    return StoredBuildCache(known, used)


def save_build_cache(path: Path | str, memo: StoredBuildCache) -> None:
    """Save *memo* to the file at *path* atomically, unless nothing has changed.

    Raises:
        OutputError: The file cannot be written.
    """
    if memo.has_changed:
        atomic_write(path, memo.pack(), sync=False, special=False)


def _seal(body: Iterable[bytes]) -> bytes:
    """Return the SHA-256 of *body*, in parts, and the program that wrote it."""
    import hashlib  # noqa: PLC0415 - as above

    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return _sha256(_program() + digest.digest())


@cache
def _program() -> bytes:
    """Return a digest of the program: package files, interpreter, and text libraries.

    A version alone would not notice edits of the package.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    parts = [f"{sys.version} {sys.byteorder}".encode()]
    for name in _PACKAGES:
        try:
            parts.append(f" {name} {version(name)}".encode())
        except PackageNotFoundError:  # pragma: no cover - both are required
            parts.append(f" {name} unknown".encode())
    files = sorted(Path(__file__).parent.parent.rglob("*"))
    parts += [_sha256(one.read_bytes()) for one in files if one.is_file() and one.suffix != ".pyc"]
    return _sha256(b"".join(parts))


def _sha256(data: bytes) -> bytes:
    import hashlib  # noqa: PLC0415 - as above

    return hashlib.sha256(data).digest()
