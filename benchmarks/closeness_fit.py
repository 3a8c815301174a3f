"""Fit what closeness weighs in a query, by the model of `mcpg/search/hybrid.py`.

The sum of the graph's fused score and weighted closeness ranks the tools of a query; the intercept
and the coefficients of the weight maximise nDCG@5 by coordinate ascent. What queries of several
intents gain by diversification is left out. Sets of short requests and sets of long ones count half
each; within a half, every provider, set and variant counts the same.

Source: Metzler & Croft, "Linear feature-based models for information retrieval", Information
Retrieval 10(3), 2007.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mcpg.evaluation.metrics import ndcg_at
from mcpg.search.features import feature_values, greatest_lexical
from mcpg.search.hybrid import LEAST_WEIGHT, MOST_WEIGHT, WEIGHT_INPUTS, closeness, weight_inputs
from mcpg.search.model import FEATURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from mcpg.search.hybrid_model import HybridPool
    from mcpg.search.index_vectors import VectorScores
    from mcpg.search.query import Analysis

DEPTH = 5
SHORT = 5
"""Sets whose queries have so many content words or fewer, in the median, are of short requests."""

STARTS = ((3.0, -1.0, 0.0), (3.5, -1.0, -0.4), (4.0, -1.0, -0.8))
STEPS = (0.4, 0.2, 0.1)
_LEAST_GAIN = 5e-5


class Contest(NamedTuple):
    """What the weight can win in one query.

    Attributes:
        set: Name of the set.
        part: The provider, the set and the variant.
        words: How many content words the query has.
        inputs: The inputs of the weight.
        fused: The graph's fused score of each tool, intents left out.
        near: Closeness of each tool.
        gain: What each tool is worth at each of the first places.
    """

    set: str
    part: tuple[str, str, str]
    words: int
    inputs: tuple[float, ...]
    fused: NDArray[np.float64]
    near: NDArray[np.float64]
    gain: NDArray[np.float64]


def contest(
    part: tuple[str, str, str],
    pool: HybridPool,
    analysis: Analysis,
    vector_scores: VectorScores,
    right: set[int],
    relevant: int,
    weights: Sequence[float],
) -> Contest:
    """Return what can be won in a query whose *right* tools are known, of *relevant* in all."""
    lexical = greatest_lexical(pool.candidates[: pool.found])
    values = np.array([feature_values(one, lexical) for one in pool.candidates])
    fused = values.reshape(-1, len(FEATURES)) @ np.array(weights)
    documents = [one.document for one in pool.candidates]
    near = np.array([closeness(vector_scores, document) for document in documents])
    places = [ndcg_at([False] * place + [True], relevant, DEPTH) for place in range(DEPTH)]
    gain = np.array([[(document in right) * one for one in places] for document in documents])
    inputs = weight_inputs(fused[: pool.found].tolist(), analysis)
    words = sum(clause.origin == "query" for clause in analysis.clauses)
    return Contest(part[1], part, words, inputs, fused, near, gain.reshape(-1, DEPTH))


class Part:
    """The contests of one provider, set and variant, as arrays."""

    def __init__(self, contests: Sequence[Contest]) -> None:
        most = max(DEPTH, *(len(one.fused) for one in contests))
        self.words = median(one.words for one in contests)
        self._inputs = np.array([(1.0, *one.inputs) for one in contests])
        self._describe_fusion = np.full((len(contests), most), -np.inf)
        self._near = np.zeros((len(contests), most))
        self._gain = np.zeros((len(contests), most, DEPTH))
        for row, one in enumerate(contests):
            count = len(one.fused)
            self._describe_fusion[row, :count] = one.fused
            self._near[row, :count] = one.near
            self._gain[row, :count] = one.gain

    @property
    def usual(self) -> NDArray[np.float64]:
        """The mean of the inputs, after a 1 for the intercept."""
        found: NDArray[np.float64] = self._inputs.mean(axis=0)
        return found

    def ndcg(self, fitted: Sequence[float] | NDArray[np.float64]) -> float:
        """Return the mean nDCG@5 with a *fitted* weight, the intercept first."""
        weights = np.clip(np.exp(self._inputs @ np.asarray(fitted)), LEAST_WEIGHT, MOST_WEIGHT)
        scores = self._describe_fusion + weights[:, None] * self._near
        best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
        gains = np.take_along_axis(self._gain, best[:, :, None], axis=1)
        return float(np.trace(gains, axis1=1, axis2=2).mean())


def parts_of(contests: Iterable[Contest]) -> list[Part]:
    """Return the parts that the *contests* are of."""
    grouped: defaultdict[tuple[str, str, str], list[Contest]] = defaultdict(list)
    for one in contests:
        grouped[one.part].append(one)
    return [Part(some) for some in grouped.values()]


def mean_ndcg(parts: Sequence[Part], fitted: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the mean nDCG@5; short requests and long ones count half each."""
    halves: tuple[list[float], list[float]] = ([], [])
    for part in parts:
        halves[part.words <= SHORT].append(part.ndcg(fitted))
    return fmean(fmean(half) for half in halves if half)


def ascend(parts: Sequence[Part]) -> tuple[float, ...]:
    """Return the fitted intercept and coefficients of the weight.

    A step of a coefficient leaves the weight of the usual query as it is.
    """
    usual = np.mean([part.usual for part in parts], axis=0)
    moves = np.eye(len(usual))
    moves[1:, 0] = -usual[1:]
    reached = [_ascend(parts, np.array(start), moves) for start in STARTS]
    best, _ = max(reached, key=lambda one: one[1])
    return tuple(float(round(one, 2)) for one in best)


def _ascend(
    parts: Sequence[Part], start: NDArray[np.float64], moves: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    found, best = start, mean_ndcg(parts, start)
    for step in STEPS:
        before = -1.0
        while best - before > _LEAST_GAIN:
            before = best
            for move in (*moves, *-moves):
                tried = found + step * move
                reached = mean_ndcg(parts, tried)
                if reached > best + _LEAST_GAIN:
                    found, best = tried, reached
    return found, best


def fit(contests: Sequence[Contest]) -> tuple[dict[str, object], str]:
    """Fit the weight, print figures of sets left out, and return it with a summary of them.

    Sets of one catalogue, which share the beginning of their names, are left out together.
    """
    unseen = []
    for name in sorted({catalogue(one.set) for one in contests}):
        fitted = ascend(parts_of(one for one in contests if catalogue(one.set) != name))
        own = parts_of(one for one in contests if catalogue(one.set) == name)
        unseen.append(fmean(part.ndcg(fitted) for part in own))
        print(f"  without {name:<18} {fitted}: {unseen[-1]:.4f}", flush=True)
    intercept, *coefficients = ascend(parts_of(contests))
    told = f"nDCG@5 of the learned fusion on catalogues left out {fmean(unseen):.4f}"
    print(f"closeness {intercept} {coefficients}; {told}")
    named = dict(zip(WEIGHT_INPUTS, coefficients, strict=True))
    return {"intercept": intercept, "coefficients": named}, told


def catalogue(name: str) -> str:
    """Return what sets of one catalogue are called: the part of their name before a `_`."""
    return name.partition("_")[0]
