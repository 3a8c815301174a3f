"""`mcpg explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options, questioning
from mcpg.cli.output import Output, ReportFormat
from mcpg.cli.questioning import Asked
from mcpg.cli.routeoptions import Prefer

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
    questioning.command(app, "explain", examples=EXAMPLES)(explain)


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
    from mcpg.cli import querying  # noqa: PLC0415 - help needs no engine

    question, settings = asked.question, asked.settings
    shown = querying.Showing(form, html, shows_times=shows_times)
    if routes or prefer is not None:
        from mcpg.cli import routing  # noqa: PLC0415 - as above

        others = {"--tool": tool, "--judged": judged, "--compare": compare, "--html": html}
        routing.refuse({**others, "--abstain": question.abstain, "--prefer": prefer and not routes})
        return routing.answer_explain(question, settings, prefer, shown, output)
    if compare:
        from mcpg.cli.comparing import answer_compare, refuse  # noqa: PLC0415 - as above

        refuse({"--tool": tool, "--judged": judged})
        return answer_compare(question, settings, compare, shown, output)
    if tool is not None or judged is not None:
        from mcpg.cli import whynot  # noqa: PLC0415 - as above

        return whynot.answer(question, whynot.Asked(tool, judged), settings, shown, output)
    return querying.answer_explain(question, settings, shown, output)
