"""`mcpg tune`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.output import Output, OutputFormat

EXAMPLES = """\
mcpg tune queries.jsonl
mcpg tune queries.yaml -b graph.mdld --dry-run
mcpg tune queries.jsonl -b graph.mdld -o tuned.mdld --folds 10
mcpg bundle tools/ -o graph.mdld --untuned     # back to the shipped ranking"""

QueriesFile = Annotated[
    str,
    typer.Argument(
        metavar="QUERIES",
        help="File of judged queries, as for `mcpg eval`: at least 50 that have an answer; - reads "
        "standard input.",
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        "--folds", metavar="N", min=2, max=20, help="How many parts to hold out in turn, 2 to 20."
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, help="Draws the parts; the same seed gives the same result."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Write nothing; the exit code says whether it would.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default=False,
        help="The bundle to write, in place of the one that was read.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "tune", examples=EXAMPLES)(tune)


def tune(
    output: Output,
    *,
    queries: QueriesFile,
    bundle: options.BundlePaths = None,
    folds: Folds = 5,
    seed: Seed = 0,
    include_disabled: options.IncludeDisabled = False,
    dry_run: DryRun = False,
    target: Target = None,
    form: options.Format = OutputFormat.TEXT,
    force: options.Force = False,
) -> int:
    """Fit ranking and scores to judged queries of your own, and keep them in the bundle.

    What is fitted is the strategy graph: the weights of its ranking and the calibration of its
    scores, on all parts of the queries but one, measured on that one, for each part in turn. What
    is not better there than the shipped model, by more than chance, is not kept; when nothing is,
    nothing is written and the exit code is 1. What is kept travels inside the bundle: all commands
    and hosts use it, and `mcpg explain` names it.
    """
    from mcpg.cli import tuning  # noqa: PLC0415 - help needs no engine

    asked = tuning.Asked(
        queries=queries,
        folds=folds,
        seed=seed,
        include_disabled=include_disabled,
        is_dry=dry_run,
        target=target,
        force=force,
    )
    return tuning.run(asked, form, options.settings_of(bundle=bundle), output)
