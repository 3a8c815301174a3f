"""Scores: how much of a query the texts of a node cover.

A word of the query counts by its rarity among the nodes, idf = ln(1 + (N - n + 0.5) / (n + 0.5)),
where n of N nodes have it (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
Beyond", 2009, section 3.1), and once for each node, by the best value that it stands in. So many
values with the same word say no more than one, and only a node whose best predicate says the whole
query, and nothing else, has the score 1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum, log
from typing import TYPE_CHECKING

from mcpg.graph.search.model import Evidence
from mcpg.text import split_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcpg.graph.search.profile import SearchProfile
    from mcpg.graph.search.terms import Term

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
    """

    node: str
    predicate: str
    text: str
    via: str = ""
    related: str = ""
    is_inbound: bool = False
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A node with its score in [0, 1] and what speaks for it, the strongest first."""

    node: str
    score: float
    evidence: tuple[Evidence, ...]


def scored(
    rows: Iterable[Row], terms: Sequence[Term], profile: SearchProfile, total: int
) -> list[Scored]:
    """Give the nodes of *rows* that hold a word of the query, the best first.

    Args:
        rows: Values; those that *profile* does not read are left out.
        terms: The words of the query.
        profile: What a value counts.
        total: How many nodes there are; at least as many as rows speak for are assumed.
    """
    found: dict[str, dict[Row, _Held]] = defaultdict(dict)
    for row in rows:
        weight = profile.weight_of(row.predicate, row.via, is_inbound=row.is_inbound)
        held = _held(row.text, terms, weight)
        if weight and held.terms:
            found[row.node][row] = held
    rarity = _rarity(found, terms, total)
    best = profile.highest_weight * fsum(rarity.values())
    nodes = (_node(node, held, rarity, best) for node, held in found.items())
    return sorted(nodes, key=_order)


@dataclass(frozen=True, slots=True)
class _Held:
    """The terms that a value holds, and what each counts there before its rarity."""

    terms: tuple[Term, ...]
    credit: float


def _held(text: str, terms: Sequence[Term], weight: float) -> _Held:
    stems = [stem(word) for word in split_words(text)]
    present = tuple(term for term in terms if term.stem in stems)
    if not present:
        return _Held((), 0.0)
    asked = {term.stem for term in present}
    density = sum(one in asked for one in stems) / len(stems)
    return _Held(present, weight * (_PARTIAL + (1 - _PARTIAL) * density))


def _rarity(
    found: Mapping[str, Mapping[Row, _Held]], terms: Sequence[Term], total: int
) -> dict[Term, float]:
    nodes = max(total, len(found))
    counts = dict.fromkeys(terms, 0)
    for values in found.values():
        for term in {term for held in values.values() for term in held.terms}:
            counts[term] += 1
    return {term: log(1 + (nodes - n + 0.5) / (n + 0.5)) for term, n in counts.items()}


def _node(
    node: str, values: Mapping[Row, _Held], rarity: Mapping[Term, float], best: float
) -> Scored:
    counted: dict[Term, float] = {}
    for held in values.values():
        for term in held.terms:
            counted[term] = max(counted.get(term, 0.0), held.credit)
    score = fsum(rarity[term] * credit for term, credit in counted.items()) / best
    evidence = (_evidence(row, held, rarity, best) for row, held in values.items())
    return Scored(node, score, tuple(sorted(evidence, key=_evidence_order)))


def _evidence(row: Row, held: _Held, rarity: Mapping[Term, float], best: float) -> Evidence:
    return Evidence(
        predicate=row.predicate,
        text=row.text,
        kind="relationship" if row.via else "text",
        score=held.credit * fsum(rarity[term] for term in held.terms) / best,
        terms=tuple(term.text for term in held.terms),
        via=row.via,
        related=row.related,
        endpoint=row.endpoint,
    )


def _order(one: Scored) -> tuple[float, float, str]:
    # Of equal nodes, first the one that more values speak for.
    return -one.score, -fsum(evidence.score for evidence in one.evidence), one.node


def _evidence_order(one: Evidence) -> tuple[float, str, str, str, str, str]:
    return -one.score, one.endpoint, one.predicate, one.via, one.related, one.text
