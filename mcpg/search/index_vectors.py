"""The vectors of one index: loaded or made at their first use, and compared with a query's.

Cosines of different models, and of different catalogs, mean different things. So they are
compared with the catalog itself: by how many standard deviations a tool is nearer to the query than
the average tool.

Vectors and rewrites of queries are cached apart from results, because they outlive them: the same
query with another limit, or to another bundle, has the same vector. Failures are never cached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from mcpg.documents.model import ToolDocument
from mcpg.embeddings import EmbeddingProvider, make_provider
from mcpg.embeddings.provider import (
    KINDS_OF_TEXTS,
    EmbeddingError,
    checked_rows,
    embed_query,
    need_numpy,
)
from mcpg.errors import Diagnostic
from mcpg.index import Index
from mcpg.index.layout import NO_KEY
from mcpg.search.caches import QUERY, VECTOR, SearchCache, add_digest, check_digest, make_key
from mcpg.search.guards import GuardedEmbeddings
from mcpg.search.query import FOREIGN_POWER
from mcpg.search.results import EngineServices
from mcpg.search.telemetry import observe_vectors
from mcpg.values import SHOWN_DECIMALS
from mcpg.vectors import SUFFIX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mcpg.llm import Rewriter
    from mcpg.vectors.build import BuiltVectors
    from mcpg.vectors.matrix import ToolVectors


_NUMBER, _NUMBER_SIZE = "<f4", 4


def cached_query_vector(
    cache: SearchCache | None, provider: EmbeddingProvider, text: str
) -> NDArray[np.float32]:
    """Return the vector of the query *text*, of length 1, from *cache* or from *provider*."""
    if cache is None:
        return embed_query(provider, text)
    key = make_key(VECTOR, provider.fingerprint, text)
    data = check_digest(cache.get(VECTOR, key), key)
    if data and not len(data) % _NUMBER_SIZE:
        import numpy as np  # noqa: PLC0415 - most searches need no vectors

        row = np.frombuffer(data, dtype=_NUMBER).astype(np.float32)
        with suppress(EmbeddingError):
            checked_rows(provider, row[None], 1)
            return row
    made = embed_query(provider, text)
    cache.put(VECTOR, key, add_digest(made.astype(_NUMBER).tobytes(), key))
    return made


def cached_rewrite(cache: SearchCache | None, rewriter: Rewriter, query: str) -> str:
    """Return the *query* rewritten by *rewriter*, unchecked, from *cache* if it has it."""
    if cache is None:
        return rewriter.rewrite(query)
    key = make_key(QUERY, rewriter.fingerprint, query)
    found = check_digest(cache.get(QUERY, key), key)
    with suppress(UnicodeDecodeError):
        if found is not None:
            return found.decode("utf-8", "surrogatepass")
    made = rewriter.rewrite(query)
    if made.strip():
        cache.put(QUERY, key, add_digest(made.encode("utf-8", "surrogatepass"), key))
    return made


SAMPLE = 1_024
"""The number of tools whose cosines give the mean; more are not needed for any size."""

FOREIGN_WEIGHT = 2.0
"""How much of the common part of all tools is subtracted from the vector of a foreign query."""

# The mean of a few tools is dominated by the tools, not by their common part.
_FEW_TOOLS = 20
_LEAST_SHIFT = 1e-3
# The number of searches that request texts which a provider cannot embed. A provider that is down
# is retried once it may be back.
_MOST_ATTEMPTS = 3
# If all tools are equally near to a query, no difference between them counts as large.
_LEAST_DEVIATION = 1e-3


class VectorScores(NamedTuple):
    """How near the tools of a catalog are to one query.

    Attributes:
        nearest: Numbers of the nearest tools, the nearest first, each with its cosine.
        cosines: Cosines of all compared tools, by number; -1 without a vector.
        deviation: The standard deviation of their cosines; above 0.
        foreign: The share of the query that is unknown to the catalog, in [0, 1].
        shift: How much of the tools' mean vector was subtracted from the query's.
    """

    fingerprint: str
    nearest: tuple[tuple[int, float], ...]
    cosines: dict[int, float]
    mean: float
    deviation: float
    foreign: float
    shift: float

    @property
    def best(self) -> float:
        """The standardized cosine of the nearest tool, 0 without any or at most the mean."""
        return max(self.standard_score(self.nearest[0][0]), 0.0) if self.nearest else 0.0

    def standard_score(self, tool: int) -> float:
        """Return by how many standard deviations a tool is nearer than tools are at large.

        A tool without a vector is as near as they are, for nothing is known of it.
        """
        return (self.cosines[tool] - self.mean) / self.deviation if self.knows(tool) else 0.0

    def knows(self, tool: int) -> bool:
        return self.cosines[tool] > -1


class IndexVectors:
    """Makes and keeps the vectors of one index; may be used by several threads.

    Attributes:
        built: The vectors of the tools, `None` before a search needed them.
        diagnostics: Faults of finding or making them.
    """

    def __init__(
        self,
        services: EngineServices,
        index: Index,
        documents: Callable[[], Iterable[ToolDocument]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the vectors of *index*; *documents* returns the documents of its tools."""
        self._clock = clock
        self._services = services
        self._index = index
        self._documents = documents
        self._lock = Lock()
        self._provider: GuardedEmbeddings | None = None
        self.built: BuiltVectors | None = None
        # The vectors, with their mean.
        self._centre: tuple[ToolVectors, NDArray[np.float32]] | None = None
        self._attempts = 0
        self._sample = range(0, len(index), -(-len(index) // SAMPLE) or 1)
        self.diagnostics: tuple[Diagnostic, ...] = ()

    def provider(self) -> GuardedEmbeddings:
        """Return the embedding provider.

        An `EmbeddingError` of the kind `missing` is raised if there is none.
        """
        if self._provider is None:
            given = self._services.embeddings
            if given is None:
                message = "no embedding provider is set up"
                raise EmbeddingError(
                    message, kind="missing", remedy="name one, or use the strategy graph"
                )
            provider = make_provider(given) if isinstance(given, str) else given
            # A host with its own provider needs none of the models.
            need_numpy("embeddings" if isinstance(given, str) else "llm")
            self._provider = GuardedEmbeddings(provider, self._clock)
        return self._provider

    def ensure_vectors(self) -> BuiltVectors:
        """Return the vectors of the tools; missing vectors are requested once.

        While a thread requests them, others wait only if vectors are missing entirely. Without any,
        an `EmbeddingError` is raised.
        """
        if self._is_wanting() and self._lock.acquire(blocking=self.built is None):
            try:
                if self._is_wanting():
                    self.provider().check_circuit()
                    observer = self._services.observer
                    if observer is None:
                        self._rebuild()
                    else:
                        observe_vectors(observer, self._rebuild)
            finally:
                self._lock.release()
        built = self.built
        if built is None or not built.vectors.dimensions:
            raise EmbeddingError("no tool has a vector", kind="failed")
        return built

    def begin_search(self) -> SearchVectors:
        """Return the vectors for one search; nothing is loaded yet."""
        return SearchVectors(self)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of *text*, of length 1."""
        vector = cached_query_vector(self._services.cache, self.provider(), text)
        wanted = self.built.vectors.dimensions if self.built else 0
        if wanted and vector.shape != (wanted,):
            message = f"the query's vector has {len(vector)} dimensions, the tools' have {wanted}"
            raise EmbeddingError(message, kind="dimensions")
        return vector

    def vector_scores(
        self,
        vectors: ToolVectors,
        vector: NDArray[np.float32],
        foreign: float,
        *,
        count: int,
        without: frozenset[int],
        beside: Sequence[int],
    ) -> VectorScores:
        """Compare the *vector* of a query with the *vectors* of the tools.

        A query in words that no tool uses, above all in another language, is far from all tools,
        and by chance nearer to those with little text. So part of their mean vector is subtracted
        from such a query; other queries are not changed.

        *foreign* is the share of the query that is unknown to the catalog, in [0, 1], *count* how
        many of the nearest tools are wanted; tools *beside* them are compared in any case.

        Source: Mu & Viswanath, "All-but-the-top: simple and effective postprocessing for word
        representations", ICLR 2018.
        """
        tools = len(self._index)
        shift = FOREIGN_WEIGHT * foreign**FOREIGN_POWER * tools / (tools + _FEW_TOOLS)
        shift = shift if shift >= _LEAST_SHIFT else 0.0
        if shift:
            vector = self._shift(vectors, vector, shift)
        nearest = tuple(vectors.nearest(vector, count, without))
        others = [one for one in beside if one not in dict(nearest)]
        cosines = dict(nearest)
        looked = vectors.chosen_cosines(vector, others) if others else ()
        cosines |= {
            one: round(float(value), SHOWN_DECIMALS)
            for one, value in zip(others, looked, strict=True)
        }
        sampled = vectors.chosen_cosines(vector, self._sample)
        known = sampled[sampled > -1].astype("f8")
        mean, deviation = 0.0, 1.0
        if len(known):
            mean = round(float(known.mean()), SHOWN_DECIMALS)
            deviation = max(round(float(known.std()), SHOWN_DECIMALS), _LEAST_DEVIATION)
        return VectorScores(vectors.fingerprint, nearest, cosines, mean, deviation, foreign, shift)

    def _shift(
        self, vectors: ToolVectors, vector: NDArray[np.float32], shift: float
    ) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - only strategies with vectors need it

        known = self._centre
        if known is None or known[0] is not vectors:
            sample = (vectors.vector(one) for one in self._sample)
            rows = [row for row in sample if row is not None]
            mean = np.mean(rows, axis=0) if rows else np.zeros_like(vector)
            self._centre = known = vectors, mean
        moved = vector - np.float32(shift) * known[1]
        length = np.linalg.norm(moved)
        return np.asarray(moved / length, dtype=np.float32) if length else vector

    def _is_wanting(self) -> bool:
        """Return whether there are tools without a vector that may get one now."""
        if self.built is None:
            return True
        if not self.built.vectors.missing or self._attempts >= _MOST_ATTEMPTS:
            return False
        try:
            self.provider().check_circuit()
        except EmbeddingError:
            return False
        return True

    def _rebuild(self) -> BuiltVectors:
        """Find or make the vectors; those that were there stay."""
        provider = self.provider()
        start = self._clock()
        built = self.built = self._find_or_build(provider)
        self.diagnostics = built.diagnostics
        if built.outage is None:
            self._attempts += 1
        else:
            provider.open_after(built.outage, start)
        if not built.vectors.dimensions:
            raise EmbeddingError("no tool has a vector", kind="failed")
        return built

    def _find_or_build(self, provider: EmbeddingProvider) -> BuiltVectors:
        from mcpg.vectors.build import BuiltVectors  # noqa: PLC0415 - as above
        from mcpg.vectors.file import find_or_build_vectors  # noqa: PLC0415 - as above

        given, kept = self._services.vectors, self._services.kept
        tools = len(self._index)
        if given is not None and not isinstance(given, str):
            if len(given) != tools or given.fingerprint != provider.fingerprint:
                message = (
                    f"the given vectors are for {len(given)} tools, by "
                    f"{given.fingerprint}; expected {tools}, by {provider.fingerprint}"
                )
                raise EmbeddingError(message, kind="failed", remedy="make them anew, or give none")
            return BuiltVectors(given, (), 0, tools)
        return find_or_build_vectors(
            [one for one in (given + SUFFIX, kept) if one] if given else [],
            self._documents,
            provider,
            key=self._index.header.key if given else NO_KEY,
            tools=tools,
            store=self._services.store,
            known=self.built,
            keep_at=kept if given else None,
        )


class SearchVectors:
    """The vectors that one search needs, for tools and texts: each is requested once.

    A search does not retry a provider that failed, unless it only could not embed a text.
    """

    def __init__(self, semantics: IndexVectors) -> None:
        self.semantics = semantics
        self._built: BuiltVectors | None = None
        self._texts: dict[str, NDArray[np.float32]] = {}
        self._failed: EmbeddingError | None = None

    def ensure_vectors(self) -> BuiltVectors:
        """Return the vectors of the tools."""
        if self._built is None:
            with self._asking():
                self._built = self.semantics.ensure_vectors()
        return self._built

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of *text*, of length 1."""
        if text not in self._texts:
            with self._asking():
                self._texts[text] = self.semantics.embed(text)
        return self._texts[text]

    def embed_all(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of the vectors of *texts*, of length 1.

        A text that the provider cannot embed is left out, if there is another.
        """
        import numpy as np  # noqa: PLC0415 - only strategies with vectors need it

        rows: list[NDArray[np.float32]] = []
        for place, text in enumerate(texts, start=1):
            try:
                rows.append(self.embed(text))
            except EmbeddingError as fault:
                if fault.kind not in KINDS_OF_TEXTS or (place == len(texts) and not rows):
                    raise
        mean = np.sum(rows, axis=0, dtype=np.float32)
        length = np.linalg.norm(mean)
        is_one = len(rows) == 1 or not length
        return rows[0] if is_one else np.asarray(mean / length, dtype=np.float32)

    def agreement(self, one: str, other: str) -> float:
        """Return the cosine of two texts, in [0, 1]."""
        self.ensure_vectors()
        product = self.embed(one) @ self.embed(other)
        return max(0.0, round(float(product), SHOWN_DECIMALS))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        if self._failed is not None:
            raise self._failed
        try:
            yield
        except EmbeddingError as fault:
            if fault.kind not in KINDS_OF_TEXTS:
                self._failed = fault
            raise
