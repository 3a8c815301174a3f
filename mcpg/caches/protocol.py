"""What a search cache does.

Keys are made by the engine and say everything that an answer depends on, so a cache has nothing to
invalidate: what is in it is true for ever, and is only forgotten to save room. Values are bytes,
which nobody can change behind a cache's back and every kind of storage can hold.
"""

from __future__ import annotations

from typing import Final, Protocol

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
