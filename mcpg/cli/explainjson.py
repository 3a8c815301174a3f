"""An explanation as the JSON object that `explain` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.answerjson import answer_json, match_json, score_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine import Explanation
    from mcpg.engine.analysis import Repair
    from mcpg.engine.trace import (
        CalibrationExplanation,
        MatchExplanation,
        ModelExplanation,
        QueryWord,
        Stage,
        TermMatch,
    )
    from mcpg.jsontypes import JsonObject, JsonValue

TIME_DECIMALS = 3


def explain_json(explanation: Explanation, loading: Iterable[Diagnostic] = ()) -> JsonObject:
    """Give the object that `explain` prints: that of `search` and everything that led to it.

    Only the stages' `durationMs` differ from run to run.
    """
    members = answer_json(explanation.result, loading)
    reasons = {match.tool_id: reasons_json(match) for match in explanation.matches}
    members["matches"] = [
        match_json(match) | reasons.get(match.tool_id, {}) for match in explanation.result.matches
    ]
    return {
        "schema": "mcpg/explain/1",
        **members,
        "language": explanation.language,
        "words": [word_json(word) for word in explanation.words],
        "expansions": _expansions(explanation),
        "stages": [_stage(stage) for stage in explanation.stages],
        "model": model_json(explanation.model) if explanation.model else None,
        "advice": list(explanation.advice),
    }


def reasons_json(match: MatchExplanation) -> JsonObject:
    """Give the summands at full precision, because they add up to the fused score exactly."""
    return {
        "rank": match.rank,
        "fusedScore": match.fused_score,
        "contributions": [
            {
                "stage": part.stage,
                "feature": part.feature,
                "value": part.value,
                "weight": part.weight,
                "contribution": part.contribution,
            }
            for part in match.contributions
        ],
        "terms": [_term(term) for term in match.terms],
        "calibration": _calibration(match.calibration),
        **_found_by(match),
    }


def word_json(word: QueryWord) -> JsonObject:
    """Give what became of a word of the query."""
    return {
        "text": word.text,
        "stem": word.stem,
        "role": word.role,
        "origin": word.origin,
        "weight": score_json(word.weight),
        "documentFrequency": word.document_frequency,
        "repairs": [_repair(repair) for repair in word.repairs],
    }


def model_json(model: ModelExplanation) -> JsonObject:
    """Give the fitted numbers and where they come from."""
    return {
        "name": model.name,
        "provenance": model.provenance,
        "weights": dict(model.weights),
        "calibration": {"intercept": model.intercept, "coefficients": dict(model.coefficients)},
    }


def _found_by(match: MatchExplanation) -> JsonObject:
    """Give where two searches put the match, where a query was rewritten."""
    if not match.found_by:
        return {}
    rows: list[JsonValue] = [
        {"text": one.text, "rank": one.rank, "score": one.score, "weight": one.weight}
        for one in match.found_by
    ]
    return {"foundBy": rows}


def _repair(repair: Repair) -> JsonObject:
    return {
        "word": repair.word,
        "kind": repair.kind,
        "distance": repair.distance,
        "similarity": repair.similarity,
    }


def _term(term: TermMatch) -> JsonObject:
    return {
        "query": term.query,
        "matched": term.matched,
        "kind": term.kind,
        "similarity": term.similarity,
        "field": term.field,
        "contribution": term.contribution,
    }


def _calibration(calibration: CalibrationExplanation) -> JsonObject:
    return {
        "intercept": calibration.intercept,
        "inputs": [
            {
                "input": one.name,
                "value": one.value,
                "coefficient": one.coefficient,
                "contribution": one.contribution,
            }
            for one in calibration.inputs
        ],
        "logit": calibration.logit,
        "probability": calibration.probability,
        "cappedBy": calibration.capped_by,
    }


def _expansions(explanation: Explanation) -> list[JsonValue]:
    return [
        {
            "toolId": one.tool_id,
            "edge": one.via.edge,
            "from": one.via.source,
            "reason": one.via.reason,
            "weight": one.via.weight,
            "fromScore": one.from_score,
            "score": one.score,
        }
        for one in explanation.expansions
    ]


def _stage(stage: Stage) -> JsonObject:
    return {
        "name": stage.name,
        "durationMs": round(stage.duration_ms, TIME_DECIMALS),
        "details": stage.details,
    }
