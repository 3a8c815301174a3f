"""A search result in each form that standard output carries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mcpg.cli.matches import search_text
from mcpg.cli.terminal import Screen, json_text
from mcpg.errors import Diagnostic
from mcpg.text.json_values import JsonObject
from mcpg.values import score_text

if TYPE_CHECKING:  # a search as text or JSON needs no tables
    from mcpg.cli.render import RecordListing
    from mcpg.engine import Match, SearchResult
    from mcpg.show.blocks import Table


def result_text(
    result: SearchResult,
    form: str,
    output: Screen,
    loading: Iterable[Diagnostic] = (),
    *,
    schemas: bool = False,
) -> str:
    """Return *result* in a *form*, a choice of `LIST_FORMAT`.

    Args:
        result: What was found.
        form: The form.
        output: What text is laid out for.
        loading: Diagnostics of loading, which JSON begins with.
        schemas: Whether it has input schemas, in the forms `json` and `jsonl`.
    """
    if form == "text":
        return search_text(result, output)
    if form == "json":
        from mcpg.show.json import result_json  # noqa: PLC0415 - text does without

        members = result_json(result, loading)
        return json_text(members | (_with_schemas(result) if schemas else {}))
    from mcpg.cli.render import listing_text  # noqa: PLC0415 - as above

    records = _with_schemas(result)["matches"] if schemas else None
    return listing_text(matches_listing(result.matches, records), form, output)


def _with_schemas(result: SearchResult) -> dict[str, list[JsonObject]]:
    """Return the lists of *result* as JSON, each tool with its input schema."""
    lists = {
        "matches": result.matches,
        "relatedMatches": result.related_matches,
        "nextStepMatches": result.next_step_matches,
        "prerequisites": result.prerequisites,
    }
    return {
        name: [one.to_dict() | {"inputSchema": one.view.input_schema} for one in matches]
        for name, matches in lists.items()
    }


def matches_listing(
    matches: Sequence[Match], records: Sequence[JsonObject] | None = None
) -> RecordListing:
    """Return *matches* as a list; its *records* are what the matches write, unless given."""
    from mcpg.cli.render import RecordListing  # noqa: PLC0415 - as above

    records = [match.to_dict() for match in matches] if records is None else records
    members = ("toolId", "sourceId", "toolName", "displayName", "score", "description")
    return RecordListing(records, members, "toolId", lambda: _matches_table(matches))


def _matches_table(matches: Sequence[Match]) -> Table:
    from mcpg.show.blocks import CodeSpan, Column, Styled, Table  # noqa: PLC0415 - as above

    columns = (
        Column("#", is_number=True),
        *(Column("score", is_number=True), Column("tool", is_whole=True), Column("source")),
        Column("description"),
    )
    rows = tuple(
        (
            str(rank),
            score_text(match.score),
            Styled(CodeSpan(match.tool_id), "cyan"),
            CodeSpan(match.source_id),
            CodeSpan(match.view.description),
        )
        for rank, match in enumerate(matches, start=1)
    )
    return Table("Matches", columns, rows, has_heads=True)
