"""Explanations and comparisons as JSON objects, beside those of `mcpg.gateway.json`.

The command line and the page of `mcpg explore` share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.gateway.json import answer_json, diagnostics_json, match_json, score_json, via_json
from mcpg.values import TIME_DECIMALS, to_json

if TYPE_CHECKING:
    from mcpg.engine import Explanation
    from mcpg.engine.compare import RankingComparison, ToolChange
    from mcpg.engine.trace import (
        HintSuggestion,
        MatchExplanation,
        ModelExplanation,
        QueryWord,
        RankExplanation,
    )
    from mcpg.errors import Diagnostic
    from mcpg.json_types import JsonObject


def explain_json(explanation: Explanation, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Return the object that `explain` prints: that of `search` and everything that led to it.

    Only the stages' `durationMs` differ from run to run.
    """
    reasons = {match.tool_id: reasons_json(match) for match in explanation.matches}
    return {
        "schema": "mcpg/explain/1",
        **answer_json(explanation.result, loading),
        "matches": [
            match_json(match) | reasons.get(match.tool_id, {})
            for match in explanation.result.matches
        ],
        "language": explanation.language,
        "words": [word_json(word) for word in explanation.words],
        "expansions": [
            {
                "toolId": one.tool_id,
                **via_json(one.via),
                "fromScore": one.from_score,
                "score": one.score,
            }
            for one in explanation.expansions
        ],
        "stages": [
            to_json(stage) | {"durationMs": round(stage.duration_ms, TIME_DECIMALS)}
            for stage in explanation.stages
        ],
        "model": model_json(explanation.model) if explanation.model else None,
        "advice": list(explanation.advice),
    }


def reasons_json(match: MatchExplanation) -> JsonObject:
    """Return the summands at full precision, because they add up to the fused score exactly."""
    without = ("tool_id", "score") if match.found_by else ("tool_id", "score", "found_by")
    calibration: JsonObject = {"intercept": match.calibration.intercept}
    calibration |= to_json(match.calibration, {"name": "input"})
    return to_json(match, without=without) | {"calibration": calibration}


def word_json(word: QueryWord) -> JsonObject:
    """Return what became of a word of the query."""
    repairs = [to_json(repair, without=["term"]) for repair in word.repairs]
    related = [{"word": one.word, "similarity": one.similarity} for one in word.related]
    shown = {"weight": score_json(word.weight), "repairs": repairs, "related": related}
    return to_json(word) | shown


def model_json(model: ModelExplanation) -> JsonObject:
    """Return the fitted numbers and where they come from."""
    calibration = to_json(model, without=("name", "provenance", "weights"))
    return to_json(model, without=("intercept", "coefficients")) | {"calibration": calibration}


def rank_explanation_json(standing: RankExplanation) -> JsonObject:
    """Return the member `tool` of what `explain --tool` prints; gaps at full precision, as sums."""
    members: JsonObject = to_json(standing) | {
        "score": score_json(standing.score),
        "above": [
            to_json(rival)
            | {
                "score": score_json(rival.score),
                "features": [
                    to_json(gap) | {"difference": gap.difference} for gap in rival.features
                ],
            }
            for rival in standing.above
        ],
        "change": None,
    }
    if standing.change:
        members["change"] = {
            "hints": hints_to_add(standing.change),
            "rankAfter": standing.change.rank_after,
            "scoreAfter": score_json(standing.change.score_after),
            "verified": standing.change.is_verified,
        }
    return members


def hints_to_add(change: HintSuggestion) -> JsonObject:
    """Return what belongs below the tool's id in a hints file."""
    hints = change.hints
    members: JsonObject = {"keywords": list(hints.keywords), "aliases": list(hints.aliases)}
    return members | ({"enabledByDefault": True} if hints.enabled_by_default else {})


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two catalogues.

    Attributes:
        name: The path as it was given.
        loading: Diagnostics of loading it.
    """

    name: str
    loading: tuple[Diagnostic, ...] = ()


def compare_json(comparison: RankingComparison, before: Side, after: Side) -> JsonObject:
    """Return the object that `explain --compare` prints, its numbers at full precision."""
    now = _side(after, comparison.now, comparison.size_now)
    return {
        "schema": "mcpg/explain-compare/1",
        "query": comparison.now.result.query,
        "strategy": comparison.now.result.strategy,
        "then": _side(before, comparison.then, comparison.size_then),
        "now": now,
        "tools": [_tool(change) for change in comparison.tools],
        "words": [
            {
                "text": change.text,
                "then": word_json(change.then) if change.then else None,
                "now": word_json(change.now) if change.now else None,
            }
            for change in comparison.words
        ],
        "onlyThen": list(comparison.only_then),
        "onlyNow": list(comparison.only_now),
        "diagnostics": now["diagnostics"],
    }


def _side(side: Side, explanation: Explanation, size: int) -> JsonObject:
    return {
        "bundle": side.name,
        "tools": size,
        "rankingMode": explanation.result.ranking_mode,
        "language": explanation.language,
        "model": model_json(explanation.model) if explanation.model else None,
        "diagnostics": diagnostics_json((*side.loading, *explanation.result.diagnostics)),
    }


def _tool(change: ToolChange) -> JsonObject:
    return {
        "toolId": change.tool_id,
        "then": _place(change.then, change.status_then),
        "now": _place(change.now, change.status_now),
        "fusedDelta": change.fused_delta,
        "features": [to_json(one) for one in change.features],
        "terms": [to_json(one) for one in change.terms],
    }


def _place(match: MatchExplanation | None, standing: str) -> JsonObject:
    return {
        "standing": standing,
        "rank": match.rank if match else None,
        "score": score_json(match.score) if match else None,
        "fusedScore": match.fused_score if match else None,
    }
