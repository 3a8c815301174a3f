"""A search of a query and of its rewrite, and the explanation of both together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcpg.engine.confidence import worth_offering
from mcpg.engine.normalization.asking import rewrite_of
from mcpg.engine.normalization.merging import merge
from mcpg.engine.normalization.trust import trust_in
from mcpg.engine.pipeline import stage
from mcpg.engine.results import Strategy
from mcpg.engine.retrieval import depth
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine.normalization.asking import Rewrite
    from mcpg.engine.normalization.merging import Merged
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.request import Request
    from mcpg.engine.results import SearchResult
    from mcpg.engine.searcher import Searcher
    from mcpg.engine.semantics import SearchVectors
    from mcpg.engine.trace import Explanation, Trace


def normalized_answer(
    searcher: Searcher,
    request: Request,
    noticed: tuple[Diagnostic, ...],
    trace: Trace | None = None,
) -> SearchResult:
    """Answer *request*, whose query is rewritten where that is possible and worth while."""
    vectors = _vectors(searcher, request)
    rewrite = _rewrite(searcher, request, vectors, trace)
    noticed = (*noticed, *rewrite.diagnostics)
    if not rewrite.text:
        return searcher.answer(replace(request, normalize=False), noticed, trace)[0]
    halves = [searcher.ranked(part, trace, vectors) for part in _parts(request, rewrite)]
    return _joined(searcher, request, rewrite, halves, noticed, trace)[0]


def normalized_explanation(
    searcher: Searcher, request: Request, noticed: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer as `normalized_answer` does, and say how every part of the answer came about."""
    from mcpg.engine.explanation import explain  # noqa: PLC0415 - a search explains nothing
    from mcpg.engine.normalization import explaining  # noqa: PLC0415 - as above
    from mcpg.engine.trace import Trace  # noqa: PLC0415 - as above

    start = time.perf_counter()
    vectors = _vectors(searcher, request)
    rewrite = _rewrite(searcher, request, vectors)
    duration = (time.perf_counter() - start) * 1e3
    noticed = (*noticed, *rewrite.diagnostics)
    if not rewrite.text:
        plain = explain(searcher, replace(request, normalize=False), noticed)
        return explaining.with_stage(plain, rewrite, duration)
    parts, traces = _parts(request, rewrite), [Trace(), Trace(), Trace()]
    halves = [searcher.ranked(*each, vectors) for each in zip(parts, traces, strict=False)]
    result, offered = _joined(searcher, request, rewrite, halves, noticed, traces[-1])
    outcomes = [outcome for outcome, _ in halves]
    # Both are searched deeper than what is offered of them.
    parts = tuple(replace(part, limit=request.limit) for part in parts)
    joined = explaining.joined_explanation(parts, outcomes, traces, result, offered, searcher)
    return explaining.with_stage(joined, rewrite, duration)


def _vectors(searcher: Searcher, request: Request) -> SearchVectors | None:
    """Return the vectors that both searches share, `None` where neither needs any."""
    return None if request.strategy == Strategy.GRAPH else searcher.search_vectors()


def _rewrite(
    searcher: Searcher, request: Request, vectors: SearchVectors | None, trace: Trace | None = None
) -> Rewrite:
    """Have the query rewritten; where vectors are searched, they have a say in the trust."""
    cache = searcher.equipment.cache if searcher.equipment else None
    rewrite = rewrite_of(request.query, searcher.index, searcher.normalizer(), cache)
    if not rewrite.text or rewrite.language is None or vectors is None:
        return rewrite
    from mcpg.embeddings.provider import EmbeddingError  # noqa: PLC0415 - the graph needs no vectors

    try:
        with stage(trace, "embed"):
            # Without the context, which both share whatever they mean.
            agreement = vectors.agreement(request.query, rewrite.text)
    except EmbeddingError:
        return rewrite  # the searches themselves tell that there are no vectors
    trust = trust_in(request.query, rewrite.text, rewrite.language.foreign, agreement)
    return replace(rewrite, trust=trust, agreement=agreement)


def _parts(request: Request, rewrite: Rewrite) -> tuple[Request, ...]:
    """Give both searches: deep enough to be merged, and without what only the whole can tell."""
    asked = replace(
        request,
        limit=depth(request.limit),
        min_score=0.0,
        abstain=False,
        normalize=False,
    )
    return asked, replace(asked, query=rewrite.text)


def _joined(
    searcher: Searcher,
    request: Request,
    rewrite: Rewrite,
    halves: Sequence[tuple[Outcome, tuple[Diagnostic, ...]]],
    noticed: tuple[Diagnostic, ...],
    trace: Trace | None,
) -> tuple[SearchResult, list[Merged]]:
    """Return the answer of both searches, and the tools that it offers."""
    asked, rewritten = (searcher.matches(outcome) for outcome, _ in halves)
    found = merge(asked, rewritten, rewrite.trust)
    cut = found[: request.limit]
    offered = cut[: worth_offering([one.score for one in cut], request)]
    matches = tuple(one.match for one in offered)
    result = searcher.result(
        request,
        [outcome for outcome, _ in halves],
        matches,
        [searcher.number(match.tool_id) for match in matches],
        found[0].score if found else None,
        (*noticed, *dict.fromkeys(one for _, told in halves for one in told)),
        trace,
    )
    return replace(result, normalized_query=rewrite.text), offered
