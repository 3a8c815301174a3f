"""`mcpg list`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

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
mcpg list --read-only --format ids
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
    limit: int | None,
    input_schema: bool,
    form: str,
    **given: Any,
) -> int:
    """List the tools of a bundle, disabled ones included."""
    from mcpg.cli.query import check_schemas, filters_of  # noqa: PLC0415 - help needs none of it
    from mcpg.engine.filters import filter_tools  # noqa: PLC0415 - as above

    check_schemas(form, is_asked=input_schema)
    opened = open_catalog(settings_of(bundle=bundle), output)
    filters = dict(filters_of(given))
    found, noticed = filter_tools(opened.tools, **filters) if filters else (opened.tools, ())
    tools = found[:limit]
    code = ExitCode.DONE if tools or not filters else ExitCode.FINDINGS
    records = [_record(tool, with_schema=input_schema) for tool in tools]
    if form == "json":
        output.json(_list_json(records, (*opened.diagnostics, *noticed)))
        return code
    from mcpg.cli.listing import write_listing  # noqa: PLC0415 - JSON does without

    output.opened(opened.diagnostics)
    output.diagnostics(noticed)
    write_listing(_listing(tools, records), form, output)
    output.detail(f"{len(tools)} of {len(opened.tools)} tools")
    if not tools:
        output.note("no tool is listed" if opened.tools else "there is no tool")
    return code


def _record(tool: Tool, *, with_schema: bool) -> JsonObject:
    return tool.to_dict() | ({"inputSchema": tool.input_schema} if with_schema else {})


def _listing(tools: Sequence[Tool], records: Sequence[JsonObject]) -> Listing:
    from mcpg.cli.listing import Listing  # noqa: PLC0415 - JSON does without
    from mcpg.cli.matches import WITH_SOURCE, summary  # noqa: PLC0415 - as above
    from mcpg.reports.blocks import Code, Column, Styled, Table  # noqa: PLC0415 - as above

    return Listing(
        records,
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


def _list_json(records: Sequence[JsonObject], diagnostics: Iterable[Diagnostic]) -> JsonObject:
    from mcpg.gateway.json import diagnostics_json  # noqa: PLC0415 - as above

    return {
        "schema": "mcpg/list/1",
        "tools": list(records),
        "diagnostics": diagnostics_json(diagnostics),
    }
