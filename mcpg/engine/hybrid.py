"""The strategies with vectors: embed, analyse, retrieve, compare, fuse, calibrate."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING

from mcpg.engine.candidate_source import Selection
from mcpg.engine.confidence import MARGIN_DEPTH, worth_offering
from mcpg.engine.features import extract_features
from mcpg.engine.fusion import Fused, fuse
from mcpg.engine.hybrid_scoring import (
    EMBEDDINGS,
    LEARNED,
    SEMANTIC,
    WINDOW_FACTOR,
    HybridDetails,
    HybridPool,
    VectorCalibration,
    rank,
    scheme_of,
    words_of,
)
from mcpg.engine.model import Model
from mcpg.engine.pipeline import Outcome, gather, stage
from mcpg.engine.results import MAX_LIMIT, Request, Strategy
from mcpg.engine.retrieval import POOL, Pool, depth
from mcpg.engine.trace import Trace
from mcpg.engine.vectors import SearchVectors, VectorScores
from mcpg.index import Index

if TYPE_CHECKING:
    from mcpg.engine.query import Analysis, Memo

_UNKNOWN = "unknown"


def run_with_vectors(
    request: Request,
    index: Index,
    model: Model,
    disabled: frozenset[int],
    vectors: SearchVectors,
    trace: Trace | None = None,
    memo: Memo | None = None,
    selection: Selection | None = None,
) -> Outcome:
    """Answer *request* from the vectors and the graph; as `run_graph` does.

    Raises:
        EmbeddingError: The query or the tools have no vectors.
    """
    scheme, text = scheme_of(scheme_name(request), model), embedded_text(request)
    with stage(trace, "embed"):
        built = vectors.built()
        vector = vectors.embed(text)
        if selection is not None:
            selection.know(vector, vectors.semantics.provider().fingerprint)
    size = depth(request.limit)
    analysis, pool = gather(
        request, index, disabled, size=size, trace=trace, memo=memo, selection=selection
    )
    with stage(trace, "compare"):
        vector_scores = vectors.semantics.vector_scores(
            built.vectors,
            vector,
            unknown_share(analysis),
            # Whatever the limit, or a search that looks at some tools only would find others.
            count=WINDOW_FACTOR * MAX_LIMIT,
            without=disabled,
            beside=pool.documents,
        )
    if scheme.name == SEMANTIC and not all(map(vector_scores.knows, pool.documents[:POOL])):
        scheme = scheme_of(LEARNED, model)
    with stage(trace, "fuse"):
        hybrid_pool = _look(pool, analysis, index, model, vector_scores, size)
        ranked = rank(
            scheme, hybrid_pool, vector_scores, words_of(analysis), max(request.limit, MARGIN_DEPTH)
        )
    with stage(trace, "calibrate"):
        vector_calibration = VectorCalibration(
            hybrid_pool, analysis, model, len(index), vector_scores
        )
        calibrations = vector_calibration.calibrate(ranked[: request.limit], scheme)
        best = calibrations[0].score if calibrations else None
        count = worth_offering([one.score for one in calibrations], request)
        ranked, calibrations = ranked[:count], calibrations[:count]
    lifted = _lifted(ranked, vector_scores) if scheme.name == SEMANTIC else ()
    semantic = HybridDetails(scheme, vector_scores, text, hybrid_pool, lifted, built.diagnostics)
    candidates, ends = (
        [*hybrid_pool.candidates, *hybrid_pool.further],
        (len(hybrid_pool.candidates), len(hybrid_pool.candidates)),
    )
    return Outcome(analysis, ranked, calibrations, candidates, ends, best, semantic)


def _look(
    pool: Pool,
    analysis: Analysis,
    index: Index,
    model: Model,
    vector_scores: VectorScores,
    size: int,
) -> HybridPool:
    """Look at what the graph and the vectors found, *size* by each.

    The first `POOL` by each are what every search looks at closely; the graph's come first.
    """
    candidates = extract_features(pool.documents, analysis, index)
    graph = fuse(candidates, model.weights, len(candidates), pool.ends)
    found = pool.ends[0]
    known = set(pool.documents[:found])
    near = [number for number, _ in vector_scores.nearest[:size]]
    added = [number for number in near[:POOL] if number not in known]
    first = [*candidates[:found], *extract_features(added, analysis, index)]
    known.update(added)
    further = [candidate for candidate in candidates[found:] if candidate.document not in known]
    known.update(pool.documents)
    further += extract_features([one for one in near if one not in known], analysis, index)
    return HybridPool(first, found, graph, further)


def scheme_name(request: Request) -> str:
    """Return the name of the scheme that *request* asks for."""
    if request.strategy == Strategy.EMBEDDINGS:
        return EMBEDDINGS
    return request.fusion or SEMANTIC


def embedded_text(request: Request) -> str:
    """Return what is embedded of *request*: the query, and then what else is known."""
    if not request.query:
        return request.context
    return f"{request.query} | context: {request.context}" if request.context else request.query


def unknown_share(analysis: Analysis) -> float:
    """Return the share of the query, weighed by idf, that no word of the catalogue is near."""
    asked = [clause for clause in analysis.clauses if clause.origin == "query"]
    total = fsum([clause.weight for clause in asked])
    unknown = fsum([clause.weight for clause in asked if clause.role == _UNKNOWN])
    return unknown / total if total else 0.0


def _lifted(ranked: Sequence[Fused], vector_scores: VectorScores) -> tuple[int, ...]:
    order = [number for number, _ in vector_scores.nearest]
    found = [one.candidate.document for one in ranked]
    named = [one.candidate.document for one in ranked if one.candidate.exact]
    return tuple(one for one in named if order[: len(named)] != found[: len(named)])
