"""`mcpg list`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_catalog, settings_of
from mcpg.cli.output import Output
from mcpg.errors import Diagnostic

if TYPE_CHECKING:
    import typer

    from mcpg.catalog.model import Tool
    from mcpg.json_types import JsonObject

EXAMPLES = """\
mcpg list
mcpg list --source commerce --category orders
mcpg list -b manifests/ --format json | jq -r '.tools[].toolId'"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    from mcpg.cli import options  # noqa: PLC0415 - the command itself does without
    from mcpg.cli.parameters import LIST  # noqa: PLC0415 - as above

    options.command(app, "list", examples=EXAMPLES, table=LIST)(run)


def run(
    output: Output,
    *,
    bundle: list[str] | None,
    source: str | None,
    category: str | None,
    form: str,
) -> int:
    """List the tools of a bundle, disabled ones included."""
    opened = open_catalog(settings_of(bundle=bundle), output)
    tools = [tool for tool in opened.tools if _is_wanted(tool, source, category)]
    if form == "json":
        output.json(_list_json(tools, opened.diagnostics))
        return ExitCode.DONE
    from mcpg.cli.matches import list_text  # noqa: PLC0415 - text needs no JSON

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


def _list_json(tools: Iterable[Tool], diagnostics: Iterable[Diagnostic]) -> JsonObject:
    from mcpg.gateway.json import card_json, diagnostics_json, hints_json  # noqa: PLC0415 - as above

    return {
        "schema": "mcpg/list/1",
        "tools": [card_json(tool) | hints_json(tool.hints) for tool in tools],
        "diagnostics": diagnostics_json(diagnostics),
    }
