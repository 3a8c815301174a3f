"""Candidates from an external source, for catalogs too large for one process.

The source selects tools; the engine ranks them by its own features, as its own candidates. If a
source fails, the engine selects candidates itself, and the search only takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mcpg.embeddings.provider import (
    KINDS_OF_TEXTS,
    EmbeddingError,
    EmbeddingProvider,
    embedding_error,
)
from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.index import Index
from mcpg.index.layout import ABSENT, NO_KEY
from mcpg.net.http import within
from mcpg.search.query import Analysis
from mcpg.search.query_terms import related_words
from mcpg.search.retrieval import POOL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mcpg.search.caches import SearchCache


Reason = TypeVar("Reason")

RESET_SECONDS = 30.0
"""Seconds that a circuit stays open: what fails slowly costs a search much."""

SLOW = 1.0
"""Seconds from which on a failure is slow."""

_SLUGGISH = f"it took longer than {SLOW:g} s"

USUAL_SECONDS = 5.0
"""Time limit of a rewriter that sets none, in seconds."""

GRACE = 0.25
"""Seconds beyond its own limit in which a rewriter can report its error."""


class CircuitBreaker(Generic[Reason]):
    """A circuit that opens after a failure and closes by itself; may be shared between threads.

    Source: Nygard, "Release It!", 2007, chapter 5.2; instead of a half-open state, the first call
    after the time is the trial.
    """

    def __init__(self, clock: Callable[[], float], seconds: float = RESET_SECONDS) -> None:
        """Close the circuit; once open it stays so for *seconds* of *clock*."""
        self.now = clock
        self._seconds = seconds
        # The end of the open state, and its reason; one tuple, so both change at once.
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
    """Return an attribute of what a host *brought*, `None` if it has none or raises."""
    try:
        return getattr(brought, name, None)
    except Exception:  # noqa: BLE001 - a property may raise whatever it likes
        return None


def read_seconds(brought: Any) -> float:
    """Return the time limit that a host set for what it *brought*, else `USUAL_SECONDS`."""
    seconds = read_host_attribute(brought, "seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        return USUAL_SECONDS
    # An integer may be too large for a float.
    return float(min(seconds, TIMEOUT_MAX))


class GuardedCache:
    """A host's cache behind a circuit breaker; may be shared between threads.

    A slow cache is useless, so it is skipped for a while, too.
    """

    def __init__(self, cache: SearchCache, clock: Callable[[], float] = time.monotonic) -> None:
        """Guard *cache*; *clock* returns the time in seconds."""
        self._cache = cache
        self._breaker: CircuitBreaker[str] = CircuitBreaker(clock)

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the entry; `None` also if the cache fails or returns anything but bytes."""
        found = self._call("get", kind, key)
        return found if isinstance(found, bytes) else None

    def put(self, kind: str, key: str, value: bytes) -> None:
        self._call("put", kind, key, value)

    def _call(self, method: str, *given: object) -> object:
        if self._breaker.reason is not None:
            return None
        start = self._breaker.now()
        try:
            found: object = getattr(self._cache, method)(*given)
        except Exception as fault:  # noqa: BLE001 - a cache may raise whatever it likes
            # A foreign error may contain a password, so only its type is reported.
            reason = fault.message if isinstance(fault, McpgError) else type(fault).__name__
            self._breaker.open(reason)
            return None
        self._breaker.open_if_slow(_SLUGGISH, start)
        return found

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return a warning while the circuit is open."""
        reason = self._breaker.reason
        if reason is None:
            return ()
        message = f"the search cache failed: {reason}; answers are computed, and are not kept"
        return (warning(Code.SEARCH_CACHE_FAILED, message),)


class GuardedEmbeddings:
    """A host's embedding provider behind a circuit breaker that slow failures open.

    May be shared between threads.
    """

    def __init__(
        self, provider: EmbeddingProvider, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Guard *provider*; *clock* returns the time in seconds."""
        self._provider = provider
        self._breaker: CircuitBreaker[EmbeddingError] = CircuitBreaker(clock)
        fingerprint = self._read("fingerprint")
        if not isinstance(fingerprint, str):
            raise EmbeddingError("the embedding provider has no fingerprint", kind="failed")
        self.fingerprint = fingerprint

    @property
    def dimensions(self) -> int | None:
        dimensions = self._read("dimensions")
        if not (dimensions is None or isinstance(dimensions, int)):
            raise EmbeddingError(f"{self.fingerprint} has no dimensions", kind="dimensions")
        return dimensions

    def _read(self, name: str) -> object:
        try:
            return getattr(self._provider, name)
        except EmbeddingError:
            raise
        except Exception as fault:
            message = f"the {name} of the provider failed with {type(fault).__name__}"
            raise EmbeddingError(message, kind="failed") from fault

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._provider.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.check_circuit()
        start = self._breaker.now()
        method = "embed_queries" if hasattr(self._provider, "embed_queries") else "embed"
        try:
            rows: NDArray[np.float32] = getattr(self._provider, method)(texts)
        except Exception as fault:
            self.open_after(fault, start)
            raise
        return rows

    def check_circuit(self) -> None:
        """Check that the circuit is closed.

        If it is open, the failure that opened it is raised.
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


class GuardedRewriter:
    """A host's rewriter with a time limit, behind a circuit breaker that slow failures open.

    May be shared between threads.
    """

    def __init__(self, rewriter: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """Guard *rewriter*; *clock* returns the time in seconds."""
        self._rewriter = rewriter
        self._breaker: CircuitBreaker[str] = CircuitBreaker(clock)

    @property
    def fingerprint(self) -> str:
        """Who rewrites."""
        fingerprint = read_host_attribute(self._rewriter, "fingerprint")
        if not isinstance(fingerprint, str):
            raise McpgError("the query rewriter has no fingerprint")
        return fingerprint

    def rewrite(self, query: str) -> str:
        """Return the *query* as rewritten by the rewriter.

        Interrupts of the waiting thread pass through, exceptions of the rewriter do not. If it
        failed, timed out, or is skipped after a failure, this is an `McpgError`.
        """
        reason = self._breaker.reason
        if reason is None:
            start = self._breaker.now()
            seconds = read_seconds(self._rewriter)
            ended = within(seconds + GRACE, lambda _: self._rewriter.rewrite(query))
            if ended is not None and isinstance(ended.result, str):
                return ended.result
            if ended is None:
                reason = f"nothing rewrote it within {seconds:g} seconds"
            elif isinstance(ended.fault, McpgError):
                reason = str(ended.fault)
            elif ended.fault is not None:
                # An error of a rewriter may contain a key, so only its type is reported.
                reason = f"rewriting ended in {type(ended.fault).__name__}"
            else:
                reason = f"it was rewritten as {type(ended.result).__name__}, not as text"
            self._breaker.open_if_slow(reason, start)
        raise McpgError(reason)


Answer = TypeVar("Answer")

COUNT = 200
"""The number of candidates requested from a source: ten times the pool."""

SOURCE_RESET_SECONDS = 15.0
"""Seconds that the circuit to a source stays open: slow failures cost searches much."""


class CandidateSource(Protocol):
    """Selects the tools of a catalog that may answer a query.

    May be shared between threads. A source may also have

    - a `fingerprint`, a text that changes with its selection; without it, no result is cached;
    - `of(key)`, which returns the source for the catalog of the bundle with that SHA-256, in
      hexadecimal;
    - `by(maker)`, which returns the source that compares only vectors of the provider with that
      fingerprint;
    - `offered()`, which returns the source without tools that are off by default.
    """

    def candidates(self, query: str, vector: NDArray[np.float32] | None, count: int) -> list[str]:
        """Return the ids of up to *count* tools, the most likely first.

        The *query* has the words of the query, corrected and translated by the engine; an unknown
        word is followed by the most related known one. The *vector* of the query is of shape
        (dimensions,).
        """
        ...


def narrow_source(
    source: CandidateSource, index: Index, *, includes_disabled: bool = True
) -> CandidateSource:
    """Return the *source* narrowed to the catalog of *index* and offered tools."""
    if index.header.key != NO_KEY:
        source = _try_narrowing(source, "of", index.header.key.hex())
    return source if includes_disabled else _try_narrowing(source, "offered")


def _try_narrowing(source: CandidateSource, how: str, *which: str) -> CandidateSource:
    narrow = getattr(source, how, None)
    if narrow is None:
        return source
    found: CandidateSource = narrow(*which)
    return found


class GuardedSource:
    """Queries a source, and skips it for a while after a failure.

    May be shared between threads.
    """

    def __init__(
        self, find: Callable[[], CandidateSource], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._find = find
        self._source: CandidateSource | None = None
        self._breaker: CircuitBreaker[str] = CircuitBreaker(clock, SOURCE_RESET_SECONDS)

    def ask(
        self, query: str, vector: NDArray[np.float32] | None, maker: str = ""
    ) -> tuple[list[str], str]:
        """Return the ids that the source chose, and why it failed; "" when it did not.

        *query* is the text of the request, *maker* the fingerprint of the *vector*'s provider.
        """

        def choose(source: CandidateSource) -> list[str]:
            if vector is not None:
                source = _try_narrowing(source, "by", maker)
            chosen = list(islice(source.candidates(query, vector, COUNT), COUNT))
            if not all(isinstance(one, str) for one in chosen):
                raise McpgError("it gave something else than ids of tools")
            return chosen

        chosen, reason = self._ask_guarded(choose)
        return chosen or [], reason

    def fingerprint(self) -> str | None:
        """Return the fingerprint of the source, `None` if it has none or fails."""
        found, _ = self._ask_guarded(lambda source: getattr(source, "fingerprint", None))
        return found if isinstance(found, str) else None

    def select(self, index: Index, excluded: frozenset[int]) -> CandidateSelection:
        """Return the choice for one search of *index*, which leaves out the *excluded* tools."""
        return CandidateSelection(self, index, excluded)

    def _ask_guarded(self, ask: Callable[[CandidateSource], Answer]) -> tuple[Answer | None, str]:
        failure = self._breaker.reason
        if failure is not None:
            return None, failure
        try:
            if self._source is None:
                self._source = self._find()
            return ask(self._source), ""
        except Exception as fault:  # noqa: BLE001 - a source may raise whatever it likes
            # A foreign error may contain a password, so only its type is reported.
            reason = str(fault) if isinstance(fault, McpgError) else type(fault).__name__
            self._breaker.open(reason)
            return None, reason


class CandidateSelection:
    """What a source chose for one search."""

    def __init__(
        self, guarded_source: GuardedSource, index: Index, excluded: frozenset[int]
    ) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._source, self._index, self._excluded = guarded_source, index, excluded
        self._vector: NDArray[np.float32] | None = None
        self._maker = ""

    def know(self, vector: NDArray[np.float32], maker: str) -> None:
        """Pass the source the *vector* of the query and the fingerprint of its *maker*."""
        self._vector, self._maker = vector, maker

    def among(self, analysis: Analysis) -> frozenset[int] | None:
        """Return the documents to choose from; `None` when the engine has to look for itself."""
        words = []
        for clause in analysis.clauses:
            if clause.repairs:
                words.append(clause.repairs[0].word)
            else:
                near = related_words(clause, self._index)[:1]
                words += [clause.text, *(one.word for one in near)]
        chosen, reason = self._source.ask(" ".join(words), self._vector, self._maker)
        documents = frozenset(map(self._index.find_tool, chosen))
        if ABSENT in documents:
            reason = "it has another catalog than this index: publish this one"
        if reason:
            message = f"the candidate source failed: {reason}; searched the index instead"
            self.diagnostics = (warning(Code.CANDIDATES_FAILED, message),)
            return None
        visible = documents - self._excluded
        # Excluded tools may have taken the places of others that the source would have chosen.
        if len(visible) < POOL and len(chosen) == COUNT:
            return None
        return visible or None
