"""Retrieval: the bounded pool of documents that answer most of the query's words.

Scores are summed word by word, the words that can add most first. Once the words that are left
cannot lift a new document into the pool, only documents already seen are looked up in them.

Source: Turtle & Flood, "Query evaluation: strategies and optimizations", Information Processing &
Management 31(6), 1995 (max score).
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import nlargest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcpg.engine.analysis import Analysis, Clause
    from mcpg.index import Index

# Documents that are looked at closely, whatever number is asked for.
POOL = 64
DECIMALS = 9
_SCALE = 1 / 0xFFFF
# A list this many times longer than what is looked for is searched rather than read.
_WORTH_SEARCHING = 24


def retrieve(
    analysis: Analysis, index: Index, *, include_disabled: bool, size: int
) -> dict[int, float]:
    """Give the *size* best documents with their lexical scores, best first.

    A document's lexical score is the sum, over clauses, of the clause's share of the query's
    weight times the saturated frequency of the best of its variants there, times the credit for
    that variant. It lies in [0, 1], or a little above with context.
    """
    scores = _accumulate(analysis, index, size)
    allowed = (
        (round(score, DECIMALS), -document, score)
        for document, score in scores.items()
        if include_disabled or index.is_enabled(document)
    )
    return {-negative: score for _, negative, score in nlargest(size, allowed)}


def _accumulate(analysis: Analysis, index: Index, size: int) -> dict[int, float]:
    scores: dict[int, float] = {}
    lists = sorted(
        (
            (-share * bound, place, share, clause)
            for place, clause in enumerate(analysis.clauses)
            for share, bound in [(clause.weight / analysis.total_weight, _bound(clause, index))]
            if bound
        ),
    )
    remaining = -sum(entry[0] for entry in lists)
    for bound, _, share, clause in lists:
        if _is_closed(scores, remaining, size):
            found = clause_impacts(clause, scores.keys(), index)
        else:
            found = _all_impacts(clause, index)
        for document, impact in found.items():
            scores[document] = scores.get(document, 0.0) + share * impact
        remaining += bound
    return scores


def _is_closed(scores: Mapping[int, float], remaining: float, size: int) -> bool:
    """Tell whether no new document can reach the best *size* with what *remaining* can add.

    Twice the size is kept, so that disabled documents among the best leave enough others.
    """
    kept = 2 * size
    return len(scores) > kept and nlargest(kept, scores.values())[-1] > remaining


def _bound(clause: Clause, index: Index) -> float:
    """Give the most that any document can gain from one unit of the clause's share."""
    impacts = (index.max_impact(term) * credit for term, credit in clause.variants.items())
    return max(impacts, default=0) * _SCALE


def _all_impacts(clause: Clause, index: Index) -> dict[int, float]:
    """Give the best credited impact of the clause's variants in every document."""
    best: dict[int, float] = {}
    for term, credit in clause.variants.items():
        documents, impacts, _ = index.postings(term)
        unit = credit * _SCALE
        if not best:
            best = dict(zip(documents, (unit * impact for impact in impacts), strict=True))
            continue
        for document, impact in zip(documents, impacts, strict=True):
            best[document] = max(best.get(document, 0.0), unit * impact)
    return best


def clause_impacts(clause: Clause, wanted: Iterable[int], index: Index) -> dict[int, float]:
    """Give the best credited impact of the clause's variants in the *wanted* documents."""
    best: dict[int, float] = {}
    ordered = sorted(wanted)
    for term, credit in clause.variants.items():
        documents, impacts, _ = index.postings(term)
        unit = credit * _SCALE
        for document, place in _common(documents, ordered):
            best[document] = max(best.get(document, 0.0), unit * impacts[place])
    return best


def _common(documents: Sequence[int], ordered: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Give the *ordered* documents that are in a sorted list, with their places in it."""
    if len(documents) <= _WORTH_SEARCHING * len(ordered):
        wanted = frozenset(ordered)
        return [(document, place) for place, document in enumerate(documents) if document in wanted]
    return _searched(documents, ordered)


def _searched(documents: Sequence[int], ordered: Sequence[int]) -> list[tuple[int, int]]:
    found = []
    place, end = 0, len(documents)
    for document in ordered:
        place = bisect_left(documents, document, place)
        if place == end:
            break
        if documents[place] == document:
            found.append((document, place))
    return found
