"""What a host brings, such that it cannot hurt: a cache, and who makes vectors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.embeddings.provider import EmbeddingError, embedding_error
from mcpg.errors import McpgError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from mcpg.caches import SearchCache
    from mcpg.embeddings.provider import EmbeddingProvider

REST = 30.0
"""Seconds that what failed is left alone: what fails slowly costs a search much."""

SLOW = 1.0
"""Seconds from which on a failure is slow, so that a provider is left alone after it."""


def attribute_of(brought: Any, name: str) -> Any:
    """Give an attribute of what a host *brought*, `None` where it has none or raises."""
    try:
        return getattr(brought, name, None)
    except Exception:  # noqa: BLE001 - a property may raise whatever it likes
        return None


class GuardedCache:
    """Stands before a host's cache.

    A cache that fails is left alone for a while, so that one that is out of order does not slow
    down every search. May be shared between threads.
    """

    def __init__(self, cache: SearchCache, clock: Callable[[], float] = time.monotonic) -> None:
        """Stand before *cache*; *clock* tells the time in seconds."""
        self._cache = cache
        self._clock = clock
        # Time until which the cache is left alone, and why; one tuple, so never half of each.
        self._failed: tuple[float, str] | None = None

    def get(self, kind: str, key: str) -> bytes | None:
        """Give what the cache has; `None` also when it fails or gives anything but bytes."""
        if self._is_resting():
            return None
        try:
            found = self._cache.get(kind, key)
        except Exception as fault:  # noqa: BLE001 - a cache may raise whatever it likes
            self._rest(fault)
            return None
        return found if isinstance(found, bytes) else None

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Have the cache keep *value*, if it can."""
        if self._is_resting():
            return
        try:
            self._cache.put(kind, key, value)
        except Exception as fault:  # noqa: BLE001 - as above
            self._rest(fault)

    def noticed(self) -> tuple[Diagnostic, ...]:
        """Tell that the cache is out of order, if it is."""
        failed = self._failed
        if failed is None or not self._is_resting():
            return ()
        message = f"the search cache failed: {failed[1]}; answers are computed, and are not kept"
        return (warning(Code.SEARCH_CACHE_FAILED, message),)

    def _is_resting(self) -> bool:
        failed = self._failed
        return failed is not None and self._clock() < failed[0]

    def _rest(self, fault: Exception) -> None:
        # The text of a stranger's error may hold a password, so only its type is told.
        reason = fault.message if isinstance(fault, McpgError) else type(fault).__name__
        self._failed = (self._clock() + REST, reason)


class GuardedProvider:
    """Stands before a host's embedding provider; whatever that raises is an `EmbeddingError`.

    A provider that fails slowly is left alone for a while. May be shared between threads.
    """

    def __init__(
        self, provider: EmbeddingProvider, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Stand before *provider*; *clock* tells the time in seconds.

        Raises:
            EmbeddingError: It does not say who it is.
        """
        self._provider = provider
        self._clock = clock
        # Time until which the provider is left alone, and why; as in `GuardedCache`.
        self._failed: tuple[float, EmbeddingError] | None = None
        self.fingerprint = self._fingerprint()

    @property
    def dimensions(self) -> int | None:
        try:
            told = self._provider.dimensions
        except Exception as fault:
            raise _unspoken("dimensions", fault) from fault
        if not (told is None or isinstance(told, int)):
            raise EmbeddingError(f"{self.fingerprint} tells no dimensions", kind="dimensions")
        return told

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._provider.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.check_rest()
        start = self._clock()
        method = "embed_queries" if hasattr(self._provider, "embed_queries") else "embed"
        try:
            rows: NDArray[np.float32] = getattr(self._provider, method)(texts)
        except Exception as fault:
            self.rest_after(fault, start)
            raise
        return rows

    def now(self) -> float:
        """Give the time in seconds, as *clock* tells it."""
        return self._clock()

    def check_rest(self) -> None:
        """Raise what the provider failed with, while it is left alone.

        Raises:
            EmbeddingError: It failed slowly, not long ago.
        """
        failed = self._failed
        if failed is not None and self._clock() < failed[0]:
            kept = failed[1]
            raise EmbeddingError(kept.message, kind=kept.kind, place=kept.place, remedy=kept.remedy)

    def rest_after(self, fault: Exception, start: float) -> None:
        """Leave the provider alone for a while if it took long to fail, asked at *start*."""
        now = self._clock()
        if now - start >= SLOW:
            self._failed = (now + REST, embedding_error(self.fingerprint, fault))

    def _fingerprint(self) -> str:
        try:
            told = self._provider.fingerprint
        except Exception as fault:
            raise _unspoken("fingerprint", fault) from fault
        if not isinstance(told, str):
            raise EmbeddingError("the embedding provider has no fingerprint", kind="failed")
        return told


def _unspoken(what: str, fault: Exception) -> EmbeddingError:
    if isinstance(fault, EmbeddingError):
        return fault
    reason = type(fault).__name__
    return EmbeddingError(f"the {what} of the provider failed with {reason}", kind="failed")
