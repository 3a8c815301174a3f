"""Query normalisation: a query rewritten in English and searched beside itself.

The normaliser may be slow, wrong, or misled by the query, so it is called within a time budget, its
answer is checked, what it lost is put back, and the query is searched as it was given too. Only
searches that ask for it import any of this.

The results are merged into one list. A tool's score is the probability that it is wanted: with
probability *trust* the rewrite asks for what the query asks for, and then its search is right about
the tool; otherwise the query's own is (the law of total probability). What the query itself makes
sure stays as sure as it was, so that a bad rewrite cannot lose a good match.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcpg.embeddings.provider import EmbeddingError
from mcpg.errors import Code, Diagnostic, McpgError, info, warning
from mcpg.explain.explain import (
    advice_on,
    compose_explanation,
    describe_expansion,
    explain,
    explain_expansions,
)
from mcpg.index import Index
from mcpg.rewrite.validation import (
    LanguageTest,
    append_literals,
    find_lost_literals,
    judge,
    read_language,
    select_literals,
    without,
)
from mcpg.search.caches import SearchCache
from mcpg.search.features import worth_offering
from mcpg.search.guards import GuardedNormalizer
from mcpg.search.index_vectors import SearchVectors, cached_rewrite
from mcpg.search.pipeline import RankedList, stage
from mcpg.search.results import Match, SearchRequest, SearchResult, Strategy
from mcpg.search.retrieval import POOL, depth
from mcpg.search.searcher import Searcher
from mcpg.search.trace import Explanation, FoundBy, MatchExplanation, Stage, Trace
from mcpg.text import fold, stem
from mcpg.text.json_values import JsonObject
from mcpg.text.literals import TextLiteral
from mcpg.text.words import is_mark
from mcpg.values import DECIMALS

MOST = 0.95
"""No rewrite is trusted more: translations go wrong, and what the query finds may be right."""

_GRAM = 3


def trust_in(query: str, rewrite: str, foreign: float, agreement: float = 1.0) -> float:
    """Return the probability, at most `MOST`, that *rewrite* asks for what *query* asks for.

    Args:
        query: The query as it was given.
        rewrite: What it was rewritten as.
        foreign: The share of the query's words that neither English nor the catalogue knows.
        agreement: The cosine of both texts, in [0, 1], where they are searched by vectors.
    """
    return round(
        min(MOST, max((foreign * agreement) ** 2, share_of_trigrams(query, rewrite) ** 3)), 6
    )


def share_of_trigrams(query: str, rewrite: str) -> float:
    """Return the share of the distinct 3-grams of *query* that *rewrite* holds, in [0, 1]."""
    grams = []
    for text in (query, rewrite):
        folded = "".join(sign if sign.isalnum() or is_mark(sign) else " " for sign in fold(text))
        padded = f" {' '.join(folded.split())} "
        grams.append({padded[at : at + _GRAM] for at in range(len(padded) - _GRAM + 1)})
    asked, held = grams
    return len(asked & held) / len(asked) if asked else 0.0


_LONGEST_SHOWN = 200


class RewriteStatus:
    """The names of what may become of a query."""

    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    PLAIN = "plain English"
    REFUSED = "refused"
    FAILED = "failed"
    MISSING = "no normaliser"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What became of a query.

    Attributes:
        query: The query as it was given.
        status: One of the names in `RewriteStatus`.
        text: What it was rewritten as; "" unless it was.
        trust: The probability, in [0, 1], that the rewrite asks for what the query asks for.
        reason: Why there is no rewrite, where there should be one.
        language: What the words of the query say about its language; `None` when nobody looked.
        literals: The parts of the query that a rewrite must keep.
        restored: Those of them that were put back.
        agreement: The cosine of both texts where they are searched by vectors, else `None`.
    """

    query: str
    status: str
    text: str = ""
    trust: float = 0.0
    reason: str = ""
    language: LanguageTest | None = None
    literals: tuple[TextLiteral, ...] = ()
    restored: tuple[TextLiteral, ...] = ()
    agreement: float | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        if self.status == RewriteStatus.REWRITTEN:
            message = f"searched as {_quote_short(self.text)} as well, trusted {self.trust:.2f}"
            found = (info(Code.QUERY_NORMALIZED, message),)
            if not self.restored:
                return found
            names = ", ".join(_quote_short(one.text) for one in self.restored)
            message = f"the rewritten query had lost {names}"
            return *found, info(Code.QUERY_LITERALS_RESTORED, message)
        if self.status == RewriteStatus.FAILED:
            message = f"the query was searched as it is: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_FAILED, message),)
        if self.status == RewriteStatus.REFUSED:
            message = f"the rewritten query is not used: {self.reason}"
            return (warning(Code.QUERY_NORMALIZATION_REFUSED, message),)
        if self.status == RewriteStatus.MISSING:
            message = "the query was searched as it is: nothing is set up to rewrite it"
            return (info(Code.QUERY_NORMALIZER_MISSING, message),)
        return ()

    def details(self) -> JsonObject:
        details: JsonObject = {"outcome": self.status}
        if self.language is not None:
            details |= {
                "englishShare": round(self.language.english, 6),
                "otherShare": round(self.language.other, 6),
                "foreignShare": round(self.language.foreign, 6),
            }
        if self.reason:
            details["reason"] = self.reason
        if self.text:
            details |= {
                "rewrite": self.text,
                "trust": self.trust,
                "agreement": self.agreement,
                "literals": [one.text for one in self.literals],
                "restored": [one.text for one in self.restored],
            }
        return details


def rewrite_query(
    query: str, index: Index, normalizer: GuardedNormalizer | None, cache: SearchCache | None
) -> Rewrite:
    """Have *query* rewritten for a search of *index*, where that is possible and worth while.

    Nothing that the normaliser does is raised; only whoever interrupts the waiting is heard.
    """
    if normalizer is None:
        return Rewrite(query, RewriteStatus.MISSING)
    literals = select_literals(query)
    language = language_in(query, literals, index)
    if language.is_plain_english:
        return Rewrite(query, RewriteStatus.PLAIN, language=language)
    try:
        answer = cached_rewrite(cache, normalizer, query)
    except McpgError as fault:
        return Rewrite(query, RewriteStatus.FAILED, reason=str(fault), language=language)
    verdict = judge(query, answer, literals)
    if verdict.reason:
        return Rewrite(query, RewriteStatus.REFUSED, reason=verdict.reason, language=language)
    missing = find_lost_literals(literals, verdict.text)
    text = append_literals(verdict.text, missing) if verdict.text else ""
    if not text or fold(text) == fold(query):
        return Rewrite(query, RewriteStatus.UNCHANGED, language=language)
    trust = trust_in(query, text, language.foreign)
    return Rewrite(query, RewriteStatus.REWRITTEN, text, trust, "", language, literals, missing)


def language_in(query: str, literals: tuple[TextLiteral, ...], index: Index) -> LanguageTest:
    """Return in which language *query* is, without its *literals*, beside the words of *index*."""

    def is_known(word: str) -> bool:
        return index.find_word(word) >= 0 or index.find_stem(stem(word)) >= 0

    return read_language(without(query, literals), is_known)


def _quote_short(text: str) -> str:
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "\u2026"
    return f"\u201c{cut}\u201d"


DEPTH = POOL
"""How many matches of each search are merged first, whatever the limit."""

SURE = 0.5
"""A match with this score, by the query as it was given, keeps it."""


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where one of the searches puts a tool.

    Attributes:
        match: The tool as that search gives it.
        rank: Its place there, from 1.
        weight: How much its score there counts, in [0, 1].
    """

    match: Match
    rank: int
    weight: float


@dataclass(frozen=True, slots=True)
class MergedMatch:
    """One tool in the merged list.

    Attributes:
        score: The probability that it is wanted, in [0, 1]: the sum of weights times scores of its
            places, or what the tool above has where neither place is among the first `DEPTH` and
            that is less.
        asked: Its place by the query as it was given, `None` where that does not find it.
        rewritten: Its place by the rewrite, likewise.
    """

    score: float
    asked: SearchPlace | None
    rewritten: SearchPlace | None

    @property
    def is_by_rewrite(self) -> bool:
        """Whether the rewrite has the greater part in its score."""
        return self.asked is None or _part(self.rewritten) > _part(self.asked)

    @property
    def match(self) -> Match:
        """The tool, as the search that has the greater part in it gives it."""
        place = self.rewritten if self.is_by_rewrite else self.asked
        if place is None:
            raise AssertionError
        return replace(place.match, score=self.score)


def merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[MergedMatch]:
    """Return every tool of both lists, the likeliest first; of ties the one that ranks higher.

    The first `DEPTH` of each are merged by themselves, and the rest follows below: so a limit only
    cuts. What only a rewrite finds that is not trusted at all is left out.
    """
    rewritten = rewritten if trust else ()
    first = _merge(asked[:DEPTH], rewritten[:DEPTH], trust)
    known = {one.match.tool_id for one in first}
    rest = [one for one in _merge(asked, rewritten, trust) if one.match.tool_id not in known]
    return [*first, *(replace(one, score=min(one.score, first[-1].score)) for one in rest)]


def _merge(asked: Sequence[Match], rewritten: Sequence[Match], trust: float) -> list[MergedMatch]:
    ours = {match.tool_id: (match, rank) for rank, match in enumerate(asked, start=1)}
    theirs = {match.tool_id: (match, rank) for rank, match in enumerate(rewritten, start=1)}
    found = []
    for tool_id in {**ours, **theirs}:
        mine, other, weight = ours.get(tool_id), theirs.get(tool_id), trust
        if mine and mine[0].score >= SURE and (not other or other[0].score < mine[0].score):
            weight = 0.0
        by_query = SearchPlace(*mine, 1 - weight) if mine else None
        by_rewrite = SearchPlace(*other, weight) if other else None
        score = round(_part(by_query) + _part(by_rewrite), DECIMALS)
        found.append(MergedMatch(score, by_query, by_rewrite))
    return sorted(found, key=_order)


def _part(place: SearchPlace | None) -> float:
    return place.weight * place.match.score if place else 0.0


def _order(merged: MergedMatch) -> tuple[float, float, str]:
    places = (merged.asked, merged.rewritten)
    height = sum(place.weight / place.rank for place in places if place)
    return -merged.score, -round(height, DECIMALS), merged.match.tool_id


def normalized_answer(
    searcher: Searcher,
    request: SearchRequest,
    diagnostics: tuple[Diagnostic, ...],
    trace: Trace | None = None,
) -> SearchResult:
    """Answer *request*, whose query is rewritten where that is possible and worth while."""
    rewrite, vectors = _rewrite(searcher, request, trace)
    diagnostics = (*diagnostics, *rewrite.diagnostics)
    if not rewrite.text:
        return searcher.answer(replace(request, normalize=False), diagnostics, trace)[0]
    halves = [searcher.rank_request(part, trace, vectors) for part in _parts(request, rewrite)]
    return _join_results(searcher, request, rewrite, halves, diagnostics, trace)[0]


def normalized_explanation(
    searcher: Searcher, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer as `normalized_answer` does, and say how every part of the answer came about."""
    start = time.perf_counter()
    rewrite, vectors = _rewrite(searcher, request)
    duration = (time.perf_counter() - start) * 1e3
    diagnostics = (*diagnostics, *rewrite.diagnostics)
    if not rewrite.text:
        plain = explain(searcher, replace(request, normalize=False), diagnostics)
        return with_stage(plain, rewrite, duration)
    parts, traces = _parts(request, rewrite), [Trace(), Trace(), Trace()]
    halves = [searcher.rank_request(*each, vectors) for each in zip(parts, traces, strict=False)]
    result, offered = _join_results(searcher, request, rewrite, halves, diagnostics, traces[-1])
    rankings = [ranking for ranking, _ in halves]
    # Both are searched deeper than what is offered of them.
    parts = tuple(replace(part, limit=request.limit) for part in parts)
    joined = joined_explanation(parts, rankings, traces, result, offered, searcher)
    return with_stage(joined, rewrite, duration)


def _rewrite(
    searcher: Searcher, request: SearchRequest, trace: Trace | None = None
) -> tuple[Rewrite, SearchVectors | None]:
    """Have the query rewritten; where vectors are searched, they have a say in the trust."""
    vectors = None if request.strategy == Strategy.GRAPH else searcher.search_vectors()
    cache = searcher.services.cache if searcher.services else None
    rewrite = rewrite_query(request.query, searcher.index, searcher.normalizer(), cache)
    if not rewrite.text or rewrite.language is None or vectors is None:
        return rewrite, vectors
    try:
        with stage(trace, "embed"):
            # Without the context, which both share whatever they mean.
            agreement = vectors.agreement(request.query, rewrite.text)
    except EmbeddingError:
        return rewrite, vectors  # the searches themselves tell that there are no vectors
    trust = trust_in(request.query, rewrite.text, rewrite.language.foreign, agreement)
    return replace(rewrite, trust=trust, agreement=agreement), vectors


def _parts(request: SearchRequest, rewrite: Rewrite) -> tuple[SearchRequest, ...]:
    """Return both searches: deep enough to be merged, and without what only the whole can tell."""
    asked = replace(
        request,
        limit=depth(request.limit),
        min_score=0.0,
        abstain=False,
        normalize=False,
    )
    return asked, replace(asked, query=rewrite.text)


def _join_results(
    searcher: Searcher,
    request: SearchRequest,
    rewrite: Rewrite,
    halves: Sequence[tuple[RankedList, tuple[Diagnostic, ...]]],
    diagnostics: tuple[Diagnostic, ...],
    trace: Trace | None,
) -> tuple[SearchResult, list[MergedMatch]]:
    asked, rewritten = (searcher.matches(ranking) for ranking, _ in halves)
    found = merge(asked, rewritten, rewrite.trust)
    cut = found[: request.limit]
    offered = cut[: worth_offering([one.score for one in cut], request)]
    matches = tuple(one.match for one in offered)
    result = searcher.result(
        request,
        [ranking for ranking, _ in halves],
        matches,
        [searcher.number(match.tool_id) for match in matches],
        found[0].score if found else None,
        (*diagnostics, *dict.fromkeys(one for _, found in halves for one in found)),
        trace,
    )
    return replace(result, normalized_query=rewrite.text), offered


STAGE = "normalise"
OF_REWRITE = "rewrite"
"""Origin of words, and the beginning of the names of stages, that belong to the rewrite."""


def with_stage(explanation: Explanation, rewrite: Rewrite, duration_ms: float) -> Explanation:
    """Put what became of the query before everything else that *explanation* tells."""
    stage = Stage(STAGE, duration_ms, rewrite.details())
    return replace(explanation, stages=(stage, *explanation.stages))


def joined_explanation(
    parts: Sequence[SearchRequest],
    rankings: Sequence[RankedList],
    traces: Sequence[Trace],
    result: SearchResult,
    offered: Sequence[MergedMatch],
    searcher: Searcher,
) -> Explanation:
    """Return the explanation of a merged *result*, each match explained by the search that counts.

    *parts* are the query as it was given and its rewrite, *rankings* what came of each, *traces*
    the stages of each and those after merging, *offered* the matches with their places in both.
    """
    asked, rewritten = (
        compose_explanation(
            part,
            SearchResult(part.query, part.strategy, result.ranking_mode, searcher.matches(ranking)),
            ranking,
            trace,
            searcher,
        )
        for part, ranking, trace in zip(parts, rankings, traces, strict=False)
    )
    others = [
        replace(one, origin=OF_REWRITE) if one.origin == "query" else one for one in rewritten.words
    ]
    words = (*asked.words, *others)
    disabled = searcher.disabled_by_hints(parts[0])
    return replace(
        asked,
        result=result,
        normalized_query=result.normalized_query,
        words=words,
        stages=(
            *asked.stages,
            *(replace(one, name=f"{OF_REWRITE}.{one.name}") for one in rewritten.stages),
            *(
                replace(one, details=describe_expansion(result, searcher.index, disabled))
                for one in traces[-1].stages
            ),
        ),
        matches=tuple(_matches((asked, rewritten), offered)),
        expansions=tuple(explain_expansions(result)),
        advice=advice_on(result, words, rankings, searcher.index, disabled),
    )


def _matches(
    both: tuple[Explanation, Explanation], offered: Sequence[MergedMatch]
) -> Iterator[MatchExplanation]:
    by_id = [{match.tool_id: match for match in one.matches} for one in both]
    for rank, merged in enumerate(offered, start=1):
        match = by_id[merged.is_by_rewrite].get(merged.match.tool_id)
        if match is not None:
            places = (("query", merged.asked), (OF_REWRITE, merged.rewritten))
            yield replace(
                match,
                rank=rank,
                score=merged.score,
                found_by=tuple(
                    FoundBy(text, place.rank, place.match.score, place.weight)
                    for text, place in places
                    if place
                ),
            )
