"""Circuit breakers around what a host brings: a cache, an embedding provider, a normaliser.

Whatever these raise stays harmless, and what fails slowly is not called again for a while, so that
it does not slow down every search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcpg.caches import SearchCache
from mcpg.embeddings.provider import (
    KINDS_OF_TEXTS,
    EmbeddingError,
    EmbeddingProvider,
    embedding_error,
)
from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.net.connections import WorkOutcome, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Reason = TypeVar("Reason")

RESET_SECONDS = 30.0
"""Seconds that a circuit stays open: what fails slowly costs a search much."""

SLOW = 1.0
"""Seconds from which on a failure is slow."""

_SLUGGISH = f"it took longer than {SLOW:g} s"

USUAL_SECONDS = 5.0
"""How long a normaliser may take that does not say."""

GRACE = 0.25
"""Seconds beyond that, for a normaliser that keeps its own time to say what went wrong."""


class CircuitBreaker(Generic[Reason]):
    """A circuit that opens after a failure and closes by itself; may be shared between threads.

    Source: Nygard, "Release It!", 2007, chapter 5.2; there is no half-open state, the first call
    after the time is the trial.
    """

    def __init__(self, clock: Callable[[], float], seconds: float = RESET_SECONDS) -> None:
        """Close the circuit; once open it stays so for *seconds* of *clock*."""
        self.now = clock
        self._seconds = seconds
        # The end of the open state, and its reason; one tuple, so never half of each.
        self._opened: tuple[float, Reason] | None = None

    @property
    def reason(self) -> Reason | None:
        """The failure that opened the circuit; `None` when it is closed."""
        opened = self._opened
        return opened[1] if opened is not None and self.now() < opened[0] else None

    def open(self, reason: Reason) -> None:
        self._opened = (self.now() + self._seconds, reason)

    def open_if_slow(self, reason: Reason, start: float) -> None:
        """Open the circuit if the call that began at *start* took long."""
        if self.now() - start >= SLOW:
            self.open(reason)


def read_host_attribute(brought: Any, name: str) -> Any:
    """Return an attribute of what a host *brought*, `None` where it has none or raises."""
    try:
        return getattr(brought, name, None)
    except Exception:  # noqa: BLE001 - a property may raise whatever it likes
        return None


class GuardedCache:
    """A host's cache behind a circuit breaker; may be shared between threads.

    A cache that takes long helps nobody, so it is left alone for a while as well.
    """

    def __init__(self, cache: SearchCache, clock: Callable[[], float] = time.monotonic) -> None:
        """Guard *cache*; *clock* returns the time in seconds."""
        self._cache = cache
        self._breaker: CircuitBreaker[str] = CircuitBreaker(clock)

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the entry; `None` also if the cache fails or returns anything but bytes."""
        if self._breaker.reason is not None:
            return None
        start = self._breaker.now()
        try:
            found = self._cache.get(kind, key)
        except Exception as fault:  # noqa: BLE001 - a cache may raise whatever it likes
            self._note_failure(fault)
            return None
        self._breaker.open_if_slow(_SLUGGISH, start)
        return found if isinstance(found, bytes) else None

    def put(self, kind: str, key: str, value: bytes) -> None:
        if self._breaker.reason is not None:
            return
        start = self._breaker.now()
        try:
            self._cache.put(kind, key, value)
        except Exception as fault:  # noqa: BLE001 - as above
            self._note_failure(fault)
            return
        self._breaker.open_if_slow(_SLUGGISH, start)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return a warning while the circuit is open."""
        reason = self._breaker.reason
        if reason is None:
            return ()
        message = f"the search cache failed: {reason}; answers are computed, and are not kept"
        return (warning(Code.SEARCH_CACHE_FAILED, message),)

    def _note_failure(self, fault: Exception) -> None:
        # The text of a stranger's error may hold a password: only its type is reported.
        self._breaker.open(fault.message if isinstance(fault, McpgError) else type(fault).__name__)


class GuardedEmbeddings:
    """A host's embedding provider behind a circuit breaker that slow failures open.

    May be shared between threads.
    """

    def __init__(
        self, provider: EmbeddingProvider, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Guard *provider*; *clock* returns the time in seconds.

        Raises:
            EmbeddingError: It has no fingerprint.
        """
        self._provider = provider
        self._breaker: CircuitBreaker[EmbeddingError] = CircuitBreaker(clock)
        try:
            fingerprint = self._provider.fingerprint
        except Exception as fault:
            raise _to_embedding_error("fingerprint", fault) from fault
        if not isinstance(fingerprint, str):
            raise EmbeddingError("the embedding provider has no fingerprint", kind="failed")
        self.fingerprint = fingerprint

    @property
    def dimensions(self) -> int | None:
        try:
            dimensions = self._provider.dimensions
        except Exception as fault:
            raise _to_embedding_error("dimensions", fault) from fault
        if not (dimensions is None or isinstance(dimensions, int)):
            raise EmbeddingError(f"{self.fingerprint} tells no dimensions", kind="dimensions")
        return dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._provider.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.check_circuit()
        start = self.now()
        method = "embed_queries" if hasattr(self._provider, "embed_queries") else "embed"
        try:
            rows: NDArray[np.float32] = getattr(self._provider, method)(texts)
        except Exception as fault:
            self.open_after(fault, start)
            raise
        return rows

    def now(self) -> float:
        return self._breaker.now()

    def check_circuit(self) -> None:
        """Check that the circuit is closed.

        Raises:
            EmbeddingError: It is open; this is the failure that opened it.
        """
        kept = self._breaker.reason
        if kept is not None:
            raise EmbeddingError(kept.message, kind=kept.kind, place=kept.place, remedy=kept.remedy)

    def open_after(self, fault: Exception, start: float) -> None:
        """Open the circuit if the call that began at *start* took long to fail.

        A text that cannot be embedded does not open it: others can be.
        """
        error = embedding_error(self.fingerprint, fault)
        if error.kind not in KINDS_OF_TEXTS:
            self._breaker.open_if_slow(error, start)


def _to_embedding_error(what: str, fault: Exception) -> EmbeddingError:
    if isinstance(fault, EmbeddingError):
        return fault
    reason = type(fault).__name__
    return EmbeddingError(f"the {what} of the provider failed with {reason}", kind="failed")


class GuardedNormalizer:
    """A host's normaliser with a time limit, behind a circuit breaker that slow failures open.

    May be shared between threads.
    """

    def __init__(self, normalizer: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """Guard *normalizer*; *clock* returns the time in seconds."""
        self._normalizer = normalizer
        self._breaker: CircuitBreaker[str] = CircuitBreaker(clock)

    @property
    def fingerprint(self) -> str:
        """Who rewrites.

        Raises:
            McpgError: It does not say.
        """
        fingerprint = read_host_attribute(self._normalizer, "fingerprint")
        if not isinstance(fingerprint, str):
            raise McpgError("what rewrites queries has no fingerprint")
        return fingerprint

    def rewrite(self, query: str) -> str:
        """Return what the normaliser makes of *query*.

        Only whoever interrupts the waiting is heard, and nothing that the normaliser itself raises.

        Raises:
            McpgError: It failed, took too long, or is left alone.
        """
        reason = self._breaker.reason
        if reason is None:
            start, seconds = self._breaker.now(), self._seconds()
            ended = within(seconds + GRACE, lambda _: self._normalizer.rewrite(query))
            if ended is not None and isinstance(ended.result, str):
                return ended.result
            reason = _reason(ended, seconds)
            self._breaker.open_if_slow(reason, start)
        raise McpgError(reason)

    def _seconds(self) -> float:
        seconds = read_host_attribute(self._normalizer, "seconds")
        is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        return float(seconds) if is_time else USUAL_SECONDS


def _reason(ended: WorkOutcome[Any] | None, seconds: float) -> str:
    if ended is None:
        return f"nothing rewrote it within {seconds:g} seconds"
    if isinstance(ended.fault, McpgError):
        return str(ended.fault)
    if ended.fault is not None:
        # The text of a stranger's error may hold a key: only its type is reported.
        return f"rewriting ended in {type(ended.fault).__name__}"
    return f"it was rewritten as {type(ended.result).__name__}, which is no text"
