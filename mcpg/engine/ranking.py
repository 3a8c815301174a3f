"""Retrieval and fusion: from clauses to ranked documents."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.engine.names import NameMatcher
from mcpg.engine.trace import Contribution, TermMatch

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from mcpg.engine.analysis import Analysis, Clause
    from mcpg.engine.bm25f import FieldedScorer
    from mcpg.index import Index

# Weights of the fused score, chosen on judged queries of several public catalogues.
NAME_WEIGHT = 0.15
OPENING_WEIGHT = 0.35
# More than every other feature together can give, so that an exact name always wins.
EXACT_WEIGHT = 2.0
# Documents that are looked at more closely, and how many for each match asked for.
POOL = 100
POOL_PER_MATCH = 4
# Scores are compared after rounding, so that a platform's floating point cannot reorder.
DECIMALS = 9


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document and what it was ranked by.

    Attributes:
        document: Number of the document.
        lexical: Share of the query, weighed by rarity, that the document answers, saturated;
            at least 0, at most 1 without context.
        name_coverage: Share of the tool's name, weighed by rarity, that the query holds, in [0, 1].
        opening: Share of the query that its opening words take when they are the tool's whole
            name, else 0; in [0, 1].
        exact: 1 when the query names the tool exactly, else 0.
    """

    document: int
    lexical: float
    name_coverage: float = 0.0
    opening: float = 0.0
    exact: float = 0.0

    @property
    def fused(self) -> float:
        """The score that decides the order."""
        return round(sum(part.contribution for part in contributions(self)), DECIMALS)


def retrieve(analysis: Analysis, scorer: FieldedScorer) -> dict[int, float]:
    """Give the lexical score of every document that matches a clause.

    A clause gives its share of the query's total weight, times the saturated frequency of the
    best of its variants there, times the credit for that variant.
    """
    scores: dict[int, float] = {}
    total = analysis.total_weight or sum(clause.weight for clause in analysis.clauses) or 1.0
    for clause in analysis.clauses:
        share = clause.weight / total
        for document, impact in _impacts(clause, scorer).items():
            scores[document] = scores.get(document, 0.0) + share * impact
    return scores


def _impacts(clause: Clause, scorer: FieldedScorer) -> Mapping[int, float]:
    """Give the best credited impact of a clause's variants in each document."""
    if len(clause.variants) == 1 and clause.variants[0][1] == 1:
        return scorer.impacts(clause.variants[0][0])
    best: dict[int, float] = {}
    for term, credit in clause.variants:
        for document, impact in scorer.impacts(term).items():
            best[document] = max(best.get(document, 0.0), impact * credit)
    return best


def named_exactly(analysis: Analysis, index: Index) -> frozenset[int]:
    """Give the documents whose id, name, title or alias the query spells out."""
    return frozenset(number for key in analysis.exact_keys for number in index.exact.get(key, ()))


def rank(
    scores: Mapping[int, float],
    analysis: Analysis,
    index: Index,
    eligible: Container[int],
    limit: int,
) -> list[Ranked]:
    """Fuse and give the best *limit* eligible documents; ties go to the smaller tool id."""
    exact = named_exactly(analysis, index)
    found = ((document, score) for document, score in scores.items() if document in eligible)
    size = max(POOL, POOL_PER_MATCH * limit)
    pool = dict(heapq.nsmallest(size, found, key=lambda pair: (-round(pair[1], DECIMALS), pair[0])))
    pool |= {document: scores.get(document, 0.0) for document in exact if document in eligible}
    names = NameMatcher.of(analysis, index)
    candidates = [
        Ranked(
            document,
            lexical,
            names.coverage(document),
            names.opening(document),
            float(document in exact),
        )
        for document, lexical in pool.items()
    ]
    return heapq.nsmallest(limit, candidates, key=lambda one: (-one.fused, one.document))


def term_matches(
    ranked: Ranked, analysis: Analysis, scorer: FieldedScorer
) -> tuple[TermMatch, ...]:
    """Say which words matched where; the contributions sum to the lexical score."""
    total = analysis.total_weight or sum(clause.weight for clause in analysis.clauses) or 1.0
    matches = [
        match
        for clause in analysis.clauses
        for match in _matches_of(clause, clause.weight / total, ranked.document, scorer)
    ]
    return tuple(sorted(matches, key=lambda match: (-match.contribution, match.query, match.field)))


def _matches_of(
    clause: Clause, share: float, document: int, scorer: FieldedScorer
) -> list[TermMatch]:
    held = [
        (scorer.impacts(term)[document] * credit, term, credit)
        for term, credit in clause.variants
        if document in scorer.impacts(term)
    ]
    if not held:
        return []
    impact, term, credit = max(held)
    repair = next(one for one in clause.repairs if scorer.index.term_of(one.word) == term)
    return [
        TermMatch(
            clause.text,
            repair.word,
            "alias" if field == "aliases" and repair.kind == "exact" else repair.kind,
            credit,
            field,
            share * impact * part,
        )
        for field, part in scorer.parts(term, document).items()
    ]


def contributions(ranked: Ranked) -> tuple[Contribution, ...]:
    """Give the summands of the fused score, largest first."""
    parts = (
        ("retrieve", "bm25f", ranked.lexical, 1.0),
        ("fuse", "nameCoverage", ranked.lexical * ranked.name_coverage, NAME_WEIGHT),
        ("fuse", "openingName", ranked.opening, OPENING_WEIGHT),
        ("fuse", "exactName", ranked.exact, EXACT_WEIGHT),
    )
    made = (Contribution(*part, part[2] * part[3]) for part in parts)
    return tuple(sorted(made, key=lambda part: -part.contribution))
