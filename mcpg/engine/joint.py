"""Joint ranking: the tools that the graph and the vectors found, put in one order."""

from __future__ import annotations

from math import fsum, log
from operator import mul
from typing import TYPE_CHECKING, Final

from mcpg.engine.features import FEATURES, Candidate
from mcpg.engine.fusion import DECIMALS, Fused, feature_values, greatest_lexical
from mcpg.engine.intents import spread
from mcpg.engine.request import MAX_LIMIT
from mcpg.engine.retrieval import POOL
from mcpg.engine.scheme import EMBEDDINGS, LEARNED, RANK_OFFSET, RRF, SEMANTIC
from mcpg.engine.semantics import FOREIGN_POWER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from mcpg.engine.analysis import Analysis
    from mcpg.engine.belief import Seen
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


def rank(scheme: Scheme, seen: Seen, nearness: Nearness, words: int, limit: int) -> list[Fused]:
    """Give the best *limit* of what was seen, by the *scheme*; ties go to the smaller number.

    What every search looks at closely comes first, whatever the limit; so a limit only cuts.

    Args:
        scheme: By which numbers.
        seen: What was seen in each tool that was looked at.
        nearness: How near the tools are to the query.
        words: How many words of the query the catalogue knows.
        limit: How many are wanted.
    """
    first, further = _tiers(scheme, seen, nearness)
    if scheme.name == LEARNED:
        values = _learned_values(seen.sights, nearness, words)
        ordered = _spread(_ordered(scheme, first, values), scheme.weights[_INTENT], limit)
        return [*ordered, *_ordered(scheme, further, values)][:limit]
    ordered = _ordered(scheme, first, _values_of(scheme, nearness, seen.graph, POOL))
    if len(ordered) < limit:
        ordered += _ordered(scheme, further, _values_of(scheme, nearness, seen.graph))
    return ordered[:limit]


def _tiers(
    scheme: Scheme, seen: Seen, nearness: Nearness
) -> tuple[Sequence[Sight], Sequence[Sight]]:
    """Return what ranks first, and what ranks below it.

    Where vectors alone rank, these are the nearest tools; where names count as well, those that
    are named exactly stand among the first.
    """
    if scheme.name not in {EMBEDDINGS, SEMANTIC}:
        return seen.sights, seen.further
    near = [number for number, _ in nearness.nearest[:MAX_LIMIT]]
    everything = (*seen.sights, *seen.further)
    named = {one[_DOCUMENT] for one in everything if one[_EXACT] and scheme.name == SEMANTIC}
    nearest, ranked = named.union(near[:POOL]), named.union(near)
    first = [one for one in seen.sights if one[_DOCUMENT] in nearest]
    known = {one[_DOCUMENT] for one in first}
    return first, [one for one in everything if one[_DOCUMENT] in ranked - known]


def _learned_values(sights: Sequence[Sight], nearness: Nearness, words: int) -> Values:
    lexical = greatest_lexical(sights)
    return lambda sight: (
        *feature_values(sight, lexical),
        closeness(nearness, sight[_DOCUMENT], words),
    )


def _values_of(
    scheme: Scheme, nearness: Nearness, graph: Sequence[Fused], most: int | None = None
) -> Values:
    """Return what tells the features of a sight, for all but the learned fusion.

    Of each list only the first *most* places count, where that is given.
    """
    if scheme.name == EMBEDDINGS:
        return lambda sight: (nearness.cosines[sight[_DOCUMENT]],)
    if scheme.name != RRF:
        return lambda sight: (nearness.cosines[sight[_DOCUMENT]], sight[_EXACT])
    by_graph = {one.candidate.document: place for place, one in enumerate(graph[:most], start=1)}
    nearest = nearness.nearest[:most]
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
