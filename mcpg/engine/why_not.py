"""Why a tool is not first: stage by stage against the tools above it, with reasons in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcpg.engine.confidence import calibrate
from mcpg.engine.features import extract_features, find_lacking_clauses, named_exactly
from mcpg.engine.fusion import RankedCandidate, fuse
from mcpg.engine.hint_suggestions import MOST_TOOLS_COMPILED, HintSearch, best_change
from mcpg.engine.model import FEATURES
from mcpg.engine.pipeline import Search, gather
from mcpg.engine.query import Analysis
from mcpg.engine.results import MAX_LIMIT, SearchRequest, SearchResult
from mcpg.engine.retrieval import POOL
from mcpg.engine.searcher import Searcher
from mcpg.engine.trace import FeatureGap, HintSuggestion, RankExplanation, Retrieval, Rival, WordGap
from mcpg.errors import Code, Diagnostic, info
from mcpg.values import DECIMALS

_SHOWN = 3
_NEGLIGIBLE = 5e-7

_PHRASES = {
    "bm25f": "its texts answer the words of the query better",
    "nameCoverage": "more of its name is in the query",
    "openingName": "the query opens with its name",
    "grams": "its name and description are spelt more like the query",
    "cosine": "its words are more like the query's",
    "source": "its server answers more of the query",
    "coverage": "it holds more of the query's words",
    "sentence": "it answers the query's best sentence better",
    "related": "its texts have more words that are related to the query's",
    "relatedName": "its name has words that are related to the query's",
    "operation": "it does more of the kind that is asked for",
    "question": "the query is a question, and it is more likely to only read",
    "contextEdge": "an edge joins it to a tool in use",
    "contextWalk": "it is nearer to the tools in use",
    "contextSource": "it is of the same server as a tool in use",
    "exactName": "the query contains its name or an alias",
    "intent": "it answers a part of the query that the tools above it leave open",
}


def reasons(
    features: Sequence[FeatureGap],
    words: Sequence[WordGap],
    retrieval: Retrieval,
    *,
    is_hidden: bool,
    unmet: Sequence[str] = (),
) -> tuple[str, ...]:
    """Explain why a tool ("it") stands above the one that was asked about ("this tool").

    *features* are the differences of the two, the largest first; *retrieval*, *is_hidden* and the
    *unmet* conditions of the filter are of the one that was asked about.
    """
    ahead = [
        f"{_PHRASES.get(one.feature, one.feature)} ({one.feature} {one.difference:+.3f})"
        for one in features
        if one.difference >= _NEGLIGIBLE
    ]
    filtered = [f"the filter leaves this tool out: {one}" for one in unmet]
    outside = _outside(retrieval, is_hidden=is_hidden)
    found = [*filtered, *outside, *ahead[:_SHOWN], *_words(words)]
    return tuple(found) or ("the two are level, and the smaller tool id goes first",)


def _outside(retrieval: Retrieval, *, is_hidden: bool) -> Iterator[str]:
    if is_hidden:
        yield "this tool is disabled by default, so a search leaves it out"
    if retrieval.is_pooled:
        return
    if not retrieval.lexical and not retrieval.place:
        yield "this tool holds no word of the query"
    else:
        place = f"place {retrieval.place}" if retrieval.place else f"beyond {retrieval.retrieved:,}"
        yield (
            f"by its words alone this tool comes to {place}: only the first {retrieval.pool} are"
            " looked at closely"
        )


def _words(words: Sequence[WordGap]) -> Iterator[str]:
    """Name the words that only the tool above holds, the weightiest first."""
    alone = sorted(
        (word for word in words if word.other and not word.own), key=lambda word: -word.share
    )
    if alone:
        names = ", ".join(f"{word.query!r} ({word.share:.0%} of the query)" for word in alone)
        yield f"only it holds {names}"


MOST_RANKED = 10_000
"""Places beyond this are not counted."""


class RankedField:
    """All tools that one request retrieves, ranked, with one of them under the lens."""

    def __init__(self, search: Search, tool: int, unmet: tuple[str, ...] = ()) -> None:
        """Rank them; *tool* is ranked whether or not it is retrieved, or left out.

        *unmet* are the conditions of the filter that it does not meet.
        """
        index, model = search.index, search.model
        self.index = index
        self.model = model
        self.tool = tool
        self.unmet = unmet
        self.is_hidden = not (search.request.include_disabled or index.is_enabled(tool))
        size = min(MOST_RANKED, max(MAX_LIMIT, len(index)))
        self.analysis, self.pool = gather(search.offering(tool), size)
        documents, ends = self.pool.documents, self.pool.ends
        everything = extract_features(dict.fromkeys((*documents, tool)), self.analysis, index)
        ranked = fuse(everything, model.weights, len(everything), ends)
        self.own = next(one for one in ranked if one.candidate.document == tool)
        self.is_found = tool in documents
        self.is_ranked = self.is_found and not (self.is_hidden or unmet)
        # What nothing retrieved comes after all that something did.
        self.place = ranked.index(self.own) if self.is_found else len(ranked) - 1
        if not self.is_found:
            # The search sees the others without it.
            everything = extract_features(documents, self.analysis, index)
            ranked = fuse(everything, model.weights, len(everything), ends)
        self.others = [one for one in ranked if one.candidate.document != tool]
        calibrations = calibrate(ranked, everything, self.analysis, model, len(index))
        self.scores = [one.score for one in calibrations]
        self.is_named = tool in named_exactly(self.analysis, index)


def report_graph_rank(request: SearchRequest, result: SearchResult, tool_id: str) -> Diagnostic:
    """Return the diagnostic that a rank is explained by the graph, with the rank in *result*."""
    fusion = f" with fusion {request.fusion}" if request.fusion else ""
    way = f"{request.strategy}{fusion}{', normalized' if request.normalize else ''}"
    found = [match.tool_id for match in result.matches]
    place = (
        f"its rank is {found.index(tool_id) + 1}"
        if tool_id in found
        else f"it is not among the first {request.limit}"
    )
    message = f"why {tool_id} is where it is is told of the strategy graph; by {way} {place}"
    return info(Code.TOOL_EXPLAINED_BY_GRAPH, message)


def explain_rank(searcher: Searcher, request: SearchRequest, tool_id: str) -> RankExplanation:
    """Explain the rank of a tool for *request*, which must not browse."""
    tool = searcher.number(tool_id)
    # Changed indexes have other terms: nothing that is known of this one counts for them.
    search = replace(searcher.search(request), memo=None)
    unmet = searcher.unmet(tool, request)
    field = RankedField(replace(search, selection=searcher.selection(request)), tool, unmet)
    hint_search = HintSearch(search, tool)
    is_first = field.is_ranked and not field.place
    change = None if is_first or unmet else best_change(hint_search)
    retrieval = _retrieval(field)
    lacking = [
        field.analysis.clauses[place]
        for place in find_lacking_clauses(field.own.candidate, field.analysis)
    ]
    return RankExplanation(
        tool_id=tool_id,
        rank=field.place + 1 if field.is_ranked else None,
        ranked=len(field.pool.documents),
        score=field.scores[field.place] if field.is_ranked else 0.0,
        fused_score=field.own.score,
        is_hidden=field.is_hidden,
        is_named=field.is_named,
        retrieval=retrieval,
        missing=tuple(clause.text for clause in sorted(lacking, key=lambda clause: -clause.weight)),
        above=tuple(
            _rival(field, place, retrieval)
            for place in sorted({0, field.place - 1} if field.place else ())
        ),
        change=change,
        remark=_remark(change, hint_search, field),
        unmet=unmet,
    )


def _retrieval(field: RankedField) -> Retrieval:
    """Describe how the tool came through retrieval; its place counts those of single intents."""
    lexical = {one.candidate.document: one.candidate.lexical for one in (field.own, *field.others)}
    own, by_words = lexical[field.tool], field.pool.by_words
    first = by_words[:POOL]
    place = by_words.index(field.tool) + 1 if field.tool in by_words else None
    return Retrieval(
        is_pooled=field.tool in field.pool.documents[: field.pool.ends[0]],
        lexical=own,
        place=place,
        retrieved=len(by_words),
        pool=POOL,
        last=min(map(lexical.__getitem__, first)) if len(first) == POOL else 0.0,
    )


def _rival(field: RankedField, place: int, retrieval: Retrieval) -> Rival:
    own, other = field.own, field.others[place]
    rows = zip(FEATURES, own.values, other.values, field.model.weights, strict=True)
    gaps = [FeatureGap(name, weight * one, weight * two) for name, one, two, weight in rows]
    features = tuple(sorted(gaps, key=lambda gap: -abs(gap.difference)))
    words = _word_gaps(own, other, field.analysis)
    return Rival(
        tool_id=field.index.tool_id(other.candidate.document),
        rank=place + 1,
        score=field.scores[place],
        fused_score=other.score,
        gap=round(other.score - own.score, DECIMALS),
        features=features,
        words=words,
        because=reasons(features, words, retrieval, is_hidden=field.is_hidden, unmet=field.unmet),
    )


def _word_gaps(
    own: RankedCandidate, other: RankedCandidate, analysis: Analysis
) -> tuple[WordGap, ...]:
    rows = zip(analysis.clauses, own.candidate.impacts, other.candidate.impacts, strict=True)
    shares = (
        (clause, clause.weight / analysis.total_weight, one, two) for clause, one, two in rows
    )
    return tuple(
        WordGap(clause.text, share, share * one, share * two) for clause, share, one, two in shares
    )


def _remark(change: HintSuggestion | None, hint_search: HintSearch, field: RankedField) -> str:
    """Return why there is no change, or why it does not make the tool first; "" else."""
    if field.is_ranked and not field.place:
        return "it is first already"
    if field.unmet:
        return "the filter leaves it out: search without that condition"
    return _remark_on(change, hint_search, field)


def _remark_on(change: HintSuggestion | None, hint_search: HintSearch, field: RankedField) -> str:
    first = field.others[0].candidate if field.others else None
    if first and first.exact and (change is None or change.rank_after > 1):
        name = field.index.tool_id(first.document)
        named = f"the query contains the name or an alias of {name}"
        return f"{named}, and nothing drawn from it weighs as much"
    if change is None:
        if not hint_search.hint_words() and hint_search.alias() is None:
            return "the query holds no word that one would write down as a keyword"
        return "no keyword or alias drawn from the query lifts it: reword its description"
    if not change.is_verified:
        return (
            f"the catalogue has more than {MOST_TOOLS_COMPILED:,} tools: bundle and search to see"
        )
    if change.rank_after > 1:
        return "no keyword or alias drawn from the query makes it first; this lifts it most"
    return ""
