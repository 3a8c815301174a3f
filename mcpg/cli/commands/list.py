"""`mcpg list`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import open_catalog, settings_of
from mcpg.cli.output import Output
from mcpg.errors import Diagnostic

if TYPE_CHECKING:
    import typer

    from mcpg.catalog.model import Tool
    from mcpg.cli.listing import Listing
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
    code = ExitCode.DONE if tools or not (source or category) else ExitCode.FINDINGS
    if form == "json":
        output.json(_list_json(tools, opened.diagnostics))
        return code
    from mcpg.cli.listing import write_listing  # noqa: PLC0415 - JSON does without

    output.opened(opened.diagnostics)
    write_listing(_listing(tools), form, output)
    output.detail(f"{len(tools)} of {len(opened.tools)} tools")
    if not tools:
        output.note(_nothing(opened.tools, source, category))
    return code


def _is_wanted(tool: Tool, source: str | None, category: str | None) -> bool:
    if source is not None and tool.source_id.casefold() != source.casefold():
        return False
    categories = {name.casefold() for name in tool.hints.categories}
    return category is None or category.casefold() in categories


def _nothing(tools: Sequence[Tool], source: str | None, category: str | None) -> str:
    """Return why nothing is listed, and what there is."""
    if not tools:
        return "there is no tool"
    if source is not None and not any(_is_wanted(tool, source, None) for tool in tools):
        known = sorted({tool.source_id for tool in tools})
        return f"no tool is of source '{source}'; sources: {', '.join(known)}"
    known = sorted({name for tool in tools for name in tool.hints.categories})
    found = f"; categories: {', '.join(known)}" if known else ""
    return f"no tool is of category '{category}'{found}"


def _listing(tools: Sequence[Tool]) -> Listing:
    from mcpg.cli.listing import Listing  # noqa: PLC0415 - JSON does without
    from mcpg.cli.matches import WITH_SOURCE, summary  # noqa: PLC0415 - as above
    from mcpg.reports.blocks import Code, Column, Styled, Table  # noqa: PLC0415 - as above

    return Listing(
        [tool.to_dict() for tool in tools],
        ("toolId", "sourceId", "toolName", "displayName", "description", "categories", "tags"),
        "toolId",
        Table(
            "Tools",
            (
                Column("tool", is_whole=True),
                Column("source", most=16, least_room=WITH_SOURCE),
                Column("description"),
            ),
            tuple(
                (Styled(Code(tool.id), "cyan"), Code(tool.source_id), Code(summary(tool)))
                for tool in tools
            ),
            has_heads=True,
        ),
    )


def _list_json(tools: Iterable[Tool], diagnostics: Iterable[Diagnostic]) -> JsonObject:
    from mcpg.gateway.json import diagnostics_json  # noqa: PLC0415 - as above

    return {
        "schema": "mcpg/list/1",
        "tools": [tool.to_dict() for tool in tools],
        "diagnostics": diagnostics_json(diagnostics),
    }
