"""The pipeline: analyse, retrieve, extract features, fuse, calibrate.

`run_graph`, and `run_with_vectors` of `mcpg.search.hybrid`, read from top to bottom; each stage is
a module. `Searcher` adds what edges reach from the matches.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from mcpg.index import Index
from mcpg.search.calibration import Calibration, calibrate, worth_offering
from mcpg.search.features import (
    MARGIN_DEPTH,
    Candidate,
    RankedCandidate,
    extract_features,
    fuse,
    named_exactly,
)
from mcpg.search.model import Model
from mcpg.search.query import Analysis, analyse
from mcpg.search.query_terms import WordCache
from mcpg.search.results import MAX_LIMIT, SearchRequest
from mcpg.search.retrieval import POOL, Pool, depth, retrieve_for_each, widen_analysis
from mcpg.search.scope import ContextGraph, context_numbers

if TYPE_CHECKING:
    from mcpg.search.guards import CandidateSelection
    from mcpg.search.hybrid_model import HybridDetails
    from mcpg.search.trace import Trace


class Search(NamedTuple):
    """One search of one index: the input of every stage of the pipeline.

    Attributes:
        excluded: Numbers of the documents to leave out.
        trace: Records the stages, `None` for nothing.
        memo: The cache of words, shared by the searches of an index.
        selection: The selection of a candidate source, `None` without a source.
        allowed: Numbers of all other documents if a filter is set, else `None`.
    """

    request: SearchRequest
    index: Index  # type: ignore[assignment]  # no one looks an item up by `tuple.index`
    model: Model
    excluded: frozenset[int]
    trace: Trace | None = None
    memo: WordCache | None = None
    selection: CandidateSelection | None = None
    allowed: frozenset[int] | None = None

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Return a context manager that times a stage where the search is traced."""
        return stage(self.trace, name)

    def offering(self, tool: int) -> Search:
        """Return the same search, which may also offer *tool*."""
        allowed = None if self.allowed is None else self.allowed | {tool}
        return self._replace(excluded=self.excluded - {tool}, allowed=allowed)


class RankedList(NamedTuple):
    """The result of the pipeline.

    Attributes:
        ranked: Primary candidates, best first.
        candidates: Features of all documents of the pool, in its order.
        ends: The number of candidates up to the end of each tier of the pool.
        best: The best score in [0, 1], offered or not; `None` without candidates.
        semantic: The contribution of vectors; `None` if only the graph ranked.
    """

    analysis: Analysis
    ranked: list[RankedCandidate]
    calibrations: list[Calibration]
    candidates: list[Candidate]
    ends: tuple[int, int]
    best: float | None
    semantic: HybridDetails | None = None

    @property
    def primaries(self) -> list[tuple[int, float]]:
        """Document numbers and scores, best first."""
        return [
            (one.candidate.document, calibration.score)
            for one, calibration in zip(self.ranked, self.calibrations, strict=True)
        ]


_UNTIMED = nullcontext()


def run_graph(search: Search) -> RankedList:
    """Rank tools only by the graph."""
    request, index, model = search.request, search.index, search.model
    size = index.population
    analysis, pool = gather(search, depth(request.limit))
    with search.stage("fuse"):
        candidates = extract_features(pool.documents, analysis, index)
        ranked = fuse(candidates, model.weights, max(request.limit, MARGIN_DEPTH), pool.ends)
    with search.stage("calibrate"):
        calibrations = calibrate(ranked, candidates, analysis, model, size, request.limit)
        best = calibrations[0].score if calibrations else None
        count = worth_offering([one.score for one in calibrations], request)
        ranked, calibrations = ranked[:count], calibrations[:count]
    return RankedList(analysis, ranked, calibrations, candidates, pool.ends, best)


def gather(search: Search, size: int) -> tuple[Analysis, Pool]:
    """Analyse the query and retrieve the pool."""
    analysis = analyse_search(search)
    return analysis, retrieve_pool(search, analysis, size)


def analyse_search(search: Search) -> Analysis:
    """Analyze the query, or the context without a query."""
    request = search.request
    with search.stage("analyse"):
        query, context = request.query or request.context, request.context if request.query else ""
        analysis = analyse(
            query, search.index, context=context, memo=search.memo, uses_lexicon=request.lexicon
        )
    in_use, _ = context_numbers(request.context_tools, search.index)
    return analysis._replace(used=ContextGraph(tuple(in_use), search.index)) if in_use else analysis


def retrieve_pool(search: Search, analysis: Analysis, size: int) -> Pool:
    """Retrieve the pool, in tiers.

    It contains the best *size* documents by lexical score, at least `POOL`, within the selection
    and the filter, documents whose name the query spells, and the nearest neighbors of the tools in
    use.
    """
    index, excluded = search.index, search.excluded
    with search.stage("retrieve"):
        among = search.selection.among(analysis) if search.selection else None
        by_words = retrieve_for_each(
            widen_analysis(analysis),
            index,
            excluded=excluded,
            size=size,
            among=search.allowed if among is None else among,
        )
        named = sorted(named_exactly(analysis, index).keys() - excluded)
        if analysis.used is not None and by_words:
            named += [one for one in analysis.used.neighbours() if one not in excluded]
    first = dict.fromkeys((*by_words[:POOL], *named[:POOL]))
    if size <= POOL:
        return Pool(list(first), (len(first), len(first)), by_words)
    second = dict.fromkeys((*first, *by_words[:MAX_LIMIT], *named[:MAX_LIMIT]))
    documents = dict.fromkeys((*second, *by_words))
    return Pool(list(documents), (len(first), len(second)), by_words)


def stage(trace: Trace | None, name: str) -> AbstractContextManager[None]:
    """Return a context manager that times a stage of *trace*, if there is one."""
    return trace.stage(name) if trace else _UNTIMED
