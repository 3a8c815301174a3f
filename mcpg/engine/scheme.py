"""Schemes: by which numbers a strategy with vectors ranks, and how sure it is of a match.

The numbers were fitted on judged queries; they stand in `data/vectors.json` with their provenance.
No model of embeddings, word, tool or language has a number of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from mcpg.engine.features import FEATURES

if TYPE_CHECKING:
    from mcpg.engine.model import Model

_FILE = Path(__file__).parent / "data" / "vectors.json"

EMBEDDINGS, SEMANTIC, LEARNED, RRF = "embeddings", "semantic", "learned", "rrf"
SCHEMES = (EMBEDDINGS, SEMANTIC, LEARNED, RRF)
"""By cosines alone; by cosines, but what is named exactly first; by one of two fusions."""

COSINE, CLOSENESS = "vectorCosine", "closeness"
GRAPH_RANK, VECTOR_RANK, EXACT_NAME = "graphRank", "vectorRank", "exactName"

RANK_OFFSET = 60
"""The *k* of reciprocal rank fusion.

Source: Cormack, Clarke & Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual
rank learning methods", SIGIR 2009.
"""

VECTOR_INPUTS = (
    "graphLogit",
    "nearness",
    "nearnessLead",
    "behindNearest",
    "shareUnknown",
    "graphAgrees",
)
"""The inputs of the calibration of every scheme, in order: the logit of the graph's own calibration
for the match; the logarithm of one more than the standardised cosine, if that is above 0; that
cosine less the mean of the ten nearest tools'; the nearest tool's less it; the share of the query
that the catalogue does not know; 1 when the nearest tool is also the first of the graph alone."""

# A name that is spelt out outweighs whatever the rest can add.
_EXACT_ABOVE_COSINES, _EXACT_ABOVE_RANKS = 3.0, 1.0


@dataclass(frozen=True, slots=True)
class Scheme:
    """The numbers of one way to rank with vectors.

    Attributes:
        name: One of `SCHEMES`.
        provenance: What was fitted, on what, and how well it does.
        features: What the fused score is made of.
        weights: The weight of each of these.
        inputs: What the calibration looks at.
        intercept: The calibration's logit where every input is 0.
        coefficients: The coefficients of these.
    """

    name: str
    provenance: str
    features: tuple[str, ...]
    weights: tuple[float, ...]
    inputs: tuple[str, ...]
    intercept: float
    coefficients: tuple[float, ...]


@lru_cache(maxsize=64)
def scheme_of(name: str, model: Model) -> Scheme:
    """Give the scheme called *name*; *model* has the weights of what the graph sees."""
    fitted = json.loads(_FILE.read_bytes())
    calibration = fitted["calibrations"][name]
    features, weights = _ranking(name, model, float(fitted["closeness"]))
    return Scheme(
        name,
        fitted["provenance"],
        features,
        weights,
        VECTOR_INPUTS,
        float(calibration["intercept"]),
        tuple(float(calibration["coefficients"][one]) for one in VECTOR_INPUTS),
    )


def _ranking(
    name: str, model: Model, closeness: float
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    if name == EMBEDDINGS:
        return (COSINE,), (1.0,)
    if name == SEMANTIC:
        return (COSINE, EXACT_NAME), (1.0, _EXACT_ABOVE_COSINES)
    if name == RRF:
        return (GRAPH_RANK, VECTOR_RANK, EXACT_NAME), (1.0, 1.0, _EXACT_ABOVE_RANKS)
    return (*FEATURES, CLOSENESS), (*model.weights, closeness)
