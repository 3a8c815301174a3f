"""Where a build cache holds results: a packed file to read from, and a spool to write to.

Keys alone are in memory. A result is read when it is used, and a new one waits in a temporary file
until the cache is saved.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING

from mcpg.files import open_at_once

if TYPE_CHECKING:
    from pathlib import Path

_DIGEST = 32
_NUMBER = 8
_IN_MEMORY = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


class Results(Mapping[bytes, bytes]):
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

    def sizes(self) -> Iterator[int]:
        """Return the size of each result, in order."""
        return (end - start for start, end in pairwise(self._ends))

    def content(self) -> Iterator[bytes]:
        """Return the results, one after the other, in parts."""
        for start in range(self._ends[0], self._ends[-1], _CHUNK):
            yield _read(self._file, start, min(_CHUNK, self._ends[-1] - start))

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        self._file.close()

    def __getitem__(self, key: bytes) -> bytes:
        place = self._places[key]
        with self._lock:
            return _read(self._file, self._ends[place], self._ends[place + 1] - self._ends[place])

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Packed(Results):
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
            self.head = _read(file, 0, head)
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


class Spool(Results):
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


def packed(results: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Return what a packed file of *results* holds after its head, in parts."""
    if isinstance(results, Results):
        sizes: Iterator[int] = results.sizes()
        content = results.content()
    else:
        sizes, content = map(len, results.values()), iter(results.values())
    yield array("Q", [len(results), *sizes]).tobytes()
    yield from results
    yield from content


def _contents(file: IO[bytes], head: int) -> tuple[list[bytes], array[int]]:
    """Return the keys in a packed file, where its first result begins and where each ends."""
    (count,) = array("Q", _read(file, head, _NUMBER))
    if count * (_NUMBER + _DIGEST) > file.seek(0, SEEK_END):
        raise ValueError("the file ends early")
    lengths = array("Q", _read(file, head + _NUMBER, _NUMBER * count))
    first = head + _NUMBER * (count + 1)
    keys = _read(file, first, _DIGEST * count)
    ends = array("Q", accumulate(lengths, initial=first + len(keys)))
    return [keys[at : at + _DIGEST] for at in range(0, len(keys), _DIGEST)], ends


def _read(file: IO[bytes], start: int, length: int) -> bytes:
    file.seek(start)
    data = file.read(length)
    if len(data) != length:
        raise ValueError("the file ends early")
    return data
