"""`mcpg list`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpg.catalog.model import Tool
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import (
    IndexedBundle,
    IndexedTool,
    OpenedBundle,
    find_bundle_paths,
    from_index,
    open_catalog,
    read_settings,
)
from mcpg.cli.output import Output
from mcpg.cli.parameters import select_filters
from mcpg.cli.render import RecordListing
from mcpg.cli.terminal import json_text
from mcpg.errors import Diagnostic
from mcpg.show.blocks import Table

if TYPE_CHECKING:
    import typer

    from mcpg.text.json_values import JsonObject


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
    if input_schema:
        from mcpg.cli.query import check_schemas  # noqa: PLC0415 - few lists have schemas

        check_schemas(form, is_asked=True)
    settings, filters = read_settings(bundle=bundle), dict(select_filters(given))

    def answer(opened: OpenedBundle | IndexedBundle) -> _ListAnswer:
        return _answer(opened, filters, limit, form, output, with_schema=input_schema)

    found = from_index(find_bundle_paths(settings, output), answer)
    return _write(found or answer(open_catalog(settings)), form, output)


@dataclass(frozen=True, slots=True)
class _ListAnswer:
    """What is written.

    Attributes:
        text: The list.
        opening: What opening the bundle noticed.
        noticed: What the filter noticed.
        listed: The number of tools in the list.
        all: The number of all tools.
        is_finding: Whether a filter left none.
    """

    text: str
    opening: tuple[Diagnostic, ...]
    noticed: tuple[Diagnostic, ...]
    listed: int
    all: int
    is_finding: bool


def _answer(
    opened: OpenedBundle | IndexedBundle,
    filters: Mapping[str, Any],
    limit: int | None,
    form: str,
    output: Output,
    *,
    with_schema: bool,
) -> _ListAnswer:
    tools, noticed = opened.list_filtered(limit, filters)
    if form == "json":
        records = [_record(tool, with_schema=with_schema) for tool in tools]
        text = json_text(_list_json(records, (*opened.diagnostics, *noticed)))
    else:
        from mcpg.cli.render import listing_text  # noqa: PLC0415 - JSON does without

        text = listing_text(_listing(tools, form, with_schema=with_schema), form, output)
    is_finding = bool(filters) and not tools
    return _ListAnswer(text, opened.diagnostics, noticed, len(tools), opened.size, is_finding)


def _write(answer: _ListAnswer, form: str, output: Output) -> int:
    code = ExitCode.FINDINGS if answer.is_finding else ExitCode.DONE
    if form == "json":  # which holds the diagnostics
        output.text(answer.text)
        return code
    output.note_opening(answer.opening)
    output.diagnostics(answer.noticed)
    output.text(answer.text)
    output.detail(f"{answer.listed} of {answer.all} tools")
    if not answer.listed:
        output.note("no tool is listed" if answer.all else "there is no tool")
    return code


def _record(tool: Tool | IndexedTool, *, with_schema: bool) -> JsonObject:
    return tool.to_dict() | ({"inputSchema": tool.input_schema} if with_schema else {})


def _listing(
    tools: Sequence[Tool] | Sequence[IndexedTool], form: str, *, with_schema: bool
) -> RecordListing:
    from mcpg.cli.render import RecordListing  # noqa: PLC0415 - JSON does without

    members = ("toolId", "sourceId", "toolName", "displayName", "description", "categories", "tags")
    records: list[JsonObject] = []
    if form == "ids":
        records = [{members[0]: tool.id} for tool in tools]
    elif form in ("jsonl", "csv"):
        records = [_record(tool, with_schema=with_schema) for tool in tools]
    return RecordListing(records, members, members[0], lambda: _table(tools))


def _table(tools: Sequence[Tool | IndexedTool]) -> Table:
    from mcpg.cli.matches import WITH_SOURCE, summaries  # noqa: PLC0415 - as above
    from mcpg.show.blocks import Column, Table  # noqa: PLC0415 - as above

    columns = (
        Column("tool", is_whole=True, is_code=True, style="cyan"),
        Column("source", most=16, least_room=WITH_SOURCE, is_code=True),
        Column("description", is_code=True),
    )
    about = zip(tools, summaries(tools), strict=True)
    rows = tuple([(tool.id, tool.source_id, summary) for tool, summary in about])
    return Table("Tools", columns, rows, has_heads=True)


def _list_json(records: Sequence[JsonObject], diagnostics: Iterable[Diagnostic]) -> JsonObject:
    from mcpg.show.json import diagnostics_json  # noqa: PLC0415 - as above

    return {
        "schema": "mcpg/list/1",
        "tools": list(records),
        "diagnostics": diagnostics_json(diagnostics),
    }
