"""`mcpg explain`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mcpg.cli import options, query
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import judgements_of, open_engine
from mcpg.cli.options import Prefer
from mcpg.cli.output import Output, ReportFormat
from mcpg.cli.query import Asked, Question, Showing, arguments_of, judged, report_explain
from mcpg.cli.views.compare import Compared, Side, compare_json, compare_markdown, compare_text
from mcpg.cli.views.explain import explain_json
from mcpg.cli.views.why_not import standing_json, standing_markdown, standing_text
from mcpg.engine.compare import compare
from mcpg.errors import NotFoundError, UsageError
from mcpg.evaluation.report import effect_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.cli.settings import Settings
    from mcpg.engine import Engine
    from mcpg.engine.trace import Standing
    from mcpg.evaluation.judged import Judgements
    from mcpg.evaluation.report import Comparison

ToolName = Annotated[
    str | None,
    typer.Option(
        "--tool",
        metavar="TOOL",
        show_default=False,
        help="Say why this tool is not first by the strategy graph, and which smallest change to "
        "its hints would make it so: its id, source::name, or a name that only it has.",
    ),
]
Route = Annotated[
    bool,
    typer.Option(
        "--route",
        help="Show how `mcpg route` would arrange the tools: the categories, what each score was "
        "adjusted for, and what is preferred and why.",
    ),
]
JudgedFile = Annotated[
    str | None,
    typer.Option(
        "--judged",
        metavar="FILE",
        show_default=False,
        help="With --tool: judged queries, as for `mcpg eval`, to say what the change would do to "
        "them; - reads standard input.",
    ),
]

EXAMPLES = """\
mcpg explain shipmnt status
mcpg explain shipmnt status --html report.html
mcpg explain "whats the time in tokio" -b real.mdld --format json | jq .words
mcpg explain refund the invoice --format md > why.md
mcpg explain shipment status --tool order_get
mcpg explain shipment status --tool order_get --judged queries.jsonl
mcpg explain refund the invoice --compare old.mdld new.mdld
mcpg explain refund the invoice --route --prefer write"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    query.command(app, "explain", examples=EXAMPLES)(explain)


def explain(
    output: Output,
    asked: Asked,
    *,
    tool: ToolName = None,
    judged: JudgedFile = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            metavar="THEN NOW",
            show_default=False,
            help="Ask two bundles, folders or manifests, and show what moved and what moved it.",
        ),
    ] = None,
    routes: Route = False,
    prefer: Prefer = None,
    html: options.Html = None,
    shows_times: Annotated[
        bool,
        typer.Option("--timings", help="Say how long each stage took; JSON always does."),
    ] = False,
    form: options.Report = ReportFormat.TEXT,
) -> int:
    """Search, and show how every part of the answer came about.

    What each word of the query became, what each match's score is the sum of, which words matched
    in which fields, how the sum became a probability, why the order is so, and what would help.
    """
    from mcpg.cli import query  # noqa: PLC0415 - help needs no engine

    question, settings = asked.question, asked.settings
    shown = query.Showing(form, html, shows_times=shows_times)
    if routes or prefer is not None:
        from mcpg.cli.commands import route  # noqa: PLC0415 - as above

        others = {"--tool": tool, "--judged": judged, "--compare": compare, "--html": html}
        route.refuse({**others, "--abstain": question.abstain, "--prefer": prefer and not routes})
        return route.answer_explain(question, settings, prefer, shown, output)
    if compare:
        refuse({"--tool": tool, "--judged": judged})
        return answer_compare(question, settings, compare, shown, output)
    if tool is not None or judged is not None:
        return answer(question, AskedWhyNot(tool, judged), settings, shown, output)
    return query.answer_explain(question, settings, shown, output)


# SECTION whynot: `mcpg explain --tool` once its options are read: ask, compare, print.


@dataclass(frozen=True, slots=True)
class AskedWhyNot:
    """What is asked about one tool.

    Attributes:
        tool: What the tool is called.
        judged: File of judged queries on which a change is tried; `-` is standard input.
    """

    tool: str | None
    judged: str | None = None


def answer(
    question: Question, asked: AskedWhyNot, settings: Settings, shown: Showing, output: Output
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


# SECTION comparing: `mcpg explain --compare`: one query asked of two catalogues.


def answer_compare(
    question: Question,
    settings: Settings,
    paths: tuple[str, str],
    shown: Showing,
    output: Output,
) -> int:
    """Ask both catalogues and print what moved.

    Raises:
        UsageError: Nothing is asked, or an option is given that makes no sense for two catalogues.
    """
    refuse(
        {
            "--bundle": settings.flags.get("bundle"),
            "--html": shown.html,
            "--min-score": question.min_score is not None,
            "--abstain": question.abstain,
            "--timings": shown.shows_times,
        }
    )
    arguments = arguments_of(question, settings)
    if not (arguments["query"] or arguments["context"]):
        raise UsageError(
            "without a query there are no ranks to compare",
            place="--compare",
            remedy="add a query, or use `mcpg bundle --diff` to compare catalogues",
        )
    then, now = (_opened(path, settings, output) for path in paths)
    compared = Compared(
        compare(then, now, **arguments),
        Side(paths[0], then.diagnostics),
        Side(paths[1], now.diagnostics),
    )
    if shown.form == ReportFormat.JSON:
        output.json(compare_json(compared))
    elif shown.form == ReportFormat.MD:
        output.text(compare_markdown(compared))
    else:
        output.text(compare_text(compared, output))
    return ExitCode.DONE


def _opened(path: str, settings: Settings, output: Output) -> Engine:
    """Load one of the two catalogues.

    Raises:
        McpgError: There is none at *path*, or it cannot be used.
    """
    try:
        return open_engine(replace(settings, flags={**settings.flags, "bundle": [path]}), output)
    except NotFoundError as fault:
        raise NotFoundError(fault.message, place="--compare", remedy=fault.remedy) from fault


def refuse(given: Mapping[str, object]) -> None:
    """Refuse what was *given*, by flag, of options that are about a single catalogue.

    Raises:
        UsageError: One was given.
    """
    for flag in filter(given.get, given):
        raise UsageError(
            "it says nothing about two catalogues",
            place=flag,
            remedy="leave it out: --compare names both and always exits with 0",
        )
