"""Fusion: one score from named features by a small linear model, and diversification by intents.

The ranking is built from the top: a tool adds what it answers of the intents that the tools above
it leave open. So a tool for another intent comes before one more variant of a tool that is there.
What a tool adds never grows with what is above it, so taking the best each time gives scores that
never rise, and a limit only cuts.

Scores are compared after rounding, so that a platform's floating point cannot reorder; `fsum`, here
and elsewhere, because Python 3.12 sums floats otherwise than 3.11.

Source: Santos, Macdonald & Ounis, "Exploiting query reformulations for web search result
diversification", WWW 2010 (xQuAD), with the segments of the query for sub-queries; Nemhauser,
Wolsey & Fisher, "An analysis of approximations for maximizing submodular set functions",
Mathematical Programming 14, 1978 (why each time the best); Minoux, "Accelerated greedy algorithms
for maximizing submodular set functions", Optimization Techniques, 1978 (why few are scored
again).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from math import fsum
from operator import mul
from typing import TypeAlias

from mcpg.engine.features import Candidate
from mcpg.values import round_score

_Ranked: TypeAlias = tuple[int, float, int, tuple[float, ...], Candidate, float]


def spread(
    scores: Sequence[float], answered: Sequence[Sequence[float]], weight: float, limit: int
) -> Iterator[tuple[int, float, float]]:
    """Order candidates so that each adds most to those before it, and say what it adds.

    Args:
        scores: The score of each candidate without its intents; of equals the first is taken.
        answered: For each candidate, the share of the request that it answers by each intent.
        weight: Weight of what is added beside the scores; at least 0.
        limit: How many are ordered.

    Yields:
        The place of a candidate in *scores*, what it adds, in [0, 1], and its score with that. It
        adds, of each intent, what those before it leave open and it answers as well as any tool
        does. An intent weighs what its best tool answers of the request; together they weigh 1.
    """
    columns = list(zip(*answered, strict=True))
    best = list(map(max, columns))
    total = fsum(best) or 1.0
    shares = [one / total for one in best]
    parts = [
        [one / top for one in column] if top else column
        for top, column in zip(best, columns, strict=True)
    ]
    degrees = list(zip(*parts, strict=True))
    adding = [fsum(map(mul, shares, row)) for row in degrees]
    # Minus what each reached when it was scored last, its place, after how many that was, and
    # what it added. What was reached before is a bound of what is reached now.
    left = [
        (-round_score(score + weight * added), place, 0, added)
        for place, (score, added) in enumerate(zip(scores, adding, strict=True))
    ]
    heapify(left)
    count = 0
    while left and count < limit:
        negative, place, at, added = left[0]
        if at == count:
            heappop(left)
            yield place, added, -negative
            shares = [
                share * (1 - degree) for share, degree in zip(shares, degrees[place], strict=True)
            ]
            count += 1
        else:
            added = fsum(map(mul, shares, degrees[place]))
            reached = round_score(scores[place] + weight * added)
            heapreplace(left, (-reached, place, count, added))


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate with the score that decides the order.

    Attributes:
        candidate: The document and its features.
        values: Its features, in the order of `FEATURES`; shares of the query are divided by the
            greatest lexical score of the first tier.
        score: The sum of features times weights.
    """

    candidate: Candidate
    values: tuple[float, ...]
    score: float


def fuse(
    candidates: Sequence[Candidate], weights: Sequence[float], limit: int, ends: Sequence[int] = ()
) -> list[RankedCandidate]:
    """Return the best *limit* candidates; ties go to the smaller document number.

    Tiers of a pool, which end at *ends*, stay one below the other. In the first, a query of several
    intents has the documents spread: what each adds to those above it counts, and of ties the one
    that is better without comes first.

    Shares of the query are divided by the greatest lexical score of the first tier, so that weights
    mean the same in every catalogue, for every query and whatever is asked for.
    """
    if not candidates:
        return []
    lexical = greatest_lexical(candidates[: ends[0]] if ends else candidates)
    ranked = []
    for place, candidate in enumerate(candidates):
        values = feature_values(candidate, lexical)
        score = fsum(map(mul, values, weights))
        tier = bisect_right(ends, place)
        ranked.append((tier, -round_score(score), candidate.document, values, candidate, score))
    ranked.sort()
    if not candidates[0].intents:
        return [
            RankedCandidate(candidate, values, -negative)
            for _, negative, _, values, candidate, _ in ranked[:limit]
        ]
    return _spread(ranked, weights[-1], limit)


def _spread(ranked: Sequence[_Ranked], weight: float, limit: int) -> list[RankedCandidate]:
    """Return the best *limit* of the *ranked*, the first tier spread over the intents."""
    within = [one for one in ranked if not one[0]]
    answered = [candidate.intents for _, _, _, _, candidate, _ in within]
    chosen = []
    for place, added, score in spread([one[-1] for one in within], answered, weight, limit):
        _, _, _, values, candidate, _ = within[place]
        chosen.append(RankedCandidate(candidate, (*values[:-1], added), score))
    beyond = ranked[len(within) : len(within) + limit - len(chosen)]
    return chosen + [
        RankedCandidate(candidate, values, -negative)
        for _, negative, _, values, candidate, _ in beyond
    ]


def greatest_lexical(candidates: Iterable[Candidate]) -> float:
    """Return the greatest lexical score of the *candidates*, 1 where there is none."""
    return max([one.lexical for one in candidates], default=0.0) or 1.0


# What the tools in use say of a tool counts so much where the query says nothing of it, and in full
# where it says most.
_CONTEXT_ALONE = 0.5


# In these units, the weights of related words are about as great as those of other features.
_RELATED_UNIT = 4.0
_RELATED_NAME_UNIT = 1.5


def feature_values(candidate: Candidate, lexical: float) -> tuple[float, ...]:
    """Return the features of *candidate*; its intents add nothing before it has a place."""
    own = candidate.lexical / lexical
    local = _CONTEXT_ALONE + (1 - _CONTEXT_ALONE) * own
    edge, walk, source = candidate.context
    return (
        own,
        own * candidate.name_coverage,
        candidate.opening / lexical,
        candidate.grams,
        candidate.cosine,
        candidate.source / lexical,
        candidate.coverage,
        candidate.sentence / lexical,
        _RELATED_UNIT * candidate.related / lexical,
        _RELATED_NAME_UNIT * candidate.related_name,
        candidate.operation,
        candidate.question,
        local * edge,
        local * walk,
        local * source,
        candidate.exact,
        0.0,
    )
