"""Samples of judged queries, contests between their tools, and folds.

A sample is what a search sees of one query, kept so that any model can rank it. Of a ranking, nDCG
sees only how many tools are ahead of each relevant one. So all that a fit need know of a query are
contests, the differences between features; and rivals that are ahead, or are not, whatever the
weights in their bounds, need no further look. What a tool adds for an intent of the query is left
out, because it depends on the order. Folds are parts of the queries, each held out once.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from math import fsum, log2
from operator import mul

from mcpg.engine.loading import BY_ORDER, FITTED, MOST_WEIGHT
from mcpg.index import Index
from mcpg.search.features import MARGIN_DEPTH, Candidate, calibrate, extract_features, fuse
from mcpg.search.model import FEATURES, Model, read_model
from mcpg.search.pipeline import Search, gather
from mcpg.search.query import Analysis
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL

DEPTH = 5
"""How many of the best matches a fit looks at."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A judged query, as a search sees it.

    Attributes:
        analysis: What the query became.
        candidates: What was seen in each document of the pool.
        right: The documents that answer it.
        count: How many tools answer it, those that cannot be found among them.
        size: How many tools the catalogue has.
    """

    analysis: Analysis
    candidates: list[Candidate]
    right: frozenset[int]
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class TopMatch:
    """One of the best matches of a query.

    Attributes:
        rank: Its place, counted from 0.
        inputs: Inputs of the calibration, in the order of `INPUTS`.
        score: Its score.
        is_right: Whether it answers the query.
    """

    rank: int
    inputs: tuple[float, ...]
    score: float
    is_right: bool


def look(
    query: str,
    index: Index,
    right: AbstractSet[int],
    *,
    count: int | None = None,
    hidden: AbstractSet[int] = frozenset(),
    uses_lexicon: bool = True,
    context_tools: Sequence[str] = (),
) -> Sample:
    """Look at the documents that a search for *query* looks at.

    *right* are the documents that answer it, *count* is how many tools do, where that is more, and
    *hidden* documents are not to be found. With *uses_lexicon*, words also match related words and
    translations. *context_tools* are the ids of the tools in use.
    """
    request = SearchRequest(query, lexicon=uses_lexicon, context_tools=tuple(context_tools))
    analysis, pool = gather(Search(request, index, read_model(index), frozenset(hidden)), POOL)
    candidates = extract_features(pool.documents, analysis, index)
    known = max(len(right), count or 0)
    return Sample(analysis, candidates, frozenset(right - hidden), known, len(index))


def tops(sample: Sample, model: Model, depth: int = DEPTH) -> list[TopMatch]:
    """Return the best matches that *model* finds."""
    ranked = fuse(sample.candidates, model.weights, max(MARGIN_DEPTH, depth))
    calibrations = calibrate(ranked, sample.candidates, sample.analysis, model, sample.size)
    pairs = zip(ranked, calibrations, strict=True)
    return [
        TopMatch(rank, one.inputs, one.score, fused.candidate.document in sample.right)
        for rank, (fused, one) in enumerate(islice(pairs, depth))
    ]


DISCOUNTS = tuple(1 / log2(place + 2) for place in range(DEPTH))
"""What a relevant tool at each place is worth."""

# Of equal scores, rounded to nine decimals, the smaller document number comes first.
_TIE = 5e-10


@dataclass(frozen=True, slots=True)
class RankingPair:
    """A relevant tool against its rivals.

    Attributes:
        worth: What it adds to the objective when it comes first.
        ahead: How many rivals are ahead of it whatever the fitted weights are.
        leads: For each other rival, how far it is ahead by features that are not fitted.
        columns: For each fitted feature, by how much each of these rivals has more of it.
    """

    worth: float
    ahead: int
    leads: tuple[float, ...]
    columns: tuple[tuple[float, ...], ...]


def build_ranking_pairs(
    sample: Sample,
    given: Sequence[float],
    share: float,
    *,
    fitted: Sequence[str] = FITTED,
    most: float = MOST_WEIGHT,
) -> Iterator[RankingPair]:
    """Return the contests of the relevant tools that can be among the first `DEPTH`.

    *given* are all weights, of which those that are not *fitted* count; *share* is what the query
    counts for in the objective, *most* the greatest weight that a fit gives.
    """
    places = [FEATURES.index(name) for name in fitted]
    own = [
        0.0 if name in fitted or name in BY_ORDER else weight
        for name, weight in zip(FEATURES, given, strict=True)
    ]
    ranked = fuse(sample.candidates, [0.0] * len(FEATURES), len(sample.candidates))
    rows = [(one.candidate.document, one.values) for one in ranked]
    ideal = sum(DISCOUNTS[: sample.count])
    for document, values in rows:
        if document in sample.right:
            rivals = [one for one in rows if one[0] != document]
            contest = _contest((document, values), rivals, own, places, share / ideal, most)
            if contest.ahead < DEPTH:
                yield contest


def _contest(
    relevant: tuple[int, Sequence[float]],
    rivals: Sequence[tuple[int, Sequence[float]]],
    fixed: Sequence[float],
    places: Sequence[int],
    worth: float,
    most: float,
) -> RankingPair:
    document, values = relevant
    ahead, leads, rows = 0, [], []
    for rival, has in rivals:
        more = [one - own for one, own in zip(has, values, strict=True)]
        lead = fsum(map(mul, more, fixed)) + (_TIE if rival < document else -_TIE)
        row = [more[place] for place in places]
        if lead + most * fsum(min(one, 0.0) for one in row) > 0:
            ahead += 1
        elif lead + most * fsum(max(one, 0.0) for one in row) > 0:
            leads.append(lead)
            rows.append(row)
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * len(places)
    return RankingPair(worth, ahead, tuple(leads), columns)


def number_groups(keys: Sequence[Collection[Hashable]]) -> list[int]:
    """Number the groups of items that share a key, directly or by way of others.

    Groups are numbered in the order of their first items.
    """
    parents = list(range(len(keys)))

    def root(item: int) -> int:
        while parents[item] != item:
            parents[item] = parents[parents[item]]
            item = parents[item]
        return item

    first: dict[Hashable, int] = {}
    for item, own in enumerate(keys):
        for key in own:
            one, other = root(first.setdefault(key, item)), root(item)
            parents[max(one, other)] = min(one, other)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(item), len(numbers)) for item in range(len(keys))]


def assign_folds(groups: Sequence[int], count: int, seed: int = 0) -> list[int]:
    """Return each item its fold, from 0 to *count* - 1; no group is in two.

    In an order drawn by *seed*, the greatest groups first, each goes to the fold with the fewest
    items.
    """
    sizes = dict.fromkeys(groups, 0)
    for group in groups:
        sizes[group] += 1
    order = list(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - chance, not secrecy, is wanted
    order.sort(key=lambda group: -sizes[group])
    filled = [0] * count
    fold: dict[int, int] = {}
    for group in order:
        fold[group] = min(range(count), key=filled.__getitem__)
        filled[fold[group]] += sizes[group]
    return [fold[group] for group in groups]
