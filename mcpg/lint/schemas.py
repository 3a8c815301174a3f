"""Rules on schemas: what no validator accepts, and what none can meet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcpg.lint.context import LintContext, make_finding
from mcpg.lint.model import Finding

_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_MOST_SCHEMAS = 2_000
_LONGEST_PATTERN = 1_000
_INNER = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_BOUNDS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_PYTHON: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}

_Way = tuple[str | int, ...]
_Faults = Iterator[tuple[str, tuple[str, ...], str]]
"""The code, the key and the message of each fault of one schema."""


def check_tool_schemas(catalogue: LintContext) -> Iterator[Finding]:
    """Yield the faults of schemas, each kind once a tool."""
    for tool in catalogue.tools:
        for name, root in (
            ("inputSchema", tool.input_schema),
            ("outputSchema", tool.output_schema),
        ):
            seen: set[str] = set()
            for code, way, message in _find_faults(name, root) if root is not None else ():
                if code not in seen:
                    seen.add(code)
                    yield make_finding(code, tool, f"{tool.id!r}: {message}", *way)


def _find_faults(name: str, root: dict[str, Any]) -> Iterator[tuple[str, _Way, str]]:
    if root.get("type", "object") != "object":
        yield "S101", (name, "type"), f"the type of {name} is {root.get('type')!r}, not 'object'"
    for way, schema in _walk_schemas(name, root):
        names = [str(step) for step in way[1:] if step not in _MAPS]
        where = f"the parameter {'.'.join(names)!r}" if names else str(way[0])
        for check in (_check_types, _check_required, _check_values, _check_bounds):
            for code, key, message in check(schema):
                yield code, (*way, *key), f"{where} {message}"
        reference = schema.get("$ref")
        if isinstance(reference, str) and not _leads(reference, root):
            message = f"has a reference that leads nowhere: {reference!r}"
            yield "S105", (*way, "$ref"), f"{where} {message}"


def _walk_schemas(name: str, root: dict[str, Any]) -> Iterator[tuple[_Way, dict[str, Any]]]:
    """Yield the schemas in *root*, without recursion: they may nest deeply."""
    waiting: list[tuple[_Way, Any]] = [((name,), root)]
    for _ in range(_MOST_SCHEMAS):
        if not waiting:
            return
        way, schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        yield way, schema
        inner = [((*way, key), schema[key]) for key in _INNER if key in schema]
        for key in _LISTS:
            if isinstance(schema.get(key), list):
                inner += [((*way, key, at), one) for at, one in enumerate(schema[key])]
        for key in _MAPS:
            if isinstance(schema.get(key), dict):
                inner += [((*way, key, one), held) for one, held in schema[key].items()]
        waiting += reversed(inner)


def _check_types(schema: dict[str, Any]) -> _Faults:
    if "type" in schema:
        stated = schema["type"]
        names = stated if isinstance(stated, list) else [stated]
        bad = next((one for one in names if not isinstance(one, str) or one not in _TYPES), None)
        if bad is not None or not names:
            yield "S102", ("type",), f"has the type {bad!r}, which JSON Schema does not have"
        if stated == "array" and not any(key in schema for key in ("items", "prefixItems")):
            yield "S107", ("type",), "is an array without `items`"
    for key in ("properties", "$defs"):
        if key in schema and not isinstance(schema[key], dict):
            yield "S102", (key,), f"has `{key}` that is not an object"


def _check_required(schema: dict[str, Any]) -> _Faults:
    required = schema.get("required")
    if required is None:
        return
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        yield "S103", ("required",), "has `required` that is not a list of names"
        return
    properties = schema.get("properties")
    is_open = any(key in schema for key in ("$ref", *_LISTS, "patternProperties"))
    if isinstance(properties, dict) and not is_open:
        missing = [one for one in required if one not in properties]
        if missing:
            message = f"requires {missing[0]!r}, which is not among its properties"
            yield "S103", ("required",), message


def _check_values(schema: dict[str, Any]) -> _Faults:
    choices = schema.get("enum")
    if "enum" in schema and (not isinstance(choices, list) or not choices):
        yield "S104", ("enum",), "has an `enum` without values"
    elif isinstance(choices, list):
        shown = [repr(one) for one in choices]
        if len(set(shown)) < len(shown):
            yield "S104", ("enum",), "has an `enum` with a value twice"
        if schema.get("default") is not None and repr(schema["default"]) not in shown:
            message = f"has the default {schema['default']!r}, which is not among its values"
            yield "S104", ("default",), message
    kind = schema.get("type")
    default = schema.get("default")
    if default is None or not isinstance(kind, str) or kind not in _PYTHON or choices:
        return
    is_boolean = isinstance(default, bool) and kind in ("integer", "number")
    is_whole = kind == "integer" and isinstance(default, float) and default.is_integer()
    if is_boolean or not (isinstance(default, _PYTHON[kind]) or is_whole):
        message = f"has the default {str(default)[:40]!r}, which is not of the type {kind!r}"
        yield "S104", ("default",), message


def _check_bounds(schema: dict[str, Any]) -> _Faults:
    for low, high in _BOUNDS:
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            yield "S106", (low,), f"has a {low} of {least:g} and a {high} of {most:g}"
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        return
    # ECMAScript has escapes and groups that Python lacks; brackets are the same in both.
    if re.search(r"\\[pPcuk]|\(\?<|\\d-", pattern):
        return
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        yield "S106", ("pattern",), f"has a pattern that is no regular expression: {pattern[:40]!r}"


def _leads(reference: str, root: dict[str, Any]) -> bool:
    if not reference.startswith("#/"):
        return True  # the whole, an anchor, or another schema
    part: Any = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and key.isdigit() and int(key) < len(part):
            part = part[int(key)]
        elif isinstance(part, dict) and key in part:
            part = part[key]
        else:
            return False
    return True
