"""What a search answers with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.errors import UsageError

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic


class Strategy(StrEnum):
    """How a search ranks."""

    GRAPH = "graph"
    EMBEDDINGS = "embeddings"
    AUTO = "auto"

    @classmethod
    def named(cls, name: str) -> Strategy:
        """Give the strategy called *name*; `markdown-ld` is another name for `graph`.

        Raises:
            UsageError: No strategy has that name.
        """
        try:
            return cls.GRAPH if name == "markdown-ld" else cls(name)
        except ValueError:
            known = ", ".join(cls)
            raise UsageError(f"no strategy is called {name!r}", remedy=f"use {known}") from None


class RankingMode(StrEnum):
    """How a result came to be ranked."""

    GRAPH = "graph"
    VECTOR = "vector"
    HYBRID = "hybrid"
    BROWSE = "browse"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What of the query a match answers.

    Attributes:
        terms: Words of the query that the tool matches, in the query's order.
        missing: Words of the query that it does not match.
        fields: Fields of the tool that matched, strongest first.
    """

    terms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Match:
    """One tool that a search offers.

    Attributes:
        descriptor: The tool itself, with schema and hints.
        score: How sure the engine is that the tool is wanted, in [0, 1]; 0 when browsing.
        evidence: What of the query it answers.
        via: The edge that brought it in; `None` for a primary match.
    """

    descriptor: Tool
    score: float
    evidence: Evidence = Evidence()
    via: Via | None = None

    @property
    def tool_id(self) -> str:
        return self.descriptor.id

    @property
    def source_id(self) -> str:
        return self.descriptor.source_id

    @property
    def tool_name(self) -> str:
        return self.descriptor.name

    def __repr__(self) -> str:
        return f"Match({self.tool_id!r}, score={self.score:.6f})"


@dataclass(frozen=True, slots=True)
class FocusedGraph:
    """Size of the graph around a result: its tools and groups, and the edges between them."""

    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
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
    """

    query: str
    strategy: Strategy
    ranking_mode: RankingMode
    matches: tuple[Match, ...] = ()
    related_matches: tuple[Match, ...] = ()
    next_step_matches: tuple[Match, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    focused_graph: FocusedGraph = FocusedGraph()
