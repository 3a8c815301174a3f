"""`mcpg route`, and `mcpg explain --route`, once their options are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.cli.exits import ExitCode
from mcpg.cli.explainjson import explain_json
from mcpg.cli.explainmd import explain_markdown
from mcpg.cli.explainview import explain_text
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, OutputFormat, ReportFormat
from mcpg.cli.querying import Question, Showing, arguments_of, judged
from mcpg.cli.routeview import route_text, routing_markdown, routing_text
from mcpg.errors import UsageError
from mcpg.gateway.routejson import route_json, routing_json
from mcpg.gateway.routing import DEFAULT_CATEGORIES, DEFAULT_TOOLS, RouteResult, route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.cli.settings import Settings
    from mcpg.engine import Engine

_SAID = {"read-only": True, "write": False}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a routing is asked for.

    Attributes:
        categories: Most categories to give.
        tools: Most tools to give of each.
        prefer: Which kind of tool to prefer, `none` for neither; `None` when nobody says.
    """

    categories: int = DEFAULT_CATEGORIES
    tools: int = DEFAULT_TOOLS
    prefer: str | None = None


def answer_route(
    question: Question, settings: Settings, shown: Shown, form: OutputFormat, output: Output
) -> int:
    """Route and print the categories."""
    arguments = arguments_of(question, settings)
    engine = open_engine(settings, output)
    result = _routed(engine, arguments, shown)
    if form is OutputFormat.JSON:
        output.json(route_json(result, engine.diagnostics))
    else:
        output.diagnostics((*engine.diagnostics, *result.diagnostics))
        output.text(route_text(result, output))
        if not result.categories:
            output.note("no tool matches")
    if question.is_gated and not result.suggested:
        return ExitCode.FINDINGS
    return ExitCode.DONE


def answer_explain(
    question: Question, settings: Settings, prefer: str | None, shown: Showing, output: Output
) -> int:
    """Search, route, and print everything that led to both."""
    arguments = arguments_of(question, settings)
    engine = open_engine(settings, output)
    explanation = engine.explain(**arguments)
    result = _routed(engine, arguments, Shown(prefer=prefer))
    if shown.form == OutputFormat.JSON:
        members = explain_json(explanation, engine.diagnostics)
        output.json({**members, "routing": routing_json(result)})
        return judged(explanation.result, question)
    output.diagnostics(engine.diagnostics)
    times = shown.shows_times
    if shown.form == ReportFormat.MD:
        parts = explain_markdown(explanation, shows_times=times), routing_markdown(result)
    else:
        parts = explain_text(explanation, output, shows_times=times), routing_text(result, output)
    output.text("\n\n".join(parts))
    return judged(explanation.result, question)


def refuse(given: Mapping[str, object]) -> None:
    """Refuse what was *given*, by flag, of options that have nothing to do with routing.

    Raises:
        UsageError: One was given.
    """
    for flag in filter(given.get, given):
        remedy = f"leave {flag} out, or --route"
        raise UsageError("it says nothing about routing", place=flag, remedy=remedy)


def _routed(engine: Engine, arguments: Mapping[str, Any], shown: Shown) -> RouteResult:
    asked = {name: one for name, one in arguments.items() if name not in {"limit", "abstain"}}
    return route(
        engine,
        categories=shown.categories,
        tools=shown.tools,
        prefer_read_only=_SAID.get(shown.prefer or ""),
        derives_preference=shown.prefer is None,
        **asked,
    )
