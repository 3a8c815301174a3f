"""Where a build cache holds results: a packed file to read from, and a spool to write to.

Keys alone are in memory. A result is read when it is used, and a new one waits in a temporary file
until the cache is saved.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, Any

from mcpg.files import open_at_once

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
