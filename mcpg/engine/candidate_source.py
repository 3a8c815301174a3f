"""Candidates that a source outside chooses, for catalogues too large for one process.

The source says which tools are worth a look; the engine ranks them by its own features as it ranks
those that it finds itself. A source that fails costs the search nothing but the time it took: the
engine then looks for itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from mcpg.engine.circuit_breaker import CircuitBreaker
from mcpg.engine.query import Analysis
from mcpg.engine.query_terms import QueryTerm, related_words
from mcpg.engine.retrieval import POOL
from mcpg.errors import Code, Diagnostic, McpgError, warning
from mcpg.index import Index
from mcpg.index.layout import ABSENT, NO_KEY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Answer = TypeVar("Answer")

COUNT = 200
"""How many candidates a source is asked for: ten times the pool."""

SOURCE_RESET_SECONDS = 15.0
"""Seconds that the circuit to a source stays open: slow failures cost searches much."""


class CandidateSource(Protocol):
    """Knows a catalogue, and which of its tools may answer a query.

    May be shared between threads. A source may also have

    - a `fingerprint`, a text that differs where it chooses differently, without which no result is
      cached;
    - `of(key)`, which gives the source that knows the catalogue of the bundle with that SHA-256, in
      hexadecimal;
    - `by(maker)`, which gives the source that compares vectors with those of that maker alone, by
      the fingerprint of an embedding provider;
    - `offered()`, which gives the source that passes over tools that are off by default.
    """

    def candidates(self, query: str, vector: NDArray[np.float32] | None, count: int) -> list[str]:
        """Return the ids of up to *count* tools, the most likely first.

        Args:
            query: The words that are looked for, misspelt ones as the engine has repaired them,
                foreign ones translated; behind an unknown word stands the most related known one.
            vector: The vector of the query, shape (dimensions,), or `None`.
            count: Most ids to give.
        """
        ...


def narrow_source(
    source: CandidateSource, index: Index, *, includes_disabled: bool = True
) -> CandidateSource:
    """Return the *source* narrowed to the catalogue of *index* and to what a search may offer."""
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
    """Asks a source, and leaves it alone for a while after it failed.

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

        *query* is the words that are looked for, *maker* the fingerprint of who made the *vector*.
        """

        def choose() -> list[str]:
            source = self._find_once()
            if vector is not None:
                source = _try_narrowing(source, "by", maker)
            chosen = list(islice(source.candidates(query, vector, COUNT), COUNT))
            if not all(isinstance(one, str) for one in chosen):
                raise McpgError("it gave something else than ids of tools")
            return chosen

        chosen, reason = self._ask_guarded(choose)
        return chosen or [], reason

    def fingerprint(self) -> str | None:
        """Return who chooses, `None` where the source does not say or fails."""
        found, _ = self._ask_guarded(lambda: getattr(self._find_once(), "fingerprint", None))
        return found if isinstance(found, str) else None

    def _find_once(self) -> CandidateSource:
        if self._source is None:
            self._source = self._find()
        return self._source

    def _ask_guarded(self, ask: Callable[[], Answer]) -> tuple[Answer | None, str]:
        failure = self._breaker.reason
        if failure is not None:
            return None, failure
        try:
            return ask(), ""
        except Exception as fault:  # noqa: BLE001 - a source may raise whatever it likes
            # The text of a stranger's error may hold a password: only its type is reported.
            reason = str(fault) if isinstance(fault, McpgError) else type(fault).__name__
            self._breaker.open(reason)
            return None, reason


class CandidateSelection:
    """What a source chose for one search.

    Attributes:
        diagnostics: What went wrong with it.
    """

    def __init__(
        self, guarded_source: GuardedSource, index: Index, excluded: frozenset[int]
    ) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._chooser, self._index, self._excluded = guarded_source, index, excluded
        self._vector: NDArray[np.float32] | None = None
        self._maker = ""

    def know(self, vector: NDArray[np.float32], maker: str) -> None:
        """Let the source know the *vector* of the query as well, and who made it."""
        self._vector, self._maker = vector, maker

    def among(self, analysis: Analysis) -> frozenset[int] | None:
        """Return the documents to choose from; `None` when the engine has to look for itself."""
        words = [word for clause in analysis.clauses for word in _words(clause, self._index)]
        chosen, reason = self._chooser.ask(" ".join(words), self._vector, self._maker)
        documents = frozenset(map(self._index.find_tool, chosen))
        if ABSENT in documents:
            reason = "it knows another catalogue than this index: publish this one"
        if reason:
            message = f"the source of candidates failed: {reason}; the engine looked for itself"
            self.diagnostics = (warning(Code.CANDIDATES_FAILED, message),)
            return None
        visible = documents - self._excluded
        # Excluded tools may have taken the places of others that the source would have chosen.
        if len(visible) < POOL and len(chosen) == COUNT:
            return None
        return visible or None


def _words(clause: QueryTerm, index: Index) -> list[str]:
    if clause.repairs:
        return [clause.repairs[0].word]
    return [clause.text, *(one.word for one in related_words(clause, index)[:1])]
