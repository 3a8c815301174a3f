"""Query terms, their SPARQL, and scores: how much of a query the texts of a node cover.

A word of the query counts by its rarity among the nodes, idf = ln(1 + (N - n + 0.5) / (n + 0.5)),
where n of N nodes have it (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009, section 3.1), and once for each node, by the best value that it stands in. So only a
node whose best predicate holds the whole query, and nothing else, has the score 1.

SPARQL has no stemming. A query looks for words that begin with the stem, which finds too much and
misses only spellings with other accents; the words found are then compared.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import takewhile
from math import fsum, log

from mcpg.graph import terms as v
from mcpg.graph.iris import escape_iri
from mcpg.graph.search.model import Evidence, Relationship, SearchProfile
from mcpg.graph.terms import RDF_TYPE, SCHEMA_DESCRIPTION
from mcpg.text import fold, split_words, stem, stop_words_in, strip_accents
from mcpg.text.words import is_unspaced

_PARTIAL = 0.8
"""What a word counts in a long text, of what it counts in one that says nothing else."""


@dataclass(frozen=True, slots=True)
class Row:
    """One value that may hold words of the query.

    Attributes:
        node: IRI of the node it speaks for.
        predicate: IRI of the predicate that has it.
        text: The value.
        via: IRI of the predicate to the node that has it, "" for the node itself.
        related: IRI of that node, or "".
        is_inbound: Whether the edge leads from that node.
        endpoint: Who says so, "" for the graph at hand.
        stems: `join_stems` the text where they are known, else "".
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
    """A node with its score in [0, 1] and what speaks for it, the strongest first."""

    node: str
    score: float
    evidence: tuple[Evidence, ...]


def score_nodes(
    rows: Iterable[Row], terms: Sequence[SearchTerm], profile: SearchProfile, total: int
) -> list[ScoredNode]:
    """Return the nodes of *rows* that hold a word of the query, the best first.

    Args:
        rows: Values; those that *profile* does not read are left out.
        terms: The words of the query.
        profile: What a value counts.
        total: How many nodes there are; at least as many as rows speak for are assumed.
    """
    found: dict[str, dict[Row, _TermCredit]] = defaultdict(dict)
    # A group has the same text for each of its members.
    held_in = cache(partial(_credit_terms, tuple(terms)))
    for row in rows:
        weight = profile.find_weight(row.predicate, row.via, is_inbound=row.is_inbound)
        held = held_in(row.stems or join_stems(row.text), weight)
        if weight and held.terms:
            found[row.node][row] = held
    rarity = _rarity(found, terms, total)
    best = profile.highest_weight * fsum(rarity.values())
    nodes = (_score_node(node, held, rarity, best) for node, held in found.items())
    # Of equal nodes, first the one that more values speak for.
    return sorted(
        nodes, key=lambda one: (-one.score, -fsum(said.score for said in one.evidence), one.node)
    )


@dataclass(frozen=True, slots=True)
class _TermCredit:
    """The terms that a value holds, and what each counts there before its rarity."""

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


def _rarity(
    found: Mapping[str, Mapping[Row, _TermCredit]], terms: Sequence[SearchTerm], total: int
) -> dict[SearchTerm, float]:
    nodes = max(total, len(found))
    counts = dict.fromkeys(terms, 0)
    for values in found.values():
        for term in {term for held in values.values() for term in held.terms}:
            counts[term] += 1
    return {term: log(1 + (nodes - n + 0.5) / (n + 0.5)) for term, n in counts.items()}


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
"""The most words of a query that are looked for."""

_SHORTEST_BEGINNING = 3
_BETWEEN_WORDS = r"[^\p{L}\p{N}]"
_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[\\|.?*+(){}\[\]^$]")


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A word that is looked for.

    Attributes:
        text: As it was asked, folded.
        stem: What its inflections share.
        beginnings: How a word that may be one of them begins, in lower case.
    """

    text: str
    stem: str
    beginnings: tuple[str, ...]


def parse_terms(query: str, language: str | None = None) -> tuple[SearchTerm, ...]:
    """Return the words of *query*, each stem once, in order; function words only if all are.

    Args:
        query: In any words.
        language: That of the graph, which the query is most likely in; `None` if unknown.
    """
    words = split_words(query)
    empty = stop_words_in(words, language)
    kept = [word for word in words if word not in empty] or words
    accented = {strip_accents(word): word for word in _WORD.findall(fold(query))}
    found: dict[str, SearchTerm] = {}
    for word in kept:
        found.setdefault(stem(word), _make_term(word, accented.get(word, word)))
    return tuple(found.values())[:MOST_TERMS]


def build_pattern(terms: Sequence[SearchTerm], between: str = _BETWEEN_WORDS) -> str:
    """Return a regular expression, to be used with the flag `i`, that finds *terms*.

    Args:
        terms: Words.
        between: Matches one character that is neither letter nor digit; as XPath has it if not
            stated.
    """
    spaced: list[str] = []
    run_together: list[str] = []
    for term in terms:
        for beginning in term.beginnings:
            # XPath knows no escapes but these: a vowel sign after a backslash makes the pattern
            # invalid.
            escaped = _SIGNS.sub(r"\\\g<0>", beginning)
            (run_together if is_unspaced(beginning[0]) else spaced).append(escaped)
    parts = [f"(^|{between})({'|'.join(spaced)})"] if spaced else []
    return "|".join((*parts, *run_together))


def _make_term(word: str, accented: str) -> SearchTerm:
    ending = stem(word)
    # "query" and "queries" share a stem that ends with another letter than one of them.
    pairs = zip(word, ending.removesuffix("i"), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    length = max(common, min(_SHORTEST_BEGINNING, len(word)))
    forms = (word[:length], accented[:length] if len(accented) == len(word) else accented)
    return SearchTerm(word, ending, tuple(dict.fromkeys(forms)))


LABELS = (v.SCHEMA_NAME, v.SKOS_PREF_LABEL)
"""The predicates of names, the best first."""

DESCRIBED = (*LABELS, v.SCHEMA_DESCRIPTION, v.RDF_TYPE)
"""The predicates by which a node is shown."""


def evidence_query(profile: SearchProfile, pattern: str) -> str:
    """Ask for every registered value in which the regular expression *pattern* is found."""
    # The strings of JSON are strings of SPARQL, but for pairs of surrogates.
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
    """Ask for what the registered edges of *nodes* lead to."""
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
    """Ask how *nodes* are called, what they are, and of which classes."""
    return _with_prefixes(
        "SELECT DISTINCT ?node ?predicate ?value WHERE {\n"
        f"  VALUES ?node {{ {' '.join(map(_name, nodes))} }}\n"
        f"  VALUES ?predicate {{ {' '.join(map(_name, DESCRIBED))} }}\n"
        "  ?node ?predicate ?value .\n"
        "}\nORDER BY ?node ?predicate ?value"
    )


def at_endpoint(query: str, endpoint: str) -> str:
    """Return *query* as one that another endpoint answers."""
    lines = query.split("\n")
    heads = [line for line in lines if line.startswith("PREFIX ")]
    body = [f"    {line}" for line in lines[len(heads) :]]
    return "\n".join((*heads, f"SELECT * WHERE {{\n  SERVICE <{endpoint}> {{", *body, "  }\n}"))


def is_iri(text: str) -> bool:
    """Return whether *text* can stand between `<` and `>` as it is."""
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
    for prefix, namespace in v.PREFIXES.items():
        rest = iri.removeprefix(namespace)
        if rest != iri and rest.isidentifier() and rest.isascii():
            return f"{prefix}:{rest}"
    return f"<{iri}>"


def _with_prefixes(query: str) -> str:
    used = [prefix for prefix in v.PREFIXES if f" {prefix}:" in query or f"({prefix}:" in query]
    return "".join((*(f"PREFIX {one}: <{v.PREFIXES[one]}>\n" for one in used), query))


@dataclass(frozen=True, slots=True)
class NodeDisplay:
    """How one node is shown: its name or IRI, what it is, IRIs of its classes."""

    label: str
    description: str = ""
    types: tuple[str, ...] = ()


def collect_displays(rows: Iterable[Mapping[str, str]]) -> dict[str, NodeDisplay]:
    """Make the answer to `mcpg.graph.search.scoring.description_query` into displays by IRI."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        predicate = row.get("predicate", "")
        if predicate in DESCRIBED and "node" in row and "value" in row:
            values[row["node"]][predicate].append(row["value"])
    shown = {}
    for node, said in values.items():
        # The first answer counts: that of the graph at hand, then the endpoints' in order.
        label = next((said[name][0] for name in LABELS if name in said), node)
        description = said[SCHEMA_DESCRIPTION][0] if SCHEMA_DESCRIPTION in said else ""
        shown[node] = NodeDisplay(label, description, tuple(sorted(set(said.get(RDF_TYPE, ())))))
    return shown
