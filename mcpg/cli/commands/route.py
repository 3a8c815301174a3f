"""`mcpg route`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options, questioning
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.questioning import Asked
from mcpg.cli.routeoptions import Prefer

Categories = Annotated[
    int,
    typer.Option("--categories", metavar="N", min=1, help="The most categories to give, up to 20."),
]
Tools = Annotated[
    int,
    typer.Option("--tools", metavar="N", min=1, help="The most tools to give of each category."),
]

EXAMPLES = """\
mcpg route refund the customer
mcpg route "what happened to order 4711" --prefer read-only
mcpg route clean up old branches --categories 3 --tools 5 -b real.mdld
mcpg route refund the customer --format json | jq -r '.categories[].name'"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    without = ("limit", "abstain")
    questioning.command(app, "route", examples=EXAMPLES, without=without)(route)


def route(
    output: Output,
    asked: Asked,
    *,
    categories: Categories = 5,
    tools: Tools = 3,
    prefer: Prefer = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Find the categories of tools that serve a request, and the best tools of each.

    A tool's score is that of a search, raised or lowered a little for what its hints say: whether
    it reads or writes, what it costs, how long it takes. `mcpg explain --route` shows how.
    """
    from mcpg.cli import routing  # noqa: PLC0415 - help needs no engine

    shown = routing.Shown(categories, tools, prefer)
    return routing.answer_route(asked.question, asked.settings, shown, form, output)
