"""Measures of one ranking, by which of its places hold something relevant.

Every function takes *hits*, which says of each match, best first, whether it is relevant, and the
number of relevant tools that there are, at least 1. Every value is in [0, 1]. Relevance is binary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def ndcg_at(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Give the normalised discounted cumulative gain of the first *k* matches.

    Source: Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM TOIS 20(4),
    2002; with the discount 1 / log2(rank + 1) that is usual since.
    """
    ideal = _gain([True] * min(k, relevant))
    return _gain(hits[:k]) / ideal


def recall_at(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Give the share of the relevant tools that are among the first *k* matches."""
    return sum(hits[:k]) / relevant


def hit_at(hits: Sequence[bool], k: int) -> float:
    """Give 1 when a relevant tool is among the first *k* matches, else 0 (success at k)."""
    return float(any(hits[:k]))


def reciprocal_rank(hits: Sequence[bool]) -> float:
    """Give 1 / rank of the first relevant match, 0 when there is none.

    Source: Voorhees: The TREC-8 question answering track report. TREC-8, 1999.
    """
    rank = first_rank(hits)
    return 1 / rank if rank else 0.0


def first_rank(hits: Sequence[bool]) -> int | None:
    """Give the rank of the first relevant match, counted from 1."""
    return next((rank for rank, hit in enumerate(hits, start=1) if hit), None)


def percentile(values: Sequence[float], share: float) -> float:
    """Give the smallest of *values*, at least one, that *share* of them do not exceed.

    Source: the nearest-rank method; Hyndman, Fan: Sample quantiles in statistical packages. The
    American Statistician 50(4), 1996, definition 1.
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _gain(hits: Sequence[bool]) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit)
