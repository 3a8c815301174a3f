"""Search caches: rewritten queries, query vectors and results that a host may store.

The engine makes the keys, which cover everything that a value depends on: a cache has nothing to
invalidate, and drops entries only to save room. Values are bytes, so no caller can change them and
every kind of storage can store them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Protocol

from mcpg import __version__
from mcpg.errors import UsageError

QUERY: Final = "query"
"""Kind of a query that a model has rewritten."""

VECTOR: Final = "vector"
"""Kind of the vector of a query."""

RESULT: Final = "result"
"""Kind of a whole result."""

KINDS = (QUERY, VECTOR, RESULT)


class SearchCache(Protocol):
    """Protocol of a search cache, which threads may share.

    An error that a method raises is reported as a diagnostic; the search continues without the
    cache.
    """

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the last value put under *key*, `None` if there is none or it has expired.

        *kind* is one of `KINDS`, which may use the same *key*: 64 hexadecimal digits.
        """
        ...

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store *value*, replacing an earlier value of *key*."""
        ...

    def close(self) -> None:
        """Release open resources."""
        ...


ENTRIES = 2_048
"""Default maximum number of entries."""

SLIDING = {QUERY: 1_800.0, VECTOR: 900.0, RESULT: 300.0}
"""Default seconds from last use to expiry, by kind, as in the .NET gateway."""

ABSOLUTE = 86_400.0
"""Default seconds from writing to expiry, however often an entry is used."""


@dataclass(slots=True)
class _CacheEntry:
    value: bytes
    expires: float
    expires_unused: float


class MemoryCache:
    """A bounded cache in memory that evicts the least recently used entry."""

    def __init__(
        self,
        entries: int = ENTRIES,
        absolute: float = ABSOLUTE,
        sliding: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an empty cache.

        It has at most so many *entries* of all kinds. They expire *absolute* seconds after they
        were written, and *sliding* seconds, `None` for `SLIDING`, after their last use.
        """
        check_bounds(entries, absolute, sliding)
        self._most = entries
        self._absolute = absolute
        self._sliding = SLIDING if sliding is None else dict.fromkeys(SLIDING, sliding)
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], _CacheEntry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Number of entries, including expired entries that were not read since."""
        return len(self._entries)

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the value and extend its life; `None` when it has expired."""
        now = self._clock()
        with self._lock:
            entry = self._entries.get((kind, key))
            if entry is None:
                return None
            if now >= min(entry.expires, entry.expires_unused):
                del self._entries[kind, key]
                return None
            entry.expires_unused = now + self._sliding.get(kind, self._absolute)
            self._entries.move_to_end((kind, key))
            return entry.value

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store a copy of *value*, evicting entries above the maximum."""
        now = self._clock()
        idle = self._sliding.get(kind, self._absolute)
        kept = _CacheEntry(bytes(value), now + self._absolute, now + idle)
        with self._lock:
            self._entries[kind, key] = kept
            self._entries.move_to_end((kind, key))
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def close(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()


def check_bounds(entries: int, absolute: float, sliding: float | None) -> None:
    """Check the bounds of a cache."""
    if entries < 1:
        raise UsageError(f"a cache of {entries} entries keeps nothing", remedy="use NoCache")
    for name, seconds in (("absolute", absolute), ("sliding", sliding)):
        # Written so that NaN is refused too.
        if seconds is not None and not seconds > 0:
            message = f"the {name} expiry is {seconds} seconds"
            raise UsageError(message, remedy="give it a number of seconds above 0")


class NoCache:
    """A null cache: every search is computed."""

    def get(self, kind: str, key: str) -> None:
        """Return `None`."""

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""


_DIGEST_SIZE = 32


def make_key(*parts: Any) -> str:
    """Return the key of what depends on *parts*, which are JSON values, and on this mcpg."""
    return hashlib.sha256(json_bytes([__version__, *parts])).hexdigest()


def add_digest(payload: bytes, key: str) -> bytes:
    """Return *payload* under a digest of itself and of the *key* that it is kept under."""
    return hashlib.sha256(key.encode() + b"\n" + payload).digest() + payload


def check_digest(data: bytes | None, key: str) -> bytes | None:
    """Return the data sealed for *key*, `None` if *data* differs from it in any bit."""
    if not data:
        return None
    payload = data[_DIGEST_SIZE:]
    return payload if hmac.compare_digest(data, add_digest(payload, key)) else None


def json_bytes(part: Any) -> bytes:
    """Return *part* as JSON, such that other texts have other bytes, halves of surrogates too."""
    text = json.dumps(part, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
