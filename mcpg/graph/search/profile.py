"""Which predicates a search reads, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mcpg.graph import vocabulary as v

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

    def weight_of(self, predicate: str, via: str, *, is_inbound: bool) -> float:
        """Give what a word counts in such a value; 0 where the profile does not read it."""
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
