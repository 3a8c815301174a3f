"""The engine: opened once, searched from any thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, TypedDict, Unpack

from mcpg.catalog.view import ToolView
from mcpg.errors import Diagnostic, UsageError
from mcpg.index import Index
from mcpg.index.layout import StaleIndexError
from mcpg.search.results import (
    ASK_LIMIT,
    DEFAULT_CATEGORIES,
    DEFAULT_LIMIT,
    DEFAULT_TOOLS,
    Context,
    EngineServices,
    FusionName,
    SearchRequest,
    SearchResult,
    Strategy,
    StrategyName,
    check_flag,
    check_limit,
    check_request,
    check_text,
    check_texts,
)
from mcpg.search.searcher import Searcher
from mcpg.values import Answer, Given, format_count, rename_arguments

if TYPE_CHECKING:
    from mcpg.ask import AskResult, IntentPattern
    from mcpg.ask.model import CodeScope, IntentName
    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Hints, Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.plan import Plan
    from mcpg.route import RouteResult, RouteWeights
    from mcpg.search.observer import GuardedObserver
    from mcpg.search.rerank import GuardedReranker
    from mcpg.search.result_cache import Answering
    from mcpg.search.trace import Explanation, Trace

    class SearchOptions(TypedDict, total=False):
        """Options of `Engine.search`, which documents them."""

        limit: int | None
        strategy: StrategyName
        context: Context
        include_disabled: bool
        min_score: float
        abstain: bool
        fusion: FusionName
        rewrite: bool
        lexicon: bool
        context_tools: Iterable[str]
        sources: Sequence[str]
        categories: Sequence[str]
        read_only: bool


_LISTS = frozenset({"context_tools", "sources", "categories"})

ITEMS = "items."
"""The prefix of the names of sections for the index of a kind of items."""


class Engine:
    """Finds tools in an index.

    Searches may run concurrently. If a part of the index's file is damaged, the index is made anew
    and the search is repeated, which only takes longer.

    Attributes:
        diagnostics: Diagnostics of loading.
        services: Services beside the index; `None` for none.
        limit: Maximum number of matches of a search that sets none.
    """

    def __init__(
        self,
        index: Index,
        diagnostics: Iterable[Diagnostic] = (),
        rebuild: Callable[[], Index] | None = None,
        services: EngineServices | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Make an engine; *rebuild* makes the index anew, called by one thread at a time.

        Raises:
            StaleIndexError: The index is damaged, as far as it is checked at once.
            UsageError: *limit* is not a whole number of at least 1.
        """
        self.limit = check_limit(limit)
        self.diagnostics = tuple(diagnostics)
        self.services = services
        self._observer: GuardedObserver | None = None
        self._guarded = services
        self._answer: Answering = _answer_request
        if services is not None and not (services.observer is None is services.cache):
            self._guard_services(services)
        self._searcher = Searcher(index, self._tool, self._view, self._guarded)
        self._rebuild = rebuild
        self._made: dict[str, tuple[object, Any]] = {}
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"<Engine: {format_count(self.index.population, 'tool')}>"

    @property
    def index(self) -> Index:
        return self._searcher.index

    @property
    def documents(self) -> dict[str, ToolDocument]:
        """The tools' documents by tool id, in order of id."""
        documents = self._ask(Searcher.documents)
        return {document.tool.id: document for document in documents}

    @property
    def pages(self) -> tuple[ToolDocument, ...]:
        """The documents of no tool, in order of their paths."""
        return tuple(self.consult(lambda index: index.pages()))

    @property
    def code(self) -> Any:
        """The search of the source code among the pages, read at its first use."""
        return self.items("code")

    def items(self, name: str) -> Any:
        """Return the search of the items *name* among the pages, by the plugin for them.

        Raises:
            LookupError: No plugin has items of this name.
        """
        from mcpg.plugins.registry import open_items  # noqa: PLC0415 - a search reads no pages

        return self._make_once(f"items {name}", self.index, lambda: open_items(name, self.pages))

    def kind_engine(self, name: str) -> Engine | None:
        """Return what searches the items of a kind as tools are searched; `None` for no items."""

        def open_section(index: Index) -> Engine | None:
            section = f"{ITEMS}{name}"
            if not index.has_section(section):
                return None
            return Engine(Index(index.section(section)), limit=self.limit)

        return self._make_once(f"kind {name}", self.index, lambda: self.consult(open_section))  # type: ignore[no-any-return]

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool, in order of id."""
        return tuple(document.tool for document in self._ask(Searcher.documents))

    @property
    def enabled_by_id(self) -> dict[str, bool]:
        """Whether each tool is offered by default, by tool id, in order of id."""
        return self._ask(Searcher.enabled_by_id)

    @property
    def catalog(self) -> Catalog:
        """The tools, for look-ups by id, name or pattern."""
        from mcpg.catalog.catalog import Catalog  # noqa: PLC0415 - a search needs no catalog

        return Catalog(self.tools, (), ())

    @rename_arguments({"normalize": "rewrite"})
    def search(  # noqa: PLR0913 - each is an option of a search
        self,
        query: str | None,
        *,
        limit: int | None = None,
        strategy: StrategyName = Strategy.GRAPH,
        context: Context = None,
        include_disabled: bool = False,
        min_score: float = 0.0,
        abstain: bool = False,
        fusion: FusionName = "",
        rewrite: bool = False,
        lexicon: bool = True,
        context_tools: Iterable[str] = (),
        sources: Sequence[str] = (),
        categories: Sequence[str] = (),
        read_only: bool = False,
        rerank: bool = False,
    ) -> SearchResult:
        """Find the tools for *query*.

        Args:
            query: The request in any words; `None` or blank, without *context*, lists tools by
                name.
            limit: Maximum number of matches, at least 1; more than 50 is cut to 50. `None` for the
                engine's own limit, by default 5.
            strategy: `graph`, `embeddings` or `auto`.
            context: Further information, as text or a JSON value; it weighs less than the query. A
                list of only names of tools counts as *context_tools*.
            include_disabled: Whether tools that are off by default may be offered.
            min_score: The least score of a match worth offering, in [0, 1].
            abstain: Whether to offer nothing if the best match is doubtful: better no tool than a
                wrong one.
            fusion: With the strategy `auto`, how the rankings of the graph and of the vectors are
                merged: `learned`, the default, `rrf`, or `cosine` for the order of the vectors.
            rewrite: Whether the query may also be searched as rewritten in English.
            lexicon: Whether words of the query also match related words, and translations of them.
            context_tools: Ids, or `source::name`, of tools in use: tools linked to them rank
                higher, and they are not prerequisites.
            sources: Offer only tools of these sources, in any case; none for all. This and the next
                two apply to every tool of the result, including prerequisites. Unknown names are
                reported and ignored.
            categories: Offer only tools with one of these categories among their hints.
            read_only: Offer only tools that are marked read-only.
            rerank: Whether the reranker of the engine orders the first 20 matches, or finds that
                none fits. Scores do not change.

        Raises:
            UsageError: An argument has the wrong type, *limit* is below 1, *strategy* or *fusion*
                is unknown, *fusion* is set for another strategy than `auto`, or *min_score* is not
                in [0, 1].
        """
        # Made without names, which takes half as long.
        asked = SearchRequest(
            *("", "", self.limit if limit is None else limit, strategy, include_disabled),
            *(min_score, abstain, fusion, rewrite, lexicon),
            check_texts("context_tools", context_tools),
            check_texts("sources", sources),
            check_texts("categories", categories),
            read_only,
        )
        request, diagnostics = self._check_request(query, context, asked)
        if check_flag("rerank", rerank) and request.query:
            return self._search_reranked(request, diagnostics)
        return self._find(request, diagnostics)

    def _find(self, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]) -> SearchResult:
        """Answer *request*, and report to the observer."""
        if self._observer is None:
            return self._ask(self._answer, request, diagnostics, None)
        from mcpg.search.telemetry import Timings, search_facts  # noqa: PLC0415 - only for an observer

        timings = Timings()
        with self._observer.search(request.query, request.strategy) as tell:
            result = self._ask(self._answer, request, diagnostics, timings)
            tell(search_facts(result, timings, len(request.context_tools)))
        if not tell.diagnostics:
            return result
        return result._replace(diagnostics=(*result.diagnostics, *tell.diagnostics))

    def _search_reranked(
        self, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
    ) -> SearchResult:
        """Answer *request*, with the matches in the order of the reranker, if it succeeds."""
        from mcpg.search.rerank import DEPTH, MISSING, reorder  # noqa: PLC0415 - most searches do without

        reranker = self._find_reranker()
        if reranker is None:
            return self._find(request, (*diagnostics, MISSING))
        wide = self._find(request._replace(limit=max(request.limit, DEPTH)), diagnostics)
        outcome = reranker.rerank(request.query, wide.matches[:DEPTH])
        if not outcome.reason:
            return reorder(wide, outcome, request.limit)
        result = self._find(request, diagnostics)
        return result._replace(diagnostics=(*result.diagnostics, *outcome.diagnostics))

    def _find_reranker(self) -> GuardedReranker | None:
        reranker = self.services.reranker if self.services is not None else None
        if reranker is None:
            return None
        from mcpg.search.rerank import GuardedReranker  # noqa: PLC0415 - as above

        found: GuardedReranker = self._make_once(
            "reranker", reranker, lambda: GuardedReranker(reranker)
        )
        return found

    def warm_up(self) -> None:
        """Prepare for many searches, so that the first of them is fast.

        It reads ahead the data of searches, within bounds, and searches once. For a large catalog
        it imports numpy if installed, which makes long lists faster. The answers are the same.
        """
        if len(self.index):
            self._ask(Searcher.read_ahead)
            # A damaged index has been replaced by now.
            self.search(self.index.display_name(0))

    def ask(  # noqa: PLR0913 - as above
        self,
        question: str | None,
        *,
        intent: IntentName = "",
        limit: int = ASK_LIMIT,
        include_disabled: bool = False,
        patterns: Iterable[IntentPattern] = (),
        scope: CodeScope | None = None,
        strategy: StrategyName = Strategy.GRAPH,
        weights: tuple[float, float] = (0.3, 0.7),
        sources: Sequence[str] = (),
        categories: Sequence[str] = (),
        read_only: bool = False,
    ) -> AskResult:
        """Answer a question about tools, fields of their schemas, or symbols of source code.

        The intent of the question is decided by its names and its form: a definition, relations,
        documentation, examples, similar tools, which tools, sources or categories the catalog has,
        or else a search.

        Args:
            question: The question, in any words; `similar:ID` for tools similar to a tool.
            intent: Its intent, one of `mcpg.ask.INTENTS`; by default, it is decided.
            limit: Maximum number of results, at least 1; more than 200 is cut to 200.
            include_disabled: Whether tools that are off by default may be results.
            patterns: Wordings with a fixed intent; the first match counts.
            scope: The source code to consider; all of it by default.
            strategy: As for `search`, also for source code. The first search with vectors makes the
                vectors of all symbols.
            weights: With the strategy `auto`, the weights of words and vectors in the search of
                code.
            sources: As for `search`, if the question is answered by a search or by the facts of the
                catalog. Named tools are found in any source.
            categories: As *sources*.
            read_only: As *sources*.

        Raises:
            UsageError: The question is empty, an argument has the wrong type, *limit* is below 1,
                or *intent* or a pattern is unknown.
        """
        from mcpg.ask import Asker, AskRequest, CodeRanking  # noqa: PLC0415 - a search answers no questions

        ranking = CodeRanking(strategy, *weights)
        sources, categories = check_texts("sources", sources), check_texts("categories", categories)
        check_flag("read_only", read_only)
        asked = AskRequest(
            *(intent, limit, include_disabled, tuple(patterns), scope, ranking),
            *(sources, categories, read_only),
        )

        def search(text: str, most: int) -> SearchResult:
            return self.search(
                text,
                limit=most,
                strategy=strategy,
                include_disabled=include_disabled,
                sources=sources,
                categories=categories,
                read_only=read_only,
            )

        def answer(searcher: Searcher) -> AskResult:
            index = searcher.index
            asker: Asker = self._make_once("asker", index, lambda: Asker(index, self.services))
            return asker.ask(question, asked, search)

        return self._ask(answer)

    @rename_arguments({"normalize": "rewrite"})
    def explain(
        self,
        query: str | None,
        *,
        tool: str | None = None,
        rerank: bool = False,
        **options: Unpack[SearchOptions],
    ) -> Explanation:
        """Search as `search` does, with its arguments, and explain every part of the answer.

        *tool*, an id, `source::name` or name, adds why this tool is not first and a change to its
        hints that would make it so: by the strategy `graph` and the query without rewriting, with a
        diagnostic for other options. That takes as long as compiling the index and some hundred
        searches.

        Raises:
            UsageError: As for `search`; or *tool* is given without a query.
            NotFoundError: No tool is called *tool*, or several are.
        """
        given: dict[str, Any] = {**options}
        context = given.pop("context", None)
        if given.get("limit") is None:
            given["limit"] = self.limit
        for name in _LISTS & given.keys():
            given[name] = check_texts(name, given[name])
        request, diagnostics = self._check_request(query, context, SearchRequest(**given))
        check_text("tool", tool)
        if tool is None:
            if check_flag("rerank", rerank) and request.query:
                return self._explain_reranked(request, diagnostics)
            return self._ask(_explain_request, request, diagnostics)
        tool_id = self.catalog.find_named(tool).id
        if request.is_browsing:
            message = "without a query all tools are ordered by name"
            raise UsageError(message, place="--tool", remedy="add a query, or leave the tool out")
        from mcpg.explain.why_not import explain_rank, report_graph_rank  # noqa: PLC0415 - a search needs none of it

        explanation = self._ask(_explain_request, request, diagnostics)
        rank_explanation = self._ask(explain_rank, request, tool_id)
        if request.strategy != Strategy.GRAPH or request.rewrite:
            result = explanation.result
            diagnostics = (*result.diagnostics, report_graph_rank(request, result, tool_id))
            explanation = explanation._replace(result=result._replace(diagnostics=diagnostics))
        return explanation._replace(tool=rank_explanation)

    def _explain_reranked(
        self, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
    ) -> Explanation:
        from mcpg.explain.explain import explain_order  # noqa: PLC0415 - as above
        from mcpg.search.rerank import DEPTH, MISSING  # noqa: PLC0415 - as above

        reranker = self._find_reranker()
        if reranker is None:
            return self._ask(_explain_request, request, (*diagnostics, MISSING))
        wider = request._replace(limit=max(request.limit, DEPTH))
        wide = self._ask(_explain_request, wider, diagnostics)
        start = time.perf_counter()
        outcome = reranker.rerank(request.query, wide.result.matches[:DEPTH])
        duration = (time.perf_counter() - start) * 1e3
        if outcome.reason:
            narrow = self._ask(_explain_request, request, diagnostics)
            return explain_order(narrow, outcome, duration, None)
        return explain_order(wide, outcome, duration, request.limit)

    @rename_arguments({"normalize": "rewrite"})
    def route(
        self,
        query: str | None,
        *,
        max_categories: int = DEFAULT_CATEGORIES,
        max_tools: int = DEFAULT_TOOLS,
        prefer_read_only: bool | None = None,
        weights: RouteWeights | None = None,
        derives_preference: bool = True,
        **options: Unpack[SearchOptions],
    ) -> RouteResult:
        """Return the categories that match *query*, and the best tools of each.

        There are at most *max_categories*, no more than 20, with at most *max_tools* each, no more
        than 50. *prefer_read_only* prefers tools that read (true) or write (false); with `None`
        the preference is inferred from the query and the catalog, unless *derives_preference* is
        false. Hints count by *weights*, by default the shipped ones. All else is as for `search`.

        Raises:
            UsageError: *max_categories* or *max_tools* is below 1; or as for `search`.
        """
        from mcpg.route import route  # noqa: PLC0415 - a search has no categories

        return route(
            self,
            query,
            max_categories=max_categories,
            max_tools=max_tools,
            prefer_read_only=prefer_read_only,
            derives_preference=derives_preference,
            weights=weights,
            **options,
        )

    def plan(  # noqa: PLR0913 - as above
        self,
        goal: str,
        *,
        limit: int = DEFAULT_LIMIT,
        strategy: StrategyName = Strategy.GRAPH,
        context: Context = None,
        include_disabled: bool = False,
        fusion: FusionName = "",
        lexicon: bool = True,
        context_tools: Iterable[str] = (),
        sources: Sequence[str] = (),
        categories: Sequence[str] = (),
        read_only: bool = False,
    ) -> Plan:
        """Plan calls of tools for *goal*, and the order in which they can run.

        The plan has at most *limit* tasks, including prerequisites. The tools *context_tools* have
        run: they are not planned again, and their results provide arguments. Prerequisites from
        other *sources* are not in the plan. All else is as for `search`.

        Raises:
            UsageError: As for `search`; or the goal is empty.
        """
        check_text("goal", goal)
        asked = SearchRequest(
            *("", "", limit, strategy, include_disabled),
            fusion=fusion,
            lexicon=lexicon,
            context_tools=check_texts("context_tools", context_tools),
            sources=check_texts("sources", sources),
            categories=check_texts("categories", categories),
            read_only=read_only,
        )
        request, diagnostics = self._check_request(goal, context, asked)
        if not request.query:
            raise UsageError("the goal is empty", remedy="add a goal")
        from mcpg.plan.planner import Planner  # noqa: PLC0415 - most engines plan nothing

        def plan(searcher: Searcher) -> Plan:
            planner: Planner = self._make_once("planner", searcher, lambda: Planner(searcher))
            return planner.plan(request, diagnostics)

        return self._ask(plan)

    def with_hints(self, tool: str, hints: Hints) -> Engine:
        """Return an engine that searches the same catalog with *hints* added to one tool.

        Its matches are as after bundling again with a hints file, but edges between tools are not
        inferred anew. This engine does not change.

        *tool* is an id, `source::name` or name. Lists of hints are joined, and single values
        replace others.

        Raises:
            NotFoundError: No tool is called *tool*, or several are.
            DocumentError: The tool's document becomes too long to be written.
        """
        tool_id = self.catalog.find_named(tool).id
        from mcpg.explain.why_not import recompile_with_hints  # noqa: PLC0415 - a search changes nothing

        index = self._ask(
            lambda searcher: recompile_with_hints(searcher.index, searcher.number(tool_id), hints)
        )
        services = self.services and self.services._replace(vectors=None)
        return Engine(index, services=services, limit=self.limit)

    def consult(self, ask: Callable[[Index], Answer]) -> Answer:
        """Return the answer of *ask* for the index, repeated after damage as in a search."""
        return self._ask(lambda searcher: ask(searcher.index))

    def _guard_services(self, services: EngineServices) -> None:
        """Guard the two by which a search cannot fail; others are guarded where they are called."""
        # Most engines have neither.
        from mcpg.search.guards import GuardedCache  # noqa: PLC0415
        from mcpg.search.observer import GuardedObserver  # noqa: PLC0415
        from mcpg.search.result_cache import ResultCache  # noqa: PLC0415

        guarded: dict[str, Any] = {}
        if services.observer is not None:
            self._observer = guarded["observer"] = GuardedObserver.of(services.observer)
        if services.cache is not None:
            guarded["cache"] = GuardedCache(services.cache)
            self._answer = ResultCache(guarded["cache"], _answer_request).answer
        self._guarded = services._replace(**guarded)

    def _check_request(
        self, query: str | None, context: Context, asked: SearchRequest
    ) -> tuple[SearchRequest, tuple[Diagnostic, ...]]:
        """Check what a caller asks, and look up the tools, sources and categories that it names."""
        request, diagnostics = check_request(query, context, asked)
        if request.context_tools or (request.query and request.context):
            request, unknown = self._ask(_in_use, request)
            diagnostics = (*diagnostics, *unknown)
        if request.is_filtered:
            filtered = self._ask(Searcher.apply_filter, request)
            diagnostics = (*diagnostics, *(filtered.diagnostics if filtered else ()))
        return request, diagnostics

    def _tool(self, tool_id: str) -> Tool:
        return self._ask(Searcher.tool, tool_id)

    def _view(self, tool_id: str) -> ToolView:
        return self._ask(Searcher.view, tool_id)

    def _make_once(self, name: str, owner: object, make: Callable[[], Any]) -> Any:
        """Return what *make* makes for the *owner*, which is the index or its searcher."""
        with self._lock:
            known = self._made.get(name)
            if known is None or known[0] is not owner:
                known = self._made[name] = owner, make()
            return known[1]

    def _ask(
        self,
        ask: Callable[Concatenate[Searcher, Given], Answer],
        *given: Given.args,
        **named: Given.kwargs,
    ) -> Answer:
        """Return the answer of *ask* with the searcher, repeated if its index is damaged."""
        searcher = self._searcher
        try:
            return ask(searcher, *given, **named)
        except Exception as fault:
            if self._rebuild is None or not _is_damage(fault, searcher.index):
                raise
        return ask(self._replace_searcher(searcher), *given, **named)

    def _replace_searcher(self, damaged: Searcher) -> Searcher:
        """Replace the *damaged* searcher, unless another thread has done so meanwhile."""
        with self._lock:
            if self._searcher is damaged and self._rebuild is not None:
                index = self._rebuild()
                self._searcher = Searcher(index, self._tool, self._view, self._guarded)
            return self._searcher


def _answer_request(
    searcher: Searcher,
    request: SearchRequest,
    diagnostics: tuple[Diagnostic, ...],
    trace: Trace | None,
) -> SearchResult:
    if not _is_rewritten(searcher, request):
        return searcher.answer(request, diagnostics, trace)[0]
    from mcpg.rewrite import answer_rewritten  # noqa: PLC0415 - only on request

    return answer_rewritten(searcher, request, diagnostics, trace)


def _explain_request(
    searcher: Searcher, request: SearchRequest, diagnostics: tuple[Diagnostic, ...]
) -> Explanation:
    """Answer as `_answered` does, and explain every part of the answer."""
    if _is_rewritten(searcher, request):
        from mcpg.rewrite import explain_rewritten  # noqa: PLC0415 - as above

        explanation = explain_rewritten(searcher, request, diagnostics)
    else:
        from mcpg.explain.explain import explain  # noqa: PLC0415 - a search explains nothing

        explanation = explain(searcher, request, diagnostics)
    filtered = searcher.apply_filter(request)
    if filtered is None:
        return explanation
    from mcpg.search.trace import FilterExplanation  # noqa: PLC0415 - as above

    conditions = request.sources, request.categories, request.read_only
    counts = len(filtered.allowed), len(searcher.index)
    return explanation._replace(filter=FilterExplanation(*conditions, *counts))


def _in_use(
    searcher: Searcher, request: SearchRequest
) -> tuple[SearchRequest, tuple[Diagnostic, ...]]:
    """Return *request* with the ids of its context tools, and a warning for each unknown one.

    A context of only names of tools is a context of tools, not of words.
    """
    from mcpg.search.scope import context_numbers, unknown_tools  # noqa: PLC0415 - most searches have none

    named, others = context_numbers(request.context.split(), searcher.index)
    if request.query and named and not others:
        names = (*request.context_tools, *named.values())
        request = request._replace(context="", context_tools=names)
    if not request.context_tools:
        return request, ()
    tools, unknown = context_numbers(request.context_tools, searcher.index)
    request = request._replace(context_tools=tuple(tools.values()))
    return request, unknown_tools(unknown, searcher.index) if unknown else ()


def _is_rewritten(searcher: Searcher, request: SearchRequest) -> bool:
    return request.rewrite and bool(request.query) and searcher.has_tools(request)


def _is_damage(fault: Exception, index: Index) -> bool:
    """Return whether *fault* comes from damage: wrong numbers can cause errors of any kind."""
    if isinstance(fault, StaleIndexError):
        return True
    try:
        index.verify()
    except StaleIndexError:
        return True
    return False
