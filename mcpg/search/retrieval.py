"""Retrieval: the pool of documents that answer most of the query, and their neighbors.

Each intent of a query brings its own best documents into the pool. Related tools and next steps are
added by edges from the matches, and never displace a match.

A document's lexical score is the sum, over the words of a query, of the saturated frequency of the
word's best variant, times the credit for that variant, times the word's share of the query's
weight. If a word has one variant, the credit includes the share. The words that can add most are
added first. The sums are compared in steps of 1 / `STEPS`; ties go to the smaller document number.

Here postings are added one by one. Once the remaining words cannot lift a new document among the
best, only documents already seen are looked up in them. `mcpg.search.array_scores` has the same
scorer for long lists, by numpy: its products, the order of its sums and its answers are the same,
to the last bit.

Source: Turtle & Flood, "Query evaluation: strategies and optimizations", Information Processing &
Management 31(6), 1995 (max score).
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from heapq import merge
from itertools import chain, islice, zip_longest
from math import fsum
from operator import itemgetter
from types import ModuleType
from typing import NamedTuple, TypeAlias

from mcpg.index import Index
from mcpg.search.query import Analysis
from mcpg.search.query_terms import QueryTerm
from mcpg.search.results import MAX_LIMIT, FocusedGraph
from mcpg.values import DECIMALS, round_score

Variants: TypeAlias = tuple[tuple[int, float], ...]
"""The terms of a word and the credit for a match of each."""

Weighed: TypeAlias = tuple[float, float, Variants, int]
"""A word: its maximum contribution, above 0; the factor of its credited impacts; its variants; the
least number of their postings.
"""

SCALE = 1 / 0xFFFF
"""The frequency of one step of impact."""

STEPS: int = 10**DECIMALS
"""Sums are compared in whole parts of one in so many."""

# A list this many times longer than the wanted documents is searched instead of read.
_WORTH_SEARCHING = 40
# Up to so many documents are looked up in the lists; more are picked out of them.
_FEW = 1_024
# How many times the wanted number of scores give a lower bound of the worst wanted one.
_SAMPLE = 3


def best_documents(
    words: Sequence[Weighed],
    lists: MergedLists,
    *,
    hidden: frozenset[int],
    size: int,
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the *size* documents that are not *hidden* with the best scores, the best first.

    *words* are in the order in which they are added up. If *among* is given, only its documents are
    scored.
    """
    if among is not None and len(among) <= _FEW:
        scores: dict[int, float] = {}
        for _, share, variants, _ in words:
            for document, impact in clause_impacts(variants, among, lists.index).items():
                scores[document] = scores.get(document, 0.0) + share * impact
    else:
        wanted = size + (len(hidden) if among is None else 0)
        scores = _accumulate(words, lists, wanted, None if among is None else frozenset(among))
    # Usually nothing is hidden, and then the scores need not be filtered.
    for document in hidden.intersection(scores) if hidden else ():
        del scores[document]
    least = _nth_best(scores.values(), size) - 1 / STEPS
    ranked = sorted(
        [(-round(score * STEPS), document) for document, score in scores.items() if score >= least]
    )
    return [document for _, document in ranked[:size]]


def _accumulate(
    words: Sequence[Weighed], lists: MergedLists, size: int, among: frozenset[int] | None = None
) -> dict[int, float]:
    """Score every document that can be among the best *size*, and perhaps others.

    If *among* is given, only its documents are scored.
    """
    scores: dict[int, float] = {}
    remaining = fsum(bound for bound, _, _, _ in words)
    for bound, share, variants, postings in words:
        # A list shorter than the documents found is always read. A document that scores the same as
        # the last of the best, once rounded, may come before it.
        if (
            postings > len(scores) > size
            and _nth_best(scores.values(), size) > remaining + 2 / STEPS
        ):
            found = clause_impacts(variants, scores.keys(), lists.index)
            for document, impact in found.items():
                scores[document] += share * impact
        else:
            _add(scores, share, variants, lists, among)
        remaining -= bound
    return scores


def _nth_best(scores: Collection[float], place: int) -> float:
    """Return the score at *place*, from 1, of the greatest; below 0 when there are fewer."""
    if len(scores) < place:
        return -1.0
    # The best words came first, and so did most of the best documents.
    least = sorted(islice(scores, _SAMPLE * place), reverse=True)[place - 1]
    return sorted([score for score in scores if score >= least], reverse=True)[place - 1]


def _add(
    scores: dict[int, float],
    share: float,
    variants: Variants,
    lists: MergedLists,
    among: frozenset[int] | None,
) -> None:
    """Add to *scores* what the best of the *variants* adds to each document."""
    get = scores.get
    if len(variants) > 1:
        best = lists[variants]
        wanted = best.items() if among is None else [(n, best[n]) for n in among.intersection(best)]
        for document, impact in wanted:
            scores[document] = get(document, 0.0) + share * impact
        return
    term, credit = variants[0]
    unit = credit * SCALE
    impacts = _impacts(term, lists.index)
    if among is not None:
        impacts = [posting for posting in impacts if posting[0] in among]
    for document, impact in impacts:
        scores[document] = get(document, 0.0) + unit * impact


class MergedLists(dict["Variants", "dict[int, float]"]):
    """The best credited impacts of words with several variants, by document.

    Intents share words of the query, whose lists are merged once.
    """

    def __init__(self, index: Index) -> None:
        super().__init__()
        self.index = index

    def __missing__(self, variants: Variants) -> dict[int, float]:
        (term, credit), *others = variants
        unit = credit * SCALE
        best = {document: unit * impact for document, impact in _impacts(term, self.index)}
        for term, credit in others:
            unit = credit * SCALE
            for document, impact in _impacts(term, self.index):
                credited = unit * impact
                if credited > best.get(document, 0.0):
                    best[document] = credited
        self[variants] = best
        return best


def _impacts(term: int, index: Index) -> Iterable[tuple[int, int]]:
    kept = index.impacts(term)
    if kept is not None:
        return kept.items()
    documents, impacts, _ = index.postings(term)
    return zip(documents, impacts, strict=True)


def clause_impacts(variants: Variants, wanted: Collection[int], index: Index) -> dict[int, float]:
    """Return the best credited impact of the *variants* in each *wanted* document with one."""
    best: dict[int, float] = {}
    for term, credit in variants:
        unit = credit * SCALE
        found = index.impacts(term)
        if found is None:
            found = _read_impacts(wanted, term, index)
        for document in found.keys() & wanted:
            credited = unit * found[document]
            if credited > best.get(document, 0.0):
                best[document] = credited
    return best


def _read_impacts(wanted: Collection[int], term: int, index: Index) -> dict[int, int]:
    """Return the impacts of a long list, of which few numbers are read where few are *wanted*."""
    documents, impacts, _ = index.postings(term)
    ordered = sorted(wanted)
    if len(documents) <= _WORTH_SEARCHING * len(ordered):
        ordered = sorted(frozenset(wanted).intersection(documents))
    found = {}
    place, end = 0, len(documents)
    for document in ordered:
        place = bisect_left(documents, document, place)
        if place == end:
            break
        if documents[place] == document:
            found[document] = impacts[place]
    return found


# From so many postings on, numpy adds them up sooner, though it takes some microseconds a list.
_MANY = 400
# So many postings are added one by one in the time that the import of numpy takes.
_WORTH_IMPORTING = 2_000_000
# In a catalog of so many tools, most requests have long lists.
_LARGE = 1_000


class _Arrays:
    """Decides whether lists are added up by numpy.

    Importing numpy takes as long as adding some million postings one by one. A process imports it
    after it has added that many: a short process never does, and a long one loses at most the time
    of one import. A host that prepares for many searches can import it at once.
    """

    def __init__(self) -> None:
        self._left = _WORTH_IMPORTING
        self._imported: list[ModuleType | None] = []

    def scorer(self, postings: int) -> ModuleType | None:
        """Return the scorer for so many *postings*, `None` if they are added one by one."""
        if postings < _MANY:
            return None
        if self._left > 0 and "numpy" not in sys.modules:
            self._left -= postings
            return None
        return self._import()

    @property
    def loaded_scorer(self) -> ModuleType | None:
        """Return the scorer, if it has been imported."""
        return self._imported[0] if self._imported else None

    def prepare(self, index: Index) -> None:
        """Prepare for many searches of a compiled *index*."""
        arrays = self._import() if len(index) >= _LARGE else None
        if arrays:
            arrays.get_postings(index)

    def _import(self) -> ModuleType | None:
        """Return the scorer, `None` if numpy is not installed, or broken."""
        if not self._imported:
            try:
                from mcpg.search import array_scores  # noqa: PLC0415 - a cold search does without
            except Exception:  # noqa: BLE001 - one built for another version may raise anything
                self._imported.append(None)
            else:
                self._imported.append(array_scores)
        return self._imported[0]


ARRAYS = _Arrays()
"""Shared by all engines of a process, as imports are."""


# Minus its score, which is its weight times the score of its match; whether it is of the related
# kind; its target, its source, its number in the index, its weight.
Edge: TypeAlias = tuple[float, bool, int, int, int, float]

POOL = 20
"""Documents of which every search computes features, whatever its limit."""

RELATED_CREDIT = 0.6
"""What a related word counts of its similarity where documents are retrieved."""

# How many related words of a query documents are retrieved by.
_MOST_RELATED = 12
# An intent's own tools are looked up by this many of its words, those that weigh most: the lists of
# common words are long, and find little that these do not.
_TELLING_WORDS = 4
# So many places of the pool at most are kept for the best tools of single intents.
_OWN_PLACES = POOL // 2


class Pool(NamedTuple):
    """The documents of which a search computes features, in tiers.

    The content of a tier does not depend on the limit, and every document of a tier ranks above the
    next tier, so a limit only cuts.

    Attributes:
        documents: All of them, tier by tier: the first `POOL` by their words, and those that the
            query names; with a limit above `POOL`, the rest of the first `MAX_LIMIT`; then all
            others.
        ends: How many there are up to the end of the first tier, and of the second.
        by_words: Documents retrieved by their words, in the order of retrieval.
    """

    documents: list[int]
    ends: tuple[int, int]
    by_words: list[int]


def depth(limit: int) -> int:
    """Return how many documents are retrieved for a *limit*."""
    return POOL if limit <= POOL else MAX_LIMIT


def widen_analysis(analysis: Analysis) -> Analysis:
    """Return *analysis* with the best related words among the variants of its clauses."""
    rows = [
        [(-clause.weight * one, place, term, one) for term, one in nearest]
        for place, clause in enumerate(analysis.clauses)
        if (nearest := clause.retrieved_by[:_MOST_RELATED])
    ]
    if not rows:
        return analysis
    near: dict[int, list[tuple[int, float]]] = {}
    for _, place, term, similarity in islice(merge(*rows), _MOST_RELATED):
        near.setdefault(place, []).append((term, RELATED_CREDIT * similarity))
    clauses = [
        clause._replace(variants=(*clause.variants, *near[place])) if place in near else clause
        for place, clause in enumerate(analysis.clauses)
    ]
    return analysis._replace(clauses=tuple(clauses))


def retrieve_for_each(
    analysis: Analysis,
    index: Index,
    *,
    excluded: Collection[int],
    size: int,
    among: Collection[int] | None = None,
) -> list[int]:
    """Return the *size* documents with the best lexical scores, including the best of each intent.

    The first `POOL` contain the best of the whole request and of each intent, whatever the *size*,
    which is at least `POOL`; the rest follows. Without intents, the order is by score, in [0, 1],
    or a little above with context; ties go to the smaller document number. If *among* is given,
    only its documents are retrieved.
    """
    hidden = frozenset(excluded)
    lists = MergedLists(index)
    words = _weigh_clauses(analysis.clauses, analysis.total_weight, index)
    whole = _best(words, lists, hidden, size, among)
    if not analysis.intents:
        return whole
    bests = []
    for places in analysis.intents:
        of_intent = [analysis.clauses[place] for place in places]
        clauses = sorted(of_intent, key=lambda one: -one.weight)[:_TELLING_WORDS]
        total = fsum([one.weight for one in clauses])
        bests.append(
            _best(_weigh_clauses(clauses, total, index), lists, hidden, _OWN_PLACES, among)
        )
    in_turns = dict.fromkeys(one for one in chain(*zip_longest(*bests)) if one is not None)
    own = list(in_turns)[:_OWN_PLACES]
    return list(dict.fromkeys((*whole[: POOL - len(own)], *own, *whole)))[:size]


def _best(
    words: Sequence[Weighed],
    lists: MergedLists,
    hidden: frozenset[int],
    size: int,
    among: Collection[int] | None,
) -> list[int]:
    """Return the *size* best documents, by numpy where that takes less time."""
    postings = sum([postings for _, _, _, postings in words])
    arrays = ARRAYS.scorer(postings) if among is None else None
    if arrays:
        found: list[int] = arrays.best_documents(
            words, lists, lists.index, hidden=hidden, size=size
        )
        return found
    return best_documents(words, lists, hidden=hidden, size=size, among=among)


_bound = itemgetter(0)


def _weigh_clauses(clauses: Iterable[QueryTerm], total: float, index: Index) -> list[Weighed]:
    """Return the *clauses* that add anything, those that can add most first."""
    words = []
    word: Weighed
    max_impact = index.max_impact
    for clause in clauses:
        variants = clause.variants
        if not variants:
            continue
        share = clause.weight / total
        if len(variants) == 1:
            ((term, credit),) = variants
            bound = share * SCALE * (max_impact(term) * credit)
            word = bound, 1.0, ((term, share * credit),), clause.document_frequency
        else:
            most = max([max_impact(term) * credit for term, credit in variants])
            postings = sum([index.document_frequency(term) for term, _ in variants])
            word = share * SCALE * most, share, variants, postings
        if _bound(word):
            words.append(word)
    return sorted(words, key=_bound, reverse=True)


RELATED, NEXT_STEP = "related", "nextStep"
# Place in an edge.
_IS_RELATED = 1


def expand(
    primaries: Sequence[tuple[int, float]],
    index: Index,
    *,
    excluded: Collection[int],
    limit: int,
    within: Collection[int] | None = None,
    shown: Iterable[int] = (),
) -> tuple[list[Edge], list[Edge]]:
    """Return the edges to at most *limit* related and *limit* next-step documents of *primaries*.

    Primaries, which have scores, *excluded* and *shown* documents and, if given, documents not in
    *within* are left out. Each document is reached only by its strongest edge; of equal ones, a
    next step comes before a related tool.
    """
    taken = {document for document, _ in primaries}.union(shown)
    best: dict[int, Edge] = {}
    for document, score in primaries:
        for number, target, kind, weight in index.edges(document):
            if target in taken or target in excluded:
                continue
            if within is not None and target not in within:
                continue
            edge = -round_score(weight * score), kind == RELATED, target, document, number, weight
            known = best.get(target)
            if known is None or edge < known:
                best[target] = edge
    ordered = sorted(best.values())
    related = [edge for edge in ordered if edge[_IS_RELATED]][:limit]
    next_steps = [edge for edge in ordered if not edge[_IS_RELATED]][:limit]
    return related, next_steps


def focused_graph(shown: Iterable[int], index: Index) -> FocusedGraph:
    """Count the shown tools, their groups, and the edges between all of these."""
    among = frozenset(shown)
    if not among:
        return FocusedGraph(0, 0)
    groups = index.rows("groups_of").concatenate_rows(among)
    links = sum(map(among.__contains__, index.rows("links").concatenate_rows(among)))
    return FocusedGraph(len(among) + len(set(groups)), len(groups) + links)
