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
"""The number of tools that may be beside the matches, as a multiple of the limit."""

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
        provenance: Its data, method and quality.
        features: The summands of the fused score.
        intercept: The calibration's logit if every input is 0.
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
        candidates: Candidates of the first tier, whatever the limit; the graph's come first.
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
        text: The query and its context, as embedded.
        corrected: The corrected text that was also embedded, `None` if there is none.
        weight: The weight of closeness; only the learned fusion has one, otherwise `None`.
        lifted: Numbers of matches that rank above nearer ones because the query names them.
    """

    scheme: Scheme
    vector_scores: VectorScores
    text: str
    corrected: str | None
    weight: ClosenessWeight | None
    pool: HybridPool
    lifted: tuple[int, ...]

    def window(self, limit: int) -> tuple[int, ...]:
        """Return the tools that may be beside *limit* matches, the nearest first.

        They are similar to the query; if only vectors rank, there are none.
        """
        if self.scheme.name == EMBEDDINGS:
            return ()
        nearest = self.vector_scores.nearest[: max(WINDOW_FACTOR * limit, _LEAST_WINDOW)]
        # Without the common part, the sign of a cosine is meaningless.
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
