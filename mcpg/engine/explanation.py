"""Explanation: the values of a search put together for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.engine.analysis import words_of
from mcpg.engine.ranking import contributions, term_matches
from mcpg.engine.trace import ExpansionExplanation, Explanation, MatchExplanation

if TYPE_CHECKING:
    from mcpg.engine.bm25f import FieldedScorer
    from mcpg.engine.pipeline import Outcome
    from mcpg.engine.results import SearchResult
    from mcpg.engine.trace import Trace


def explain(
    result: SearchResult, outcome: Outcome | None, trace: Trace, scorer: FieldedScorer
) -> Explanation:
    """Put together what *result* was made of; browsing has nothing to explain but itself."""
    expansions = tuple(
        ExpansionExplanation(match.tool_id, match.score, match.via)
        for match in (*result.related_matches, *result.next_step_matches)
        if match.via
    )
    return Explanation(
        result=result,
        normalized_query=None,
        words=words_of(outcome.analysis) if outcome else (),
        language=outcome.analysis.language if outcome else None,
        stages=tuple(trace.stages),
        matches=_matches(result, outcome, scorer) if outcome else (),
        expansions=expansions,
    )


def _matches(
    result: SearchResult, outcome: Outcome, scorer: FieldedScorer
) -> tuple[MatchExplanation, ...]:
    return tuple(
        MatchExplanation(
            tool_id=match.tool_id,
            rank=rank,
            score=match.score,
            fused_score=ranked.fused,
            contributions=contributions(ranked),
            terms=term_matches(ranked, outcome.analysis, scorer),
            calibration=calibration.inputs,
        )
        for rank, (match, ranked, calibration) in enumerate(
            zip(result.matches, outcome.ranked, outcome.calibrations, strict=True), start=1
        )
    )
