"""`mcpg search`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options, query
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.query import Asked

EXAMPLES = """\
mcpg search shipment status
mcpg search "comit my stagd changes" -b real.mdld -n 3
mcpg search "refund the customer" --min-score 0.5 --format json | jq -r '.matches[].toolId'
echo "where is my parcel" | mcpg search -
mcpg search                        # browse"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    query.command(app, "search", examples=EXAMPLES)(search)


def search(
    output: Output,
    asked: Asked,
    *,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why, as `mcpg explain` does.")
    ] = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Find the tools that serve a request.

    Each match has a score: how sure the search is that the tool is wanted, in [0, 1]. Below the
    matches stand related tools and next steps, each with the edge of the graph that leads there.
    """
    from mcpg.cli import query  # noqa: PLC0415 - help needs no engine

    if explain:
        shown = query.Showing(form)
        return query.answer_explain(asked.question, asked.settings, shown, output)
    return query.answer_search(asked.question, asked.settings, form, output)
