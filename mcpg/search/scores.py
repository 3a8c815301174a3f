"""The scorer: the documents with the best lexical scores, by sums over posting lists.

A document's lexical score is the sum, over the words of a query, of the saturated frequency of the
best of the word's variants there, times the credit for that variant, times the word's share of the
query's weight. Where a word has one variant, the share is in the credit for it. The words that can
add most are added first. The sums are compared in steps of 1 / `STEPS`; ties go to the smaller
document number.

Here postings are added one by one. Once the words that are left cannot lift a new document among
the best, only documents already seen are looked up in them. `mcpg.search.array_scores` has the same
scorer for long lists, by numpy: its products and the order of its sums are the same, and so are its
answers, to the last bit.

Source: Turtle & Flood, "Query evaluation: strategies and optimizations", Information Processing &
Management 31(6), 1995 (max score).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from math import fsum
from typing import TypeAlias

from mcpg.index import Index
from mcpg.values import DECIMALS

Variants: TypeAlias = tuple[tuple[int, float], ...]
"""The terms of a word and the credit for a match of each."""

Weighed: TypeAlias = tuple[float, float, Variants, int]
"""A word: the most that it adds, above 0; what its credited impacts are multiplied by; its
variants; the least number of their postings."""

SCALE = 1 / 0xFFFF
"""The frequency that a step of impact stands for."""

STEPS: int = 10**DECIMALS
"""Sums are compared in whole parts of one in so many."""

# A list this many times longer than what is looked for is searched rather than read.
_WORTH_SEARCHING = 40
# Up to so many documents are looked up in the lists; more are picked out of them.
_FEW = 1_024
# How many times as many scores as are wanted tell what the worst wanted one is at least.
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

    *words* are in the order in which they are added up. Where *among* names documents, no others
    are scored.
    """
    if among is not None and len(among) <= _FEW:
        scores: dict[int, float] = {}
        for _, share, variants, _ in words:
            for document, impact in clause_impacts(variants, among, lists.index).items():
                scores[document] = scores.get(document, 0.0) + share * impact
    else:
        wanted = size + (len(hidden) if among is None else 0)
        scores = _accumulate(words, lists, wanted, None if among is None else frozenset(among))
    # Most often nothing is hidden, and then all that was scored need not be gone through.
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

    Where *among* names documents, no others are scored.
    """
    scores: dict[int, float] = {}
    remaining = fsum(bound for bound, _, _, _ in words)
    for bound, share, variants, postings in words:
        # A list shorter than what has been found is read without further thought. A document that
        # scores the same as the last of the best, once rounded, may come before it.
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

    The intents of a query have words of the whole query, whose lists are merged once.
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
    """Return the best credited impact of the *variants* in those *wanted* that hold one."""
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
