"""Samples: what a search sees of one judged query, kept so that any model can rank it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from mcpg.engine.confidence import MARGIN_DEPTH, calibrate
from mcpg.engine.features import look_closely
from mcpg.engine.fusion import fuse
from mcpg.engine.pipeline import gather
from mcpg.engine.request import Request
from mcpg.engine.retrieval import POOL

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from mcpg.engine.analysis import Analysis
    from mcpg.engine.features import Sight
    from mcpg.engine.model import Model
    from mcpg.index import Index

DEPTH = 5
"""How many of the best matches a fit looks at."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A judged query, as a search sees it.

    Attributes:
        analysis: What the query became.
        sights: What was seen in each document of the pool.
        right: The documents that answer it.
        count: How many tools answer it, those that cannot be found among them.
        size: How many tools the catalogue has.
    """

    analysis: Analysis
    sights: list[Sight]
    right: frozenset[int]
    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Top:
    """One of the best matches of a query.

    Attributes:
        rank: Its place, counted from 0.
        inputs: What the calibration is told of it, in the order of `INPUTS`.
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
) -> Sample:
    """Look at the documents that a search for *query* looks at.

    Args:
        query: The query.
        index: What is searched.
        right: The documents that answer it.
        count: How many tools answer it, where that is more than *right* has.
        hidden: Documents that are not to be found.
    """
    analysis, pool = gather(Request(query), index, frozenset(hidden), size=POOL)
    sights = look_closely(pool.documents, analysis, index)
    known = max(len(right), count or 0)
    return Sample(analysis, sights, frozenset(right - hidden), known, len(index))


def tops(sample: Sample, model: Model, depth: int = DEPTH) -> list[Top]:
    """Give the best matches that *model* finds."""
    ranked = fuse(sample.sights, model.weights, max(MARGIN_DEPTH, depth))
    calibrations = calibrate(ranked, sample.sights, sample.analysis, model, sample.size)
    pairs = zip(ranked, calibrations, strict=True)
    return [
        Top(rank, one.inputs, one.score, fused.candidate.document in sample.right)
        for rank, (fused, one) in enumerate(islice(pairs, depth))
    ]
