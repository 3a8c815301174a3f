"""An explanation as JSON, and as text and Markdown made of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcpg.cli.output import Output
from mcpg.cli.text import text
from mcpg.errors import Diagnostic
from mcpg.gateway.json import answer_json, match_json, score_json
from mcpg.reports.explain import explain_blocks
from mcpg.values import TIME_DECIMALS, to_json

if TYPE_CHECKING:
    from mcpg.engine import Explanation
    from mcpg.engine.trace import (
        HintSuggestion,
        MatchExplanation,
        ModelExplanation,
        QueryWord,
        RankExplanation,
    )
    from mcpg.evaluation.report import Comparison
    from mcpg.json_types import JsonObject


def explain_text(explanation: Explanation, output: Output, *, shows_times: bool = False) -> str:
    """Return an explanation as text; times differ from run to run, so they are optional."""
    return text(explain_blocks(explain_json(explanation), shows_times=shows_times), output)


def explain_markdown(explanation: Explanation, *, shows_times: bool = False) -> str:
    """Return an explanation as Markdown."""
    from mcpg.cli.markdown import markdown  # noqa: PLC0415 - text and JSON need none of it

    blocks = explain_blocks(explain_json(explanation), shows_times=shows_times)
    return markdown(blocks, "### mcpg explain", explanation.result.query)


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
                **to_json(one.via, {"source": "from"}),
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
    return to_json(word) | {"weight": score_json(word.weight), "repairs": repairs}


def model_json(model: ModelExplanation) -> JsonObject:
    """Return the fitted numbers and where they come from."""
    calibration = to_json(model, without=("name", "provenance", "weights"))
    return to_json(model, without=("intercept", "coefficients")) | {"calibration": calibration}


# One tool


def rank_explanation_json(
    standing: RankExplanation, effect: Comparison | None = None
) -> JsonObject:
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
        "change": _change_json(standing.change) if standing.change else None,
    }
    return members if effect is None else members | {"effect": effect.json()}


def _change_json(change: HintSuggestion) -> JsonObject:
    return {
        "hints": hints_to_add(change),
        "rankAfter": change.rank_after,
        "scoreAfter": score_json(change.score_after),
        "verified": change.is_verified,
    }


def hints_to_add(change: HintSuggestion) -> JsonObject:
    """Return what belongs below the tool's id in a hints file."""
    hints = change.hints
    members: JsonObject = {"keywords": list(hints.keywords), "aliases": list(hints.aliases)}
    return members | ({"enabledByDefault": True} if hints.enabled_by_default else {})


def rank_explanation_text(query: str, tool: Mapping[str, Any], output: Output) -> str:
    """Return as text why *tool*, as `rank_explanation_json` has it, has its rank."""
    from mcpg.reports.why_not import rank_explanation_blocks  # noqa: PLC0415 - of one tool alone

    return text(rank_explanation_blocks(query, tool, _snippet(tool)), output)


def rank_explanation_markdown(query: str, tool: Mapping[str, Any]) -> str:
    """Return as Markdown what `rank_explanation_text` does."""
    from mcpg.cli.markdown import markdown  # noqa: PLC0415 - as above
    from mcpg.reports.why_not import rank_explanation_blocks  # noqa: PLC0415

    return markdown(rank_explanation_blocks(query, tool, _snippet(tool)), "### Why", tool["toolId"])


def _snippet(tool: Mapping[str, Any]) -> str:
    """Return the hints file that makes the change, or what to add to the tool's entry of one."""
    from mcpg.documents.front_matter import flow, quoted  # noqa: PLC0415 - of one tool alone

    if tool["change"] is None:
        return ""
    members = tool["change"]["hints"].items()
    lines = [f"    {key}: {flow(value)}" for key, value in members if value]
    head = ["# add to a hints file:", "tools:", f"  {quoted(tool['toolId'])}:"]
    return "\n".join([*head, *lines])
