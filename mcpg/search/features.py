"""Features of the documents of the pool, and the fused score."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import repeat
from math import fsum
from operator import mul
from typing import NamedTuple, TypeAlias

from mcpg.index import Index
from mcpg.index.recipe import inverse_document_frequency
from mcpg.search.model import FEATURES
from mcpg.search.nearness import compare_meanings, measure_openness
from mcpg.search.query import Analysis
from mcpg.search.retrieval import POOL, clause_impacts
from mcpg.text import lexicon
from mcpg.values import round_score

_Hits: TypeAlias = list[tuple[int, float]]
"""The clauses that a document contains, by place, with the impact of each."""

# What the weights of 3-grams are multiplied by before they are cut to whole numbers.
_GRAM_SCALE = 1 << 20
_NOT_NEAR = (0.0, 0.0, 0.0)
_ASKED = ("term", "unknown")
# A weak relation is weaker evidence than its similarity.
_RELATED_POWER = 1.5
# The share of its similarity that a related word in a name counts.
_RELATED_NAME_CREDIT = 0.7
_MEANING = FEATURES.index("meaning")

MARGIN_DEPTH = 10
"""The rank whose fused score is the reference of others."""


class Candidate(NamedTuple):
    """A document of the pool and its features.

    Attributes:
        lexical: Share of the query, weighed by idf, that the tool answers, saturated; at least 0.
        impacts: For each clause, the credited impact of its best variant, in [0, 1).
        name_coverage: Share of the tool's name, by idf, that the query contains, in [0, 1].
        opening: Share of the query that its first words are if they form the tool's whole name,
            else 0; in [0, 1].
        related_name: What related words add to the name coverage, in [0, 1].
        grams: Cosine of the query's and the document's character 3-grams, in [0, 1].
        cosine: Cosine of the query's and the document's words, weighed by idf, in [0, 1]; words
            that the document lacks, or that are in no tool, count against it.
        source: Greatest lexical score of any tool of its source among the first `POOL`, or
            its own.
        coverage: Share of the query, weighed by idf, that it contains at all, in [0, 1].
        sentence: Greatest lexical score that a single sentence of the query gives it.
        intents: For each intent of the query, the lexical score that it gives.
        related: What related words add to the lexical score, in [0, 1].
        gains: The clauses that related words add to, by place, with the share of the query
            that each gains, before it is damped.
        operation: How much more likely it does the requested kind of operation than tools in
            general: the logarithm of a ratio, in [-1.5, 1.5].
        question: If the query is a question, the same for reading.
        unheld: Share of the query, weighed by idf, that it lacks; repaired words count as held.
        nearness: Cosine of its meaning and the query's, in [-1, 1]; 0 if either is unknown.
        context: How near it is to the tools in use: by an edge, by a walk, by its source.
        exact: 1 when the query names the tool exactly, else the share of the query that an
            alias which opens it is.
    """

    document: int
    lexical: float
    impacts: tuple[float, ...]
    name_coverage: float
    opening: float
    related_name: float
    grams: float
    cosine: float
    source: float
    coverage: float
    sentence: float
    intents: tuple[float, ...]
    related: float
    gains: tuple[tuple[int, float], ...]
    operation: float
    question: float
    unheld: float
    nearness: float
    context: tuple[float, float, float]
    exact: float


def extract_features(
    pool: Iterable[int], analysis: Analysis, index: Index, least_unheld: float | None = None
) -> list[Candidate]:
    """Return the features of each document of the *pool*, in its order.

    *least_unheld* is the least share of the query that a document of the search lacks; with `None`,
    it is computed from the first documents of the pool.
    """
    pool = list(pool)
    shares = [clause.weight / analysis.total_weight for clause in analysis.clauses]
    held_impacts = [clause_impacts(one.variants, pool, index) for one in analysis.clauses]
    near_impacts = [
        index.best_impacts(near) or clause_impacts(near, pool, index) if near else {}
        for near in (clause.related_variants for clause in analysis.clauses)
    ]
    by_clause = [list(map(impacts.get, pool, repeat(0.0))) for impacts in held_impacts]
    rows = list(zip(*by_clause, strict=True)) or [()] * len(pool)
    # A document contains few of the clauses of a query.
    hits = [[(place, impact) for place, impact in enumerate(row) if impact] for row in rows]
    lexical = [fsum([shares[place] * impact for place, impact in row]) for row in hits]
    held = [
        share * clause.repairs[0].similarity if clause.repairs and clause.origin == "query" else 0.0
        for clause, share in zip(analysis.clauses, shares, strict=True)
    ]
    gains = _related_gains(pool, held_impacts, near_impacts, shares)
    # A related word is stronger evidence in a short request.
    root = max(1, sum(clause.role in _ASKED for clause in analysis.clauses)) ** 0.5
    sentences, intents = analysis.sentences, analysis.intents
    weighed = [list(map(mul, shares, row)) for row in rows] if sentences or intents else []
    asked = [
        share if clause.origin == "query" else 0.0
        for clause, share in zip(analysis.clauses, shares, strict=True)
    ]
    unheld = [1.0 - fsum([asked[place] for place, _ in row]) for row in hits]
    if least_unheld is None:
        # The candidates do not depend on the limit.
        least_unheld = min(unheld[:POOL], default=0.0)
    columns = (
        pool,
        lexical,
        rows,
        *zip(*NameMatcher(analysis, index).coverages(pool), strict=True),
        _compare_grams(pool, analysis, index),
        _cosines(pool, hits, analysis, index),
        _best_of_source(pool, lexical, index),
        [fsum([held[place] for place, _ in row]) for row in hits],
        list(map(max, _score_parts(sentences, weighed))) if sentences else lexical,
        _score_parts(intents, weighed) if intents else [()] * len(pool),
        [fsum([gain for _, gain in row]) / root for row in gains],
        gains,
        *_compare_operations(pool, analysis, index),
        unheld,
        compare_meanings(pool, least_unheld, analysis, index),
        analysis.used.nearness(pool) if analysis.used else [_NOT_NEAR] * len(pool),
        list(map(named_exactly(analysis, index).get, pool, repeat(0.0))),
    )
    return list(map(Candidate._make, zip(*columns, strict=True)))


def _compare_operations(
    pool: Sequence[int], analysis: Analysis, index: Index
) -> tuple[list[float], list[float]]:
    unknown = [0.0] * len(pool)
    if not (analysis.operation or analysis.is_question):
        return unknown, unknown
    done = index.operations(pool)
    # Many tools do the same.
    kinds = frozenset(done)
    fits = {one: lexicon.operation_agreement(analysis.operation, one) for one in kinds}
    reads = {one: lexicon.reading_likelihood(one) for one in kinds} if analysis.is_question else {}
    return [fits[one] for one in done], [reads.get(one, 0.0) for one in done]


def _related_gains(
    pool: Iterable[int],
    held_impacts: Iterable[Mapping[int, float]],
    near_impacts: Iterable[Mapping[int, float]],
    shares: Iterable[float],
) -> list[tuple[tuple[int, float], ...]]:
    """Return, for each document, the places of the clauses that related words add to, and how much.

    *held_impacts* has the impacts of each clause by document of the *pool*, *near_impacts* the
    impacts of related words.
    """
    gains: dict[int, list[tuple[int, float]]] = {document: [] for document in pool}
    columns = zip(held_impacts, near_impacts, shares, strict=True)
    for place, (held, near, share) in enumerate(columns):
        if not near:
            continue
        for document in gains.keys() & near.keys():
            gain = near[document] ** _RELATED_POWER - held.get(document, 0.0)
            if gain > 0:
                gains[document].append((place, share * gain))
    return list(map(tuple, gains.values()))


def find_lacking_clauses(candidate: Candidate, analysis: Analysis) -> list[int]:
    """Return the places of the clauses of the query without an answering or related word.

    A translation counts as the word.
    """
    answered = {place for place, _ in candidate.gains}
    return [
        place
        for place, clause in enumerate(analysis.clauses)
        if clause.origin == "query" and not candidate.impacts[place] and place not in answered
    ]


def _best_of_source(pool: Sequence[int], lexical: Sequence[float], index: Index) -> list[float]:
    """Return, for each document, the greatest lexical score of any of its source, or its own.

    Only the first `POOL` count for others: they are there whatever the limit.
    """
    sources = index.find_source_numbers(pool)
    best: dict[int, float] = {}
    for source, own in zip(sources, lexical[:POOL], strict=False):
        if own > best.get(source, 0.0):
            best[source] = own
    return [max(own, best.get(source, 0.0)) for source, own in zip(sources, lexical, strict=True)]


def _score_parts(
    parts: Sequence[Sequence[int]], weighed: Iterable[Sequence[float]]
) -> list[tuple[float, ...]]:
    """Return, for each document, its lexical score by each part of the query.

    *weighed* is what each clause adds to the lexical score of each document.
    """
    return [tuple([fsum(map(row.__getitem__, part)) for part in parts]) for row in weighed]


def _cosines(
    pool: Sequence[int], hits: Iterable[_Hits], analysis: Analysis, index: Index
) -> list[float]:
    """Return the cosine of each document and the query, in [0, 1]; *hits* are its impacts.

    Source: Salton, Wong & Yang, "A vector space model for automatic indexing", CACM 18(11), 1975.
    """
    size = index.population
    products = [
        clause.weight * inverse_document_frequency(size, clause.document_frequency)
        for clause in analysis.clauses
    ]
    # Words added by literals do not count against documents that lack them.
    own = [clause.weight for clause in analysis.clauses if clause.origin != "literal"]
    length = fsum(map(mul, own, own)) ** 0.5 or 1.0
    return [
        min(1.0, fsum([products[place] * impact for place, impact in row]) / (length * norm))
        for norm, row in zip(index.norms(pool), hits, strict=True)
    ]


def named_exactly(analysis: Analysis, index: Index) -> dict[int, float]:
    """Return the documents that the query names, and how much of it the name is, in (0, 1].

    It is all of the query, or a whole identifier in it, that is an id, a name, a title or an alias
    of the document; or an alias opens the query.
    """
    named = dict(analysis.opened)
    named.update((number, 1.0) for key in analysis.exact_keys for number in index.exact(key))
    return named


class NameMatcher:
    """Compares the names of tools with one query."""

    def __init__(self, analysis: Analysis, index: Index) -> None:
        self._all = index.names
        self._credits: dict[int, float] = {}
        asked = [clause for clause in analysis.clauses if clause.origin == "query"]
        for clause in asked:
            for term, credit in clause.variants:
                if credit > self._credits.get(term, 0.0):
                    self._credits[term] = credit
        self._near: dict[int, float] = {}
        for clause in asked:
            for term, similarity in clause.related_variants:
                if similarity > self._near.get(term, 0.0):
                    self._near[term] = similarity
        words = sum(clause.role in _ASKED for clause in asked)
        self._damping = max(1, words) ** -0.5
        self._words = [
            (clause.weight / analysis.total_weight, [term for term, _ in clause.variants])
            for clause in asked
            if clause.role == "term"
        ]

    def coverages(self, pool: Iterable[int]) -> list[tuple[float, float, float]]:
        """Return how the name of each document and the query cover each other, each in [0, 1].

        The first is the share of the name, weighed by idf, that the query contains. The second is
        the share of the query that its first words are, and 0 unless they are the whole name, in
        any order: "commit my changes" opens with the name of `git_commit` of the source `git`. The
        third is what related words add to the first, over the root of the number of words.
        """
        credit_of, similarities, damping = self._credits, self._near, self._damping
        found = []
        for name in map(self._all.of_tool, pool):
            held = near = 0.0
            for term, idf in name.idfs:
                credit = credit_of.get(term, 0.0)
                held += idf * credit
                if term in similarities:
                    near += idf * max(0.0, _RELATED_NAME_CREDIT * similarities[term] - credit)
            opening = 0.0
            if held and name.terms <= credit_of.keys():
                first = self._words[: len(name.terms)]
                if name.terms.issubset(term for _, terms in first for term in terms):
                    opening = fsum([share for share, _ in first])
            weight = name.weight or 1.0  # a name of signs only, such as "..", has no words
            found.append((held / weight, opening, damping * near / weight))
        return found

    def gains_by_related(self, document: int) -> dict[int, float]:
        """Return what each term of the name gains by related words, before it is a share."""
        found = (
            (term, idf, _RELATED_NAME_CREDIT * self._near[term] - self._credits.get(term, 0.0))
            for term, idf in self._all.of_tool(document).idfs
            if term in self._near
        )
        return {term: idf * gain for term, idf, gain in found if gain > 0}


def _compare_grams(pool: Sequence[int], analysis: Analysis, index: Index) -> list[float]:
    """Return, for each document, the cosine of its 3-grams and the query's, in [0, 1]."""
    all_grams = index.grams
    rarities: dict[int, float] = {}
    weights: dict[int, float] = {}
    # If several words share a 3-gram, the heaviest comes last and counts.
    spoken = [clause for clause in analysis.clauses if clause.origin != "literal"]
    for clause in sorted(spoken, key=lambda one: one.weight):
        own = all_grams.of_word(clause.repairs[0].word if clause.repairs else clause.text)
        rarities.update(own)
        weights.update(dict.fromkeys(own, clause.weight))
    weighed = list(map(mul, weights.values(), rarities.values()))
    length = fsum(map(mul, weighed, weighed)) ** 0.5 * _GRAM_SCALE
    # Whole numbers add up to the same sum in whatever order they come.
    rows = zip(rarities.items(), weighed, strict=True)
    products = {gram: int(own * rarity * _GRAM_SCALE) for (gram, rarity), own in rows}
    product_of, find_shared = products.__getitem__, frozenset(products).intersection
    sums = [sum(map(product_of, find_shared(row))) for row in map(all_grams.of_tool, pool)]
    return [
        product / (length * norm) if product else 0.0
        for product, norm in zip(sums, all_grams.norms(pool), strict=True)
    ]


def spread(
    scores: Sequence[float], answered: Sequence[Sequence[float]], weight: float, limit: int
) -> Iterator[tuple[int, float, float]]:
    """Order candidates so that each adds most to the earlier ones, with its contribution.

    *scores* do not count the intents; of equal ones the first wins. *answered* has for each
    candidate the share of the request that it answers by each intent, and *weight* is that of the
    contribution beside the scores. Each candidate comes as its place in *scores*, its contribution,
    in [0, 1], and its score with it. It contributes, for each intent, the part that earlier
    candidates leave open, as far as it answers it compared with the best tool. An intent weighs as
    much as its best tool answers of the request; all weights add up to 1.
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
    # For each candidate: minus its last score, its place, the number of candidates before it then,
    # and its contribution. An earlier score is an upper bound of the present one.
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


class RankedCandidate(NamedTuple):
    """A candidate with the score that decides the order.

    Attributes:
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

    Tiers of a pool, which end at *ends*, keep their order. In the first, a query of several intents
    spreads the documents: each counts by its contribution to the matches above it, and ties go to
    the better score without it.

    Shares of the query are divided by the greatest lexical score of the first tier, so that weights
    mean the same for every catalog, query and request.
    """
    if not candidates:
        return []
    lexical = greatest_lexical(candidates[: ends[0]] if ends else candidates)
    rows = [feature_values(candidate, lexical) for candidate in candidates]
    scores = [fsum(map(mul, values, weights)) for values in rows]
    nearest = max(candidate.nearness for candidate in candidates[:POOL])
    if nearest > 0:
        # The others do not depend on the limit, either.
        others = sorted(scores[:POOL], reverse=True)
        best = candidates[scores.index(others[0])]
        lead = others[0] - (others[MARGIN_DEPTH - 1 :] or [0.0])[0]
        openness = measure_openness(best.unheld, len(best.impacts), lead)
        added = [openness * max(0.0, one.nearness) / nearest for one in candidates]
        rows = [
            (*values[:_MEANING], one, *values[_MEANING + 1 :])
            for values, one in zip(rows, added, strict=True)
        ]
        scores = [score + weights[_MEANING] * one for score, one in zip(scores, added, strict=True)]
    ranked = []
    for place, candidate in enumerate(candidates):
        tier = bisect_right(ends, place)
        order = tier, -round_score(scores[place]), candidate.document
        ranked.append((*order, rows[place], candidate, scores[place]))
    ranked.sort()
    chosen: list[RankedCandidate] = []
    within = [one for one in ranked if not one[0]] if candidates[0].intents else []
    if within:
        answered = [candidate.intents for _, _, _, _, candidate, _ in within]
        alone = [score for *_, score in within]
        for place, gained, score in spread(alone, answered, weights[-1], limit):
            _, _, _, values, candidate, _ = within[place]
            chosen.append(RankedCandidate(candidate, (*values[:-1], gained), score))
    beyond = ranked[len(within) : len(within) + limit - len(chosen)]
    return chosen + [
        RankedCandidate(candidate, values, -negative)
        for _, negative, _, values, candidate, _ in beyond
    ]


def greatest_lexical(candidates: Iterable[Candidate]) -> float:
    """Return the greatest lexical score of the *candidates*, 1 without any."""
    return max([one.lexical for one in candidates], default=0.0) or 1.0


# The weight of the tools in use for a tool that the query does not match; for the best match they
# count in full.
_CONTEXT_ALONE = 0.5


# In these units, the weights of related words are about as great as other weights.
_RELATED_UNIT = 4.0
_RELATED_NAME_UNIT = 1.5


def feature_values(candidate: Candidate, lexical: float) -> tuple[float, ...]:
    """Return the features of *candidate*, except two that depend on other candidates.

    Its nearness adds nothing before the others are scored, its intents before it has a place.
    """
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
        0.0,
    )
