"""What a search answers with."""

from __future__ import annotations

from mcpg.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic


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
        terms: Words of the query that the tool matches, in the query's order.
        missing: Words of the query that it does not match.
        fields: Fields of the tool that matched, in the order of the index's fields.
    """

    terms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@value
class Via:
    """The edge that brought a match in.

    Attributes:
        edge: `related` or `nextStep`.
        source: Id of the primary match that the edge leaves.
        reason: Why the edge is there, for people.
        weight: Strength of the edge in (0, 1].
    """

    edge: str
    source: str
    reason: str
    weight: float


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
        next_step_matches: Tools one would call afterwards, in neither of the other lists.
        diagnostics: What the search noticed.
        focused_graph: Size of the graph around the result.
        normalized_query: What the query was rewritten as, and searched as well; `None` when it was
            not rewritten.
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
