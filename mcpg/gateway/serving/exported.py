"""A tool of the catalogue as a tool of our own server, of which nothing is lost.

A gateway behind a gateway reads the hints of its tools from `_meta`, under the keys of the .NET
gateway, and finds them as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonschema.validators import Draft202012Validator, validator_for

from mcpg.catalog.hintkeys import HINT_KEYS
from mcpg.gateway.serving.hintsaid import annotations_said, hints_said
from mcpg.gateway.serving.pruning import part_of, pruned
from mcpg.gateway.serving.wording import size, whole
from mcpg.gateway.validation import bounded_validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.model import Tool
    from mcpg.gateway.validation import BoundedValidator
    from mcpg.jsontypes import JsonObject, JsonValue

RESULT = "result"
"""The member that holds a structured result which is no object itself."""

_LARGEST = 128 << 10
_ORIGIN = ("toolId", "toolName", "sourceId")
_SHARED = ("$defs", "definitions", "$schema")
_PATTERNS = ("pattern", "patternProperties")


@dataclass(frozen=True, slots=True)
class Exported:
    """A tool as our server lists it.

    Attributes:
        wire: The tool as `tools/list` has it; every client that knows MCP can read it.
        is_wrapped: Whether structured results stand under `RESULT`.
        validator: Checks structured results, `None` where no output schema is declared.
    """

    wire: JsonObject
    is_wrapped: bool = False
    validator: BoundedValidator | None = None

    @property
    def declares_output(self) -> bool:
        """Whether clients expect structured content."""
        return "outputSchema" in self.wire


def exported(tool: Tool) -> Exported:
    """Return *tool* as our server lists it, under its id; in the extreme, nothing but that."""
    try:
        return _exported(tool)
    except RecursionError:
        return Exported(_bare(tool.id))


def _exported(tool: Tool) -> Exported:
    wire: JsonObject = {"name": tool.id, "inputSchema": input_schema(tool.input_schema)}
    if tool.title:
        wire["title"] = tool.title
    if tool.description:
        wire["description"] = tool.description
    title = tool.annotations.get("title")
    annotations = annotations_said(tool) | ({"title": title} if isinstance(title, str) else {})
    if annotations:
        wire["annotations"] = annotations
    wire["_meta"] = _meta(tool)
    output, is_wrapped = output_schema(tool.output_schema)
    if output is not None:
        wire["outputSchema"] = output
    wire = _bounded(wire)
    if "outputSchema" not in wire:
        return Exported(wire)
    return Exported(wire, is_wrapped, bounded_validator(output) if output is not None else None)


def input_schema(schema: JsonObject) -> JsonObject:
    """Give *schema* as strict clients take it: of type object, whose properties are schemas."""
    return {**_strict(schema), "type": "object"}


def output_schema(schema: JsonObject | None) -> tuple[JsonObject | None, bool]:
    """Give *schema* as strict clients take it, and whether it wraps the one that was given.

    One that is no valid JSON Schema, is too large to be checked, or refers to what it does not
    hold, is left out.
    """
    if schema is None or not _is_sound(schema):
        return None, False
    if schema.get("type") == "object":
        return _strict(schema), False
    if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in _references(schema)):
        return None, False
    inner: JsonObject = {key: value for key, value in schema.items() if key not in _SHARED}
    shared = {key: schema[key] for key in _SHARED if key in schema}
    return {"type": "object", "properties": {RESULT: inner}, "required": [RESULT], **shared}, True


def _strict(schema: JsonObject) -> JsonObject:
    kept = {**schema}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        kept["properties"] = {name: _schema(one) for name, one in properties.items()}
    else:
        kept.pop("properties", None)
    required = schema.get("required")
    if isinstance(required, list):
        kept["required"] = [name for name in required if isinstance(name, str)]
    else:
        kept.pop("required", None)
    if not isinstance(schema.get("$schema", ""), str):
        del kept["$schema"]
    return kept


def _schema(value: JsonValue) -> JsonObject:
    """Give a schema as an object: `false` allows nothing, and what is no schema everything."""
    if isinstance(value, dict):
        return value
    return {"not": {}} if value is False else {}


def _is_sound(schema: JsonObject) -> bool:
    """Return whether a schema can be used, by us and by clients."""
    if not isinstance(schema.get("$schema", ""), str) or bounded_validator(schema) is None:
        return False
    try:
        if _has_pattern(schema):
            validator_for(schema, default=Draft202012Validator).check_schema(schema)
        references = [*_references(schema)]
        for reference in references:
            part_of(schema, reference)
    except Exception:  # noqa: BLE001 - nobody knows what a schema makes the library raise
        return False
    return all(one == "#" or one.startswith("#/") for one in references)


def _references(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(one, str):
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _meta(tool: Tool) -> JsonObject:
    kept: JsonObject = {key: value for key, value in tool.meta.items() if key not in HINT_KEYS}
    origin: JsonObject = {key: kept[key] for key in _ORIGIN if key in kept}
    if origin:
        # It comes from a gateway itself, whose own words of it stay.
        kept["behind"] = {**origin, **({"behind": kept["behind"]} if "behind" in kept else {})}
    kept |= {"toolId": tool.id, "toolName": tool.name, "sourceId": tool.source_id}
    return kept | hints_said(tool.hints)


def _bounded(wire: JsonObject) -> JsonObject:
    """Give *wire* whole, or with less of its input schema and then of the rest."""
    wire = _clean(wire)
    schema = wire["inputSchema"]
    if size(wire) <= _LARGEST or not isinstance(schema, dict):
        return wire
    rest = {key: value for key, value in wire.items() if key != "outputSchema"}
    for less in pruned(schema):
        shorter: JsonObject = {**rest, "inputSchema": input_schema(less)}
        if size(shorter) <= _LARGEST:
            return shorter
    return _bare(wire["name"])


def _bare(name: JsonValue) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}}


def _clean(wire: JsonObject) -> JsonObject:
    clean = whole(wire)
    return clean if isinstance(clean, dict) else wire


def _has_pattern(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(key in _PATTERNS or _has_pattern(one) for key, one in value.items())
    return isinstance(value, list) and any(map(_has_pattern, value))
