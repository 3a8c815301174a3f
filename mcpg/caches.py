"""Search caches: what a host may keep of normalised queries, query vectors and results."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from mcpg.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ABSOLUTE",
    "ENTRIES",
    "KINDS",
    "QUERY",
    "RESULT",
    "SLIDING",
    "VECTOR",
    "MemoryCache",
    "NoCache",
    "SearchCache",
]

# SECTION protocol: What a search cache does.
#
# Keys are made by the engine and say everything that an answer depends on, so a cache has nothing
# to invalidate: what is in it is true for ever, and is only forgotten to save room. Values are
# bytes, which nobody can change behind a cache's back and every kind of storage can hold.


QUERY: Final = "query"
"""Kind of a query that a model has rewritten."""

VECTOR: Final = "vector"
"""Kind of the vector of a query."""

RESULT: Final = "result"
"""Kind of a whole result."""

KINDS = (QUERY, VECTOR, RESULT)


class SearchCache(Protocol):
    """Keeps values by kind and key, or forgets them: a search never depends on it.

    May be shared between threads. What a method raises is told as a diagnostic; no search fails.
    """

    def get(self, kind: str, key: str) -> bytes | None:
        """Give what was put under *key* last, `None` if nothing was or it is forgotten.

        Args:
            kind: One of `KINDS`; the same key may be used in each.
            key: Hexadecimal digits, 64 of them.
        """
        ...

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep *value*, instead of what was put under *key* before."""
        ...

    def close(self) -> None:
        """Let go of what is held open."""
        ...


# SECTION memory: A cache in the memory of one process.


ENTRIES = 2_048
"""Entries that are kept unless more or fewer are asked for."""

SLIDING = {QUERY: 1_800.0, VECTOR: 900.0, RESULT: 300.0}
"""Seconds after its last use that an entry of each kind is forgotten, unless others are asked for:
those of the .NET gateway."""

ABSOLUTE = 86_400.0
"""Seconds after it was put that an entry is forgotten, however often it is used."""


@dataclass(slots=True)
class _Entry:
    value: bytes
    dies: float
    sleeps: float


class MemoryCache:
    """Keeps a bounded number of entries; the least recently used goes first."""

    def __init__(
        self,
        entries: int = ENTRIES,
        absolute: float = ABSOLUTE,
        sliding: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty cache.

        Args:
            entries: The most that are kept, of all kinds together; at least 1.
            absolute: Seconds that an entry lives at most; above 0.
            sliding: Seconds that an entry lives unused, above 0; `None` for `SLIDING`.
            clock: Tells the time in seconds; it never goes back.

        Raises:
            UsageError: A bound makes no sense.
        """
        check_bounds(entries, absolute, sliding)
        self._most = entries
        self._absolute = absolute
        self._sliding = SLIDING if sliding is None else dict.fromkeys(SLIDING, sliding)
        self._clock = clock
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Count the entries, those among them that have expired and were not asked for since."""
        return len(self._entries)

    def get(self, kind: str, key: str) -> bytes | None:
        """Give what is kept, and keep it for longer; `None` when it has expired."""
        now = self._clock()
        with self._lock:
            entry = self._entries.get((kind, key))
            if entry is None:
                return None
            if now >= min(entry.dies, entry.sleeps):
                del self._entries[kind, key]
                return None
            entry.sleeps = now + self._unused(kind)
            self._entries.move_to_end((kind, key))
            return entry.value

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep a copy of *value*; where there are too many entries, forget the least used."""
        now = self._clock()
        kept = _Entry(bytes(value), now + self._absolute, now + self._unused(kind))
        with self._lock:
            self._entries[kind, key] = kept
            self._entries.move_to_end((kind, key))
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def _unused(self, kind: str) -> float:
        return self._sliding.get(kind, self._absolute)


def check_bounds(entries: int, absolute: float, sliding: float | None) -> None:
    """Check the bounds of a cache.

    Raises:
        UsageError: One makes no sense.
    """
    if entries < 1:
        raise UsageError(f"a cache of {entries} entries keeps nothing", remedy="use NoCache")
    for name, seconds in (("absolute", absolute), ("sliding", sliding)):
        # Not a number is above nothing, too.
        if seconds is not None and not seconds > 0:
            message = f"the {name} expiry is {seconds} seconds"
            raise UsageError(message, remedy="give it a number of seconds above 0")


# SECTION none: The cache that keeps nothing.


class NoCache:
    """Keeps nothing: every search is computed."""

    def get(self, kind: str, key: str) -> None:
        """Give nothing."""

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""
