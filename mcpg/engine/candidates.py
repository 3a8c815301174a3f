"""Candidates that a source outside chooses, for catalogues too large for one process.

The source says which tools are worth a look; the engine ranks them by its own features as it ranks
those that it finds itself. A source that fails costs the search nothing but the time it took: the
engine then looks for itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.errors import McpgError
from mcpg.index.compile import NO_KEY
from mcpg.index.tables import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from mcpg.engine.analysis import Analysis
    from mcpg.index import Index

COUNT = 200
"""How many candidates a source is asked for: ten times what is looked at closely."""

REST = 15.0
"""Seconds that a source is left alone after it failed: slow failures cost searches much."""


class CandidateSource(Protocol):
    """Knows a catalogue, and which of its tools may answer a query.

    May be shared between threads. A source may also have a `fingerprint`, a text that differs
    where it chooses differently, without which no result is cached; and `of(key)`, which gives the
    source that knows the catalogue of the bundle with that SHA-256, in hexadecimal.
    """

    def candidates(self, query: str, vector: NDArray[np.float32] | None, count: int) -> list[str]:
        """Give the ids of up to *count* tools, the most likely first.

        Args:
            query: The words that are looked for, misspelt ones as the engine has repaired them.
            vector: The vector of the query, shape (dimensions,), or `None`.
            count: Most ids to give.
        """
        ...


def source_of(source: CandidateSource, index: Index) -> CandidateSource:
    """Give the *source* that knows the catalogue of *index*, where it knows several."""
    of = getattr(source, "of", None)
    if of is None or index.header.key == NO_KEY:
        return source
    found: CandidateSource = of(index.header.key.hex())
    return found


class Chooser:
    """Asks a source, and leaves it alone for a while after it failed.

    May be shared between threads.
    """

    def __init__(
        self, source: CandidateSource, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Stand before *source*; *clock* tells the time in seconds."""
        self._source = source
        self._clock = clock
        # Time until which the source is left alone, and why; one tuple, so never half of each.
        self._failed: tuple[float, str] | None = None

    def ask(self, query: str, vector: NDArray[np.float32] | None) -> tuple[list[str], str]:
        """Give the ids that the source chose, and why it chose none; "" when it did not fail."""
        failed = self._failed
        if failed is not None and self._clock() < failed[0]:
            return [], failed[1]
        try:
            return list(self._source.candidates(query, vector, COUNT)), ""
        except Exception as fault:  # noqa: BLE001 - a source may raise whatever it likes
            # The text of a stranger's error may hold a password, so only its type is told.
            reason = str(fault) if isinstance(fault, McpgError) else type(fault).__name__
            self._failed = (self._clock() + REST, reason)
            return [], reason


class Choice:
    """What a source chose for one search.

    Attributes:
        diagnostics: What went wrong with it.
    """

    def __init__(
        self, chooser: Chooser, index: Index, vector: NDArray[np.float32] | None = None
    ) -> None:
        """Prepare to ask about the tools of *index*; *vector* is that of the query."""
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self._chooser, self._index, self._vector = chooser, index, vector

    def know(self, vector: NDArray[np.float32]) -> None:
        """Let the source know the *vector* of the query as well."""
        self._vector = vector

    def among(self, analysis: Analysis) -> frozenset[int] | None:
        """Give the documents to choose from; `None` when the engine has to look for itself."""
        words = [
            clause.repairs[0].word if clause.repairs else clause.text for clause in analysis.clauses
        ]
        chosen, reason = self._chooser.ask(" ".join(words), self._vector)
        documents = frozenset(map(self._index.find_tool, chosen))
        if ABSENT in documents:
            reason = "it knows another catalogue than this index: publish this one"
        if reason:
            message = f"the source of candidates failed: {reason}; the engine looked for itself"
            self.diagnostics = (warning(Code.CANDIDATES_FAILED, message),)
            return None
        return documents or None
