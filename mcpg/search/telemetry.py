"""What an engine reports to an observer: searches, indexes and vectors.

Only an engine with an observer imports this or reads a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from mcpg.embeddings.provider import counted_tokens
from mcpg.index import Index
from mcpg.search.observer import BuildFacts, GuardedObserver, Observer, SearchFacts, VectorFacts
from mcpg.search.results import RankingMode, SearchResult
from mcpg.search.retrieval import focused_graph
from mcpg.search.trace import StageClock, Trace

if TYPE_CHECKING:
    from mcpg.vectors.build import BuiltVectors

EMBED, COMPARE = "embed", "compare"
"""The stages that make and compare vectors; all others are the graph's."""

_WITH_VECTORS = frozenset({RankingMode.VECTOR, RankingMode.HYBRID})
_WITH_GRAPH = frozenset({RankingMode.GRAPH, RankingMode.HYBRID})


class Timings(Trace):
    """Times the stages of one search, including failed ones, and counts the tokens of vectors.

    Attributes:
        tokens: Tokens used for vectors of the query, `None` if unknown.
        of_vectors: Seconds of each stage that made or compared vectors.
        of_graph: Seconds of each other stage.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tokens: int | None = None
        self.of_vectors: list[float] = []
        self.of_graph: list[float] = []

    def stage(self, name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        if name == EMBED:
            return self._embedding()
        times = self.of_vectors if name == COMPARE else self.of_graph
        return StageClock(times.append, always=True)

    @contextmanager
    def _embedding(self) -> Iterator[None]:
        with StageClock(self.of_vectors.append, always=True), counted_tokens() as tokens:
            try:
                yield
            finally:
                if tokens.total is not None:
                    self.tokens = (self.tokens or 0) + tokens.total


def search_facts(result: SearchResult, timings: Timings, context_tools: int = 0) -> SearchFacts:
    """Return the facts about *result*, by so many *context_tools*, for an observer."""
    return SearchFacts(
        strategy=result.strategy,
        mode=result.ranking_mode,
        used_vector=result.ranking_mode in _WITH_VECTORS,
        used_graph=result.ranking_mode in _WITH_GRAPH,
        is_cached=timings.is_cached,
        is_normalized=result.normalized_query is not None,
        matches=len(result.matches),
        related=len(result.related_matches),
        next_steps=len(result.next_step_matches),
        prerequisites=len(result.prerequisites),
        nodes=result.focused_graph.nodes,
        edges=result.focused_graph.edges,
        vector_seconds=sum(timings.of_vectors) if timings.of_vectors else None,
        graph_seconds=sum(timings.of_graph) if timings.of_graph else None,
        vector_tokens=timings.tokens,
        normalized_query=result.normalized_query,
        context_tools=context_tools,
    )


def build_facts(index: Index) -> BuildFacts:
    """Return the facts about *index* for an observer, before vectors are needed."""
    whole = focused_graph(range(len(index)), index)
    return BuildFacts(len(index), None, whole.nodes, whole.edges)


def observe_vectors(observer: Observer, find: Callable[[], BuiltVectors]) -> BuiltVectors:
    """Find or make the vectors of an index with *find*, and report to *observer*."""
    with GuardedObserver.of(observer).vectors() as tell, counted_tokens() as tokens:
        built = find()
        tools = len(built.vectors)
        tell(VectorFacts(tools, tools - built.vectors.missing, built.embedded, tokens.total))
    return built


def observe_index(observer: Observer, make: Callable[[], Index]) -> Index:
    """Make an index with *make*, and report to *observer*."""
    with GuardedObserver.of(observer).build() as tell:
        index = make()
        tell(build_facts(index))
    return index
