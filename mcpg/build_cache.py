"""A cache of the results of pure functions, kept between runs.

The key of a result is the SHA-256 of everything it depends on, so no entry can be stale. The file
is used only if its checksum is right and the same program wrote it; otherwise the cache is empty.
Times play no part.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from mcpg.errors import McpgError
from mcpg.files import atomic_write, read_bytes

T = TypeVar("T")

MOST_BYTES = 256 * 1024 * 1024
"""Maximum size of a cache, in memory and as a file; later results are not kept."""

_MAGIC = b"mcpgmemo"
_DIGEST = 32
_NUMBER = 8
# Packages whose versions decide what a text means.
_PACKAGES = ("PyYAML", "PyStemmer")


class Kind(NamedTuple, Generic[T]):
    """The results of one pure function.

    Attributes:
        name: What tells them from those of others.
        encode: Writes a result as bytes; `None` when it is not worth keeping.
        decode: Reads what `encode` wrote; may raise `ValueError`, `TypeError`, `KeyError`,
            `IndexError` or `AttributeError` for anything else.
    """

    name: str
    encode: Callable[[T], bytes | None]
    decode: Callable[[bytes], T]


class Memo:
    """A null cache: every result is computed."""

    def recall(self, kind: Kind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the result of *work*.

        Args:
            kind: Which function's result it is.
            given: Returns everything that the result depends on; equal bytes mean equal results.
            work: Computes the result.
        """
        _ = self, kind, given
        return work()


NO_MEMO = Memo()
"""The null cache."""


class KeptMemo(Memo):
    """A cache that can be saved to a file and loaded again."""

    def __init__(self, known: Mapping[bytes, bytes] | None = None) -> None:
        self._known = known or {}
        self._used: dict[bytes, bytes] = {}
        self._room = MOST_BYTES

    def recall(self, kind: Kind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Return the cached result, or compute it with *work*."""
        if self._room < 0:
            return work()
        key = _sha256(b"%s\0%s" % (kind.name.encode(), given()))
        known = self._known.get(key)
        if known is not None:
            try:
                result = kind.decode(known)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                return work()
            self._keep(key, known)
            return result
        result = work()
        data = kind.encode(result)
        if data is not None:
            self._keep(key, data)
        return result

    def _keep(self, key: bytes, data: bytes) -> None:
        if key not in self._used:
            self._room -= _DIGEST + _NUMBER + len(data)
            if self._room >= 0:
                self._used[key] = data

    @property
    def has_changed(self) -> bool:
        """Whether the results used differ from those loaded."""
        return self._used.keys() != self._known.keys()

    def renewed(self) -> KeptMemo:
        """Return a cache for the next run, with the results used in this one."""
        return KeptMemo(self._used)

    def pack(self) -> bytes:
        """Return the content of a cache file with the results used so far."""
        lengths = array("Q", [len(self._used), *map(len, self._used.values())])
        body = (lengths.tobytes(), *self._used, *self._used.values())
        return b"".join((_MAGIC, _seal(body), *body))


def load_memo(path: Path | str) -> KeptMemo:
    """Load a cache file; one that is missing, damaged or foreign is an empty cache."""
    try:
        data = read_bytes(path, 2 * MOST_BYTES)
    except McpgError:
        return KeptMemo()
    head = len(_MAGIC) + _DIGEST
    body = memoryview(data)[head:]
    if data[:head] != _MAGIC + _seal([body]):
        return KeptMemo()
    return KeptMemo(_unpacked(body))


def save_memo(path: Path | str, memo: KeptMemo) -> None:
    """Save *memo* to the file at *path* atomically, unless nothing has changed.

    Raises:
        OutputError: The file cannot be written.
    """
    if memo.has_changed:
        atomic_write(path, memo.pack(), sync=False, special=False)


def _unpacked(body: memoryview) -> dict[bytes, bytes]:
    (count,) = array("Q", bytes(body[:_NUMBER]))
    first = _NUMBER * (count + 1)
    lengths = array("Q", bytes(body[_NUMBER:first]))
    after_keys = first + _DIGEST * count
    keys = (bytes(body[at : at + _DIGEST]) for at in range(first, after_keys, _DIGEST))
    places = pairwise(accumulate(lengths, initial=after_keys))
    return {key: bytes(body[start:end]) for key, (start, end) in zip(keys, places, strict=True)}


def _seal(body: Iterable[bytes | memoryview]) -> bytes:
    """Return the SHA-256 of *body*, in parts, and the program that wrote it."""
    import hashlib  # noqa: PLC0415 - who only opens an index needs none

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
    files = sorted(Path(__file__).parent.rglob("*"))
    parts += [_sha256(one.read_bytes()) for one in files if one.is_file() and one.suffix != ".pyc"]
    return _sha256(b"".join(parts))


def _sha256(data: bytes) -> bytes:
    import hashlib  # noqa: PLC0415 - as above

    return hashlib.sha256(data).digest()
