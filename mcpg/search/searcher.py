"""The searcher: from a request to the values of an answer, over one index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from operator import not_
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from mcpg.catalog.view import ToolView
from mcpg.errors import Code, Diagnostic, warning
from mcpg.index import Index
from mcpg.index.layout import ABSENT, StaleIndexError
from mcpg.index.recipe import FIELDS
from mcpg.search.calibration import LOW_CONFIDENCE
from mcpg.search.features import Candidate
from mcpg.search.model import read_model
from mcpg.search.pipeline import RankedList, Search, run_graph, stage
from mcpg.search.prerequisites import (
    LEAST_PATH,
    NeedCache,
    Prerequisite,
    choose_goals,
    find_needs,
    prerequisites,
)
from mcpg.search.query_terms import TermReader, WordCache
from mcpg.search.results import (
    NONE,
    PREREQUISITE,
    EngineServices,
    Evidence,
    LinkReason,
    Match,
    RankingMode,
    SearchRequest,
    SearchResult,
    Strategy,
)
from mcpg.search.retrieval import ARRAYS, NEXT_STEP, RELATED, Edge, expand, focused_graph
from mcpg.search.scope import FilterResult, apply_filter
from mcpg.text import lexicon, stem
from mcpg.text.words import read_stop_words
from mcpg.values import format_below

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.search.guards import CandidateSelection, GuardedRewriter, GuardedSource
    from mcpg.search.index_vectors import IndexVectors, SearchVectors
    from mcpg.search.trace import Trace


MOST_TOOLS = 4_096
"""Tools are read ahead where there are up to so many; each takes about six kilobytes."""

MOST_WORDS = 4_096
"""The number of most frequent words that are read ahead; each takes about two kilobytes."""

MOST_FREQUENT = 4_096
"""The number of most frequent words of the catalog's language that are also read ahead."""

FREQUENT_PER_WORD = 16
"""A catalog of fewer words has so many frequent ones read ahead for each of its own."""

MOST_POSTINGS = 262_144
"""Postings are read ahead where there are up to so many; each takes about a hundred bytes."""

_TABLES = ("keys", "phrases", "terms", "words")


_Variants: TypeAlias = tuple[tuple[int, float], ...]

# The number of tools whose shown texts are kept after their first use.
_MOST_CARDS = 4_096
# The same for edges.
_MOST_EDGES = 4_096
_FIELD_BITS = [(1 << number, name) for number, name in enumerate(FIELDS)]
_NO_EVIDENCE = Evidence()
# Words of a query that a warning names, and their least content, which excludes "please".
_MOST_WORDS_NAMED = 3
_LEAST_CONTENT = 0.8
# The number of filters whose results are kept.
_MOST_FILTERS = 8


class Searcher:
    """Searches one index; its answers never change.

    Every method raises `StaleIndexError` if it reads a damaged part of the index.
    """

    def __init__(
        self,
        index: Index,
        describe: Callable[[str], Tool],
        view: Callable[[str], ToolView],
        services: EngineServices | None = None,
    ) -> None:
        """Prepare to search *index*.

        *describe* returns the whole tool of an id, *view* the part that lists show.
        """
        self.index = index
        self.services = services
        self.model = read_model(index)
        self._describe = describe
        self._view = view
        self._disabled = frozenset(index.iter_disabled_tools())
        self._filtered: dict[tuple[object, ...], FilterResult] = {}
        # Shared between threads, which all compute the same values.
        self._memo = WordCache()
        # For searches with and without disabled tools.
        self._sources: dict[bool, GuardedSource] = {}
        self._semantics: IndexVectors | None = None
        self._rewriter: GuardedRewriter | None = None
        self._lock = Lock()
        self._cards: dict[int, tuple[str, str, str, str, str]] = {}
        self._vias: dict[int, LinkReason] = {}
        self._fields: dict[int, tuple[str, ...]] = {}
        self._needs = NeedCache()

    def read_ahead(self) -> None:
        """Read the data that searches look up, as far as it is cached."""
        index = self.index
        ARRAYS.prepare(index)
        lexicon.read_ahead()
        read_stop_words()
        for name in _TABLES:
            index.keys(name).read_ahead()
        if len(index.section("postings")) <= MOST_POSTINGS:
            for term in range(len(index.texts("terms"))):
                index.impacts(term)
        # The words of the catalog, and frequent words of its language, are read like a query.
        terms = index.section("words.term")
        numbers = sorted(range(len(terms)), key=lambda word: -index.document_frequency(terms[word]))
        language = index.language or lexicon.ENGLISH
        reader = TermReader(index, language, self._memo)
        reader.read_stems()
        most = min(MOST_FREQUENT, FREQUENT_PER_WORD * len(numbers))
        frequent = lexicon.frequent_words(language, most)
        for one in reader.read((*map(index.word, numbers[:MOST_WORDS]), *frequent)):
            index.grams.of_word(one.repairs[0].word if one.repairs else one.text)
        for tool in range(len(index)) if len(index) <= MOST_TOOLS else ():
            index.names.of_tool(tool)
            index.grams.of_tool(tool)
            index.edges(tool)
            find_needs(tool, index, self._needs)
            self._card(tool)

    def documents(self) -> list[ToolDocument]:
        return [self.index.record(number) for number in range(len(self.index))]

    def enabled_by_id(self) -> dict[str, bool]:
        """Return whether each tool, by id, is enabled by default."""
        numbers = range(len(self.index))
        return {self.index.tool_id(number): number not in self._disabled for number in numbers}

    def tool(self, tool_id: str) -> Tool:
        return self.index.record(self.number(tool_id)).tool

    def view(self, tool_id: str) -> ToolView:
        return self.index.view(self.number(tool_id))

    def number(self, tool_id: str) -> int:
        number = self.index.find_tool(tool_id)
        if number == ABSENT:
            raise StaleIndexError("it does not find a tool that it has")
        return number

    def answer(
        self,
        request: SearchRequest,
        diagnostics: tuple[Diagnostic, ...],
        trace: Trace | None = None,
    ) -> tuple[SearchResult, RankedList | None]:
        """Answer *request* by its query, not rewritten; *diagnostics* precede the result's."""
        if not self.has_tools(request):
            nothing = SearchResult(request.query, request.strategy, RankingMode.EMPTY)
            return nothing._replace(diagnostics=diagnostics), None
        if request.is_browsing:
            index, left_out = self.index, self.excluded_tools(request)
            shown = ((index.tool_name(n), n) for n in range(len(index)) if n not in left_out)
            rows = sorted((name.casefold(), name, index.source_id(n), n) for name, n in shown)
            listed = tuple(self._match(number, 0.0) for *_, number in rows[: request.limit])
            nothing = SearchResult("", request.strategy, RankingMode.BROWSE)
            return nothing._replace(matches=listed, diagnostics=diagnostics), None
        ranking, found = self.rank_request(request, trace)
        numbers = [number for number, _ in ranking.primaries]
        matches, faults = self.matches(ranking), (*diagnostics, *found)
        result = self.result(request, (ranking,), matches, numbers, ranking.best, faults, trace)
        return result, ranking

    def rank_request(
        self,
        request: SearchRequest,
        trace: Trace | None = None,
        vectors: SearchVectors | None = None,
    ) -> tuple[RankedList, tuple[Diagnostic, ...]]:
        """Rank tools by the query of *request*, not rewritten; also return the diagnostics.

        *vectors* are the vectors of the enclosing search, if any.
        """
        selection = self.selection(request)
        search = self.search(request, trace, selection)
        diagnostics: tuple[Diagnostic, ...] = ()
        if request.strategy == Strategy.GRAPH:
            ranking = run_graph(search)
        else:
            from mcpg.search.hybrid import run_with_vectors  # noqa: PLC0415 - the graph needs no vectors

            ranking, diagnostics = run_with_vectors(search, vectors or self.search_vectors())
        if request.lexicon and lexicon.faults:
            tables = [f"{name} ({reason})" for name, reason in sorted(lexicon.faults.items())]
            message = f"word tables that cannot be used: {', '.join(tables)}"
            diagnostics = (warning(Code.LEXICON_UNAVAILABLE, message), *diagnostics)
        return ranking, (*selection.diagnostics, *diagnostics) if selection else diagnostics

    def search(
        self,
        request: SearchRequest,
        trace: Trace | None = None,
        selection: CandidateSelection | None = None,
    ) -> Search:
        """Return the input of the stages of the pipeline for *request*."""
        excluded, memo = self.excluded_tools(request), self._memo
        filtered = self.apply_filter(request)
        allowed = filtered.allowed if filtered else None
        return Search(request, self.index, self.model, excluded, trace, memo, selection, allowed)

    def matches(self, ranking: RankedList) -> tuple[Match, ...]:
        asked = [clause for clause in ranking.analysis.clauses if clause.origin == "query"]
        texts, variants = [one.text for one in asked], [one.variants for one in asked]
        found = []
        for fused, calibration in zip(ranking.ranked, ranking.calibrations, strict=True):
            candidate = fused.candidate
            evidence = self._evidence(candidate, texts, variants)
            found.append(self._match(candidate.document, calibration.score, evidence))
        return tuple(found)

    def result(
        self,
        request: SearchRequest,
        rankings: Sequence[RankedList],
        matches: tuple[Match, ...],
        numbers: Sequence[int],
        best: float | None,
        diagnostics: tuple[Diagnostic, ...],
        trace: Trace | None = None,
    ) -> SearchResult:
        """Return the result that offers *matches*, best first, with what edges reach from these.

        *numbers* are the document numbers of the matches, *rankings* the lists that they come from,
        *best* is the best score in [0, 1], offered or not; `None` without candidates.
        """
        primaries = [(one, match.score) for one, match in zip(numbers, matches, strict=True)]
        with stage(trace, "expand"):
            needed, related, next_steps = self._expand(request, rankings, primaries)
        before = []
        for tool, score, _, _, (_, then, _, _, weight, reason, fields) in needed:
            via = LinkReason(PREREQUISITE, self.index.tool_id(then), reason, weight, fields)
            before.append(self._match(tool, score, _NO_EVIDENCE, via))
        details = [one.semantic for one in rankings if one.semantic]
        counts = len(related), len(next_steps), len(needed)
        merges = dict.fromkeys(one.describe_merge(*counts) for one in details)
        doubts = _describe_doubts(request, best, matches, rankings)
        diagnostics = (*diagnostics, *filter(None, merges), *doubts)
        reached = [target for _, _, target, *_ in (*related, *next_steps)]
        shown = (*numbers, *reached, *[one.tool for one in needed])
        modes = {one.mode(is_expanded=any(counts)) for one in details}
        if len(details) < len(rankings):
            modes.add(RankingMode.GRAPH)
        return SearchResult(
            request.query,
            request.strategy,
            modes.pop() if len(modes) == 1 else RankingMode.HYBRID,
            matches,
            tuple(map(self._related_match, related)),
            tuple(map(self._related_match, next_steps)),
            diagnostics,
            focused_graph(shown, self.index),
            None,
            tuple(before),
        )

    def _expand(
        self,
        request: SearchRequest,
        rankings: Sequence[RankedList],
        primaries: Sequence[tuple[int, float]],
    ) -> tuple[tuple[Prerequisite, ...], list[Edge], list[Edge]]:
        """Return what must run before the *primaries*, is related to them, and may follow them."""
        windows = [one.semantic.window(request.limit) for one in rankings if one.semantic]
        within = frozenset().union(*windows) if len(windows) == len(rankings) else None
        analysis, excluded = rankings[0].analysis, self.excluded_tools(request)
        needed = prerequisites(
            # If only vectors rank, the graph adds nothing.
            choose_goals(primaries) if within is None or within else [],
            self.index,
            literals=analysis.literals,
            without=excluded,
            done=analysis.used.tools if analysis.used else (),
            limit=request.limit,
            least=LEAST_PATH,
            memo=self._needs,
        ).found
        related, next_steps = expand(
            primaries,
            self.index,
            excluded=excluded,
            limit=request.limit,
            within=within,
            shown=[one.tool for one in needed],
        )
        return needed, related, next_steps

    def apply_filter(self, request: SearchRequest) -> FilterResult | None:
        """Return what the filter of *request* leaves, `None` if none is set."""
        if not request.is_filtered:
            return None
        conditions = request.sources, request.categories, request.read_only
        key = *conditions, request.include_disabled
        known = self._filtered.get(key)
        if known is None:
            disabled = frozenset[int]() if request.include_disabled else self._disabled
            known = apply_filter(self.index, request, disabled)
            with self._lock:
                if len(self._filtered) >= _MOST_FILTERS:
                    del self._filtered[next(iter(self._filtered))]
                self._filtered[key] = known
        return known

    def has_tools(self, request: SearchRequest) -> bool:
        """Return whether there are tools that *request* may be answered with."""
        filtered = self.apply_filter(request)
        return bool(filtered.allowed if filtered else len(self.index))

    def excluded_tools(self, request: SearchRequest) -> frozenset[int]:
        """Return the tools that *request* leaves out: by its filter, or because of their hints."""
        filtered = self.apply_filter(request)
        if filtered is not None:
            return filtered.excluded
        return frozenset() if request.include_disabled else self._disabled

    def disabled_by_hints(self, request: SearchRequest) -> frozenset[int]:
        """Return the tools disabled by hints that pass the filter."""
        filtered = self.apply_filter(request)
        if filtered is not None:
            return filtered.passing - filtered.allowed
        return self.excluded_tools(request)

    def semantics(self) -> IndexVectors:
        """Return the vectors of the index; nothing is loaded yet."""
        from mcpg.search.index_vectors import IndexVectors  # noqa: PLC0415 - the graph needs no vectors

        with self._lock:
            if self._semantics is None:
                self._semantics = IndexVectors(self.services or NONE, self.index, self.documents)
            return self._semantics

    def search_vectors(self) -> SearchVectors:
        """Return the vectors for one search; nothing is loaded yet."""
        return self.semantics().begin_search()

    def rewriter(self) -> GuardedRewriter | None:
        if self.services is None or self.services.rewriter is None:
            return None
        from mcpg.search.guards import GuardedRewriter  # noqa: PLC0415 - most searches rewrite nothing

        with self._lock:
            if self._rewriter is None:
                self._rewriter = GuardedRewriter(self.services.rewriter)
            return self._rewriter

    def guarded_source(self, request: SearchRequest) -> GuardedSource:
        """Return the candidate choice for *request*; a candidate source is configured."""
        from mcpg.search.guards import GuardedSource, narrow_source  # noqa: PLC0415 - most engines choose themselves

        includes_disabled = request.include_disabled
        guarded_source = self._sources.get(includes_disabled)
        if guarded_source is None:
            source: Any = self.services.candidates if self.services else None
            guarded_source = self._sources[includes_disabled] = GuardedSource(
                lambda: narrow_source(source, self.index, includes_disabled=includes_disabled)
            )
        return guarded_source

    def selection(self, request: SearchRequest) -> CandidateSelection | None:
        if self.services is None or self.services.candidates is None:
            return None
        return self.guarded_source(request).select(self.index, self.excluded_tools(request))

    def _related_match(self, edge: Edge) -> Match:
        negative, is_related, target, source, number, weight = edge
        via = self._vias.get(number)
        if via is None:
            role = "related" if is_related else "a next step"
            reason = self.index.reason(number) or f"its document names it as {role}"
            kind, before = RELATED if is_related else NEXT_STEP, self.index.tool_id(source)
            via = LinkReason(kind, before, reason, weight)
            if len(self._vias) < _MOST_EDGES:
                self._vias[number] = via
        return self._match(target, -negative, _NO_EVIDENCE, via)

    def _match(
        self,
        number: int,
        score: float,
        evidence: Evidence = _NO_EVIDENCE,
        via: LinkReason | None = None,
    ) -> Match:
        card = self._cards.get(number) or self._card(number)
        tool_id, describe, view = card[0], self._describe, self._view
        return Match(
            *card,
            number not in self._disabled,
            score,
            evidence,
            via,
            lambda: describe(tool_id),
            lambda: view(tool_id),
        )

    def _card(self, number: int) -> tuple[str, str, str, str, str]:
        index = self.index
        card = (
            index.tool_id(number),
            index.source_id(number),
            index.tool_name(number),
            index.display_name(number),
            index.summary(number),
        )
        if len(self._cards) < _MOST_CARDS:
            self._cards[number] = card
        return card

    def _evidence(
        self, candidate: Candidate, texts: Sequence[str], variants: Sequence[_Variants]
    ) -> Evidence:
        """Return the parts of the query that *candidate* answers.

        *texts* are the words of the query, *variants* the terms of each.
        """
        held: Sequence[float] = candidate.impacts
        answered = held
        if candidate.gains:
            answered = [*held]
            for place, _ in candidate.gains:
                answered[place] = 1.0
        fields = self.index.fields(candidate.document, compress(variants, held))
        names = self._fields.get(fields)
        if names is None:
            names = tuple([name for bit, name in _FIELD_BITS if fields & bit])
            self._fields[fields] = names
        return Evidence(
            tuple(compress(texts, held)), tuple(compress(texts, map(not_, answered))), names
        )


def _describe_doubts(
    request: SearchRequest,
    best: float | None,
    matches: Sequence[Match],
    rankings: Sequence[RankedList],
) -> tuple[Diagnostic, ...]:
    """Return a warning where the *best* score is low or nothing matches."""
    if best is not None and best >= LOW_CONFIDENCE:
        return ()
    if best is None:
        which = "no tool that passes the filter" if request.is_filtered else "no tool"
        return (warning(Code.LOW_CONFIDENCE, f"{which} matches any word of the query"),)
    advice = _explain_low_score(matches, rankings) if matches else "it is not offered"
    score = format_below(best, LOW_CONFIDENCE)
    message = f"the best match has a score of {score}: {advice}"
    return (warning(Code.LOW_CONFIDENCE, message),)


def names_any(word: str) -> bool:
    """Return whether *word* is what requests call any tool: none has to mention it."""
    return stem(word) == "tool"


def _explain_low_score(matches: Sequence[Match], rankings: Sequence[RankedList]) -> str:
    """Return which of the weightiest words of the query no tool has, or the best match lacks."""
    clauses = (one for ranking in rankings[:1] for one in ranking.analysis.clauses)
    telling = [one for one in clauses if one.content > _LEAST_CONTENT]
    heaviest = sorted(telling, key=lambda one: -one.weight)
    unknown = [one.text for one in heaviest if one.role == "unknown" and not names_any(one.text)]
    missing = matches[0].evidence.missing
    lacking = [one.text for one in heaviest if one.text in missing and not names_any(one.text)]
    if not (unknown or lacking):
        return "use other words, or add detail to the query"
    words = (unknown or lacking)[:_MOST_WORDS_NAMED]
    listed = " or ".join(map(repr, words))
    return f"no tool mentions {listed}" if unknown else f"it does not mention {listed}"
