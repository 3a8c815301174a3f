"""JSON Schemas told in part: what is left out lets them allow more, never less."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.jsontypes import JsonObject, JsonValue

_DEPTHS = (4, 2, 1)
_PROSE = ("description", "title", "examples", "default", "$comment")
_NAMESPACES = ("properties", "patternProperties", "$defs", "definitions")


def part_of(schema: JsonValue, pointer: str) -> JsonValue:
    """Give the part of *schema* that a JSON pointer names (RFC 6901).

    Raises:
        LookupError: There is none.
    """
    at = schema
    for step in pointer.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and name.isdecimal() and name.isascii():
            at = at[int(name[:9])]
        elif isinstance(at, dict):
            at = at[name]
        else:
            raise LookupError(pointer)
    return at


def pruned(schema: JsonObject) -> Iterator[JsonObject]:
    """Give *schema* without prose, then less and less deep, at last without anything."""
    bare = _without_prose(schema)
    yield bare
    for depth in _DEPTHS:
        yield _shallow(bare, depth)
    yield {"type": "object"}


def _without_prose(schema: JsonObject) -> JsonObject:
    """Leave out what only people read; names of properties are no keywords."""
    kept: JsonObject = {}
    for key, value in schema.items():
        if key in _NAMESPACES and isinstance(value, dict):
            kept[key] = {name: _bare(one) for name, one in value.items()}
        elif key not in _PROSE:
            kept[key] = _bare(value)
    return kept


def _bare(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _without_prose(value)
    if isinstance(value, list):
        return [_bare(one) for one in value]
    return value


def _shallow(schema: JsonObject, depth: int) -> JsonObject:
    """Keep the properties down to *depth* with their types, and nothing else."""
    kept: JsonObject = {key: schema[key] for key in ("type", "required") if key in schema}
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth:
        kept["properties"] = {
            name: _shallow(one, depth - 1) if isinstance(one, dict) else one
            for name, one in properties.items()
        }
    return kept
