"""Why a tool is where it is, and what would lift it: values for a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints


@dataclass(frozen=True, slots=True)
class FeatureGap:
    """One summand of the fused scores of two tools.

    Attributes:
        feature: Its name.
        own: What it gives to the tool that was asked about.
        other: What it gives to the other tool.
    """

    feature: str
    own: float
    other: float

    @property
    def difference(self) -> float:
        """How far the other tool is ahead by it; below 0 where it is behind."""
        return self.other - self.own


@dataclass(frozen=True, slots=True)
class WordGap:
    """One word of the query in two tools.

    Attributes:
        query: The word.
        share: Its share of the query, weighed by rarity, in [0, 1].
        own: What of that share the tool that was asked about answers; 0 when it lacks the word.
        other: What of that share the other tool answers.
    """

    query: str
    share: float
    own: float
    other: float


@dataclass(frozen=True, slots=True)
class Rival:
    """A tool that stands above the one that was asked about.

    Attributes:
        tool_id: The tool.
        rank: Its rank, from 1.
        score: Its calibrated score.
        fused_score: The score that it was ranked by.
        gap: Its fused score less that of the tool that was asked about. Below 0 where that one
            was not looked at closely, because its words alone did not bring it that far.
        features: What the gap is the sum of (within 1e-9), the largest difference first.
        words: The words of the query in both, in the query's order.
        because: The reasons in sentences, the weightiest first.
    """

    tool_id: str
    rank: int
    score: float
    fused_score: float
    gap: float
    features: tuple[FeatureGap, ...]
    words: tuple[WordGap, ...]
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How a tool came through retrieval, which goes by the words of the query alone.

    Attributes:
        is_pooled: Whether it is among the tools that are looked at closely.
        lexical: Its lexical score; 0 when it holds no word of the query.
        place: Its place by lexical score, from 1; `None` when it is not retrieved, or when so many
            are that places are not told.
        retrieved: How many tools were retrieved, as far as places are told.
        pool: Most tools that are looked at closely, but for those that the query names.
        last: Lexical score of the last tool of these; 0 when fewer were found.
    """

    is_pooled: bool
    lexical: float
    place: int | None
    retrieved: int
    pool: int
    last: float


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the hints of a tool that would lift it.

    Attributes:
        hints: What to add: `keywords` and `aliases`, and `enabled_by_default` for a tool that is
            disabled.
        rank_after: The tool's rank for the same query once this is done.
        score_after: Its calibrated score then.
        is_verified: Whether the catalogue was compiled with the change, and searched, to see.
    """

    hints: Hints
    rank_after: int
    score_after: float
    is_verified: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Why one tool is where it is.

    Attributes:
        tool_id: The tool.
        rank: Its rank, from 1; `None` when the search does not find it, or only beyond `ranked`.
        ranked: How many tools were ranked to tell.
        score: Its calibrated score there; 0 without a rank.
        fused_score: The score that it is ranked by, found by looking at it closely in any case.
        is_hidden: Whether the search leaves it out because it is disabled by default. All else is
            said as if it were enabled.
        is_named: Whether the query spells its id, name, title or an alias.
        retrieval: How it came through retrieval.
        missing: Words of the query that it lacks, the weightiest first.
        above: The first tool and the one directly above it; none when it is first.
        change: What would lift it; `None` when it is first already, or nothing found would.
        remark: Why there is no change, or why the change does not make it first; "" else.
    """

    tool_id: str
    rank: int | None
    ranked: int
    score: float
    fused_score: float
    is_hidden: bool
    is_named: bool
    retrieval: Retrieval
    missing: tuple[str, ...]
    above: tuple[Rival, ...]
    change: Change | None
    remark: str = ""
