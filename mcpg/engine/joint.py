"""Joint ranking: the tools that the graph and the vectors found, put in one order."""

from __future__ import annotations

from math import fsum, log
from operator import mul
from typing import TYPE_CHECKING, Final

from mcpg.engine.features import FEATURES, Candidate
from mcpg.engine.fusion import DECIMALS, Fused, feature_values
from mcpg.engine.intents import spread
from mcpg.engine.retrieval import POOL
from mcpg.engine.scheme import EMBEDDINGS, LEARNED, RANK_OFFSET, RRF
from mcpg.engine.semantics import FOREIGN_POWER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from mcpg.engine.analysis import Analysis
    from mcpg.engine.features import Sight
    from mcpg.engine.scheme import Scheme
    from mcpg.engine.semantics import Nearness

    Values: TypeAlias = Callable[[Sight], tuple[float, ...]]

_INTENT = FEATURES.index("intent")
_DOCUMENT: Final = 0
_LEXICAL: Final = 1
_EXACT: Final = 11
_BASE_WORDS = 3
_LEAST_KNOWN = 0.2


def closeness(nearness: Nearness, tool: int, words: int) -> float:
    """Give how near a tool is, as a share of the nearest one, weighed by what the graph can see.

    A graph sees each of many *words* that the catalogue knows, while one vector blurs them: so it
    is divided by the logarithm of their number. Where the catalogue knows next to none of the
    query, what the graph sees is next to nothing, and the vector is all there is to go by.
    """
    if not nearness.best:
        return 0.0
    share = max(nearness.standardised(tool), 0.0) / nearness.best
    known = max(1 - nearness.foreign**FOREIGN_POWER, _LEAST_KNOWN)
    return share / log(_BASE_WORDS + words) / known


def words_of(analysis: Analysis) -> int:
    """Give how many words of the query the catalogue knows."""
    return sum(one.origin == "query" and bool(one.repairs) for one in analysis.clauses)


def rank(
    scheme: Scheme,
    sights: Sequence[Sight],
    nearness: Nearness,
    graph: Sequence[Fused],
    words: int,
    limit: int,
) -> list[Fused]:
    """Give the best *limit* of what was seen, by the *scheme*; ties go to the smaller number.

    Args:
        scheme: By which numbers.
        sights: What was seen in each tool that was looked at.
        nearness: How near the tools are to the query.
        graph: The graph's own ranking, best first.
        words: How many words of the query the catalogue knows.
        limit: How many are wanted.
    """
    if scheme.name != LEARNED:
        near = {number for number, _ in nearness.nearest}
        if scheme.name != RRF:
            sights = [sight for sight in sights if sight[_DOCUMENT] in near or sight[_EXACT]]
        if scheme.name == EMBEDDINGS:
            sights = [sight for sight in sights if sight[_DOCUMENT] in near]
        return _ordered(scheme, sights, _values_of(scheme, nearness, graph))[:limit]
    lexical = max([sight[_LEXICAL] for sight in sights], default=0.0) or 1.0
    ordered = _ordered(
        scheme,
        sights,
        lambda sight: (
            *feature_values(sight, lexical),
            closeness(nearness, sight[_DOCUMENT], words),
        ),
    )
    within = _looked_at(sights, nearness)
    first = [one for one in ordered if one.candidate.document in within]
    rest = [one for one in ordered if one.candidate.document not in within]
    return [*_spread(first, scheme.weights[_INTENT], limit), *rest][:limit]


def _looked_at(sights: Sequence[Sight], nearness: Nearness) -> set[int]:
    """Give the tools that every search looks at, whatever its limit; others follow below them."""
    near = (number for number, _ in nearness.nearest[:POOL])
    found = [sight[_DOCUMENT] for sight in sights[:POOL]]
    return {*near, *found, *(sight[_DOCUMENT] for sight in sights if sight[_EXACT])}


def _values_of(scheme: Scheme, nearness: Nearness, graph: Sequence[Fused]) -> Values:
    """Give what tells the features of a sight, for all but the learned fusion."""
    if scheme.name == EMBEDDINGS:
        return lambda sight: (nearness.cosines[sight[_DOCUMENT]],)
    if scheme.name != RRF:
        return lambda sight: (nearness.cosines[sight[_DOCUMENT]], sight[_EXACT])
    by_graph = {one.candidate.document: place for place, one in enumerate(graph, start=1)}
    nearest = nearness.nearest[:POOL]
    by_vector = {number: place for place, (number, _) in enumerate(nearest, start=1)}

    def values(sight: Sight) -> tuple[float, ...]:
        places = by_graph.get(sight[_DOCUMENT]), by_vector.get(sight[_DOCUMENT])
        return (*(1 / (RANK_OFFSET + place) if place else 0.0 for place in places), sight[_EXACT])

    return values


def _ordered(scheme: Scheme, sights: Sequence[Sight], values_of: Values) -> list[Fused]:
    found = []
    for sight in sights:
        values = values_of(sight)
        found.append(Fused(Candidate(*sight), values, fsum(map(mul, values, scheme.weights))))
    return sorted(found, key=lambda one: (-round(one.score, DECIMALS), one.candidate.document))


def _spread(ranked: Sequence[Fused], weight: float, limit: int) -> list[Fused]:
    """Spread the *ranked* over the intents of the query, if it has several."""
    if not ranked or not ranked[0].candidate.intents:
        return list(ranked)
    answered = [one.candidate.intents for one in ranked]
    chosen = []
    for place, added, score in spread([one.score for one in ranked], answered, weight, limit):
        one = ranked[place]
        values = (*one.values[:_INTENT], added, *one.values[_INTENT + 1 :])
        chosen.append(Fused(one.candidate, values, score))
    return chosen
