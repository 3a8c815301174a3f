"""What pure functions gave for which input, kept from one run to the next.

Each result stands under the SHA-256 of everything it depends on, so that it can be stale in no
way: another input has another key. The file that holds them is believed only when it is whole, by
its own SHA-256, and was written by the very same program; else nothing is known, and everything
is worked out again. A time is never looked at.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from mcpg.errors import McpgError
from mcpg.files import atomic_write, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

MOST_BYTES = 256 * 1024 * 1024
"""The most that a file of results may take; what comes later is not kept."""

_MAGIC = b"mcpgmemo"
_DIGEST = hashlib.sha256().digest_size
_NUMBER = 8
# Packages whose versions decide what a text means.
_PACKAGES = ("PyYAML", "PyStemmer")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
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
    """A memory that forgets everything at once: what is asked for is worked out."""

    def recall(self, kind: Kind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Give what *work* gives.

        Args:
            kind: Which function's result it is.
            given: Gives everything that the result depends on; equal bytes mean equal results.
            work: Works the result out.
        """
        _ = self, kind, given
        return work()


NO_MEMO = Memo()
"""What whoever needs no memory hands on."""


class KeptMemo(Memo):
    """A memory that can be put into a file: what was worked out before is read back."""

    def __init__(self, known: Mapping[bytes, bytes] | None = None) -> None:
        self._known = known or {}
        self._used: dict[bytes, bytes] = {}

    def recall(self, kind: Kind[T], given: Callable[[], bytes], work: Callable[[], T]) -> T:
        """Give what *work* gives, from memory where it was worked out before."""
        key = hashlib.sha256(b"%s\0%s" % (kind.name.encode(), given())).digest()
        known = self._known.get(key)
        if known is not None:
            try:
                result = kind.decode(known)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                return work()
            self._used[key] = known
            return result
        result = work()
        data = kind.encode(result)
        if data is not None:
            self._used[key] = data
        return result

    @property
    def has_changed(self) -> bool:
        """Whether other results were asked for than are known from before."""
        return self._used.keys() != self._known.keys()

    def renewed(self) -> KeptMemo:
        """Give a memory for the next run, which knows what was asked for in this one."""
        return KeptMemo(self._used)

    def pack(self) -> bytes:
        """Give the file of what was asked for since this memory was made."""
        kept = list(_within(self._used, MOST_BYTES))
        lengths = array("Q", [len(kept), *(len(data) for _, data in kept)])
        keys, parts = (
            (b"".join(column) for column in zip(*kept, strict=True)) if kept else (b"", b"")
        )
        body = lengths.tobytes() + keys + parts
        return b"".join((_MAGIC, _seal(body), body))


def load_memo(path: Path | str) -> KeptMemo:
    """Read the file of a memory; one that is missing, damaged or foreign holds nothing."""
    try:
        data = read_bytes(path, 2 * MOST_BYTES)
    except McpgError:
        return KeptMemo()
    head = len(_MAGIC) + _DIGEST
    body = data[head:]
    if data[:head] != _MAGIC + _seal(body):
        return KeptMemo()
    return KeptMemo(_unpacked(body))


def save_memo(path: Path | str, memo: KeptMemo) -> None:
    """Put *memo* into the file at *path*, wholly or not at all, unless the file says the same.

    Raises:
        OutputError: The file cannot be written.
    """
    if memo.has_changed:
        atomic_write(path, memo.pack(), sync=False)


def _within(results: Mapping[bytes, bytes], most: int) -> Iterator[tuple[bytes, bytes]]:
    """Give the first of *results* that take no more than *most* bytes together."""
    ends = accumulate(_DIGEST + _NUMBER + len(data) for data in results.values())
    return (item for item, end in zip(results.items(), ends, strict=True) if end <= most)


def _unpacked(body: bytes) -> dict[bytes, bytes]:
    (count,) = array("Q", body[:_NUMBER])
    first = _NUMBER * (count + 1)
    lengths = array("Q", body[_NUMBER:first])
    after_keys = first + _DIGEST * count
    keys = (body[at : at + _DIGEST] for at in range(first, after_keys, _DIGEST))
    places = pairwise(accumulate(lengths, initial=after_keys))
    return {key: body[start:end] for key, (start, end) in zip(keys, places, strict=True)}


def _seal(body: bytes) -> bytes:
    """Give the SHA-256 of *body* together with the program that wrote it."""
    return hashlib.sha256(_program() + hashlib.sha256(body).digest()).digest()


@cache
def _program() -> bytes:
    """Name the program: every file of the package, the interpreter, and what it reads texts with.

    A version alone would take the results of a package for those of one that was edited since.
    """
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to import

    digest = hashlib.sha256(f"{sys.version} {sys.byteorder}".encode())
    for name in _PACKAGES:
        try:
            digest.update(f" {name} {version(name)}".encode())
        except PackageNotFoundError:  # pragma: no cover - both are required
            digest.update(f" {name} unknown".encode())
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()
