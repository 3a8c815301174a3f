"""`mcpg list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import list_json, open_catalog
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.views.matches import list_text

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

EXAMPLES = """\
mcpg list
mcpg list --source commerce --category orders
mcpg list -b manifests/ --format json | jq -r '.tools[].toolId'"""

SourceName = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="Only tools of this source, in any case."),
]
Category = Annotated[
    str | None,
    typer.Option("--category", metavar="NAME", help="Only tools of this category, in any case."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "list", examples=EXAMPLES)(list_tools)


def list_tools(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    source: SourceName = None,
    category: Category = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """List the tools: id, source, what each one is.

    Tools that are disabled by default are listed, too, and marked.
    """
    opened = open_catalog(options.settings_of(bundle=bundle), output)
    tools = [tool for tool in opened.tools if _is_wanted(tool, source, category)]
    if form is OutputFormat.JSON:
        output.json(list_json(tools, opened.diagnostics))
    else:
        output.diagnostics(opened.diagnostics)
        output.text(list_text(tools, output))
        output.detail(f"{len(tools)} of {len(opened.tools)} tools")
        if not tools:
            output.note("no tool is listed")
    return ExitCode.DONE


def _is_wanted(tool: Tool, source: str | None, category: str | None) -> bool:
    if source is not None and tool.source_id.casefold() != source.casefold():
        return False
    categories = {name.casefold() for name in tool.hints.categories}
    return category is None or category.casefold() in categories
