"""The engine: made once from documents, searched from any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, info, warning
from mcpg.engine.bm25f import FieldedScorer
from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.expansion import focused_graph
from mcpg.engine.explanation import explain
from mcpg.engine.pipeline import Outcome, run_graph
from mcpg.engine.ranking import term_matches
from mcpg.engine.request import DEFAULT_LIMIT, Request, check_request
from mcpg.engine.results import Evidence, Match, RankingMode, SearchResult, Strategy
from mcpg.engine.trace import Trace
from mcpg.index import build_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcpg.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.engine.expansion import Reached
    from mcpg.engine.ranking import Ranked
    from mcpg.engine.trace import Explanation


class Engine:
    """Finds tools in a set of documents.

    An engine never changes once it is made; searches may run side by side.

    Attributes:
        catalog: The tools, for look-ups by id, name or pattern.
        documents: The tools' documents by tool id.
        diagnostics: What loading noticed.
    """

    def __init__(
        self,
        documents: Iterable[ToolDocument],
        catalog: Catalog,
        diagnostics: Iterable[Diagnostic] = (),
    ) -> None:
        self._index = build_index(documents)
        self._scorer = FieldedScorer(self._index)
        self.catalog = catalog
        self.documents = {document.tool.id: document for document in self._index.documents}
        self.diagnostics = tuple(diagnostics)
        self._enabled = frozenset(
            number for number, document in enumerate(self._index.documents) if document.tool.enabled
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool, in order of id."""
        return tuple(document.tool for document in self._index.documents)

    def search(
        self,
        query: str | None,
        *,
        limit: int = DEFAULT_LIMIT,
        strategy: str = Strategy.GRAPH,
        context: str | None = None,
        include_disabled: bool = False,
    ) -> SearchResult:
        """Find the tools that *query* asks for.

        Args:
            query: The wish in any words; `None` or blank, without *context*, lists tools by name.
            limit: Most matches to give, at least 1; more than 50 is cut to 50.
            strategy: `graph`, `embeddings` or `auto`.
            context: What else is known, as text; it weighs less than the query.
            include_disabled: Whether tools that are off by default may be offered.

        Raises:
            UsageError: *limit* is below 1, or *strategy* is unknown.
        """
        request, noticed = check_request(query, limit, strategy, context, include_disabled)
        return self._answer(request, noticed, None)[0]

    def explain(
        self,
        query: str | None,
        *,
        limit: int = DEFAULT_LIMIT,
        strategy: str = Strategy.GRAPH,
        context: str | None = None,
        include_disabled: bool = False,
    ) -> Explanation:
        """Find as `search` does, and say how every part of the answer came about."""
        request, noticed = check_request(query, limit, strategy, context, include_disabled)
        trace = Trace()
        result, outcome = self._answer(request, noticed, trace)
        return explain(result, outcome, trace, self._scorer)

    def _answer(
        self, request: Request, noticed: tuple[Diagnostic, ...], trace: Trace | None
    ) -> tuple[SearchResult, Outcome | None]:
        numbers = range(len(self._index.documents))
        eligible = numbers if request.include_disabled else self._enabled
        if not numbers:
            empty = SearchResult(request.query, request.strategy, RankingMode.EMPTY)
            return empty, None
        if request.is_browsing:
            return self._browse(request, noticed, sorted(eligible)), None
        outcome = run_graph(request, self._index, self._scorer, eligible, trace)
        diagnostics = (*noticed, *_fallbacks(request), *_doubts(outcome))
        return self._result(request, outcome, diagnostics), outcome

    def _browse(
        self, request: Request, noticed: tuple[Diagnostic, ...], eligible: Sequence[int]
    ) -> SearchResult:
        tools = [self._index.documents[number].tool for number in eligible]
        tools.sort(key=lambda tool: (tool.name.casefold(), tool.name, tool.source_id, tool.id))
        matches = tuple(Match(tool, 0.0) for tool in tools[: request.limit])
        return SearchResult("", request.strategy, RankingMode.BROWSE, matches, diagnostics=noticed)

    def _result(
        self, request: Request, outcome: Outcome, diagnostics: tuple[Diagnostic, ...]
    ) -> SearchResult:
        matches = tuple(
            Match(self._tool(one.document), calibration.score, self._evidence(one, outcome))
            for one, calibration in zip(outcome.ranked, outcome.calibrations, strict=True)
        )
        expanded = (*outcome.related, *outcome.next_steps)
        shown = [*(one.document for one in outcome.ranked), *(one.document for one in expanded)]
        return SearchResult(
            request.query,
            request.strategy,
            RankingMode.GRAPH,
            matches,
            tuple(map(self._expanded, outcome.related)),
            tuple(map(self._expanded, outcome.next_steps)),
            diagnostics,
            focused_graph(shown, self._index),
        )

    def _expanded(self, reached: Reached) -> Match:
        return Match(self._tool(reached.document), reached.score, Evidence(), reached.via)

    def _evidence(self, ranked: Ranked, outcome: Outcome) -> Evidence:
        matches = term_matches(ranked, outcome.analysis, self._scorer)
        matched = {match.query for match in matches}
        asked = [one.text for one in outcome.analysis.clauses if one.origin == "query"]
        return Evidence(
            tuple(text for text in asked if text in matched),
            tuple(text for text in asked if text not in matched),
            tuple(dict.fromkeys(match.field for match in matches)),
        )

    def _tool(self, number: int) -> Tool:
        return self._index.documents[number].tool


def _fallbacks(request: Request) -> list[Diagnostic]:
    """Say that vectors were asked for and are not there."""
    if request.strategy is Strategy.GRAPH:
        return []
    return [
        warning(
            Code.EMBEDDING_GENERATOR_MISSING,
            f"the strategy {request.strategy} asks for vectors and no embedding provider is set up",
        ),
        info(Code.GRAPH_FALLBACK, "ranked by the graph alone"),
    ]


def _doubts(outcome: Outcome) -> list[Diagnostic]:
    if not outcome.calibrations:
        return [warning(Code.LOW_CONFIDENCE, "no tool matches any word of the query")]
    best = outcome.calibrations[0].score
    if best >= LOW_CONFIDENCE:
        return []
    message = (
        f"the best match has a score of {best:.2f}, below {LOW_CONFIDENCE}:"
        " say more, or take the answer with care"
    )
    return [warning(Code.LOW_CONFIDENCE, message)]
