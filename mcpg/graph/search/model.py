"""Search profiles, requests and results of the graph."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from itertools import takewhile
from math import fsum, log
from typing import Any, NamedTuple

from mcpg.documents.addresses import escape_iri
from mcpg.errors import Diagnostic
from mcpg.graph import terms as v
from mcpg.text import fold, split_words, stem, stop_words_in, strip_accents
from mcpg.text.words import is_unspaced
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
    """The kind of a score; none is a probability, and two kinds cannot be compared."""

    COVERAGE = "coverage"
    """The share of the query, by the rarity of its words, in texts of the node; each word counts by
    the weight of the best predicate with it."""
    HANDED_ON = "handed-on"
    """The best score of a match that leads here, times the weight of the edge."""
    NEARNESS = "nearness"
    """1 / (1 + distance) of the nearest text, by its runs of three characters."""
    RANKING = "ranking"
    """The score of an ordinary search."""


@dataclass(frozen=True, slots=True)
class GraphSearchRequest:
    """A query, in any words.

    Attributes:
        limit: The most primary matches, at least 1.
        is_federated: Whether *endpoints*, addresses of SPARQL endpoints, are also queried.
        includes_local: Whether the graph at hand is searched; it is when this is not federated.
    """

    query: str
    limit: int = 5
    mode: Mode = Mode.HYBRID
    is_federated: bool = False
    includes_local: bool = True
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The source of evidence: its IRI and its name."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value that speaks for a match.

    Attributes:
        predicate: IRI of the predicate that has the value.
        kind: `text` for a value of the node, `relationship` for one of a node beside it,
            `distance` for the nearest value, `edge` for the edge to a further node.
        score: The value's own share of a score, in [0, 1].
        terms: The words of the query found in it, as the query spells them.
        via: IRI of the predicate to the node beside, "" if there is none.
        related: IRI of that node, or "".
        endpoint: The endpoint with the value; "" for the graph at hand.
        sources: The sources of the tool it is about, if known.
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
        """Return it as a JSON object; for a primary match with the text that matched."""
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
        types: IRIs of its classes.
        evidence: The evidence for it, the strongest first.
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
        """Return the node, and the evidence for it, as a JSON object."""
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
        related: Nodes related to them; a federated search gives none.
        next_steps: Nodes that come after them; none in a federated search.
        sparql: The query that looked for matches, "" if none was needed; of a federated search
            a query for each endpoint, then that for the graph at hand, with a blank line between.
        expansion_sparql: The query that looked for their companions, or "".
        endpoints: The endpoints that answered.
        used_schema_search: Whether matches come from the schema.
        used_schema_fallback: Whether an ordinary search replaced it.
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


@dataclass(frozen=True, slots=True)
class TextPredicate:
    """A predicate whose values are searched; a word in them counts *weight*, above 0."""

    iri: str
    weight: float


@dataclass(frozen=True, slots=True)
class Relationship:
    """A predicate to nodes whose own texts, by *reads*, count for the node that they belong to.

    If *is_inbound*, the edge leads to the found node.
    """

    iri: str
    weight: float
    reads: tuple[str, ...]
    is_inbound: bool = False


@dataclass(frozen=True, slots=True)
class Expansion:
    """A predicate that leads from a match to its companions, `related` or `next`.

    *weight* is the share of its score that a match hands on, in (0, 1].
    """

    iri: str
    weight: float
    role: str


@dataclass(frozen=True, slots=True)
class SearchProfile:
    """The predicates that a search reads.

    Attributes:
        types: Classes, one of which a match must have.
        relationships: Predicates of nodes with texts that count.
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
        """The highest weight of a word; 0 when nothing is read."""
        texts = (one.weight for one in self.texts)
        relationships = (one.weight for one in self.relationships)
        return max((*texts, *relationships), default=0.0)

    def find_weight(self, predicate: str, via: str, *, is_inbound: bool) -> float:
        """Return the weight of a word in such a value; 0 if the profile does not read it."""
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
        """Return the profile without the parts that need one of *predicates*."""
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


_NAMES = (v.schema.name, v.skos.prefLabel)

DEFAULT_PROFILE = SearchProfile(
    types=(v.schema.Article,),
    texts=(
        TextPredicate(v.schema.name, 1.2),
        TextPredicate(v.schema.alternateName, 1.2),
        TextPredicate(v.schema.description, 1.1),
        TextPredicate(v.schema.keywords, 0.95),
        TextPredicate(v.skos.prefLabel, 0.75),
    ),
    relationships=(
        Relationship(v.schema.about, 0.9, _NAMES),
        Relationship(v.kb.memberOf, 0.8, _NAMES),
        Relationship(v.schema.mentions, 0.7, (v.schema.name,)),
        Relationship(
            v.prov.wasDerivedFrom, 0.65, (v.schema.name, v.schema.description), is_inbound=True
        ),
    ),
    expansions=(
        Expansion(v.kb.nextStep, 0.9, "next"),
        Expansion(v.kb.relatedTo, 0.75, "related"),
        Expansion(v.schema.mentions, 0.35, "related"),
        Expansion(v.schema.hasPart, 0.25, "related"),
    ),
)
"""The predicates of the .NET gateway with its weights, and the names that authors add."""


_PARTIAL = 0.8
"""The weight of a word in a long text, relative to a text with nothing else."""


@dataclass(frozen=True, slots=True)
class Row:
    """One value that may contain words of the query.

    Attributes:
        node: IRI of the node it speaks for.
        predicate: IRI of the predicate that has it.
        via: IRI of the predicate to the node that has it, "" for the node itself.
        related: IRI of that node, or "".
        is_inbound: Whether the edge leads from that node.
        endpoint: The endpoint with the value, "" for the graph at hand.
        stems: The result of `join_stems` for the text if known, else "".
    """

    node: str
    predicate: str
    text: str
    via: str = ""
    related: str = ""
    is_inbound: bool = False
    endpoint: str = ""
    stems: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """A node with its score in [0, 1] and the evidence for it, the strongest first."""

    node: str
    score: float
    evidence: tuple[Evidence, ...]


def score_nodes(
    rows: Iterable[Row], terms: Sequence[SearchTerm], profile: SearchProfile, total: int
) -> list[ScoredNode]:
    """Return the nodes of *rows* with a word of the query, the best first.

    Rows that *profile* does not read are left out. *total* is how many nodes there are; at least as
    many as rows speak for are assumed.
    """
    found: dict[str, dict[Row, _TermCredit]] = defaultdict(dict)
    # A group has the same text for each of its members.
    held_in = cache(partial(_credit_terms, tuple(terms)))
    for row in rows:
        weight = profile.find_weight(row.predicate, row.via, is_inbound=row.is_inbound)
        held = held_in(row.stems or join_stems(row.text), weight)
        if weight and held.terms:
            found[row.node][row] = held
    size = max(total, len(found))
    counts = dict.fromkeys(terms, 0)
    for values in found.values():
        for term in {term for held in values.values() for term in held.terms}:
            counts[term] += 1
    rarity = {term: log(1 + (size - n + 0.5) / (n + 0.5)) for term, n in counts.items()}
    best = profile.highest_weight * fsum(rarity.values())
    nodes = (_score_node(node, held, rarity, best) for node, held in found.items())
    # Of equal nodes, first the node with more evidence.
    return sorted(
        nodes, key=lambda one: (-one.score, -fsum(said.score for said in one.evidence), one.node)
    )


class _TermCredit(NamedTuple):
    """The terms in a value, and the credit of each there before its rarity."""

    terms: tuple[SearchTerm, ...]
    credit: float


def join_stems(text: str) -> str:
    """Return the stems of the words of *text*, separated by spaces."""
    return " ".join(map(stem, split_words(text)))


def _credit_terms(terms: Sequence[SearchTerm], joined: str, weight: float) -> _TermCredit:
    stems = joined.split(" ")
    present = tuple(term for term in terms if term.stem in stems)
    if not present:
        return _TermCredit((), 0.0)
    asked = {term.stem for term in present}
    density = sum(one in asked for one in stems) / len(stems)
    return _TermCredit(present, weight * (_PARTIAL + (1 - _PARTIAL) * density))


def _score_node(
    node: str, values: Mapping[Row, _TermCredit], rarity: Mapping[SearchTerm, float], best: float
) -> ScoredNode:
    counted: dict[SearchTerm, float] = {}
    for held in values.values():
        for term in held.terms:
            counted[term] = max(counted.get(term, 0.0), held.credit)
    score = fsum(rarity[term] * credit for term, credit in counted.items()) / best
    evidence = [
        Evidence(
            predicate=row.predicate,
            text=row.text,
            kind="relationship" if row.via else "text",
            score=held.credit * fsum(rarity[term] for term in held.terms) / best,
            terms=tuple(term.text for term in held.terms),
            via=row.via,
            related=row.related,
            endpoint=row.endpoint,
        )
        for row, held in values.items()
    ]
    evidence.sort(
        key=lambda one: (-one.score, one.endpoint, one.predicate, one.via, one.related, one.text)
    )
    return ScoredNode(node, score, tuple(evidence))


MOST_TERMS = 64
"""The most words of a query that are searched."""

_SHORTEST_BEGINNING = 3
_BETWEEN_WORDS = r"[^\p{L}\p{N}]"
_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[\\|.?*+(){}\[\]^$]")


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A word to search, folded; *stem* is shared by its inflections.

    *beginnings* are how a word that may be one of them begins, in lower case.
    """

    text: str
    stem: str
    beginnings: tuple[str, ...]


def parse_terms(query: str, language: str | None = None) -> tuple[SearchTerm, ...]:
    """Return the words of *query*, each stem once, in order; stop words only if all are.

    *language* is that of the graph, which the query is most likely in; `None` if unknown.
    """
    words = split_words(query)
    empty = stop_words_in(words, language)
    accented = {strip_accents(word): word for word in _WORD.findall(fold(query))}
    found: dict[str, SearchTerm] = {}
    for word in [word for word in words if word not in empty] or words:
        ending, spelt = stem(word), accented.get(word, word)
        # "query" and "queries" share a stem that ends with another letter than one of them.
        pairs = zip(word, ending.removesuffix("i"), strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        length = max(common, min(_SHORTEST_BEGINNING, len(word)))
        forms = (word[:length], spelt[:length] if len(spelt) == len(word) else spelt)
        found.setdefault(ending, SearchTerm(word, ending, tuple(dict.fromkeys(forms))))
    return tuple(found.values())[:MOST_TERMS]


def build_pattern(terms: Sequence[SearchTerm], between: str = _BETWEEN_WORDS) -> str:
    """Return a regular expression, to be used with the flag `i`, that finds words.

    *between* matches one character that is neither letter nor digit; by default as in XPath.
    """
    spaced: list[str] = []
    run_together: list[str] = []
    for term in terms:
        for beginning in term.beginnings:
            # XPath has no escapes but these: a vowel sign after a backslash makes the pattern
            # invalid.
            escaped = _SIGNS.sub(r"\\\g<0>", beginning)
            (run_together if is_unspaced(beginning[0]) else spaced).append(escaped)
    parts = [f"(^|{between})({'|'.join(spaced)})"] if spaced else []
    return "|".join((*parts, *run_together))


LABELS = (v.schema.name, v.skos.prefLabel)
"""The predicates of names, the best first."""

DESCRIBED = (*LABELS, v.schema.description, v.rdf.type)
"""The predicates by which a node is shown."""


def evidence_query(profile: SearchProfile, pattern: str) -> str:
    """Ask for every registered value in which the regular expression *pattern* is found."""
    # The strings of JSON are strings of SPARQL, except for pairs of surrogates.
    test = f'FILTER(REGEX(STR(?text), {json.dumps(pattern, ensure_ascii=False)}, "i"))'
    branches = []
    if profile.texts:
        values = " ".join(_name(one.iri) for one in profile.texts)
        branches.append(
            f"    VALUES ?predicate {{ {values} }}\n    ?node ?predicate ?text .\n    {test}"
        )
    branches += (
        _make_branch([one for one in profile.relationships if one.is_inbound is is_inbound], test)
        for is_inbound in (False, True)
    )
    union = "\n  } UNION {\n".join(branch for branch in branches if branch)
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?text ?via ?related ?inbound WHERE {\n"
        f"  VALUES ?type {{ {' '.join(map(_name, profile.types))} }}\n"
        f"  ?node a ?type .\n  {{\n{union}\n  }}\n"
        "}\nORDER BY ?node ?predicate ?text ?via ?related"
    )


def expansion_query(profile: SearchProfile, nodes: Iterable[str]) -> str:
    """Ask for the targets of the registered edges of *nodes*."""
    edges = " ".join(_name(one.iri) for one in profile.expansions)
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?related WHERE {\n"
        f"  VALUES ?node {{ {' '.join(map(_name, nodes))} }}\n"
        f"  VALUES ?predicate {{ {edges} }}\n"
        "  ?node ?predicate ?related .\n"
        "  FILTER(ISIRI(?related) && ?related != ?node)\n"
        "}\nORDER BY ?node ?predicate ?related"
    )


def description_query(nodes: Iterable[str]) -> str:
    """Ask for the names, descriptions and classes of *nodes*."""
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?value WHERE {\n"
        f"  VALUES ?node {{ {' '.join(map(_name, nodes))} }}\n"
        f"  VALUES ?predicate {{ {' '.join(map(_name, DESCRIBED))} }}\n"
        "  ?node ?predicate ?value .\n"
        "}\nORDER BY ?node ?predicate ?value"
    )


def at_endpoint(query: str, endpoint: str) -> str:
    """Return *query* in a form that sends it to another endpoint."""
    lines = query.split("\n")
    heads = [line for line in lines if line.startswith("PREFIX ")]
    body = [f"    {line}" for line in lines[len(heads) :]]
    return "\n".join((*heads, f"SELECT * WHERE {{\n  SERVICE <{endpoint}> {{", *body, "  }\n}"))


def is_iri(text: str) -> bool:
    """Return whether *text* is valid between `<` and `>` as it is."""
    return ":" in text and escape_iri(text) == text


def _make_branch(relationships: Sequence[Relationship], test: str) -> str:
    if not relationships:
        return ""
    pairs = " ".join(
        f"({_name(one.iri)} {_name(iri)})" for one in relationships for iri in one.reads
    )
    is_inbound = relationships[0].is_inbound
    edge = "?related ?via ?node" if is_inbound else "?node ?via ?related"
    mark = "\n    BIND(true AS ?inbound)" if is_inbound else ""
    return (
        f"    VALUES (?via ?predicate) {{ {pairs} }}\n"
        f"    {edge} .\n    ?related ?predicate ?text .\n"
        f"    FILTER(?related != ?node)\n    {test}{mark}"
    )


def _name(iri: str) -> str:
    return v.abbreviate_iri(iri, lambda one: one.isidentifier() and one.isascii()) or f"<{iri}>"


def _with_prefixes(query: str) -> str:
    used = [prefix for prefix in v.PREFIXES if f" {prefix}:" in query or f"({prefix}:" in query]
    return "".join((*(f"PREFIX {one}: <{v.PREFIXES[one]}>\n" for one in used), query))


def collect_displays(
    rows: Iterable[Mapping[str, str]],
) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Make the answer to `description_query` into name, description and classes of each node."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        predicate = row.get("predicate", "")
        if predicate in DESCRIBED and "node" in row and "value" in row:
            values[row["node"]][predicate].append(row["value"])
    shown = {}
    for node, said in values.items():
        # The first answer counts: of the graph at hand, then of the endpoints in order.
        label = next((said[name][0] for name in LABELS if name in said), node)
        description = said[v.schema.description][0] if v.schema.description in said else ""
        shown[node] = label, description, tuple(sorted(set(said.get(v.rdf.type, ()))))
    return shown
