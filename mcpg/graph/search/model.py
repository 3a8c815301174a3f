"""What is asked of a search of the graph, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.diagnostics import Diagnostic


class Mode(StrEnum):
    """How nodes are found."""

    HYBRID = "hybrid"
    SCHEMA_AWARE = "schema-aware"
    TOKEN_DISTANCE = "token-distance"  # noqa: S105 - tokens of a text


class Role(StrEnum):
    """Why a node is in the answer."""

    PRIMARY = "primary"
    RELATED = "related"
    NEXT = "next"


class ScoreKind(StrEnum):
    """What a score is; none of them is a probability, and two kinds cannot be compared."""

    COVERAGE = "coverage"
    """The share of the query, by the rarity of its words, that texts of the node hold; each word
    counts by the weight of the best predicate it stands under."""
    HANDED_ON = "handed-on"
    """The best score of a match that leads here, times the weight of the edge."""
    NEARNESS = "nearness"
    """1 / (1 + distance) of the nearest text, by its runs of three characters."""
    RANKING = "ranking"
    """The score of an ordinary search."""


@dataclass(frozen=True, slots=True)
class GraphSearchRequest:
    """What is asked.

    Attributes:
        query: In any words.
        limit: The most primary matches, at least 1.
        mode: How nodes are found.
        is_federated: Whether `endpoints` are asked, too.
        includes_local: Whether the graph at hand is searched; it is when this is not federated.
        endpoints: Addresses of SPARQL endpoints.
    """

    query: str
    limit: int = 5
    mode: Mode = Mode.HYBRID
    is_federated: bool = False
    includes_local: bool = True
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceContext:
    """Where something is said.

    Attributes:
        id: IRI of the source.
        label: Its name.
    """

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value that speaks for a match.

    Attributes:
        predicate: IRI of the predicate that has the value.
        text: The value.
        kind: `text` for a value of the node, `relationship` for one of a node beside it,
            `distance` for the nearest value, `edge` for what brings in a further node.
        score: The value's own share of a score, in [0, 1].
        terms: The words of the query found in it, as they were asked.
        via: IRI of the predicate to the node beside, "" where there is none.
        related: IRI of that node, or "".
        related_label: Its name, or "".
        endpoint: Who says so; "" for the graph at hand.
        sources: The sources of the tool it is about, where they are known.
    """

    predicate: str
    text: str
    kind: str
    score: float
    terms: tuple[str, ...] = ()
    via: str = ""
    related: str = ""
    related_label: str = ""
    endpoint: str = ""
    sources: tuple[SourceContext, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphMatch:
    """One node that was found.

    Attributes:
        node: Its IRI.
        label: Its name, or its IRI.
        description: What it is, or "".
        types: IRIs of its classes.
        role: Why it is here.
        score: In [0, 1]; see `score_kind`.
        score_kind: What the score is.
        evidence: What speaks for it, the strongest first.
        tool_id: Id of the tool that it is, `None` for other things.
    """

    node: str
    label: str
    description: str
    types: tuple[str, ...]
    role: Role
    score: float
    score_kind: ScoreKind
    evidence: tuple[Evidence, ...] = ()
    tool_id: str | None = None


@dataclass(frozen=True, slots=True)
class GraphSearchResult:
    """The answer.

    Attributes:
        query: As it was asked.
        mode: As it was asked.
        matches: The primary matches, the best first.
        related: What is related to them; a federated search gives none.
        next_steps: What comes after them; likewise.
        sparql: The query that looked for matches, "" where none was needed; of a federated search
            one for each endpoint, then the one for the graph at hand, with a blank line between.
        expansion_sparql: The query that looked for what comes with them, or "".
        endpoints: The endpoints that answered.
        is_federated: Whether endpoints were to be asked.
        used_schema_search: Whether matches come from the schema.
        used_schema_fallback: Whether an ordinary search stood in for it.
        diagnostics: What was noticed.
    """

    query: str
    mode: Mode
    matches: tuple[GraphMatch, ...] = ()
    related: tuple[GraphMatch, ...] = ()
    next_steps: tuple[GraphMatch, ...] = ()
    sparql: str = ""
    expansion_sparql: str = ""
    endpoints: tuple[str, ...] = ()
    is_federated: bool = False
    used_schema_search: bool = False
    used_schema_fallback: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()
