"""Input schemas for the strict mode of the APIs of OpenAI, where they can be written for it.

In strict mode, a model gives exactly the arguments of the schema. The mode takes a part of JSON
Schema: each object lists all its properties as required and allows no others, so that an argument
that may be left out is written as one that may be null. A schema is only rewritten where it keeps
its meaning; otherwise the reason is reported.

Source: the guides to function calling and structured outputs of OpenAI
(developers.openai.com/api/docs).
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from mcpg.catalog.api_schemas import CHECKS, Schema
from mcpg.catalog.model import resolve

ITEMS = "*"
"""Stands in a path for each item of a list."""

_DEEPEST_STRICT = 10
_MOST_PROPERTIES, _MOST_VALUES, _MOST_CHARACTERS, _MOST_PARTS = 5_000, 1_000, 120_000, 10_000
_MANY_VALUES, _MOST_CHARACTERS_OF_MANY = 250, 15_000
_NULL = "null"
_TOO_LARGE = "it is too deep or too large"
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): _NULL}
_NUMERIC = ("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum")
_BY_TYPE = {
    "string": ("pattern",),
    "number": _NUMERIC,
    "integer": _NUMERIC,
    "array": ("minItems", "maxItems"),
}
_KNOWN_TYPES = {*_BY_TYPE, "boolean", "object", _NULL}
_FORMATS = {
    *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
}
# What restricts a value and has no counterpart in strict mode.
_REFUSED = (
    *("oneOf", "allOf", "not", "if", "then", "else", "$dynamicRef", "$recursiveRef"),
    *("dependentRequired", "dependentSchemas", "dependencies", "patternProperties"),
    *("propertyNames", "unevaluatedProperties", "minProperties", "maxProperties"),
    *("prefixItems", "additionalItems", "contains", "unevaluatedItems", "uniqueItems"),
    *("minLength", "maxLength"),
)
# Values with which these restrict nothing, or no more than strict mode does.
_HARMLESS = {
    **dict.fromkeys(("minLength", "minProperties"), 0),
    **dict.fromkeys(("uniqueItems", "unevaluatedProperties", "unevaluatedItems"), False),
}
_RESTRICTING = {
    *("$ref", "type", "enum", "const", "anyOf", "properties", "required", "items"),
    *(
        "additionalProperties",
        "format",
        *_REFUSED,
        *(key for keys in _BY_TYPE.values() for key in keys),
    ),
}
_BESIDE_CHOICES = _RESTRICTING - {"type", "enum", "const", "format", *_REFUSED}


class NotStrictError(Exception):
    """A schema cannot be written for strict mode without a change of meaning."""


def strict_schema(schema: Schema) -> tuple[Schema, tuple[str, ...]]:
    """Return *schema*, of the arguments of a tool, for strict mode.

    Returns:
        The schema, and the paths of the arguments that are null when they are left out: JSON
        pointers with `ITEMS` for each item of a list.

    Raises:
        NotStrictError: It cannot be written without a change of meaning.
    """
    writing = _StrictWriter(schema)
    try:
        written = writing.top()
    except RecursionError:
        raise _refusal("", _TOO_LARGE) from None
    return written, tuple(sorted(writing.optional))


def without_left_out(given: Mapping[str, Any], optional: frozenset[str]) -> dict[str, Any]:
    """Return the arguments *given* without those at the paths *optional* that are null."""
    found: dict[str, Any] = _without(given, optional, "")
    return found


def _without(given: Any, optional: frozenset[str], path: str) -> Any:
    if isinstance(given, Mapping):
        members = ((_child(path, name), name, one) for name, one in given.items())
        return {
            name: _without(one, optional, at)
            for at, name, one in members
            if one is not None or at not in optional
        }
    if isinstance(given, list):
        return [_without(one, optional, f"{path}/{ITEMS}") for one in given]
    return given


def _child(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


class _StrictWriter:
    """One pass over a schema.

    Attributes:
        optional: Paths of the arguments that are null when they are left out.
    """

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.optional: set[str] = set()
        self._nullable: set[str] = set()
        self._parts = self._properties = self._values = self._characters = 0

    def top(self) -> Schema:
        """Return the whole schema, an object.

        Raises:
            NotStrictError: It cannot be written.
        """
        schema, trail = self._resolve_references(self._root, "", frozenset())
        for keyword in ("anyOf", "enum", "const"):
            if keyword in schema:
                raise _refusal("", f"it has `{keyword}` at the top")
        if schema.get("type", "object") != "object":
            raise _refusal("", "it is not an object")
        self._check("", schema)
        written = self._object({"properties": {}, **schema}, "", 1, trail)
        if self.optional & self._nullable:
            path = min(self.optional & self._nullable)
            raise _refusal(path, "null and nothing mean different things")
        return written

    def _part(self, given: Any, path: str, depth: int, trail: frozenset[str]) -> Schema:
        if depth > _DEEPEST_STRICT:
            raise _refusal(path, _TOO_LARGE)
        schema, trail = self._resolve_references(given, path, trail)
        self._check(path, schema)
        return _add_description(self._shape(schema, path, depth, trail), schema)

    def _resolve_references(
        self, given: Any, path: str, trail: frozenset[str]
    ) -> tuple[Schema, frozenset[str]]:
        """Return a schema with what it refers to in it, and the references on the way."""
        schema = given
        while isinstance(schema, dict):
            self._parts += 1
            if self._parts > _MOST_PARTS:
                raise _refusal(path, _TOO_LARGE)
            only = schema.get("allOf")
            if "$ref" in schema:
                keyword, reference = "$ref", schema["$ref"]
                if not isinstance(reference, str) or reference in trail:
                    raise _refusal(path, "it refers to itself")
                target: Any = resolve(reference, self._root)
                trail |= {reference}
            elif isinstance(only, list) and len(only) == 1:
                keyword, target = "allOf", only[0]
            else:
                return schema, trail
            rest = {key: one for key, one in schema.items() if key != keyword}
            if not isinstance(target, dict) or _RESTRICTING & rest.keys():
                raise _refusal(path, f"its `{keyword}` leads nowhere, or has others beside it")
            schema = {**target, **rest}
        raise _refusal(path, "it allows any value, or none")

    def _check(self, path: str, schema: Schema) -> None:
        for key in _REFUSED:
            if key in schema and not (key in _HARMLESS and schema[key] == _HARMLESS[key]):
                raise _refusal(path, f"strict mode has no `{key}`")

    def _shape(self, schema: Schema, path: str, depth: int, trail: frozenset[str]) -> Schema:
        if "enum" in schema or "const" in schema:
            return self._choice(schema, path)
        if "anyOf" in schema:
            branches = schema["anyOf"]
            others = (_RESTRICTING & schema.keys()) - {"anyOf"}
            if others or not isinstance(branches, list) or not branches:
                raise _refusal(path, "its `anyOf` is empty, or has others beside it")
            return {"anyOf": [self._part(one, path, depth, trail) for one in branches]}
        types = _stated_types(schema, path)
        shapes = [
            self._of_type(name, schema, path, depth, trail) for name in types if name != _NULL
        ]
        if not shapes:
            return {"type": _NULL}
        shape = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        return nullable(shape) if _NULL in types else shape

    def _choice(self, schema: Schema, path: str) -> Schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        if not isinstance(values, list) or not values:
            raise _refusal(path, "its `enum` has no values")
        if any(type(one) not in _SCALARS for one in values):
            raise _refusal(path, "its `enum` has lists or objects")
        if _BESIDE_CHOICES & schema.keys() or {"enum", "const"} <= schema.keys():
            raise _refusal(path, "its `enum` has others beside it")
        characters = sum(len(one) for one in values if isinstance(one, str))
        if len(values) > _MANY_VALUES and characters > _MOST_CHARACTERS_OF_MANY:
            raise _refusal(path, _TOO_LARGE)
        self._values += len(values)
        self._characters += characters
        self._check_size(path)
        types = [*dict.fromkeys(_SCALARS[type(one)] for one in values)]
        stated = _stated_types(schema, path) if "type" in schema else types
        if not {*types} <= {*stated, *(("integer",) if "number" in stated else ())}:
            raise _refusal(path, "its `enum` has values of another type")
        return {"type": types[0] if len(types) == 1 else types, "enum": values}

    def _of_type(
        self, name: str, schema: Schema, path: str, depth: int, trail: frozenset[str]
    ) -> Schema:
        if name == "object":
            return self._object(schema, path, depth, trail)
        shape: Schema = {"type": name}
        for key in _BY_TYPE.get(name, ()):
            if key in schema:
                shape[key] = _check_bound(key, schema[key], path)
        if name == "string" and str(schema.get("format")) in _FORMATS:
            shape["format"] = schema["format"]
        if name == "array":
            items = schema.get("items")
            shape["items"] = self._part(items, f"{path}/{ITEMS}", depth + 1, trail)
        return shape

    def _object(self, schema: Schema, path: str, depth: int, trail: frozenset[str]) -> Schema:
        properties, required = schema.get("properties"), schema.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            raise _refusal(path, "it is an object with any members")
        if schema.get("additionalProperties", False) is not False:
            raise _refusal(path, "it allows further members")
        if any(not isinstance(name, str) or name not in properties for name in required):
            raise _refusal(path, "it requires a member that it does not describe")
        self._properties += len(properties)
        self._characters += sum(map(len, properties))
        self._check_size(path)
        members = {
            name: self._member(one, _child(path, name), depth, trail, is_required=name in required)
            for name, one in properties.items()
        }
        shape: Schema = {"type": "object", "properties": members, "required": [*members]}
        return {**shape, "additionalProperties": False}

    def _member(
        self, given: Any, path: str, depth: int, trail: frozenset[str], *, is_required: bool
    ) -> Schema:
        if path.endswith(f"/{ITEMS}"):
            raise _refusal(path, f"it is called {ITEMS}")
        member = self._part(given, path, depth + 1, trail)
        if is_required:
            if accepts_null(member):
                self._nullable.add(path)
            return member
        if accepts_null(member) and given.get("default", ...) is not None:
            raise _refusal(path, "null and nothing mean different things")
        self.optional.add(path)
        return nullable(member)

    def _check_size(self, path: str) -> None:
        if (
            self._properties > _MOST_PROPERTIES
            or self._values > _MOST_VALUES
            or self._characters > _MOST_CHARACTERS
        ):
            raise _refusal(path, _TOO_LARGE)


def accepts_null(schema: Schema) -> bool:
    """Return whether a strict schema accepts null."""
    types = schema.get("type", [])
    return _NULL in ([types] if isinstance(types, str) else types) or any(
        map(accepts_null, schema.get("anyOf", ()))
    )


def nullable(schema: Schema) -> Schema:
    """Return a strict schema that accepts null as well."""
    if accepts_null(schema):
        return schema
    types = schema.get("type")
    if types is None:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": _NULL}]}
    if types in ("object", "array"):
        inner = {key: one for key, one in schema.items() if key != "description"}
        outer = {key: one for key, one in schema.items() if key == "description"}
        return {**outer, "anyOf": [inner, {"type": _NULL}]}
    listed = [types] if isinstance(types, str) else types
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [*listed, _NULL], **values}


def _add_description(shape: Schema, schema: Schema) -> Schema:
    """Return *shape* with the description of *schema*, and its default, which the mode lacks."""
    text = schema.get("description")
    texts = [text.strip()] if isinstance(text, str) and text.strip() else []
    if schema.get("default") is not None:
        texts.append(f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
    return {**shape, "description": " ".join(texts)} if texts else shape


def _stated_types(schema: Schema, path: str) -> list[str]:
    given = schema.get("type")
    if given is None:
        implied = {"properties": "object", "items": "array"}
        given = [name for key, name in implied.items() if key in schema]
    found = given if isinstance(given, list) else [given]
    known = [one for one in found if isinstance(one, str) and one in _KNOWN_TYPES]
    if not known or len(known) < len(found):
        raise _refusal(path, "it states no type of JSON")
    return [*dict.fromkeys(known)]


def _check_bound(key: str, given: Any, path: str) -> Any:
    if CHECKS[key](given) and (key != "pattern" or _is_plain_pattern(given)):
        return given
    raise _refusal(path, f"strict mode cannot have its `{key}`")


def _is_plain_pattern(pattern: str) -> bool:
    """Return whether *pattern* is valid, and has no groups but simple ones."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of what programs read in different ways
            re.compile(pattern)
    except (re.error, OverflowError, Warning):
        return False
    return "(?" not in pattern.replace("(?:", "")


def _refusal(path: str, reason: str) -> NotStrictError:
    return NotStrictError(f"{path or 'the schema'}: {reason}")
