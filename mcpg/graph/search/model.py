"""Search profiles, requests and results of the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mcpg.errors import Diagnostic
from mcpg.graph import terms as v
from mcpg.values import round_shown_score, to_json


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

    def to_dict(self, *, is_primary: bool) -> dict[str, Any]:
        """Return it as a JSON object; that of a primary match has the text that matched."""
        matched = {"matchedText": self.text, "terms": list(self.terms), "via": self.via or None}
        return {
            "predicate": self.predicate,
            "kind": self.kind,
            "score": round_shown_score(self.score),
            "related": self.related or None,
            "relatedLabel": self.related_label or None,
            "endpoint": self.endpoint or None,
            "sources": [to_json(one) for one in self.sources],
            **(matched if is_primary else {}),
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Return the node, and what speaks for it, as a JSON object."""
        is_primary = self.role == Role.PRIMARY
        return {
            "node": self.node,
            "label": self.label,
            "description": self.description,
            "types": list(self.types),
            "role": self.role.value,
            "toolId": self.tool_id,
            "score": round_shown_score(self.score),
            "scoreKind": self.score_kind.value,
            "evidence": [one.to_dict(is_primary=is_primary) for one in self.evidence],
        }


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
        diagnostics: What went wrong, or needs attention.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as `mcpg graph search --format json` prints it."""
        return {
            "schema": "mcpg/graph-search/1",
            "query": self.query,
            "mode": self.mode.value,
            "isFederated": self.is_federated,
            "endpoints": list(self.endpoints),
            "usedSchemaSearch": self.used_schema_search,
            "usedSchemaFallback": self.used_schema_fallback,
            "matches": [match.to_dict() for match in self.matches],
            "relatedMatches": [match.to_dict() for match in self.related],
            "nextStepMatches": [match.to_dict() for match in self.next_steps],
            "generatedSparql": self.sparql,
            "expansionSparql": self.expansion_sparql,
            "diagnostics": [one.to_dict() for one in self.diagnostics],
        }


RELATED, NEXT = "related", "next"


@dataclass(frozen=True, slots=True)
class TextPredicate:
    """A predicate whose values are searched.

    Attributes:
        iri: The predicate.
        weight: What a word found in such a value counts, above 0.
    """

    iri: str
    weight: float


@dataclass(frozen=True, slots=True)
class Relationship:
    """A predicate to nodes whose own texts speak for the node that they hang on.

    Attributes:
        iri: The predicate.
        weight: What a word found that way counts, above 0.
        reads: The predicates of the other node whose values are searched.
        is_inbound: Whether the edge leads from the other node to the one that is found.
    """

    iri: str
    weight: float
    reads: tuple[str, ...]
    is_inbound: bool = False


@dataclass(frozen=True, slots=True)
class Expansion:
    """A predicate that leads from what is found to what comes with it.

    Attributes:
        iri: The predicate.
        weight: The share of its score that a match hands on, in (0, 1].
        role: `related` or `next`.
    """

    iri: str
    weight: float
    role: str


@dataclass(frozen=True, slots=True)
class SearchProfile:
    """What a search reads.

    Attributes:
        types: Classes of which a node that is found must have one.
        texts: Predicates of values.
        relationships: Predicates of nodes whose texts count.
        expansions: Predicates that bring in further nodes.
        related_limit: The most related nodes.
        next_limit: The most next steps.
    """

    types: tuple[str, ...]
    texts: tuple[TextPredicate, ...]
    relationships: tuple[Relationship, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    related_limit: int = 6
    next_limit: int = 6

    @property
    def predicates(self) -> tuple[str, ...]:
        """Every predicate that the search may touch, each once."""
        found = [text.iri for text in self.texts]
        for relationship in self.relationships:
            found += (relationship.iri, *relationship.reads)
        found += (expansion.iri for expansion in self.expansions)
        return tuple(dict.fromkeys(found))

    @property
    def highest_weight(self) -> float:
        """What a word counts at best; 0 when nothing is read."""
        texts = (one.weight for one in self.texts)
        relationships = (one.weight for one in self.relationships)
        return max((*texts, *relationships), default=0.0)

    def find_weight(self, predicate: str, via: str, *, is_inbound: bool) -> float:
        """Return what a word counts in such a value; 0 where the profile does not read it."""
        if not via:
            return next((one.weight for one in self.texts if one.iri == predicate), 0.0)
        return next(
            (
                one.weight
                for one in self.relationships
                if one.iri == via and one.is_inbound == is_inbound and predicate in one.reads
            ),
            0.0,
        )

    def without(self, predicates: set[str]) -> SearchProfile:
        """Leave out what needs one of *predicates*."""
        relationships = (
            replace(one, reads=tuple(iri for iri in one.reads if iri not in predicates))
            for one in self.relationships
            if one.iri not in predicates
        )
        return replace(
            self,
            texts=tuple(one for one in self.texts if one.iri not in predicates),
            relationships=tuple(one for one in relationships if one.reads),
            expansions=tuple(one for one in self.expansions if one.iri not in predicates),
        )


_NAMES = (v.SCHEMA_NAME, v.SKOS_PREF_LABEL)

DEFAULT_PROFILE = SearchProfile(
    types=(v.SCHEMA_ARTICLE,),
    texts=(
        TextPredicate(v.SCHEMA_NAME, 1.2),
        TextPredicate(v.SCHEMA_ALTERNATE_NAME, 1.2),
        TextPredicate(v.SCHEMA_DESCRIPTION, 1.1),
        TextPredicate(v.SCHEMA_KEYWORDS, 0.95),
        TextPredicate(v.SKOS_PREF_LABEL, 0.75),
    ),
    relationships=(
        Relationship(v.SCHEMA_ABOUT, 0.9, _NAMES),
        Relationship(v.KB_MEMBER_OF, 0.8, _NAMES),
        Relationship(v.SCHEMA_MENTIONS, 0.7, (v.SCHEMA_NAME,)),
        Relationship(
            v.PROV_DERIVED_FROM, 0.65, (v.SCHEMA_NAME, v.SCHEMA_DESCRIPTION), is_inbound=True
        ),
    ),
    expansions=(
        Expansion(v.KB_NEXT_STEP, 0.9, NEXT),
        Expansion(v.KB_RELATED_TO, 0.75, RELATED),
        Expansion(v.SCHEMA_MENTIONS, 0.35, RELATED),
        Expansion(f"{v.SCHEMA}hasPart", 0.25, RELATED),
    ),
)
"""What the .NET gateway reads, by its weights, and the names that authors add."""
