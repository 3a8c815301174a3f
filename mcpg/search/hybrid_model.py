"""What vectors contribute to a ranking: the scheme, the pool, and how both were merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mcpg.errors import Code, Diagnostic, info
from mcpg.search.features import Candidate, RankedCandidate
from mcpg.search.results import RankingMode, RankingModeName
from mcpg.values import format_count

if TYPE_CHECKING:  # they speak HTTP, and an explanation without vectors does not
    from mcpg.search.index_vectors import VectorScores

EMBEDDINGS, SEMANTIC, LEARNED, RRF = "embeddings", "cosine", "learned", "rrf"
SCHEMES = (EMBEDDINGS, SEMANTIC, LEARNED, RRF)
"""By cosines; by one of three fusions, of which the first keeps that order after exact names."""

WINDOW_FACTOR = 4
"""So many times the limit of a search are the tools that may stand beside its matches."""

_LEAST_WINDOW = 8


class ClosenessWeight(NamedTuple):
    """The weight of closeness in one query, and why.

    Attributes:
        inputs: In the order of `WEIGHT_INPUTS`.
        intercept: The logarithm of the weight where every input is 0.
        weight: The exponential of their sum, within bounds.
    """

    inputs: tuple[float, ...]
    intercept: float
    coefficients: tuple[float, ...]
    weight: float


class Scheme(NamedTuple):
    """The numbers of one way to rank with vectors.

    Attributes:
        provenance: What was fitted, on what, and how well it does.
        features: What the fused score is made of.
        inputs: What the calibration looks at.
        intercept: The calibration's logit where every input is 0.
    """

    name: str
    provenance: str
    features: tuple[str, ...]
    weights: tuple[float, ...]
    inputs: tuple[str, ...]
    intercept: float
    coefficients: tuple[float, ...]


class HybridPool(NamedTuple):
    """Candidates of graph and vectors.

    Attributes:
        candidates: Those of the first tier, whatever the limit; the graph's come first.
        found: How many of these the graph found.
        graph: The graph's own ranking, best first.
        further: The candidates that rank below the first tier.
    """

    candidates: list[Candidate]
    found: int
    graph: Sequence[RankedCandidate]
    further: list[Candidate]


class HybridDetails(NamedTuple):
    """What vectors contributed to a ranking.

    Attributes:
        scheme: The numbers that ranked.
        text: The query and its context, as embedded.
        corrected: What was embedded beside it, `None` where nothing was.
        weight: What closeness weighs in the query; `None` but for the learned fusion.
        lifted: Numbers of matches that stand above nearer ones because the query names them.
    """

    scheme: Scheme
    vector_scores: VectorScores
    text: str
    corrected: str | None
    weight: ClosenessWeight | None
    pool: HybridPool
    lifted: tuple[int, ...]

    def window(self, limit: int) -> tuple[int, ...]:
        """Return the tools that may stand beside *limit* matches, the nearest first.

        They have something in common with the query; where vectors rank alone there are none.
        """
        if self.scheme.name == EMBEDDINGS:
            return ()
        nearest = self.vector_scores.nearest[: max(WINDOW_FACTOR * limit, _LEAST_WINDOW)]
        # Once all have lost what they have in common, the sign of a cosine says no more.
        return tuple(number for number, cosine in nearest if cosine > 0 or self.vector_scores.shift)

    def mode(self, *, is_expanded: bool) -> RankingModeName:
        """Return the ranking mode: `vector`, or `hybrid` where the graph contributed."""
        is_fused = self.scheme.name not in {EMBEDDINGS, SEMANTIC}
        is_hybrid = is_fused or is_expanded or bool(self.lifted)
        return RankingMode.HYBRID if is_hybrid else RankingMode.VECTOR

    def describe_merge(self, related: int, next_steps: int, needed: int) -> Diagnostic | None:
        """Return the diagnostic of what the graph contributed to the ranking, if anything."""
        is_expanded = related + next_steps + needed > 0
        if self.mode(is_expanded=is_expanded) != RankingMode.HYBRID:
            return None
        if self.scheme.name != SEMANTIC:
            message = "the matches of the graph and of the vectors were made one list"
            return info(Code.HYBRID_VECTOR_MERGE_USED, message)
        counts = (
            (len(self.lifted), "exactly named", "exactly named"),
            (related, "related", "related"),
            (next_steps, "next step", "next steps"),
            (needed, "prerequisite", "prerequisites"),
        )
        parts = [format_count(count, *words) for count, *words in counts if count]
        message = f"the graph added to what the vectors found: {', '.join(parts)}"
        return info(Code.HYBRID_VECTOR_MERGE_USED, message)
