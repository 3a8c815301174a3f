"""`mcpg explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.commands.search import Abstain, MinScore, QueryWords
from mcpg.cli.output import Output, ReportFormat

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
mcpg explain refund the invoice --compare old.mdld new.mdld"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "explain", examples=EXAMPLES)(explain)


def explain(
    output: Output,
    *,
    query: QueryWords = None,
    bundle: options.BundlePaths = None,
    limit: options.Limit = None,
    strategy: options.StrategyName = None,
    fusion: options.Fusion = None,
    embed_with: options.EmbedWith = None,
    candidates: options.CandidateSource = None,
    normalize: options.Normalize = None,
    context: options.Context = None,
    context_summary: options.ContextSummary = None,
    include_disabled: options.IncludeDisabled = False,
    min_score: MinScore = None,
    abstain: Abstain = False,
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

    question = querying.Question(
        tuple(query or ()),
        querying.context_of(context, context_summary),
        include_disabled,
        min_score,
        abstain,
    )
    settings = options.settings_of(
        bundle=bundle,
        limit=limit,
        strategy=strategy,
        fusion=fusion,
        embed_with=embed_with,
        candidates=candidates,
        normalize=normalize,
    )
    shown = querying.Showing(form, html, shows_times=shows_times)
    if compare:
        from mcpg.cli.comparing import answer_compare, refuse  # noqa: PLC0415 - as above

        refuse({"--tool": tool, "--judged": judged})
        return answer_compare(question, settings, compare, shown, output)
    if tool is not None or judged is not None:
        from mcpg.cli import whynot  # noqa: PLC0415 - as above

        return whynot.answer(question, whynot.Asked(tool, judged), settings, shown, output)
    return querying.answer_explain(question, settings, shown, output)
