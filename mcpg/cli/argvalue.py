"""The value of `--arg NAME=VALUE`: a text where the tool takes one, else JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcpg.catalog.schema import resolve

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject, JsonValue

_APPLICATORS = ("anyOf", "oneOf", "allOf")


def value_of(schema: JsonObject, name: str, text: str) -> JsonValue:
    """Return *text* as the argument *name* of a tool takes it.

    It stays a text where the schema names texts among what it takes. Where it names none, or says
    nothing of the type, it is JSON where it is JSON. What the schema refuses gives way to what it
    accepts.

    Args:
        schema: Input schema of the tool.
        name: The argument.
        text: What was given.
    """
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    properties = schema.get("properties")
    member = properties.get(name) if isinstance(properties, dict) else None
    first, second = (text, value) if _names_texts(member, schema) else (value, text)
    is_second = not _fits(schema, name, first) and _fits(schema, name, second)
    return second if is_second else first


def _names_texts(member: JsonValue, root: JsonObject) -> bool:
    """Return whether a schema, or a part or definition of it, names texts among what it takes."""
    waiting: list[Any] = [member]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if "string" in _listed(node.get("type")):
            return True
        if any(isinstance(one, str) for one in (*_listed(node.get("enum")), node.get("const"))):
            return True
        waiting.append(resolve(node.get("$ref"), root))
        waiting += [part for key in _APPLICATORS for part in _listed(node.get(key))]
    return False


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _fits(schema: JsonObject, name: str, value: JsonValue) -> bool:
    """Say whether nothing is wrong with the argument itself, whatever is wrong with the others."""
    from mcpg.gateway.arguments import check_arguments  # noqa: PLC0415 - needs the MCP extra

    escaped = name.replace("~", "~0").replace("/", "~1")
    faults = check_arguments(schema, {name: value})
    return not any(fault.field.split("/")[1:2] == [escaped] for fault in faults)
