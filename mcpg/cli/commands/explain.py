"""`mcpg explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_engine
from mcpg.cli.output import Output
from mcpg.cli.query import (
    Question,
    DisplayOptions,
    answer_explain,
    make_search_arguments,
    exit_code,
    report_explain,
    write_blocks,
)
from mcpg.cli.settings import Settings
from mcpg.engine import Engine
from mcpg.engine.trace import RankExplanation
from mcpg.errors import NotFoundError, UsageError
from mcpg.evaluation.judged import Judgements
from mcpg.evaluation.report import RunComparison
from mcpg.gateway.json import result_json
from mcpg.json_types import JsonObject
from mcpg.values import to_json

if TYPE_CHECKING:
    import typer


EXAMPLES = """\
mcpg explain shipmnt status
mcpg explain shipmnt status --html report.html
mcpg explain "whats the time in tokio" -b real.mdld --format json | jq .words
mcpg explain refund the invoice --format markdown > why.md
mcpg explain shipment status --tool order_get
mcpg explain shipment status --tool order_get --judged queries.jsonl
mcpg explain refund the invoice --compare old.mdld new.mdld
mcpg explain refund the invoice --route --prefer write"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without
    from mcpg.cli.parameters import EXPLAIN  # noqa: PLC0415 - as above

    options.command(
        app, "explain", examples=EXAMPLES, more="docs/how-to/explain.md", table=EXPLAIN
    )(run)


def run(
    output: Output,
    *,
    tool: str | None,
    judged: str | None,
    compare: tuple[str, str] | None,
    routes: bool,
    prefer: str | None,
    html: str | None,
    shows_times: bool,
    form: str,
    **asked: Any,
) -> int:
    """Search, and explain the ranking.

    Shows what each word became, which fields it matched, how the score of each match adds up, and
    what would help.
    """
    question, shown = Question.of(asked), DisplayOptions(form, html, shows_times=shows_times)
    if routes or compare or tool is not None:
        shown.check_report()
    if routes or prefer is not None:
        from mcpg.cli.commands import route  # noqa: PLC0415 - few explanations need it

        others = {"--tool": tool, "--judged": judged, "--compare": compare, "--html": html}
        route.refuse({**others, "--abstain": question.abstain, "--prefer": prefer and not routes})
        return route.answer_explain(question, prefer, shown, output)
    if compare:
        refuse({"--tool": tool, "--judged": judged})
        return answer_compare(question, compare, shown, output)
    if tool is None and judged is None:
        return answer_explain(question, shown, output)
    if tool is None:
        raise UsageError(
            "there is no change to try on judged queries",
            place="--judged",
            remedy="name a tool with --tool",
        )
    return answer_tool(question, tool, judged, shown, output)


def answer_tool(
    question: Question, tool: str, judged: str | None, shown: DisplayOptions, output: Output
) -> int:
    """Explain the rank of *tool*, what would make it first, and what else that would change.

    Args:
        question: The query.
        tool: Id, `source::name` or name of the tool.
        judged: File of judged queries on which the change is tried; `-` is standard input.
        shown: How the explanation is shown.
        output: Where it goes.
    """
    arguments = make_search_arguments(question)
    judgements = None
    if judged is not None:
        from mcpg.cli.open_bundle import load_judgements  # noqa: PLC0415 - as above

        judgements = load_judgements(judged)
    engine = open_engine(question.settings, output)
    with output.progress("trying changes"):
        explanation = engine.explain(**arguments, tool=tool)
        standing: Any = explanation.tool
        effect = _effect(engine, standing, judgements, question)
        missed = _find_missed(engine, standing, judgements, question)
    rank = standing.to_dict() | ({"effect": effect.json()} if effect else {}) | missed
    data = result_json(explanation, engine.diagnostics) | {"tool": rank}
    if shown.html is not None:
        report_explain(shown.html, data, shown, output)
    if shown.form == "json":
        output.json(data)
        return exit_code(explanation.result)
    from mcpg.reports import why_not  # noqa: PLC0415 - of one tool alone

    about_queries = judgements.diagnostics if judgements else ()
    output.note_opening(engine.diagnostics)
    output.diagnostics((*explanation.result.diagnostics, *about_queries))
    is_whole = shown.is_whole(output)
    view = why_not.rank_explanation_blocks if is_whole else why_not.rank_summary_blocks
    blocks = view(explanation.result.query, rank, _snippet(rank))
    write_blocks(blocks, shown.form, output, "### Why", standing.tool_id)
    return exit_code(explanation.result)


def _effect(
    engine: Engine, standing: RankExplanation, judgements: Judgements | None, question: Question
) -> RunComparison | None:
    if judgements is None or standing.change is None:
        return None
    from mcpg.evaluation.report import compare_hints  # noqa: PLC0415 - as above

    return compare_hints(
        engine,
        standing.tool_id,
        standing.change.hints,
        judgements,
        include_disabled=question.include_disabled,
    )


def _find_missed(
    engine: Engine, standing: RankExplanation, judgements: Judgements | None, question: Question
) -> JsonObject:
    """Return the judged queries that aliases of the tool improve."""
    if judgements is None:
        return {}
    from mcpg.evaluation.missed import missed_queries  # noqa: PLC0415 - as above

    found = missed_queries(
        engine, standing.tool_id, judgements, include_disabled=question.include_disabled
    )
    return {"missed": [to_json(one) for one in found]}


def _snippet(tool: Mapping[str, Any]) -> str:
    """Return the hints file that makes the change, or what to add to the tool's entry of one."""
    from mcpg.documents.front_matter import flow, quote_scalar  # noqa: PLC0415 - of one tool alone

    if tool["change"] is None:
        return ""
    members = tool["change"]["hints"].items()
    lines = [f"    {key}: {flow(value)}" for key, value in members if value]
    head = ["# add to a hints file:", "tools:", f"  {quote_scalar(tool['toolId'])}:"]
    return "\n".join([*head, *lines])


def answer_compare(
    question: Question, paths: tuple[str, str], shown: DisplayOptions, output: Output
) -> int:
    """Ask both catalogues and print what moved.

    Raises:
        UsageError: Nothing is asked, or an option is given that makes no sense for two catalogues.
    """
    from mcpg.cli.comparison import compare_blocks  # noqa: PLC0415 - as above
    from mcpg.engine.compare import compare  # noqa: PLC0415
    from mcpg.gateway.explanation_json import ComparedCatalogue, compare_json  # noqa: PLC0415

    refuse(
        {
            "--bundle": question.settings.flags.get("bundle"),
            "--html": shown.html,
            "--min-score": question.min_score is not None,
            "--abstain": question.abstain,
            "--timings": shown.shows_times,
        }
    )
    arguments = make_search_arguments(question)
    if not (arguments["query"] or arguments["context"]):
        raise UsageError(
            "without a query there are no ranks to compare",
            place="--compare",
            remedy="add a query, or use `mcpg bundle --diff` to compare catalogues",
        )
    then, now = (_load_catalogue(path, question.settings, output) for path in paths)
    data = compare_json(
        compare(then, now, **arguments),
        ComparedCatalogue(paths[0], then.diagnostics),
        ComparedCatalogue(paths[1], now.diagnostics),
    )
    if shown.form == "json":
        output.json(data)
    else:
        title = "### mcpg explain --compare"
        blocks = compare_blocks(data, is_whole=shown.is_whole(output))
        write_blocks(blocks, shown.form, output, title, str(data["query"]))
    return ExitCode.DONE


def _load_catalogue(path: str, settings: Settings, output: Output) -> Engine:
    """Load one of the two catalogues.

    Raises:
        McpgError: There is none at *path*, or it cannot be used.
    """
    try:
        flags = {**settings.flags, "bundle": [path]}
        return open_engine(Settings(settings.folder, settings.environment, flags), output)
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
