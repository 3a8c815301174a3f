"""`mcpg eval`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.output import Output, ReportFormat

EXAMPLES = """\
mcpg eval queries.jsonl
mcpg eval queries.yaml -b real.mdld --worst 20
mcpg eval queries.jsonl --format json -o report.json
mcpg eval queries.jsonl --baseline report.json --max-drop 0.02     # in CI
mcpg eval queries.jsonl --min ndcg@5=0.8 --max ece=0.1
mcpg eval queries.jsonl --strategy auto --fusion learned
mcpg eval queries.jsonl --html report.html
mcpg eval queries.jsonl --format md >> "$GITHUB_STEP_SUMMARY\""""

QueriesFile = Annotated[
    str,
    typer.Argument(
        metavar="QUERIES",
        help="File of judged queries: JSON lines of query and relevant tools, or YAML; - reads "
        "standard input.",
    ),
]
Depth = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        metavar="N",
        min=1,
        max=50,
        help="The most matches to look at for a query, from 10 to 50; fewer count as 10, which the "
        "figures need.",
    ),
]
Form = Annotated[
    ReportFormat,
    typer.Option("--format", metavar="text|json|md", help="What to write."),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Report of an earlier run (--format json) to compare with, query by query.",
    ),
]
Minimums = Annotated[
    list[str] | None,
    typer.Option(
        "--min",
        metavar="FIGURE=VALUE",
        show_default=False,
        help="Exit 1 when a figure is below a value: ndcg@5=0.8. May be given again.",
    ),
]
Maximums = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="FIGURE=VALUE",
        show_default=False,
        help="Exit 1 when a figure is above a value: ece=0.1. May be given again.",
    ),
]
Drops = Annotated[
    list[str] | None,
    typer.Option(
        "--max-drop",
        metavar="[FIGURE=]VALUE",
        show_default=False,
        help="Exit 1 when a figure, or without its name any figure of the ranking, has fallen by "
        "more since --baseline. May be given again.",
    ),
]
Target = Annotated[
    str,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output."),
]
Worst = Annotated[
    int,
    typer.Option(
        "--worst", metavar="N", min=0, help="Queries to show of those that are answered worst."
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show every query, in the order of the file.")
]
Timings = Annotated[
    bool,
    typer.Option("--timings", help="Tell how long searches took, which is never the same twice."),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit 1 when there is a warning about the queries.")
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "eval", examples=EXAMPLES)(evaluate)


def evaluate(
    output: Output,
    *,
    queries: QueriesFile,
    bundle: options.BundlePaths = None,
    strategy: options.StrategyName = None,
    fusion: options.Fusion = None,
    embed_with: options.EmbedWith = None,
    candidates: options.CandidateSource = None,
    normalize: options.Normalize = None,
    limit: Depth = 10,
    include_disabled: options.IncludeDisabled = False,
    form: Form = ReportFormat.TEXT,
    target: Target = "-",
    baseline: Baseline = None,
    minimum: Minimums = None,
    maximum: Maximums = None,
    drop: Drops = None,
    worst: Worst = 5,
    every: Everything = False,
    timings: Timings = False,
    strict: Strict = False,
    html: options.Html = None,
    force: options.Force = False,
) -> int:
    """Measure how well a bundle answers judged queries, and hold it to a bar.

    How high the right tools are ranked (nDCG, recall, hits, reciprocal rank), whether scores are
    the probabilities that they claim to be, and whether queries without an answer are recognised.

    Figures that a gate may name: ndcg@5, ndcg@10, recall@1, recall@5, mrr, hit@1, hit@5, auroc and
    abstention, of which more is better; ece, brier, and the milliseconds p50 and p95.
    """
    from mcpg.cli import evaluating  # noqa: PLC0415 - help needs no engine

    asked = evaluating.Asked(
        queries=queries,
        limit=limit,
        include_disabled=include_disabled,
        baseline=baseline,
        bounds=evaluating.bounds_of(minimum, maximum, drop, baseline),
        strict=strict,
    )
    shown = evaluating.Shown(form, target, None if every else worst, timings, force, html)
    settings = options.settings_of(
        bundle=bundle,
        strategy=strategy,
        fusion=fusion,
        embed_with=embed_with,
        candidates=candidates,
        normalize=normalize,
    )
    return evaluating.run(asked, shown, settings, output)
