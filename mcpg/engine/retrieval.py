"""Retrieval: the pool of documents that answer most of the query, and those that edges reach.

Scores are summed word by word, the words that can add most first. Once the words that are left
cannot lift a new document into the pool, only documents already seen are looked up in them.

Each intent of a query brings its own best documents into the pool. Edges of the graph lead from the
matches to related tools and next steps, which never displace a match.

Source: Turtle & Flood, "Query evaluation: strategies and optimizations", Information Processing &
Management 31(6), 1995 (max score).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from math import fsum

from mcpg.engine.query import Analysis
from mcpg.engine.results import MAX_LIMIT, FocusedGraph, Via
from mcpg.values import DECIMALS, replace, value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import TypeAlias

    from mcpg.engine.query_terms import QueryTerm
    from mcpg.index import Index

    _Edge: TypeAlias = tuple[float, bool, int, int, int, float]

POOL = 20
"""Documents of which every search computes features, whatever its limit."""

RELATED_CREDIT = 0.6
"""What a related word counts of its similarity where documents are retrieved."""

_SCALE = 1 / 0xFFFF
# How many related words of a query documents are retrieved by.
_MOST_RELATED = 12
# A list this many times longer than what is looked for is searched rather than read.
_WORTH_SEARCHING = 40
# Up to so many documents are looked up in the lists; more are picked out of them.
_FEW = 1_024
# How many times as many scores as are wanted tell what the worst wanted one is at least.
_SAMPLE = 3

# An intent's own tools are looked up by this many of its words, those that weigh most: the lists of
# common words are long, and find little that these do not.
_TELLING_WORDS = 4
# So many places of the pool at most are kept for the best tools of single intents.
_OWN_PLACES = POOL // 2


@value
class Pool:
    """The documents of which a search computes features, in tiers.

    What is in a tier does not depend on the limit, and every document of a tier stands above those
    of the next: so a limit only cuts.

    Attributes:
        documents: All of them, tier by tier: the first `POOL` by their words, and those that the
            query names; where more than `POOL` are asked for, what else is among the first
            `MAX_LIMIT`; the rest.
        ends: How many there are up to the end of the first tier, and of the second.
        by_words: Those that were retrieved by their words, in the order of retrieval.
    """

    documents: list[int]
    ends: tuple[int, int]
    by_words: list[int]


def depth(limit: int) -> int:
    """Return how many documents are retrieved where at most *limit* are asked for."""
    return POOL if limit <= POOL else MAX_LIMIT


def pooled(by_words: list[int], named: Sequence[int], size: int) -> Pool:
    """Put documents into tiers.

    *by_words* are the *size* best, at least `POOL`, by their words, *named* those that the query
    names, in order of number.
    """
    first = dict.fromkeys((*by_words[:POOL], *named[:POOL]))
    if size <= POOL:
        return Pool(list(first), (len(first), len(first)), by_words)
    second = dict.fromkeys((*first, *by_words[:MAX_LIMIT], *named[:MAX_LIMIT]))
    documents = dict.fromkeys((*second, *by_words))
    return Pool(list(documents), (len(first), len(second)), by_words)


def widened(analysis: Analysis) -> Analysis:
    """Return *analysis* with the best related words among the variants of its clauses."""
    found = sorted(
        [
            (-clause.weight * similarity, place, term, similarity)
            for place, clause in enumerate(analysis.clauses)
            for term, similarity in clause.retrieved_by[:_MOST_RELATED]
        ]
    )
    if not found:
        return analysis
    near: dict[int, list[tuple[int, float]]] = {}
    for _, place, term, similarity in found[:_MOST_RELATED]:
        near.setdefault(place, []).append((term, RELATED_CREDIT * similarity))
    clauses = [
        replace(clause, variants=(*clause.variants, *near[place])) if place in near else clause
        for place, clause in enumerate(analysis.clauses)
    ]
    return replace(analysis, clauses=tuple(clauses))


def retrieve_for_each(
    analysis: Analysis,
    index: Index,
    *,
    excluded: Collection[int],
    size: int,
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the *size* documents with the best lexical scores, those of each intent among them.

    The first `POOL` hold the best of the whole request and of each intent, whatever the *size*,
    which is at least that; the rest follows them. The order is not that of the scores. Where
    *among* names documents, no others are retrieved.
    """
    hidden = frozenset(excluded)
    whole = retrieve(analysis, index, excluded=hidden, size=size, among=among)
    if not analysis.intents:
        return whole
    alone = (_alone(analysis, places) for places in analysis.intents)
    bests = [
        retrieve(each, index, excluded=hidden, size=_OWN_PLACES, among=among) for each in alone
    ]
    in_turns = dict.fromkeys(one for one in chain(*zip_longest(*bests)) if one is not None)
    own = list(in_turns)[:_OWN_PLACES]
    return list(dict.fromkeys((*whole[: POOL - len(own)], *own, *whole)))[:size]


def _alone(analysis: Analysis, places: Iterable[int]) -> Analysis:
    clauses = sorted([analysis.clauses[place] for place in places], key=lambda one: -one.weight)
    telling = tuple(clauses[:_TELLING_WORDS])
    return Analysis(telling, total_weight=fsum([one.weight for one in telling]))


def retrieve(
    analysis: Analysis,
    index: Index,
    *,
    excluded: Collection[int],
    size: int,
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the *size* documents that are not *excluded* with the best lexical scores.

    A document's lexical score is the sum, over clauses, of the clause's share of the query's
    weight times the saturated frequency of the best of its variants there, times the credit for
    that variant. It lies in [0, 1], or a little above with context. The best come first; ties go
    to the smaller document number. Where *among* names documents, no others are scored.
    """
    hidden = frozenset(excluded)
    if among is None:
        scores = _accumulate(analysis, index, size + len(hidden))
    elif len(among) <= _FEW:
        scores = _score(analysis, index, among)
    else:
        scores = _accumulate(analysis, index, size, frozenset(among))
    # Most often nothing is hidden, and then all that was scored need not be gone through.
    for document in hidden.intersection(scores) if hidden else ():
        del scores[document]
    least = _nth_best(scores.values(), size) - 10**-DECIMALS
    ranked = sorted(
        [
            (-round(score, DECIMALS), document)
            for document, score in scores.items()
            if score >= least
        ]
    )
    return [document for _, document in ranked[:size]]


def _accumulate(
    analysis: Analysis, index: Index, size: int, among: frozenset[int] | None = None
) -> dict[int, float]:
    """Score every document that can be among the best *size*, and perhaps others.

    Where *among* names documents, no others are scored.
    """
    scores: dict[int, float] = {}
    lists = _lists(analysis, index)
    remaining = fsum(bound for bound, _, _ in lists)
    for bound, share, clause in lists:
        # A list shorter than what has been found is read without further thought.
        if (
            clause.document_frequency > len(scores) > size
            and _nth_best(scores.values(), size) > remaining
        ):
            for document, impact in clause_impacts(clause.variants, scores, index).items():
                scores[document] += share * impact
        else:
            _add(scores, clause, share, index, among)
        remaining -= bound
    return scores


def _score(analysis: Analysis, index: Index, among: Collection[int]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for _, share, clause in _lists(analysis, index):
        for document, impact in clause_impacts(clause.variants, among, index).items():
            scores[document] = scores.get(document, 0.0) + share * impact
    return scores


def _lists(analysis: Analysis, index: Index) -> list[tuple[float, float, QueryTerm]]:
    lists = []
    for clause in analysis.clauses:
        share = clause.weight / analysis.total_weight
        impacts = [index.max_impact(term) * credit for term, credit in clause.variants]
        bound = share * _SCALE * max(impacts, default=0)
        if bound:
            lists.append((bound, share, clause))
    return sorted(lists, key=lambda entry: -entry[0])


def _nth_best(scores: Collection[float], place: int) -> float:
    """Return the score at *place*, from 1, of the greatest; below 0 when there are fewer."""
    if len(scores) < place:
        return -1.0
    # The best words came first, and so did most of the best documents.
    least = sorted(islice(scores, _SAMPLE * place), reverse=True)[place - 1]
    return sorted([score for score in scores if score >= least], reverse=True)[place - 1]


def _add(
    scores: dict[int, float],
    clause: QueryTerm,
    share: float,
    index: Index,
    among: frozenset[int] | None,
) -> None:
    if len(clause.variants) > 1:
        best = _best_impacts(clause, index)
        wanted = best.items() if among is None else [(n, best[n]) for n in among.intersection(best)]
        for document, impact in wanted:
            scores[document] = scores.get(document, 0.0) + share * impact
        return
    term, credit = clause.variants[0]
    unit = share * credit * _SCALE
    get = scores.get
    impacts = _impacts(term, index)
    if among is not None:
        impacts = [posting for posting in impacts if posting[0] in among]
    for document, impact in impacts:
        scores[document] = get(document, 0.0) + unit * impact


def _best_impacts(clause: QueryTerm, index: Index) -> dict[int, float]:
    (term, credit), *others = clause.variants
    unit = credit * _SCALE
    best = {document: unit * impact for document, impact in _impacts(term, index)}
    for term, credit in others:
        unit = credit * _SCALE
        for document, impact in _impacts(term, index):
            credited = unit * impact
            if credited > best.get(document, 0.0):
                best[document] = credited
    return best


def _impacts(term: int, index: Index) -> Iterable[tuple[int, int]]:
    kept = index.impacts(term)
    if kept is not None:
        return kept.items()
    documents, impacts, _ = index.postings(term)
    return zip(documents, impacts, strict=True)


def clause_impacts(
    variants: Sequence[tuple[int, float]], wanted: Collection[int], index: Index
) -> dict[int, float]:
    """Return the best credited impact of the *variants* in those *wanted* that hold one."""
    best: dict[int, float] = {}
    for term, credit in variants:
        unit = credit * _SCALE
        kept = index.impacts(term)
        if kept is None:
            found = _read_impacts(wanted, term, index)
        else:
            found = [(document, kept[document]) for document in wanted if document in kept]
        for document, impact in found:
            credited = unit * impact
            if credited > best.get(document, 0.0):
                best[document] = credited
    return best


def _read_impacts(wanted: Collection[int], term: int, index: Index) -> list[tuple[int, int]]:
    documents, impacts, _ = index.postings(term)
    return [(document, impacts[place]) for document, place in _common(documents, sorted(wanted))]


def _common(documents: Sequence[int], ordered: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return the *ordered* documents that are in a sorted list, with their places in it."""
    if len(documents) <= _WORTH_SEARCHING * len(ordered):
        ordered = sorted(frozenset(ordered).intersection(documents))
    found = []
    place, end = 0, len(documents)
    for document in ordered:
        place = bisect_left(documents, document, place)
        if place == end:
            break
        if documents[place] == document:
            found.append((document, place))
    return found


RELATED, NEXT_STEP = "related", "nextStep"
_PHRASES = {RELATED: "related", NEXT_STEP: "a next step"}
# Places in an edge: minus its score, whether it is of the related kind, its target, its source,
# its number in the index, its weight.
_IS_RELATED, _TARGET = 1, 2


@value
class Reached:
    """A document that an edge of a primary match reaches.

    Attributes:
        document: Number of the document.
        score: Weight of the edge times the score of the match it leaves.
        via: The edge.
    """

    document: int
    score: float
    via: Via


def expand(
    primaries: Sequence[tuple[int, float]],
    index: Index,
    *,
    excluded: Collection[int],
    limit: int,
    within: Collection[int] | None = None,
    shown: Iterable[int] = (),
) -> tuple[list[Reached], list[Reached]]:
    """Return at most *limit* related and *limit* next-step documents of the scored *primaries*.

    No primary, no *excluded* document and none that is *shown* already is among them, none that is
    not *within* those, where they are given, and no document is in both: it goes where its edge is
    stronger, a next step before a related tool when both are equal.
    """
    taken = {document for document, _ in primaries}.union(shown)
    best: dict[float, _Edge] = {}
    for edge in _edges(primaries, index):
        target = edge[_TARGET]
        if target in taken or target in excluded or (within is not None and target not in within):
            continue
        if target not in best or edge < best[target]:
            best[target] = edge
    ordered = sorted(best.values())
    related = [edge for edge in ordered if edge[_IS_RELATED]][:limit]
    next_steps = [edge for edge in ordered if not edge[_IS_RELATED]][:limit]
    return (
        [_reached(edge, index) for edge in related],
        [_reached(edge, index) for edge in next_steps],
    )


def _edges(primaries: Sequence[tuple[int, float]], index: Index) -> Iterator[_Edge]:
    for document, score in primaries:
        for number, target, kind, weight in index.edges(document):
            reached = round(weight * score, DECIMALS)
            yield -reached, kind == RELATED, target, document, number, weight


def _reached(edge: _Edge, index: Index) -> Reached:
    negative, is_related, target, source, number, weight = edge
    kind = RELATED if is_related else NEXT_STEP
    reason = index.reason(number) or f"its document names it as {_PHRASES[kind]}"
    return Reached(target, -negative, Via(kind, index.tool_id(source), reason, weight))


def focused_graph(shown: Sequence[int], index: Index) -> FocusedGraph:
    """Count the shown tools, their groups, and the edges between all of these."""
    among = frozenset(shown)
    groups = [group for document in shown for group in index.groups(document)]
    targets = chain.from_iterable(map(index.targets, shown))
    links = sum(map(among.__contains__, targets))
    return FocusedGraph(len(shown) + len(set(groups)), len(groups) + links)
