"""Why a tool is not first: stage by stage against the tools above it, with reasons in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, takewhile

from mcpg.catalog.model import Hints, SourceDocument
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import write_document
from mcpg.errors import Code, Diagnostic, DocumentError, info
from mcpg.explain.hint_words import HintWord, RequestWords, as_alias, as_keywords, preference
from mcpg.index.compile import compile_index
from mcpg.index.hint_overlay import HintOverlay
from mcpg.index.reader import Index
from mcpg.index.tables import Section
from mcpg.search.calibration import calibrate
from mcpg.search.features import (
    extract_features,
    find_lacking_clauses,
    fuse,
    named_exactly,
)
from mcpg.search.model import FEATURES, PROVENANCE
from mcpg.search.pipeline import Search, gather
from mcpg.search.query import Analysis
from mcpg.search.results import MAX_LIMIT, SearchRequest, SearchResult
from mcpg.search.retrieval import POOL
from mcpg.search.scope import find_unmet
from mcpg.search.searcher import Searcher
from mcpg.search.trace import FeatureGap, HintSuggestion, RankExplanation, Retrieval, Rival, WordGap
from mcpg.text import join_words, lexicon
from mcpg.values import DECIMALS


def recompile_with_hints(index: Index, tool: int, hints: Hints) -> Index:
    """Return the index of the same catalog with *hints* before the hints of one tool.

    Its document is written and read again, as a bundle is made and loaded.
    """
    documents = [index.record(number) for number in range(len(index))]
    document = documents[tool]
    hints = Hints.merge(hints, document.tool.hints)
    document = replace(document, tool=replace(document.tool, hints=hints))
    source = SourceDocument(document.path, write_document(document), document.uri)
    documents[tool] = parse_document(source)[0]
    origin = Section(PROVENANCE, "B", bytes(index.section(PROVENANCE)))
    model, pages = index.section("model"), index.pages()
    return Index(compile_index(documents, model=model, pages=pages, extra=[origin]))


MOST_TOOLS_COMPILED = 20_000
"""In a larger catalog a change is not verified by compiling it, because that takes too long."""

MOST_READ = 5_000
"""Words of the query that are read at most, over all edits: each reads the query again. Of a query
of a dozen words every edit is tried, of one of a thousand characters the first few dozen."""

MOST_ADDED = 6
"""The most words that are proposed."""

MOST_TELLING = 3
"""Up to so many words, only specific words are tried before others are added."""

_ALL_PAIRS = 2
_BEAM = 6
_MOST_PROVED = 3


@dataclass(frozen=True, slots=True)
class HintTrial:
    """The rank of the tool after an edit.

    Attributes:
        rank: The rank of the tool; `None` if it is not among the best.
        lead: Its fused score less that of the best other tool.
        score: Its calibrated score; 0 without a rank.
    """

    hints: Hints
    rank: int | None
    lead: float
    score: float


class HintSearch:
    """Tries edits to the hints of one tool for one request."""

    def __init__(self, search: Search, tool: int) -> None:
        self._search = search.offering(tool)
        self._tool = tool
        self._what_if = HintOverlay(search.index, tool)
        self._own = self._what_if.document.tool.hints
        is_offered = search.request.include_disabled or search.index.is_enabled(tool)
        self._enabling = Hints() if is_offered else Hints(enabled_by_default=True)
        self._tried: dict[Hints, HintTrial] = {}
        self._read = 0

    @property
    def is_spent(self) -> bool:
        """Whether enough has been tried."""
        return self._read >= MOST_READ

    def trial(self, added: Hints) -> HintTrial:
        """Return the rank of the tool with *added* hints."""
        known = self._tried.get(added)
        if known is None:
            index = self._what_if.with_hints(Hints.merge(added, self._own))
            hints = Hints.merge(added, self._enabling)
            known = self._tried[added] = self._look(hints, self._search._replace(index=index))
        return known

    def prove(self, trial: HintTrial) -> HintSuggestion:
        """Return the actual rank of the tool with the hints of *trial*, by compiling the catalog.

        A catalog that is too large to compile interactively is not compiled.
        """
        is_provable = len(self._search.index) <= MOST_TOOLS_COMPILED
        found = trial
        if is_provable:
            try:
                index = recompile_with_hints(self._search.index, self._tool, trial.hints)
                found = self._look(trial.hints, self._search._replace(index=index))
            except DocumentError:
                found = replace(trial, rank=None)
        return HintSuggestion(trial.hints, found.rank or 0, found.score, is_provable)

    @cached_property
    def hint_words(self) -> list[HintWord]:
        """The words of the request that may be added, the preferred first."""
        index, (analysis, _) = self._search.index, self._analysis
        (candidate,) = extract_features([self._tool], analysis, index)
        is_held = [
            bool(impact)
            or any(index.find_posting(term, self._tool)[0] for term, _ in clause.related_variants)
            for clause, impact in zip(analysis.clauses, candidate.impacts, strict=True)
        ]
        return self._words.hint_words(is_held, self._own.keywords)

    def alias(self) -> Hints | None:
        """Return hints with the request as an alias, `None` if unsuitable or a tool's name."""
        alias = self._words.alias()
        return Hints(aliases=(alias,)) if alias and not self.is_name(alias) else None

    def is_name(self, text: str) -> bool:
        """Return whether a tool has *text* as its name or alias."""
        return bool(self._search.index.exact(join_words(text)))

    @cached_property
    def _analysis(self) -> tuple[Analysis, str | None]:
        """What the request became, and its language."""
        analysis, _ = gather(self._search, POOL)
        language = analysis.language or self._search.index.language
        if language in lexicon.UNSPACED:
            # A keyword is indexed by its pairs of characters, not as the words it is cut into.
            plain = self._search.request._replace(lexicon=False)
            analysis, _ = gather(self._search._replace(request=plain), POOL)
        return analysis, language

    @cached_property
    def _words(self) -> RequestWords:
        request = self._search.request
        text = request.query or request.context
        return RequestWords(text, *self._analysis, self._search.index)

    def _look(self, added: Hints, search: Search) -> HintTrial:
        index, model = search.index, search.model
        analysis, pool = gather(search, POOL)
        self._read += len(analysis.clauses)
        documents = dict.fromkeys((*pool.documents, self._tool))
        candidates = extract_features(documents, analysis, index)
        ranked = fuse(candidates, model.weights, len(candidates), pool.ends)
        place = next(n for n, one in enumerate(ranked) if one.candidate.document == self._tool)
        own = ranked[place].score
        others = [one.score for one in ranked if one.candidate.document != self._tool]
        lead = own - max(others, default=0.0)
        if self._tool not in pool.documents:
            return HintTrial(added, None, lead, 0.0)
        scores = calibrate(ranked, candidates, analysis, model, index.population)
        return HintTrial(added, place + 1, lead, scores[place].score)

    def best_change(self) -> HintSuggestion | None:
        """Find the change that makes the tool first, or else lifts it most.

        An alias of the request comes first, because it only affects this request. Otherwise the
        fewest words are added, keywords before an alias, words that the tool lacks before others,
        words of a subject before common words, short words before long words. All single words and
        pairs are tried, and extensions of the best ones, within `MOST_READ`. The proposal is
        verified.
        """
        for trial in self._find_edits():
            change = self.prove(trial)
            if change.rank_after == 1:
                return change
        alias = self.alias()
        ranked = [
            (
                one.rank,
                one.hints != alias,
                sum(len(text.split()) for text in (*one.hints.keywords, *one.hints.aliases)),
                -one.lead,
                n,
                one,
            )
            for n, one in enumerate(self._tried.values())
            if one.rank
        ]
        best = min(ranked, default=None)
        # A disabled tool needs to be enabled, whatever its rank is then.
        if best is None or best[-1].hints == Hints():
            return None
        change = self.prove(best[-1])
        return change if change.rank_after else None

    def _find_edits(self) -> Iterator[HintTrial]:
        self.trial(Hints())
        if (alias := self.alias()) is not None:
            self.trial(alias)
        yield from [trial for trial in self._tried.values() if trial.rank == 1]
        telling = [word for word in self.hint_words if not word.is_doubtful]
        proved = 0
        for source, most in ((telling, MOST_TELLING), (self.hint_words, MOST_ADDED)):
            for trial in self._search_edits(source, most):
                yield trial
                proved += 1
                if proved == _MOST_PROVED:
                    return
        yield from self._try_last_resorts()

    def _search_edits(self, words: Sequence[HintWord], most: int) -> Iterator[HintTrial]:
        beam: list[tuple[HintWord, ...]] = [()]
        for size in range(1, most + 1):
            grown: Iterable[tuple[HintWord, ...]] = combinations(words, size)
            if size > _ALL_PAIRS:
                wider = dict.fromkeys(frozenset((*one, word)) for one in beam for word in words)
                grown = (tuple(w for w in words if w in one) for one in wider if len(one) == size)
            sets = sorted(grown, key=preference)
            unspent = takewhile(lambda _: not self.is_spent, sets)
            trials = [(self.trial(as_keywords(chosen)), chosen) for chosen in unspent]
            yield from (trial for trial, _ in trials if trial.rank == 1)
            trials.sort(key=lambda entry: -entry[0].lead)
            beam = [chosen for _, chosen in trials[:_BEAM]]
            if size > 1:
                edits = map(as_alias, beam)
                free = [hints for hints in edits if not any(map(self.is_name, hints.aliases))]
                aliases = [self.trial(hints) for hints in free]
                yield from (trial for trial in aliases if trial.rank == 1)
            if self.is_spent:
                return

    def _try_last_resorts(self) -> Iterator[HintTrial]:
        """Yield keywords beside the alias of the request, if any, or the best of some words."""
        ordered = sorted(self._tried.values(), key=lambda trial: -trial.lead)
        alone = [trial.hints for trial in ordered if trial.hints.aliases][:1]
        alias, words = self.alias(), self.hint_words
        edits = [] if alias is None else [alias]
        edits += [
            Hints.merge(hints, as_keywords([word])) for hints in (*edits, *alone) for word in words
        ]
        edits += [Hints.merge(hints, as_keywords(words)) for hints in alone]
        for added in edits:
            if self.is_spent:
                return
            if (trial := self.trial(added)).rank == 1:
                yield trial


_SHOWN = 3
_NEGLIGIBLE = 5e-7

_PHRASES = {
    "bm25f": "its texts answer the words of the query better",
    "nameCoverage": "more of its name is in the query",
    "openingName": "the query opens with its name",
    "grams": "its name and description are spelt more like the query",
    "cosine": "its words are more like the query's",
    "source": "its server answers more of the query",
    "coverage": "it contains more of the query's words",
    "sentence": "it answers the query's best sentence better",
    "related": "its texts have more words that are related to the query's",
    "relatedName": "its name has words that are related to the query's",
    "operation": "its kind of operation fits the request better",
    "question": "the query is a question, and it is more likely to only read",
    "contextEdge": "an edge joins it to a tool in use",
    "contextWalk": "it is nearer to the tools in use",
    "contextSource": "it is of the same server as a tool in use",
    "exactName": "the query contains its name or an alias",
    "meaning": "its meaning is nearer to the query's words",
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
    """Explain why a tool ("it") ranks above the tool in question ("this tool").

    *features* are the differences of the two, the largest first; *retrieval*, *is_hidden* and the
    *unmet* conditions of the filter belong to the tool in question.
    """
    ahead = [
        f"{_PHRASES.get(one.feature, one.feature)} ({one.feature} {one.difference:+.3f})"
        for one in features
        if one.difference >= _NEGLIGIBLE
    ]
    outside = [f"the filter leaves this tool out: {one}" for one in unmet]
    if is_hidden:
        outside.append("this tool is disabled by default, so a search leaves it out")
    if not (retrieval.is_pooled or retrieval.lexical or retrieval.place):
        outside.append("this tool contains no word of the query")
    elif not retrieval.is_pooled:
        place = (
            f"at place {retrieval.place}" if retrieval.place else f"beyond {retrieval.retrieved:,}"
        )
        outside.append(
            f"by its words this tool is {place}: only the first {retrieval.pool} are candidates"
        )
    alone = sorted(
        (word for word in words if word.other and not word.own), key=lambda word: -word.share
    )
    names = ", ".join(f"{word.query!r} ({word.share:.0%} of the query)" for word in alone)
    only = [f"only it contains {names}"] if alone else []
    found = (*outside, *ahead[:_SHOWN], *only)
    return found or ("the two are level, and the smaller tool id goes first",)


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
        calibrations = calibrate(ranked, everything, self.analysis, model, index.population)
        self.scores = [one.score for one in calibrations]
        self.is_named = tool in named_exactly(self.analysis, index)


def report_graph_rank(request: SearchRequest, result: SearchResult, tool_id: str) -> Diagnostic:
    """Return the diagnostic that a rank is explained by the graph, with the rank in *result*."""
    fusion = f" with fusion {request.fusion}" if request.fusion else ""
    way = f"{request.strategy}{fusion}{', rewritten' if request.rewrite else ''}"
    found = [match.tool_id for match in result.matches]
    place = (
        f"its rank is {found.index(tool_id) + 1}"
        if tool_id in found
        else f"it is not among the first {request.limit}"
    )
    message = f"the rank of {tool_id} is explained for the strategy graph; by {way} {place}"
    return info(Code.TOOL_EXPLAINED_BY_GRAPH, message)


def explain_rank(searcher: Searcher, request: SearchRequest, tool_id: str) -> RankExplanation:
    """Explain the rank of a tool for *request*, which must not browse."""
    tool = searcher.number(tool_id)
    # Changed indexes have other terms: nothing that is known of this one counts for them.
    search = searcher.search(request)._replace(memo=None)
    unmet = tuple(find_unmet(tool, searcher.index, request))
    field = RankedField(search._replace(selection=searcher.selection(request)), tool, unmet)
    hint_search = HintSearch(search, tool)
    is_first = field.is_ranked and not field.place
    change = None if is_first or unmet else hint_search.best_change()
    # Its retrieval; its place includes the documents of single intents.
    lexical = {one.candidate.document: one.candidate.lexical for one in (field.own, *field.others)}
    by_words = field.pool.by_words
    first = by_words[:POOL]
    retrieval = Retrieval(
        is_pooled=tool in field.pool.documents[: field.pool.ends[0]],
        lexical=lexical[tool],
        place=by_words.index(tool) + 1 if tool in by_words else None,
        retrieved=len(by_words),
        pool=POOL,
        last=min(map(lexical.__getitem__, first)) if len(first) == POOL else 0.0,
    )
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
            _describe_rival(field, place, retrieval)
            for place in sorted({0, field.place - 1} if field.place else ())
        ),
        change=change,
        remark=_explain_change(change, hint_search, field),
        unmet=unmet,
    )


def _describe_rival(field: RankedField, place: int, retrieval: Retrieval) -> Rival:
    own, other = field.own, field.others[place]
    rows = zip(FEATURES, own.values, other.values, field.model.weights, strict=True)
    gaps = [FeatureGap(name, weight * one, weight * two) for name, one, two, weight in rows]
    features = tuple(sorted(gaps, key=lambda gap: -abs(gap.difference)))
    analysis = field.analysis
    impacts = zip(analysis.clauses, own.candidate.impacts, other.candidate.impacts, strict=True)
    words = tuple(
        WordGap(clause.text, share, share * one, share * two)
        for clause, one, two in impacts
        for share in (clause.weight / analysis.total_weight,)
    )
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


def _explain_change(
    change: HintSuggestion | None, hint_search: HintSearch, field: RankedField
) -> str:
    """Return why a change is missing or does not make the tool first, or ""."""
    if field.is_ranked and not field.place:
        return "it is first already"
    if field.unmet:
        return "the filter leaves it out: search without that condition"
    is_lifted = change is not None and change.rank_after == 1
    first = field.others[0].candidate if field.others else None
    if first and first.exact and not is_lifted:
        name = field.index.tool_id(first.document)
        named = f"the query contains the name or an alias of {name}"
        return f"{named}, and nothing drawn from it weighs as much"
    if change is None:
        if hint_search.hint_words or hint_search.alias() is not None:
            return "no keyword or alias drawn from the query lifts it: reword its description"
        return "the query has no word that would be a useful keyword"
    remark = "no keyword or alias drawn from the query makes it first; this lifts it most"
    if not change.is_verified:
        most = f"{MOST_TOOLS_COMPILED:,}"
        remark = f"the catalog has more than {most} tools: bundle and search to verify it"
    return remark if not (change.is_verified and is_lifted) else ""
