"""Requests and results of searches, and services that an engine may use beside its index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from mcpg.catalog.view import ToolView
from mcpg.errors import Code, Diagnostic, UsageError, warning, wrong_type
from mcpg.text.json_values import JsonObject
from mcpg.text.spelling import suggest
from mcpg.values import (
    format_count,
    join_choices,
    rename_arguments,
    round_shown_score,
    score_text,
    to_json,
)

if TYPE_CHECKING:
    from mcpg.catalog.api_tools import ApiName, ApiTools
    from mcpg.catalog.model import Tool
    from mcpg.embeddings.provider import EmbeddingProvider, EmbeddingStore
    from mcpg.llm import Reranker, Rewriter
    from mcpg.search.caches import SearchCache
    from mcpg.search.observer import Observer


Context: TypeAlias = Any
StrategyName: TypeAlias = Literal["graph", "embeddings", "auto", "markdown-ld"]
FusionName: TypeAlias = Literal["", "cosine", "learned", "rrf"]
RankingModeName: TypeAlias = Literal["graph", "vector", "hybrid", "browse", "empty"]


class Strategy:
    """The names of the ways to rank."""

    GRAPH: Final = "graph"
    EMBEDDINGS: Final = "embeddings"
    AUTO: Final = "auto"


STRATEGIES: tuple[StrategyName, ...] = (Strategy.GRAPH, Strategy.EMBEDDINGS, Strategy.AUTO)
STRATEGY_ALIASES: dict[str, StrategyName] = {"markdown-ld": Strategy.GRAPH}

FUSIONS: tuple[FusionName, ...] = ("cosine", "learned", "rrf")
"""The ways to merge the rankings by the graph and by vectors; `cosine` keeps that by vectors."""

DEFAULT_FUSION: FusionName = "learned"


class RankingMode:
    """The names of ranking modes."""

    GRAPH: Final = "graph"
    VECTOR: Final = "vector"
    HYBRID: Final = "hybrid"
    BROWSE: Final = "browse"
    EMPTY: Final = "empty"


PREREQUISITE = "prerequisite"
"""The kind of the edge that brings a prerequisite in."""


class Evidence(NamedTuple):
    """The parts of the query that a match answers.

    Attributes:
        terms: Words of the query that the tool matches, verbatim, translated or repaired, in the
            query's order.
        missing: Words of the query that it does not match. Words that a related word answers are in
            neither list.
        fields: Fields of the tool that matched, in the order of the index's fields.
    """

    terms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as a JSON object."""
        return to_json(self)


class LinkReason(NamedTuple):
    """The edge that brought a match in.

    Attributes:
        edge: `related`, `nextStep` or `prerequisite`.
        source: Id of the primary match that the edge leaves; for a prerequisite, the match or
            prerequisite that it must run before.
        weight: Strength of the edge in (0, 1].
        fields: For a prerequisite, the fields of its result and the required arguments that they
            fill.
    """

    edge: str
    source: str
    reason: str
    weight: float
    fields: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the edge as a JSON object; of a prerequisite with its fields."""
        members: JsonObject = to_json(self, {"source": "from"}, ["fields"])
        members["weight"] = round_shown_score(self.weight)
        if self.edge == PREREQUISITE:
            members["fields"] = [
                {"field": field, "argument": argument} for field, argument in self.fields
            ]
        return members


class Match(NamedTuple):
    """One tool that a search offers.

    Attributes:
        tool_id: Id of the tool in its catalog.
        source_id: The server it comes from.
        tool_name: The name on its server.
        summary: Its description on one line, shortened if long.
        is_enabled: Whether it is offered by default.
        score: The calibrated probability that the tool is right, in [0, 1]; 0 when browsing.
        via: The edge that brought it in; `None` for a primary match.
        load: Loads `descriptor`.
        read_view: Reads `view` without the whole tool; `None` if nothing does.
    """

    tool_id: str
    source_id: str
    tool_name: str
    display_name: str
    summary: str
    is_enabled: bool
    score: float
    evidence: Evidence
    via: LinkReason | None
    load: Callable[[], Tool]
    read_view: Callable[[], ToolView] | None = None

    @property
    def descriptor(self) -> Tool:
        """The tool itself, with schema and hints."""
        return self.load()

    @property
    def view(self) -> ToolView:
        """What lists show of the tool, which is read from the index each time."""
        return self.read_view() if self.read_view else self.descriptor.view()

    def to_dict(self) -> dict[str, Any]:
        """Return the match as a JSON object: the tool, its score, and what speaks for it."""
        tool = self.view
        members: JsonObject = {
            **tool.card,
            "requiredArguments": list(tool.required),
            "score": round_shown_score(self.score),
        }
        if self.via is None:
            members["evidence"] = self.evidence.to_dict()
        else:
            members["via"] = self.via.to_dict()
        return members | tool.hints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self._make_key() == other._make_key()

    def __ne__(self, other: object) -> bool:
        return not self == other  # a tuple would compare the functions, too

    def __hash__(self) -> int:
        return hash(self._make_key())

    def __repr__(self) -> str:
        return f"Match({self.tool_id!r}, score={self.score:.6f})"

    def _make_key(self) -> tuple[object, ...]:
        """Return what makes two matches equal: the tool, its score, and what speaks for it."""
        identity = self.tool_id, self.source_id, self.tool_name
        return *identity, self.score, self.evidence, self.via


class FocusedGraph(NamedTuple):
    """Size of the graph around a result: its tools and groups, and the edges between them."""

    nodes: int = 0
    edges: int = 0


class SearchResult(NamedTuple):
    """The answer to one search.

    Attributes:
        query: The query as given; "" when browsing.
        ranking_mode: How the matches were actually ranked.
        matches: Primary matches, best first.
        related_matches: Tools near the primary matches, none of which is a primary match.
        next_step_matches: Tools to call afterwards, in no other list.
        focused_graph: Size of the graph around the result.
        normalized_query: The rewritten query, which was also searched; `None` if it was not
            rewritten.
        prerequisites: Tools that must run before the primary matches, the strongest first. They are
            in no other list, except for a match that scores far below the best.
    """

    query: str
    strategy: StrategyName
    ranking_mode: RankingModeName
    matches: tuple[Match, ...] = ()
    related_matches: tuple[Match, ...] = ()
    next_step_matches: tuple[Match, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    focused_graph: FocusedGraph = FocusedGraph()
    normalized_query: str | None = None
    prerequisites: tuple[Match, ...] = ()

    def without_related(self) -> SearchResult:
        """Return the result without prerequisites, related tools and next steps."""
        return self._replace(related_matches=(), next_step_matches=(), prerequisites=())

    def as_tools(
        self,
        api: ApiName,
        *,
        related: bool = False,
        deferred: Iterable[Tool] = (),
        strict: bool = False,
    ) -> ApiTools:
        """Return the found tools as the function list of an API of language models.

        Names that the API rejects are changed; `ApiTools.call` maps a call of the model back. *api*
        is `openai` (Chat Completions), `openai-responses`, `anthropic`, `gemini` or `mcp`.
        *related* also adds prerequisites, next steps and related tools. Tools that the model may
        find with the tool search of the API, such as `engine.tools`, are *deferred*. With *strict*,
        definitions for OpenAI are strict, if their schemas allow it without a change of meaning.
        """
        from mcpg.catalog.api_tools import api_tools  # noqa: PLC0415 - few searches are for a model

        others = (*self.prerequisites, *self.next_step_matches, *self.related_matches)
        found = (*self.matches, *(others if related else ()))
        return api_tools(api, [match.descriptor for match in found], deferred, strict=strict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `mcpg search --format json` prints it."""
        return {
            "schema": "mcpg/search/1",
            "query": self.query,
            "normalizedQuery": self.normalized_query,
            "strategy": self.strategy,
            "rankingMode": self.ranking_mode,
            "matches": [match.to_dict() for match in self.matches],
            "relatedMatches": [match.to_dict() for match in self.related_matches],
            "nextStepMatches": [match.to_dict() for match in self.next_step_matches],
            "prerequisites": [match.to_dict() for match in self.prerequisites],
            "diagnostics": [one.to_dict() for one in self.diagnostics],
            "focusedGraph": to_json(self.focused_graph),
        }

    def __repr__(self) -> str:
        best = ", ".join(f"{one.tool_id} {score_text(one.score)}" for one in self.matches[:3])
        more = ", ..." if len(self.matches) > 3 else ""  # noqa: PLR2004 - as above
        found = f"{format_count(len(self.matches), 'match', 'matches')}: {best}{more}"
        return f"<SearchResult {self.query!r}: {found if best else 'no match'}>"

    def _repr_html_(self) -> str:
        from mcpg.text.markup import result_html  # noqa: PLC0415 - only notebooks show HTML

        return result_html(self.to_dict())


DEFAULT_LIMIT = 5
MAX_LIMIT = 50
ASK_LIMIT = 50
DEFAULT_CATEGORIES, DEFAULT_TOOLS = 5, 3
MAX_QUERY_CHARACTERS = 8_192
_DEEPEST_CONTEXT = 8


class SearchRequest(NamedTuple):
    """One search, as checked; its members are the arguments of `Engine.search`.

    An empty query and context browse; the context weighs less than the query.
    """

    query: str = ""
    context: str = ""
    limit: int = DEFAULT_LIMIT
    strategy: StrategyName = Strategy.GRAPH
    include_disabled: bool = False
    min_score: float = 0.0
    abstain: bool = False
    fusion: FusionName = ""
    rewrite: bool = False
    lexicon: bool = True
    context_tools: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def is_browsing(self) -> bool:
        return not self.query and not self.context

    @property
    def is_filtered(self) -> bool:
        return bool(self.sources or self.categories or self.read_only)


def check_request(
    query: str | None, context: Context, asked: SearchRequest
) -> tuple[SearchRequest, tuple[Diagnostic, ...]]:
    """Check a request; too large values are reduced, with a diagnostic."""
    check_text("query", query)
    if not (context is None or isinstance(context, str | dict | list | tuple | int | float)):
        raise wrong_type("context", context, "text or a JSON value")
    for name in ("include_disabled", "abstain", "rewrite", "lexicon", "read_only"):
        check_flag(name, getattr(asked, name))
    limit, min_score = check_limit(asked.limit), asked.min_score
    if isinstance(min_score, bool) or not isinstance(min_score, int | float):
        raise wrong_type("min_score", min_score, "a number in [0, 1]")
    if not 0 <= min_score <= 1:
        raise UsageError(f"min_score is {min_score}", remedy="ask for a score in [0, 1]")
    query, context = (query or "").strip(), flatten_context(context).strip()
    strategy = check_strategy(asked.strategy)
    request = asked._replace(
        query=query[:MAX_QUERY_CHARACTERS],
        context=context[:MAX_QUERY_CHARACTERS],
        limit=min(limit, MAX_LIMIT),
        strategy=strategy,
        fusion=check_fusion(asked.fusion, strategy),
        context_tools=tuple(dict.fromkeys(check_texts("context_tools", asked.context_tools))),
        sources=tuple(dict.fromkeys(asked.sources)),
        categories=tuple(dict.fromkeys(asked.categories)),
    )
    cut = limit > MAX_LIMIT or max(len(query), len(context)) > MAX_QUERY_CHARACTERS
    return request, tuple(_report_cuts(query, context, limit)) if cut else ()


def check_text(name: str, given: object) -> None:
    """Check that the argument *name* is text or `None`, else raise a `UsageError`."""
    if not (given is None or isinstance(given, str)):
        raise wrong_type(name, given, "text or None")


def check_limit(limit: object, name: str = "limit") -> int:
    """Return *limit*, the argument *name*; a `UsageError` if it is not a whole number above 0."""
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise wrong_type(name, limit, "a whole number")
    if limit < 1:
        raise UsageError(f"{name} is {limit}", remedy="use at least 1")
    return limit


def check_flag(name: str, given: object) -> bool:
    """Return the argument *name*; a `UsageError` unless it is true or false."""
    if given is not True and given is not False:
        raise wrong_type(name, given, "True or False")
    return given


def check_texts(name: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return the argument *name* as a tuple; a `UsageError` if it is not a list of texts."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise wrong_type(name, given, "a list of texts")
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise wrong_type(name, text, "a list of texts", "has items of")
    return texts


def flatten_context(context: Context, depth: int = 0) -> str:
    """Return *context* as text: the keys and values of an object, the items of a list.

    Too deeply nested values, numbers longer than Python writes, and values other than JSON are left
    out.
    """
    if isinstance(context, str):
        return context
    if context is None or depth > _DEEPEST_CONTEXT:
        return ""
    if isinstance(context, dict):
        parts = (
            f"{flatten_context(key, depth + 1)} {flatten_context(part, depth + 1)}"
            for key, part in context.items()
        )
        return "; ".join(parts)
    if isinstance(context, list | tuple):
        return " ".join([flatten_context(part, depth + 1) for part in context])
    try:
        return str(context) if isinstance(context, bool | int | float) else ""
    except ValueError:  # an integer of thousands of digits
        return ""


def check_strategy(name: str) -> StrategyName:
    """Return the strategy called *name*; `markdown-ld` is another name for `graph`."""
    if not isinstance(name, str):
        raise wrong_type("strategy", name, f"one of {', '.join(STRATEGIES)}")
    for strategy in STRATEGIES:
        if strategy == STRATEGY_ALIASES.get(name, name):
            return strategy
    raise UsageError(f"no strategy is called {name!r}", remedy=_suggest_known(name, STRATEGIES))


def check_fusion(name: str, strategy: str) -> FusionName:
    """Return the fusion called *name*, "" for the default, if *strategy* has something to fuse."""
    if not isinstance(name, str):
        raise wrong_type("fusion", name, " or ".join(FUSIONS))
    if not name:
        return DEFAULT_FUSION if strategy == Strategy.AUTO else ""
    known = [fusion for fusion in FUSIONS if fusion == name]
    if not known:
        raise UsageError(f"no fusion is called {name!r}", remedy=_suggest_known(name, FUSIONS))
    if strategy != Strategy.AUTO:
        message = f"the strategy {strategy!r} has only one list: there is nothing to fuse"
        raise UsageError(message, remedy="use the strategy 'auto', or no fusion")
    return known[0]


def _suggest_known(name: str, known: Sequence[str]) -> str:
    """Return a remedy that names the *known* word most like *name*, or all of them."""
    near = suggest(name, known)
    return f"did you mean {near[0]}?" if near else f"use {join_choices(known)}"


def _report_cuts(query: str, context: str, limit: int) -> Iterator[Diagnostic]:
    if limit > MAX_LIMIT:
        message = f"{limit} matches were requested; the maximum is {MAX_LIMIT}"
        yield warning(Code.LIMIT_CAPPED, message)
    if max(len(query), len(context)) > MAX_QUERY_CHARACTERS:
        message = f"only the first {MAX_QUERY_CHARACTERS} characters of the query were read"
        yield warning(Code.QUERY_TRUNCATED, message)


LOCAL = "local"
"""The name of the model in a wheel, if its extra is installed."""


class EngineServices(NamedTuple):
    """Services of an engine beside its index; `load` and a `Gateway` receive them from their host.

    Attributes:
        embeddings: An embedding provider, or the name of one, which is looked up when a search
            first needs vectors.
        store: Stores vectors of tools between processes.
        vectors: The vectors of the tools, or the path of the bundle beside which they are.
        rewriter: Rewrites queries in English.
        cache: Stores results of searches.
        candidates: Selects candidates, a `mcpg.engine.CandidateSource`.
        kept: The file in the user's cache folder that may also have the vectors, and receives new
            ones.
        observer: Receives facts about searches, builds and calls.
        reranker: Reranks the matches of a search.
    """

    embeddings: EmbeddingProvider | str | None = None
    store: EmbeddingStore | None = None
    vectors: Any = None
    rewriter: Rewriter | None = None
    cache: SearchCache | None = None
    candidates: Any = None
    kept: str | None = None
    observer: Observer | None = None
    reranker: Reranker | None = None


EngineServices.__new__ = rename_arguments({"normalizer": "rewriter"})(EngineServices.__new__)  # type: ignore[method-assign]

NONE = EngineServices()
"""No services, for searches only by the graph."""
