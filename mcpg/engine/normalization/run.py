"""A search of a query and of its rewrite, and the explanation of both together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code
from mcpg.engine.normalization.asking import rewrite_of
from mcpg.engine.normalization.merging import merge, merged_result
from mcpg.engine.normalization.trust import trust_in
from mcpg.engine.noticing import doubts
from mcpg.engine.pipeline import stage
from mcpg.engine.results import Strategy
from mcpg.engine.retrieval import depth
from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine.normalization.asking import Rewrite
    from mcpg.engine.normalization.merging import Merged
    from mcpg.engine.request import Request
    from mcpg.engine.results import SearchResult
    from mcpg.engine.searcher import Searcher
    from mcpg.engine.trace import Explanation, Trace


def normalized_answer(
    searcher: Searcher,
    request: Request,
    noticed: tuple[Diagnostic, ...],
    trace: Trace | None = None,
) -> SearchResult:
    """Answer *request*, whose query is rewritten where that is possible and worth while."""
    rewrite = _rewrite(searcher, request, trace)
    noticed = (*noticed, *rewrite.diagnostics)
    if not rewrite.text:
        return searcher.answer(replace(request, normalize=False), noticed, trace)[0]
    asked, rewritten = _parts(request, rewrite)
    results = searcher.answer(asked, (), trace)[0], searcher.answer(rewritten, (), trace)[0]
    return _joined(searcher, request, rewrite, results, noticed)[0]


def normalized_explanation(
    searcher: Searcher, request: Request, noticed: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer as `normalized_answer` does, and say how every part of the answer came about."""
    from mcpg.engine.normalization import explaining  # noqa: PLC0415 - a search explains nothing

    start = time.perf_counter()
    rewrite = _rewrite(searcher, request)
    duration = (time.perf_counter() - start) * 1e3
    noticed = (*noticed, *rewrite.diagnostics)
    if not rewrite.text:
        plain = searcher.explanation(replace(request, normalize=False), noticed)
        return explaining.with_stage(plain, rewrite, duration)
    asked, rewritten = _parts(request, rewrite)
    both = searcher.explanation(asked, ()), searcher.explanation(rewritten, ())
    results = both[0].result, both[1].result
    result, offered = _joined(searcher, request, rewrite, results, noticed)
    joined = explaining.joined_explanation(both, result, offered)
    return explaining.with_stage(joined, rewrite, duration)


def _rewrite(searcher: Searcher, request: Request, trace: Trace | None = None) -> Rewrite:
    """Have the query rewritten; where vectors are searched, they have a say in the trust."""
    rewrite = rewrite_of(request.query, searcher.index, searcher.equipment)
    if not rewrite.text or rewrite.language is None or request.strategy == Strategy.GRAPH:
        return rewrite
    from mcpg.embeddings.provider import EmbeddingError  # noqa: PLC0415 - the graph needs no vectors
    from mcpg.engine.hybrid import embedded_text  # noqa: PLC0415 - as above

    texts = [embedded_text(replace(request, query=one)) for one in (request.query, rewrite.text)]
    try:
        with stage(trace, "embed"):
            agreement = searcher.semantics().agreement(*texts)
    except EmbeddingError:
        return rewrite  # the searches themselves tell that there are no vectors
    trust = trust_in(request.query, rewrite.text, rewrite.language.foreign, agreement)
    return replace(rewrite, trust=trust, agreement=agreement)


def _parts(request: Request, rewrite: Rewrite) -> tuple[Request, Request]:
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
    results: tuple[SearchResult, SearchResult],
    noticed: tuple[Diagnostic, ...],
) -> tuple[SearchResult, list[Merged]]:
    found = merge(results[0].matches, results[1].matches, rewrite.trust)
    best = found[0].score if found else None
    told = dict.fromkeys(_lasting((*results[0].diagnostics, *results[1].diagnostics)))
    result, offered = merged_result(request, results, found, searcher, (*noticed, *told))
    doubted = doubts(best, is_offered=bool(offered))
    diagnostics = (*result.diagnostics, *doubted)
    return replace(result, normalized_query=rewrite.text, diagnostics=diagnostics), offered


def _lasting(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Give what holds for the merged list as well: whether it is doubtful is told anew."""
    return [one for one in diagnostics if one.code != Code.LOW_CONFIDENCE]
