"""Input schemas as the APIs of language models accept them.

OpenAI and Anthropic refuse a whole request for one schema that has no `type: object` at the top,
combines schemas there (`anyOf`, `oneOf`, `allOf`, `enum`, `not`), has a reference that leads
nowhere, an array without `items`, or a keyword with a value that JSON Schema 2020-12 does not
allow. The changed schema also accepts everything that the tool accepts: parts that an API refuses
are left out, never narrowed, because the server checks the arguments itself.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcpg.catalog.flat_schema import TYPES
from mcpg.catalog.model import follow_pointer, resolve

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema that is an object."""

_DEEPEST = 40
_REFERENCE = "#/$defs/"
_DEFINED = re.compile(r"#/(?:\$defs|definitions)/[^/]+\Z")

_MAPS = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
_LISTS = {"allOf", "anyOf", "oneOf", "prefixItems"}
_PARTS = {
    *("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames"),
    *("then", "unevaluatedItems", "unevaluatedProperties"),
}
_UNWANTED = {
    *("$schema", "$id", "$anchor", "$comment", "$vocabulary"),
    *("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "id"),
    "additionalItems",  # a member of tuples up to draft 2019-09, see `_tuple`
}
_OF_SCHEMAS = _MAPS | _LISTS | _PARTS | _UNWANTED
_COMBINED = ("$ref", "allOf", "anyOf", "oneOf", "enum", "const", "not")
"""Keywords that the top of a schema must not have."""


def _is_number(given: object) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    try:
        return math.isfinite(given)
    except OverflowError:  # an integer too large for other readers of the JSON
        return False


def _are_names(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


_COUNTED = ("Length", "Items", "Properties", "Contains")
CHECKS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(
        ("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"),
        lambda given: isinstance(given, str),
    ),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), _is_number),
    **dict.fromkeys(
        (f"{bound}{what}" for bound in ("min", "max") for what in _COUNTED),
        lambda given: isinstance(given, int) and not isinstance(given, bool) and given >= 0,
    ),
    **dict.fromkeys(
        ("uniqueItems", "deprecated", "readOnly", "writeOnly"),
        lambda given: isinstance(given, bool),
    ),
    "multipleOf": lambda given: _is_number(given) and given > 0,  # type: ignore[operator]
    "required": _are_names,
    "enum": lambda given: isinstance(given, list) and bool(given),
    "examples": lambda given: isinstance(given, list),
    "dependentRequired": lambda given: (
        isinstance(given, dict) and all(map(_are_names, given.values()))
    ),
}
"""Whether a keyword without schemas may have a value."""


def acceptable(schema: Schema) -> Schema:
    """Return *schema*, of the arguments of a tool, as the APIs of language models accept it.

    It has an object at the top, its references lead to its own `$defs`, and each keyword has a
    value that JSON Schema 2020-12 allows.
    """
    cleaned = _SchemaCleaner(schema).run()
    members = {name: one for name, one in cleaned.items() if name not in _COMBINED}
    if any(name in cleaned for name in _COMBINED):
        # An object at the top has properties of its own.
        properties, required = _merge_properties(cleaned, cleaned, set())
        members["properties"] = {
            name: (ones[0] if len(ones) == 1 else {"anyOf": ones})
            for name, ones in properties.items()
        }
        members["required"] = [name for name in properties if name in required]
        if not members["required"]:
            del members["required"]
    first = {"type": "object", "properties": {}}
    return first | members | {"type": "object"}


class _SchemaCleaner:
    """One pass over a schema that drops broken parts, and moves the targets of references."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        base = root.get("$id")
        self._base = base if isinstance(base, str) else ""
        self._moved: dict[str, str] = {}
        self._waiting: list[tuple[str, Any]] = []

    def run(self) -> Schema:
        cleaned = self._clean(self._root, 0)
        definitions = dict(cleaned.get("$defs", {}))
        while self._waiting:
            name, target = self._waiting.pop()
            definitions[name] = self._clean(target, 1)
        return cleaned | ({"$defs": definitions} if definitions else {})

    def _clean(self, schema: Any, depth: int) -> Schema:
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return {}
        found: Schema = {}
        changed = dict(schema)
        if isinstance(schema.get("items"), list):
            changed["prefixItems"] = changed.pop("items")
            rest = schema.get("additionalItems")
            changed["items"] = rest if isinstance(rest, dict | bool) else {}
        for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(flag) is True and _is_number(schema.get(bound)):
                changed[flag] = changed.pop(bound)
        for name, member in changed.items():
            kept = self._clean_keyword(name, member, depth)
            if kept is not None:
                found[name] = kept[0]
        if "array" in _types(found) and "items" not in found:
            found["items"] = {}
        return found

    def _clean_keyword(self, name: str, member: Any, depth: int) -> tuple[Any] | None:
        """Return the rest of the keyword *name*, in a tuple; `None` to leave it out."""
        if name in _MAPS and isinstance(member, dict):
            return ({name: self._clean(one, depth + 1) for name, one in member.items()},)
        if name in _LISTS and isinstance(member, list) and member:
            return ([self._clean(one, depth + 1) for one in member],)
        if name in _PARTS and isinstance(member, dict | bool):
            kept = member if isinstance(member, bool) else self._clean(member, depth + 1)
            return (kept,)
        if name == "$ref":
            reference = self._local(member)
            return (reference,) if reference else None
        return None if name in _OF_SCHEMAS else _plain(name, member)

    def _local(self, reference: Any) -> str:
        """Return *reference* to a schema within, to `$defs` or `definitions`; "" for any other."""
        if not isinstance(reference, str):
            return ""
        pointer = reference.removeprefix(self._base) if self._base else reference
        if pointer not in self._moved:
            try:
                target = follow_pointer(pointer, self._root)
            except LookupError:
                return ""
            if not isinstance(target, dict | bool):
                return ""
            if _DEFINED.match(pointer) and pointer.split("/")[1] in self._root:
                self._moved[pointer] = pointer
            else:
                stated = self._root.get("$defs")
                taken = {*(stated if isinstance(stated, dict) else ()), *self._moved.values()}
                number = len(self._moved) + 1
                while {f"part{number}", f"{_REFERENCE}part{number}"} & taken:
                    number += 1
                name = f"part{number}"
                self._moved[pointer] = _REFERENCE + name
                self._waiting.append((name, target))
        return self._moved[pointer]


def _plain(name: str, member: Any) -> tuple[Any] | None:
    if name == "type":
        if isinstance(member, str):
            return (member,) if member in TYPES else None
        if not isinstance(member, list) or not all(isinstance(one, str) for one in member):
            return None
        known = [*dict.fromkeys(member)]
        return (known,) if known and TYPES.issuperset(known) else None
    if name == "required" and _are_names(member):
        return ([*dict.fromkeys(member)],)
    check = CHECKS.get(name)
    return (member,) if check is None or check(member) else None


def _types(schema: Schema) -> list[str]:
    stated = schema.get("type", [])
    return [stated] if isinstance(stated, str) else stated


def _merge_properties(
    schema: Schema, root: Schema, seen: set[str]
) -> tuple[dict[str, list[Schema]], set[str]]:
    """Return the schemas of each property, and the properties that are always required.

    Each definition is *seen* once, so that circles come to an end.
    """
    properties = {name: [one] for name, one in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))

    def take(branch: Schema) -> set[str]:
        found, needed = _merge_properties(branch, root, seen)
        for name, ones in found.items():
            known = properties.setdefault(name, [])
            known += [one for one in ones if one not in known]
        return needed

    branches = [*schema.get("allOf", ())]
    reference = schema.get("$ref")
    if reference and reference not in seen:
        seen.add(reference)
        branches.append(follow_pointer(reference, root))
    for branch in branches:
        required |= take(branch)
    for keyword in ("anyOf", "oneOf"):
        stated = [(one, _types(one)) for one in schema.get(keyword, ())]
        needed = [take(one) for one, types in stated if not types or "object" in types]
        required |= set.intersection(*needed) if needed else set()
    return properties, required


ITEMS = "*"
"""The element of a path for each item of a list."""

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
_FORMATS = {*("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")}
# Keywords that restrict a value and have no counterpart in strict mode.
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
    *("$ref", "type", "enum", "const", "anyOf", "properties", "required", "items", "format"),
    *("additionalProperties", *_REFUSED, *(key for keys in _BY_TYPE.values() for key in keys)),
}
_BESIDE_CHOICES = _RESTRICTING - {"type", "enum", "const", "format", *_REFUSED}


class NotStrictError(Exception):
    """A schema cannot be written for strict mode without a change of meaning."""


def strict_schema(schema: Schema) -> tuple[Schema, tuple[str, ...]]:
    """Return *schema*, of the arguments of a tool, for strict mode.

    With it come the paths of the arguments that are null when they are left out: JSON pointers with
    `ITEMS` for each item of a list.

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

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, Mapping):
            members = ((_child(path, name), name, one) for name, one in value.items())
            return {
                name: walk(one, at)
                for at, name, one in members
                if one is not None or at not in optional
            }
        return [walk(one, f"{path}/{ITEMS}") for one in value] if isinstance(value, list) else value

    found: dict[str, Any] = walk(given, "")
    return found


def _child(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


@dataclass(slots=True)
class _StrictWriter:
    """One pass over a schema, which gathers the paths of arguments that are null if left out."""

    root: Schema
    optional: set[str] = field(default_factory=set)
    nullable: set[str] = field(default_factory=set)
    parts: int = 0
    properties: int = 0
    values: int = 0
    characters: int = 0

    def top(self) -> Schema:
        schema, trail = self._resolve_references(self.root, "", frozenset())
        for keyword in ("anyOf", "enum", "const"):
            if keyword in schema:
                raise _refusal("", f"it has `{keyword}` at the top")
        if schema.get("type", "object") != "object":
            raise _refusal("", "it is not an object")
        self._check("", schema)
        written = self._object({"properties": {}, **schema}, "", 1, trail)
        if both := self.optional & self.nullable:
            raise _refusal(min(both), "null and nothing mean different things")
        return written

    def _part(self, given: Any, path: str, depth: int, trail: frozenset[str]) -> Schema:
        if depth > _DEEPEST_STRICT:
            raise _refusal(path, _TOO_LARGE)
        schema, trail = self._resolve_references(given, path, trail)
        self._check(path, schema)
        shape = self._shape(schema, path, depth, trail)
        text = schema.get("description")
        texts = [text.strip()] if isinstance(text, str) and text.strip() else []
        if schema.get("default") is not None:
            texts.append(f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
        return {**shape, "description": " ".join(texts)} if texts else shape

    def _resolve_references(
        self, given: Any, path: str, trail: frozenset[str]
    ) -> tuple[Schema, frozenset[str]]:
        """Return a schema with its references resolved, and the references on the way."""
        schema = given
        while isinstance(schema, dict):
            self.parts += 1
            if self.parts > _MOST_PARTS:
                raise _refusal(path, _TOO_LARGE)
            only = schema.get("allOf")
            if "$ref" in schema:
                keyword, reference = "$ref", schema["$ref"]
                if not isinstance(reference, str) or reference in trail:
                    raise _refusal(path, "it refers to itself")
                target: Any = resolve(reference, self.root)
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
        self.values += len(values)
        self.characters += characters
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
                given = schema[key]
                if not CHECKS[key](given) or (key == "pattern" and not _is_plain_pattern(given)):
                    raise _refusal(path, f"strict mode cannot have its `{key}`")
                shape[key] = given
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
        self.properties += len(properties)
        self.characters += sum(map(len, properties))
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
                self.nullable.add(path)
            return member
        if accepts_null(member) and given.get("default", ...) is not None:
            raise _refusal(path, "null and nothing mean different things")
        self.optional.add(path)
        return nullable(member)

    def _check_size(self, path: str) -> None:
        if (
            self.properties > _MOST_PROPERTIES
            or self.values > _MOST_VALUES
            or self.characters > _MOST_CHARACTERS
        ):
            raise _refusal(path, _TOO_LARGE)


def accepts_null(schema: Schema) -> bool:
    """Return whether a strict schema accepts null."""
    types = schema.get("type", [])
    return _NULL in ([types] if isinstance(types, str) else types) or any(
        map(accepts_null, schema.get("anyOf", ()))
    )


def nullable(schema: Schema) -> Schema:
    """Return a strict schema that also accepts null."""
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


def _stated_types(schema: Schema, path: str) -> list[str]:
    given = schema.get("type")
    if given is None:
        implied = {"properties": "object", "items": "array"}
        given = [name for key, name in implied.items() if key in schema]
    found = given if isinstance(given, list) else [given]
    known = [one for one in found if isinstance(one, str) and one in TYPES]
    if not known or len(known) < len(found):
        raise _refusal(path, "it has no JSON type")
    return [*dict.fromkeys(known)]


def _is_plain_pattern(pattern: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of what programs read in different ways
            re.compile(pattern)
    except (re.error, OverflowError, Warning):
        return False
    return "(?" not in pattern.replace("(?:", "")


def _refusal(path: str, reason: str) -> NotStrictError:
    return NotStrictError(f"{path or 'the schema'}: {reason}")
