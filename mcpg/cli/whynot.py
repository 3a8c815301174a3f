"""`mcpg explain --tool` once its options are read: ask, compare, print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mcpg.cli.explainjson import explain_json
from mcpg.cli.judgedfile import judgements_of
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, ReportFormat
from mcpg.cli.querying import (
    Question,
    Showing,
    arguments_of,
    judged,
    report_explain,
)
from mcpg.cli.whynotview import standing_json, standing_markdown, standing_text
from mcpg.errors import UsageError
from mcpg.evaluation.effect import effect_of

if TYPE_CHECKING:
    from mcpg.cli.settings import Settings
    from mcpg.engine import Engine
    from mcpg.engine.standing import Standing
    from mcpg.evaluation.compare import Comparison
    from mcpg.evaluation.judged import Judgements


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about one tool.

    Attributes:
        tool: What the tool is called.
        judged: File of judged queries on which a change is tried; `-` is standard input.
    """

    tool: str | None
    judged: str | None = None


def answer(
    question: Question, asked: Asked, settings: Settings, shown: Showing, output: Output
) -> int:
    """Say why a tool is where it is, what would make it first, and what else that would do."""
    if asked.tool is None:
        raise UsageError(
            "there is no change to try on judged queries",
            place="--judged",
            remedy="name a tool with --tool",
        )
    arguments = arguments_of(question, settings)
    judgements = judgements_of(asked.judged) if asked.judged is not None else None
    engine = open_engine(settings, output)
    with output.progress("trying changes"):
        explanation = engine.explain(**arguments, tool=asked.tool)
        standing = cast("Standing", explanation.tool)
        effect = _effect(engine, standing, judgements, question)
    told = standing_json(standing, effect)
    data = explain_json(explanation, engine.diagnostics) | {"tool": told}
    if shown.html is not None:
        report_explain(shown.html, data, shown, output)
    if shown.form == ReportFormat.JSON:
        output.json(data)
        return judged(explanation.result, question)
    noticed = judgements.diagnostics if judgements else ()
    output.diagnostics((*engine.diagnostics, *explanation.result.diagnostics, *noticed))
    view = standing_markdown if shown.form == ReportFormat.MD else standing_text
    output.text(view(explanation.result.query, standing, effect, output))
    return judged(explanation.result, question)


def _effect(
    engine: Engine, standing: Standing, judgements: Judgements | None, question: Question
) -> Comparison | None:
    if judgements is None or standing.change is None:
        return None
    return effect_of(
        engine,
        standing.tool_id,
        standing.change.hints,
        judgements,
        include_disabled=question.include_disabled,
    )
