"""`mcpg graph stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_engine
from mcpg.cli.output import Output, OutputFormat

EXAMPLES = """\
mcpg graph stats
mcpg graph stats --top 25
mcpg graph stats --format json | jq -r '.orphans[]'"""

Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="The most hubs and groups to name.")
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "stats", examples=EXAMPLES)(stats)


def stats(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    top: Top = 10,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Count what the graph of the tools is made of.

    Kinds of edges, degrees, parts that nothing joins, tools without an edge, hubs, and the groups
    whose tools are linked most closely.
    """
    from mcpg.cli.statsview import stats_json, stats_text  # noqa: PLC0415 - help needs no graph
    from mcpg.graph.stats import statistics_of  # noqa: PLC0415

    engine = open_engine(options.settings_of(bundle=bundle), output)
    found = statistics_of(engine.documents, engine.pages, top=top)
    if form is OutputFormat.JSON:
        output.json(stats_json(found, engine.diagnostics))
    else:
        output.diagnostics(engine.diagnostics)
        output.text(stats_text(found))
    return ExitCode.DONE
