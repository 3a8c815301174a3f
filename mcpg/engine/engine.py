"""The engine: opened once, searched from any thread."""

from __future__ import annotations

from mcpg.engine.confidence import LOW_CONFIDENCE
from mcpg.engine.expansion import focused_graph
from mcpg.engine.model import model_of
from mcpg.engine.pipeline import run_graph
from mcpg.engine.request import DEFAULT_LIMIT, check_request
from mcpg.engine.results import Evidence, Match, RankingMode, SearchResult, Strategy
from mcpg.index.fields import FIELDS
from mcpg.index.places import add_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.documents.model import ToolDocument
    from mcpg.engine.expansion import Reached
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.request import Request
    from mcpg.engine.results import Via
    from mcpg.engine.trace import Explanation, Trace
    from mcpg.index import Index


class Engine:
    """Finds tools in an index.

    An engine never changes once it is made; searches may run side by side.

    Attributes:
        index: What is searched.
        diagnostics: What loading noticed.
    """

    def __init__(self, index: Index, diagnostics: Iterable[Diagnostic] = ()) -> None:
        self.index = index
        self.diagnostics = tuple(diagnostics)
        self._model = model_of(index)
        self._disabled = frozenset(index.disabled())

    @property
    def documents(self) -> dict[str, ToolDocument]:
        """The tools' documents by tool id, in order of id."""
        documents = map(self.index.record, range(len(self.index)))
        return {document.tool.id: document for document in documents}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool, in order of id."""
        return tuple(self.index.record(number).tool for number in range(len(self.index)))

    @property
    def catalog(self) -> Catalog:
        """The tools, for look-ups by id, name or pattern."""
        from mcpg.catalog import Catalog  # noqa: PLC0415 - a search needs no catalogue

        return Catalog(self.tools, (), ())

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
        from mcpg.engine.explanation import explain  # noqa: PLC0415 - a search explains nothing
        from mcpg.engine.trace import Trace  # noqa: PLC0415 - as above

        request, noticed = check_request(query, limit, strategy, context, include_disabled)
        trace = Trace()
        result, outcome = self._answer(request, noticed, trace)
        return explain(result, outcome, trace, self.index, self._model)

    def _answer(
        self, request: Request, noticed: tuple[Diagnostic, ...], trace: Trace | None
    ) -> tuple[SearchResult, Outcome | None]:
        if not len(self.index):
            return SearchResult(request.query, request.strategy, RankingMode.EMPTY), None
        if request.is_browsing:
            return self._browse(request, noticed), None
        disabled = frozenset() if request.include_disabled else self._disabled
        outcome = run_graph(request, self.index, self._model, disabled, trace)
        diagnostics = (*noticed, *_noticed(request, outcome))
        return self._result(request, outcome, diagnostics), outcome

    def _browse(self, request: Request, noticed: tuple[Diagnostic, ...]) -> SearchResult:
        index = self.index
        numbers = [
            number
            for number in range(len(index))
            if request.include_disabled or number not in self._disabled
        ]
        numbers.sort(
            key=lambda number: (
                index.tool_name(number).casefold(),
                index.tool_name(number),
                index.source_id(number),
                number,
            )
        )
        matches = tuple(self._match(number, 0.0) for number in numbers[: request.limit])
        return SearchResult("", request.strategy, RankingMode.BROWSE, matches, diagnostics=noticed)

    def _result(
        self, request: Request, outcome: Outcome, diagnostics: tuple[Diagnostic, ...]
    ) -> SearchResult:
        matches = tuple(
            self._match(one.candidate.document, calibration.score, evidence)
            for one, calibration, evidence in zip(
                outcome.ranked, outcome.calibrations, self._evidences(outcome), strict=True
            )
        )
        shown = [one.candidate.document for one in outcome.ranked]
        shown += [one.document for one in (*outcome.related, *outcome.next_steps)]
        return SearchResult(
            request.query,
            request.strategy,
            RankingMode.GRAPH,
            matches,
            tuple(map(self._expanded, outcome.related)),
            tuple(map(self._expanded, outcome.next_steps)),
            diagnostics,
            focused_graph(shown, self.index),
        )

    def _expanded(self, reached: Reached) -> Match:
        return self._match(reached.document, reached.score, via=reached.via)

    def _match(
        self,
        number: int,
        score: float,
        evidence: Evidence = Evidence(),  # noqa: B008 - a value never changes
        via: Via | None = None,
    ) -> Match:
        index = self.index
        return Match(
            index.tool_id(number),
            index.source_id(number),
            index.tool_name(number),
            index.display_name(number),
            index.summary(number),
            number not in self._disabled,
            score,
            evidence,
            via,
            lambda: index.record(number).tool,
        )

    def _evidences(self, outcome: Outcome) -> list[Evidence]:
        """Say of every match which words of the query it answers, and in which fields."""
        clauses = outcome.analysis.clauses
        asked = [place for place, clause in enumerate(clauses) if clause.origin == "query"]
        candidates = [one.candidate for one in outcome.ranked]
        masks = dict.fromkeys((candidate.document for candidate in candidates), 0)
        for place in asked:
            for term, _ in clauses[place].variants:
                add_fields(self.index, term, masks)
        return [
            Evidence(
                tuple([clauses[place].text for place in asked if candidate.impacts[place]]),
                tuple([clauses[place].text for place in asked if not candidate.impacts[place]]),
                _field_names(masks[candidate.document]),
            )
            for candidate in candidates
        ]


def _field_names(mask: int) -> tuple[str, ...]:
    return tuple([name for number, name in enumerate(FIELDS) if mask >> number & 1])


def _noticed(request: Request, outcome: Outcome) -> list[Diagnostic]:
    """Say what a caller should know: that vectors are absent, that the best match is doubtful."""
    best = outcome.calibrations[0].score if outcome.calibrations else None
    if request.strategy == Strategy.GRAPH and best is not None and best >= LOW_CONFIDENCE:
        return []
    from mcpg.engine.noticing import doubts, fallbacks  # noqa: PLC0415 - most searches notice nothing

    return [*fallbacks(request.strategy), *doubts(best)]
