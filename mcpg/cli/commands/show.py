"""`mcpg show`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.completion import complete_tool
from mcpg.cli.exits import ExitCode
from mcpg.cli.jsonview import show_json
from mcpg.cli.opening import Card, open_catalog
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.showview import show_text
from mcpg.errors import NotFoundError

EXAMPLES = """\
mcpg show shipment_status
mcpg show commerce::shipment_status
mcpg show git_commit -b real.mdld --document"""

ToolName = Annotated[
    str,
    typer.Argument(
        metavar="TOOL",
        autocompletion=complete_tool,
        help="Id of a tool, SOURCE::NAME, or a name that only one tool has.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "show", examples=EXAMPLES)(show)


def show(
    output: Output,
    *,
    tool: ToolName,
    bundle: options.BundlePaths = None,
    document: Annotated[
        bool, typer.Option("--document", help="Print the tool's Markdown-LD document instead.")
    ] = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Show one tool: arguments, hints, place in the graph, where it comes from."""
    opened = open_catalog(options.settings_of(bundle=bundle), output)
    card = opened.card(tool)
    if document:
        return _print_document(card, output)
    if form is OutputFormat.JSON:
        output.json(show_json(card, opened.diagnostics))
    else:
        output.diagnostics(opened.diagnostics)
        output.text(show_text(card, output))
    return ExitCode.DONE


def _print_document(card: Card, output: Output) -> int:
    if card.document is None:
        raise NotFoundError(
            f"{card.tool.id!r} has no document, because the graph cannot be made",
            remedy="see what `mcpg show` says about the graph",
        )
    output.document(card.text)
    return ExitCode.DONE
