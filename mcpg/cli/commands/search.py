"""`mcpg search`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.output import Output, OutputFormat

QueryWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUERY",
        show_default=False,
        help="What is wanted, in any words, quoted or not; - reads it from standard input. "
        "Without it, all tools are listed by name.",
    ),
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score",
        metavar="SCORE",
        min=0.0,
        max=1.0,
        help="Leave out matches below this score, in [0, 1]; exit 1 when none is left.",
    ),
]

Abstain = Annotated[
    bool,
    typer.Option(
        "--abstain",
        help="Offer nothing rather than something wrong: no match when the best one is doubtful "
        "(a score below 0.35); exit 1 then.",
    ),
]

EXAMPLES = """\
mcpg search shipment status
mcpg search "comit my stagd changes" -b real.mdld -n 3
mcpg search "refund the customer" --min-score 0.5 --format json | jq -r '.matches[].toolId'
echo "where is my parcel" | mcpg search -
mcpg search                        # browse"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "search", examples=EXAMPLES)(search)


def search(
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
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why, as `mcpg explain` does.")
    ] = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Find the tools that serve a request.

    Each match has a score: how sure the search is that the tool is wanted, in [0, 1]. Below the
    matches stand related tools and next steps, each with the edge of the graph that leads there.
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
    if explain:
        return querying.answer_explain(question, settings, querying.Showing(form), output)
    return querying.answer_search(question, settings, form, output)
