"""Ranking with vectors: schemes of features and weights, fusion, and calibration.

The weights of each scheme were fitted on judged queries; `data/vectors.json` has them with their
provenance. They apply to every embedding model, tool and language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import exp, fsum, log, log1p
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mcpg.embeddings.provider import EmbeddingError
from mcpg.errors import Code, Diagnostic, info, warning
from mcpg.index import Index
from mcpg.search.calibration import (
    Calibration,
    CalibrationInputs,
    compute_logit,
    logistic,
    weigh_inputs,
    worth_offering,
)
from mcpg.search.features import (
    MARGIN_DEPTH,
    Candidate,
    RankedCandidate,
    extract_features,
    feature_values,
    fuse,
    greatest_lexical,
    spread,
)
from mcpg.search.hybrid_model import (
    EMBEDDINGS,
    LEARNED,
    RRF,
    SEMANTIC,
    WINDOW_FACTOR,
    ClosenessWeight,
    HybridDetails,
    HybridPool,
    Scheme,
)
from mcpg.search.model import FEATURES, Model
from mcpg.search.pipeline import RankedList, Search, analyse_search, retrieve_pool, run_graph
from mcpg.search.query import Analysis
from mcpg.search.results import MAX_LIMIT, SearchRequest
from mcpg.search.retrieval import POOL, Pool, depth
from mcpg.values import DECIMALS

if TYPE_CHECKING:  # they speak HTTP, and an explanation without vectors does not
    from mcpg.search.index_vectors import SearchVectors, VectorScores

WEIGHT_INPUTS = ("contentWords", "graphMargin")
"""The inputs of the weight, in order: the logarithm of one more than the number of words of the
query that can find tools, known or not; the logarithm of the lead of the graph's best tool over its
tenth, by fused scores without intents."""

LEAST_WEIGHT, MOST_WEIGHT = 0.5, 12.0
"""Bounds of the weight; the greatest is half the weight of an exact name."""

_LEAST_MARGIN = 0.05


def weight_inputs(strengths: Sequence[float], analysis: Analysis) -> tuple[float, ...]:
    """Return the inputs of the weight; *strengths* are the graph's fused scores without intents."""
    words = sum(clause.origin == "query" for clause in analysis.clauses)
    greatest = [*sorted(strengths, reverse=True)[:MARGIN_DEPTH], 0.0]
    tenth = greatest[MARGIN_DEPTH - 1] if len(strengths) >= MARGIN_DEPTH else 0.0
    return log1p(words), log(max(greatest[0] - tenth, _LEAST_MARGIN))


def closeness(vector_scores: VectorScores, tool: int) -> float:
    """Return the standardized cosine of a tool as a share of the nearest one's, at least 0."""
    if not vector_scores.best:
        return 0.0
    return max(vector_scores.standard_score(tool), 0.0) / vector_scores.best


Values: TypeAlias = Callable[[Candidate], tuple[float, ...]]


COSINE, CLOSENESS = "vectorCosine", "closeness"
GRAPH_RANK, VECTOR_RANK, EXACT_NAME = "graphRank", "vectorRank", "exactName"

RANK_OFFSET = 60
"""The *k* of reciprocal rank fusion.

Source: Cormack, Clarke & Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods", SIGIR 2009.
"""

VECTOR_INPUTS = (
    "graphLogit",
    "nearness",
    "nearnessLead",
    "behindNearest",
    "shareUnknown",
    "graphAgrees",
)
"""The inputs of the calibration of every scheme, in order: the logit of the graph's own calibration
for the match; the logarithm of one more than the standardized cosine, if that is above 0; that
cosine less the mean of the ten nearest tools'; the nearest tool's less it; the share of the query
that is unknown to the catalog; 1 if the nearest tool is also the first by graph.
"""

# A name that is spelt out outweighs whatever the rest can add.
_EXACT_ABOVE_COSINES, _EXACT_ABOVE_RANKS = 3.0, 1.0

_MEANING, _INTENT = map(FEATURES.index, ("meaning", "intent"))


@lru_cache(maxsize=1)
def _read_fitted() -> dict[str, Any]:
    file = Path(__file__).parent / "data" / "vectors.json"
    numbers: dict[str, Any] = json.loads(file.read_bytes())
    return numbers


@lru_cache(maxsize=64)
def find_scheme(name: str, model: Model) -> Scheme:
    """Return the scheme called *name*; *model* has the weights of the graph's features.

    The scheme of the learned fusion has no weight of closeness yet: each query has its own.
    """
    fitted = _read_fitted()
    calibration = fitted["calibrations"][name]
    features, weights = {
        EMBEDDINGS: ((COSINE,), (1.0,)),
        SEMANTIC: ((COSINE, EXACT_NAME), (1.0, _EXACT_ABOVE_COSINES)),
        RRF: ((GRAPH_RANK, VECTOR_RANK, EXACT_NAME), (1.0, 1.0, _EXACT_ABOVE_RANKS)),
        LEARNED: ((*FEATURES, CLOSENESS), (*model.weights, 0.0)),
    }[name]
    return Scheme(
        name,
        fitted["provenance"],
        features,
        weights,
        VECTOR_INPUTS,
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][one]) for one in VECTOR_INPUTS),
    )


def apply_weight(scheme: Scheme, weight: float) -> Scheme:
    """Return the *scheme* of the learned fusion with the *weight* of closeness in one query."""
    return scheme._replace(weights=(*scheme.weights[:-1], weight))


def closeness_weight(
    pool: HybridPool, analysis: Analysis, model: Model, fitted: Mapping[str, Any] | None = None
) -> ClosenessWeight:
    """Return the weight of closeness for a query, by its words and its ranking by the graph.

    The *fitted* numbers are read from `data/vectors.json` unless given.
    """
    aside = [(place, model.weights[place]) for place in (_MEANING, _INTENT)]
    found = pool.graph[: pool.found]
    strengths = [
        one.score - fsum([one.values[place] * weight for place, weight in aside]) for one in found
    ]
    inputs = weight_inputs(strengths, analysis)
    fitted = fitted or _read_fitted()["closeness"]
    intercept = float(fitted["intercept"])
    coefficients = tuple(float(fitted["coefficients"][name]) for name in WEIGHT_INPUTS)
    exponent = intercept + fsum(map(mul, inputs, coefficients))
    bounded = min(max(exponent, log(LEAST_WEIGHT)), log(MOST_WEIGHT))
    return ClosenessWeight(inputs, intercept, coefficients, round(exp(bounded), DECIMALS))


def rank(
    scheme: Scheme, pool: HybridPool, vector_scores: VectorScores, limit: int
) -> list[RankedCandidate]:
    """Return the best *limit* candidates by the *scheme*; ties go to the smaller number.

    The first tier does not depend on the limit, so a limit only cuts.
    """
    first, further = _tiers(scheme, pool, vector_scores)
    ordered = _rank_by_values(scheme, first, _feature_reader(scheme, vector_scores, pool, POOL))
    if scheme.name == LEARNED and ordered and ordered[0].candidate.intents:
        # They are spread over the intents of the query.
        answered, alone = [one.candidate.intents for one in ordered], ordered
        ordered = []
        scores = [one.score for one in alone]
        for place, added, score in spread(scores, answered, scheme.weights[_INTENT], limit):
            candidate, values, _ = alone[place]
            values = (*values[:_INTENT], added, *values[_INTENT + 1 :])
            ordered.append(RankedCandidate(candidate, values, score))
    if len(ordered) < limit:
        ordered += _rank_by_values(scheme, further, _feature_reader(scheme, vector_scores, pool))
    return ordered[:limit]


def _tiers(
    scheme: Scheme, pool: HybridPool, vector_scores: VectorScores
) -> tuple[Sequence[Candidate], Sequence[Candidate]]:
    """Return the candidates that rank first, and those below.

    If only vectors rank, these are the nearest tools; if names count, exactly named tools are among
    the first.
    """
    if scheme.name not in {EMBEDDINGS, SEMANTIC}:
        return pool.candidates, pool.further
    near = [number for number, _ in vector_scores.nearest[:MAX_LIMIT]]
    everything = (*pool.candidates, *pool.further)
    named = {one.document for one in everything if one.exact and scheme.name == SEMANTIC}
    nearest, ranked = named.union(near[:POOL]), named.union(near)
    first = [one for one in pool.candidates if one.document in nearest]
    known = {one.document for one in first}
    return first, [one for one in everything if one.document in ranked - known]


def _feature_reader(
    scheme: Scheme, vector_scores: VectorScores, pool: HybridPool, most: int | None = None
) -> Values:
    """Return the function from a candidate to its features.

    If *most* is given, only so many first places of each list are fused by ranks.
    """
    if scheme.name == EMBEDDINGS:
        return lambda candidate: (vector_scores.cosines[candidate.document],)
    if scheme.name == SEMANTIC:
        return lambda candidate: (vector_scores.cosines[candidate.document], candidate.exact)
    if scheme.name == LEARNED:
        lexical = greatest_lexical(pool.candidates[: pool.found])
        return lambda candidate: (
            *feature_values(candidate, lexical),
            closeness(vector_scores, candidate.document),
        )
    graph = pool.graph[:most]
    by_graph = {one.candidate.document: place for place, one in enumerate(graph, start=1)}
    nearest = vector_scores.nearest[:most]
    by_vector = {number: place for place, (number, _) in enumerate(nearest, start=1)}

    def values(candidate: Candidate) -> tuple[float, ...]:
        places = by_graph.get(candidate.document), by_vector.get(candidate.document)
        return (*(1 / (RANK_OFFSET + place) if place else 0.0 for place in places), candidate.exact)

    return values


def _rank_by_values(
    scheme: Scheme, candidates: Sequence[Candidate], values_of: Values
) -> list[RankedCandidate]:
    found = []
    for candidate in candidates:
        values = values_of(candidate)
        found.append(RankedCandidate(candidate, values, fsum(map(mul, values, scheme.weights))))
    return sorted(found, key=lambda one: (-round(one.score, DECIMALS), one.candidate.document))


class VectorCalibration:
    """Calibrates the matches of one search with vectors."""

    def __init__(
        self,
        pool: HybridPool,
        analysis: Analysis,
        model: Model,
        tools: int,
        vector_scores: VectorScores,
    ) -> None:
        """Prepare to calibrate the matches of *pool*, in a catalog of so many *tools*."""
        own = pool.candidates[: pool.found]
        self._graph = CalibrationInputs(pool.graph[:MARGIN_DEPTH], own, analysis, model, tools)
        # Whatever the limit, the graph ranks the same ones.
        among = {one.document for one in own}
        ranked = ((one.candidate.document, one) for one in pool.graph)
        self._ranked = {document: one for document, one in ranked if document in among}
        self._lexical = greatest_lexical(own)
        self._model = model
        self._nearness = vector_scores
        near = [
            vector_scores.standard_score(number)
            for number, _ in vector_scores.nearest[:MARGIN_DEPTH]
        ]
        self._usual = fsum(near) / len(near) if near else 0.0
        firsts = [one.candidate.document for one in pool.graph[:1]]
        self._agrees = float(firsts == [number for number, _ in vector_scores.nearest[:1]])

    def calibrate(self, ranked: Sequence[RankedCandidate], scheme: Scheme) -> list[Calibration]:
        """Return the probability of each of the *ranked*; it never rises down the ranks."""
        calibrations: list[Calibration] = []
        lowest = 1.0
        for fused in ranked:
            inputs = self.inputs(fused.candidate)
            logit = weigh_inputs(inputs, scheme.intercept, scheme.coefficients)
            lowest = min(lowest, logistic(logit))
            calibrations.append(Calibration(inputs, (), lowest))
        return calibrations

    def inputs(self, candidate: Candidate) -> tuple[float, ...]:
        """Return the inputs of one match, in the order of `VECTOR_INPUTS`."""
        vector_scores = self._nearness
        standardised = vector_scores.standard_score(candidate.document)
        model = self._model
        fused = self._ranked.get(candidate.document)
        if fused is None:
            values = feature_values(candidate, self._lexical)
            fused = RankedCandidate(candidate, values, fsum(map(mul, values, model.weights)))
        inputs = self._graph.compute(candidate, self._graph.strength(fused))
        logit = compute_logit(inputs, self._graph.compute_answerable(candidate), model)
        return (
            round(logit, DECIMALS),
            log1p(max(standardised, 0.0)),
            standardised - self._usual,
            vector_scores.best - standardised,
            vector_scores.foreign,
            self._agrees,
        )


_CORRECTED = ("typo", "translation")


def gather_hybrid_pool(
    pool: Pool,
    analysis: Analysis,
    index: Index,
    model: Model,
    vector_scores: VectorScores,
    size: int,
) -> HybridPool:
    """Return the candidates that the graph and the vectors found, *size* by each.

    The first `POOL` by each are what every search looks at closely; the graph's come first.
    """
    candidates = extract_features(pool.documents, analysis, index)
    graph = fuse(candidates, model.weights, len(candidates), pool.ends)
    found = pool.ends[0]
    known = set(pool.documents[:found])
    near = [number for number, _ in vector_scores.nearest[:size]]
    added = [number for number in near[:POOL] if number not in known]
    unheld = min([one.unheld for one in candidates[:POOL]], default=0.0)
    first = [*candidates[:found], *extract_features(added, analysis, index, unheld)]
    known.update(added)
    further = [candidate for candidate in candidates[found:] if candidate.document not in known]
    known.update(pool.documents)
    others = [one for one in near if one not in known]
    further += extract_features(others, analysis, index, unheld)
    return HybridPool(first, found, graph, further)


def corrected_text(request: SearchRequest, analysis: Analysis) -> str | None:
    """Return the text to embed with misspelt and foreign words replaced, `None` without any.

    A model cuts a misspelt word into meaningless pieces, and may be trained on one language. A
    foreign query is reduced to the words that can find tools.
    """
    asked = [one for one in analysis.clauses if one.origin == "query" and one.role != "identifier"]
    found = {one.text: one.repairs[0].word for one in asked if one.kind in _CORRECTED}
    if not found:
        return None
    if any(one.kind == "translation" for one in asked):
        words = [one.text for one in asked]
    else:
        whole = {one.text for one in analysis.clauses if one.role == "identifier"}
        words = [word for word in analysis.words if word not in whole]
    text = " ".join(found.get(word, word) for word in words)
    return _in_context(text, request) if request.query else text


def _in_context(text: str, request: SearchRequest) -> str:
    return f"{text} | context: {request.context}" if request.context else text


def unknown_share(analysis: Analysis) -> float:
    """Return the share of the query, weighed by idf, that is near no word of the catalog."""
    asked = [clause for clause in analysis.clauses if clause.origin == "query"]
    total = fsum([clause.weight for clause in asked])
    unknown = fsum([clause.weight for clause in asked if clause.role == "unknown"])
    return unknown / total if total else 0.0


def find_lifted(ranked: Sequence[RankedCandidate], vector_scores: VectorScores) -> tuple[int, ...]:
    """Return the documents that rank above nearer ones because the query names them exactly."""
    order = [number for number, _ in vector_scores.nearest]
    found = [one.candidate.document for one in ranked]
    named = [one.candidate.document for one in ranked if one.candidate.exact]
    return tuple(one for one in named if order[: len(named)] != found[: len(named)])


_FAULTS = {"missing": Code.EMBEDDING_GENERATOR_MISSING, "empty": Code.QUERY_VECTOR_EMPTY}


def run_with_vectors(
    search: Search, vectors: SearchVectors
) -> tuple[RankedList, tuple[Diagnostic, ...]]:
    """Rank by vectors and graph, or only by the graph without vectors."""
    before = len(search.trace.stages) if search.trace else 0
    try:
        return _run_with_vectors(search, vectors)
    except EmbeddingError as fault:
        if search.trace:
            del search.trace.stages[before:]
        strategy = search.request.strategy
        message = f"the strategy {strategy} asks for vectors: {fault.message}"
        diagnostics = (
            *vectors.semantics.diagnostics,
            warning(_FAULTS.get(fault.kind, Code.VECTOR_SEARCH_FAILED), message),
            info(Code.GRAPH_FALLBACK, "ranked by the graph only"),
        )
        return run_graph(search), diagnostics


def _run_with_vectors(
    search: Search, vectors: SearchVectors
) -> tuple[RankedList, tuple[Diagnostic, ...]]:
    request, index, model = search.request, search.index, search.model
    scheme = find_scheme(request.fusion or EMBEDDINGS, model)
    analysis = analyse_search(search)
    text = _in_context(request.query, request) if request.query else request.context
    corrected = corrected_text(request, analysis)
    with search.stage("embed"):
        built = vectors.ensure_vectors()
        vector = vectors.embed_all([text] if corrected is None else [text, corrected])
        if search.selection is not None:
            search.selection.know(vector, vectors.semantics.provider().fingerprint)
    size = depth(request.limit)
    pool = retrieve_pool(search, analysis, size)
    with search.stage("compare"):
        vector_scores = vectors.semantics.vector_scores(
            built.vectors,
            vector,
            unknown_share(analysis),
            # Whatever the limit, or a search that looks at some tools only would find others.
            count=WINDOW_FACTOR * MAX_LIMIT,
            without=search.excluded,
            beside=pool.documents,
        )
    if scheme.name == SEMANTIC and not all(map(vector_scores.knows, pool.documents[:POOL])):
        scheme = find_scheme(LEARNED, model)
    weight = None
    with search.stage("fuse"):
        pools = gather_hybrid_pool(pool, analysis, index, model, vector_scores, size)
        if scheme.name == LEARNED:
            weight = closeness_weight(pools, analysis, model)
            scheme = apply_weight(scheme, weight.weight)
        ranked = rank(scheme, pools, vector_scores, max(request.limit, MARGIN_DEPTH))
    with search.stage("calibrate"):
        evidence = VectorCalibration(pools, analysis, model, index.population, vector_scores)
        calibrations = evidence.calibrate(ranked[: request.limit], scheme)
        best = calibrations[0].score if calibrations else None
        count = worth_offering([one.score for one in calibrations], request)
        ranked, calibrations = ranked[:count], calibrations[:count]
    lifted = find_lifted(ranked, vector_scores) if scheme.name == SEMANTIC else ()
    semantic = HybridDetails(scheme, vector_scores, text, corrected, weight, pools, lifted)
    candidates = [*pools.candidates, *pools.further]
    ends = (len(pools.candidates), len(pools.candidates))
    ranking = RankedList(analysis, ranked, calibrations, candidates, ends, best, semantic)
    return ranking, built.diagnostics
