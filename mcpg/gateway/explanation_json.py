"""Comparisons of two catalogues as JSON objects."""

from __future__ import annotations

from dataclasses import dataclass

from mcpg.engine import Explanation
from mcpg.engine.compare import RankingComparison, ToolChange
from mcpg.engine.trace import MatchExplanation
from mcpg.errors import Diagnostic
from mcpg.gateway.json import diagnostics_json
from mcpg.json_types import JsonObject
from mcpg.values import round_shown_score, to_json


@dataclass(frozen=True, slots=True)
class ComparedCatalogue:
    """One of the two catalogues.

    Attributes:
        name: The path as it was given.
        loading: Diagnostics of loading it.
    """

    name: str
    loading: tuple[Diagnostic, ...] = ()


def compare_json(
    comparison: RankingComparison, before: ComparedCatalogue, after: ComparedCatalogue
) -> JsonObject:
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
                "then": change.then.to_dict() if change.then else None,
                "now": change.now.to_dict() if change.now else None,
            }
            for change in comparison.words
        ],
        "onlyThen": list(comparison.only_then),
        "onlyNow": list(comparison.only_now),
        "diagnostics": now["diagnostics"],
    }


def _side(side: ComparedCatalogue, explanation: Explanation, size: int) -> JsonObject:
    return {
        "bundle": side.name,
        "tools": size,
        "rankingMode": explanation.result.ranking_mode,
        "language": explanation.language,
        "model": explanation.model.to_dict() if explanation.model else None,
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
        "score": round_shown_score(match.score) if match else None,
        "fusedScore": match.fused_score if match else None,
    }
