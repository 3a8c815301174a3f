"""`mcpg list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcpg.catalog.model import Tool
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.matches import WITH_SOURCE, summaries
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
from mcpg.cli.render import RecordListing, listing_text
from mcpg.cli.terminal import json_text
from mcpg.errors import Diagnostic
from mcpg.show.blocks import Column, Table
from mcpg.text.json_values import JsonObject

EXAMPLES = """\
mcpg list
mcpg list --source commerce --category orders
mcpg list --read-only --format ids
mcpg list -b app.mdld --kind symbol -n 20
mcpg list -b manifests/ --format json | jq -r '.tools[].toolId'"""


_MEMBERS = ("toolId", "sourceId", "toolName", "displayName", "description", "categories", "tags")


@dataclass(frozen=True, slots=True)
class _ListAnswer:
    """The answer to write."""

    text: str
    opening: tuple[Diagnostic, ...]
    noticed: tuple[Diagnostic, ...]
    listed: int
    all: int


def run(
    output: Output,
    *,
    bundle: list[str] | None,
    kind: str | None,
    limit: int | None,
    input_schema: bool,
    form: str,
    full: bool,
    **given: Any,
) -> int:
    """List the tools of a bundle, disabled ones included, or other items."""
    if kind not in (None, "tool"):
        from mcpg.cli.items import answer_items  # noqa: PLC0415 - most lists are of tools

        others = given | {"input_schema": input_schema, "full": full}
        chosen = {"bundle": bundle, "limit": limit, "form": form}
        return answer_items(kind, None, chosen, output, others)
    if input_schema:
        from mcpg.cli.query import check_schemas  # noqa: PLC0415 - it loads the engine

        check_schemas(form, is_asked=True)
    output.shows_all = full
    settings, filters = read_settings(bundle=bundle), dict(select_filters(given))

    answer = partial(
        _answer, filters=filters, limit=limit, form=form, output=output, with_schema=input_schema
    )
    found = from_index(find_bundle_paths(settings, output), answer)
    found = found or answer(open_catalog(settings))
    code = ExitCode.FINDINGS if filters and not found.listed else ExitCode.DONE
    if form == "json":  # which has the diagnostics
        output.text(found.text)
        return code
    output.note_opening(found.opening)
    output.diagnostics(found.noticed)
    output.text(found.text)
    output.detail(f"{found.listed} of {found.all} tools")
    if not found.listed:
        output.note("no tool is listed" if found.all else "no tools")
    return code


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
    records: list[JsonObject] = []
    if form == "ids":
        records = [{"toolId": tool.id} for tool in tools]
    elif form in ("json", "jsonl", "csv"):
        records = [
            tool.to_dict() | ({"inputSchema": tool.input_schema} if with_schema else {})
            for tool in tools
        ]
    if form == "json":
        from mcpg.show.json import diagnostics_json  # noqa: PLC0415 - it loads bundles

        diagnostics = diagnostics_json((*opened.diagnostics, *noticed))
        text = json_text({"schema": "mcpg/list/1", "tools": records, "diagnostics": diagnostics})
    else:
        listing = RecordListing(records, _MEMBERS, "toolId", lambda: _draw_tools(tools, output))
        text = listing_text(listing, form, output)
    return _ListAnswer(text, opened.diagnostics, noticed, len(tools), opened.size)


def _draw_tools(tools: Sequence[Tool | IndexedTool], output: Output) -> Table:
    columns = (
        Column("tool", is_whole=True, is_code=True, style="cyan"),
        Column("source", most=16, least_room=WITH_SOURCE, is_code=True),
        Column("description", is_code=True),
    )
    about = zip(tools, summaries(tools, output), strict=True)
    rows = tuple([(tool.id, tool.source_id, summary) for tool, summary in about])
    return Table("Tools", columns, rows, has_heads=True)
