"""One tool told whole, or as much of it as has room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.serving import names
from mcpg.gateway.serving.hintsaid import annotations_said, hints_said
from mcpg.gateway.serving.pruning import part_of, pruned
from mcpg.gateway.serving.wording import line, prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.model import Tool
    from mcpg.jsontypes import JsonObject

_NAME = 200
_LONG, _SHORT = 8000, 400
_CUT = "the end of the description is left out"
_ASK = f"parts of the input schema are left out: ask {names.DESCRIBE} for one with `pointer`"


def describe_answers(tool: Tool, pointer: str = "") -> Iterator[JsonObject]:
    """Give descriptions of *tool*, from the fullest to the barest.

    Args:
        tool: The tool.
        pointer: A JSON pointer into its input schema, to tell that part alone; "" for all.

    Raises:
        LookupError: The schema has no such part, or it is no object.
    """
    if pointer:
        yield from _part_answers(tool, pointer)
        return
    card: JsonObject = {
        "toolId": tool.id,
        "sourceId": line(tool.source_id, _NAME),
        "toolName": line(tool.name, _NAME),
        "title": line(tool.display_name, _NAME),
    }
    hints: JsonObject = {"hints": {**annotations_said(tool), **hints_said(tool.hints)}}
    output: JsonObject = {"outputSchema": tool.output_schema} if tool.output_schema else {}
    schema: JsonObject = {"inputSchema": tool.input_schema}
    whole = prose(tool.description, len(tool.description))
    yield {**card, "description": whole, **schema, **output, **hints}
    long = {**card, "description": prose(tool.description, _LONG), **schema}
    cut = [_CUT] if len(whole) > _LONG else []
    yield {**long, **output, **hints, **_rest(*cut)}
    yield {**long, **hints, **_rest(*cut, "the output schema is left out")}
    yield {**long, **_rest(*cut, "the output schema and the hints are left out")}
    short = {**card, "description": prose(tool.description, _SHORT)}
    cut = [_CUT] if len(whole) > _SHORT else []
    for less in pruned(tool.input_schema):
        yield {**short, "inputSchema": less, **_rest(*cut, _ASK)}


def _part_answers(tool: Tool, pointer: str) -> Iterator[JsonObject]:
    schema = part_of(tool.input_schema, pointer)
    if not isinstance(schema, dict):
        raise LookupError(pointer)  # noqa: TRY004 - it is the caller's pointer that is wrong
    yield {"toolId": tool.id, "inputSchema": schema}
    for told in pruned(schema):
        yield {"toolId": tool.id, "inputSchema": told, **_rest(_ASK)}


def _rest(*how: str) -> JsonObject:
    return {"truncated": {"howToGetTheRest": "; ".join(how)}} if how else {}
