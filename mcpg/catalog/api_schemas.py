"""Input schemas as the APIs of language models accept them.

OpenAI and Anthropic refuse a whole request for one schema that has no `type: object` at the top,
combines schemas there (`anyOf`, `oneOf`, `allOf`, `enum`, `not`), has a reference that leads
nowhere, an array without `items`, or a keyword with a value that JSON Schema 2020-12 does not
allow. Whatever a tool accepts, the changed schema accepts as well: parts that an API refuses are
left out, never narrowed, because the server checks the arguments itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote

Schema: TypeAlias = dict[str, Any]
"""A JSON Schema that is an object."""

_DEEPEST = 40
_REFERENCE = "#/$defs/"
_DEFINED = re.compile(r"#/(?:\$defs|definitions)/[^/]+\Z")
_POSITION = re.compile(r"(?:0|[1-9][0-9]{0,5})\Z")
_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}

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


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def _is_number(given: object) -> bool:
    if not isinstance(given, int | float) or isinstance(given, bool):
        return False
    try:
        return math.isfinite(given)
    except OverflowError:  # an integer that no other reader of the JSON could hold
        return False


def _is_text(given: object) -> bool:
    return isinstance(given, str)


def _is_flag(given: object) -> bool:
    return isinstance(given, bool)


def _are_names(given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


def _are_values(given: object) -> bool:
    return isinstance(given, list) and bool(given)


CHECKS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("title", "description", "format", "pattern"), _is_text),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    "multipleOf": lambda given: _is_number(given) and given > 0,  # type: ignore[operator]
    "required": _are_names,
    "enum": _are_values,
    "examples": lambda given: isinstance(given, list),
    "dependentRequired": lambda given: (
        isinstance(given, dict) and all(map(_are_names, given.values()))
    ),
}
"""Whether a keyword without schemas may have a value."""


def acceptable(schema: Schema) -> Schema:
    """Return *schema*, of the arguments of a tool, as the APIs of language models accept it.

    It has an object at the top, its references lead to its own `$defs`, and each keyword has a
    value that JSON Schema 2020-12 allows. *schema* is not changed.
    """
    return _state_properties(_SchemaCleaner(schema).run())


class _SchemaCleaner:
    """One pass over a schema that leaves out what is broken, and moves what is referred to."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        base = root.get("$id")
        self._base = base if isinstance(base, str) else ""
        self._moved: dict[str, str] = {}
        self._waiting: list[tuple[str, Any]] = []

    def run(self) -> Schema:
        """Return the whole schema with its definitions."""
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
        for name, member in _modern(schema).items():
            kept = self._clean_keyword(name, member, depth)
            if kept is not None:
                found[name] = kept[0]
        if "array" in _types(found) and "items" not in found:
            found["items"] = {}
        return found

    def _clean_keyword(self, name: str, member: Any, depth: int) -> tuple[Any] | None:
        """Return what is kept of the keyword *name*, in a tuple; `None` to leave it out."""
        if name in _MAPS and isinstance(member, dict):
            return (self._clean_all(member, depth),)
        if name in _LISTS and _are_values(member):
            return ([self._clean(one, depth + 1) for one in member],)
        if name in _PARTS and _is_schema(member):
            return (self._clean_part(member, depth),)
        if name == "$ref":
            reference = self._local(member)
            return (reference,) if reference else None
        return None if name in _OF_SCHEMAS else _plain(name, member)

    def _clean_all(self, members: Schema, depth: int) -> Schema:
        return {name: self._clean(one, depth + 1) for name, one in members.items()}

    def _clean_part(self, member: Any, depth: int) -> Any:
        return member if isinstance(member, bool) else self._clean(member, depth + 1)

    def _local(self, reference: Any) -> str:
        """Return *reference* to a schema within, to `$defs` or `definitions`; "" for any other."""
        if not isinstance(reference, str):
            return ""
        pointer = reference.removeprefix(self._base) if self._base else reference
        if pointer not in self._moved:
            target = self._target(pointer)
            if not _is_schema(target):
                return ""
            if _DEFINED.match(pointer) and pointer.split("/")[1] in self._root:
                self._moved[pointer] = pointer
            else:
                name = self._free_name()
                self._moved[pointer] = _REFERENCE + name
                self._waiting.append((name, target))
        return self._moved[pointer]

    def _free_name(self) -> str:
        taken = {*_object(self._root.get("$defs")), *self._moved.values()}
        number = len(self._moved) + 1
        while {f"part{number}", f"{_REFERENCE}part{number}"} & taken:
            number += 1
        return f"part{number}"

    def _target(self, pointer: str) -> Any:
        """Return what the JSON pointer (RFC 6901) after `#` names, `None` for nothing."""
        if pointer != "#" and not pointer.startswith("#/"):
            return None
        found: Any = self._root
        for step in pointer.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and _POSITION.match(name) and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found


def _plain(name: str, member: Any) -> tuple[Any] | None:
    """Return what is kept of a keyword without schemas, as `_Cleaning` does."""
    if name == "type":
        return _known_types(member)
    if name == "required" and _are_names(member):
        return ([*dict.fromkeys(member)],)
    check = CHECKS.get(name)
    return (member,) if check is None or check(member) else None


def _is_schema(given: object) -> bool:
    return isinstance(given, dict | bool)


def _object(given: object) -> Schema:
    return given if isinstance(given, dict) else {}


def _known_types(given: object) -> tuple[Any] | None:
    """Return the types of JSON among those *given*, in a tuple; `None` where there is none."""
    if isinstance(given, str):
        return (given,) if given in _TYPES else None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        return None
    known = [*dict.fromkeys(given)]
    return (known,) if known and _TYPES.issuperset(known) else None


def _types(schema: Schema) -> list[str]:
    stated = schema.get("type", [])
    return [stated] if isinstance(stated, str) else stated


def _modern(schema: Schema) -> Schema:
    """Return *schema* with what drafts 4 to 2019-09 wrote in another way as 2020-12 writes it."""
    changed = dict(schema)
    if isinstance(schema.get("items"), list):
        changed["prefixItems"] = changed.pop("items")
        rest = schema.get("additionalItems")
        changed["items"] = rest if _is_schema(rest) else {}
    for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(flag) is True and _is_number(schema.get(bound)):
            changed[flag] = changed.pop(bound)
    return changed


def _state_properties(schema: Schema) -> Schema:
    """Return *schema* with an object at the top that states its properties itself."""
    members = {name: one for name, one in schema.items() if name not in _COMBINED}
    if any(name in schema for name in _COMBINED):
        properties, required = _SchemaMerger(schema).merge_properties(schema)
        members["properties"] = {name: _either(ones) for name, ones in properties.items()}
        members["required"] = [name for name in properties if name in required]
        if not members["required"]:
            del members["required"]
    first = {"type": "object", "properties": {}}
    return first | members | {"type": "object"}


class _SchemaMerger:
    """Merges what a schema combines; each definition once, so that circles come to an end."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._seen: set[str] = set()

    def merge_properties(self, schema: Schema) -> tuple[dict[str, list[Schema]], set[str]]:
        """Return the schemas of each property, and the properties that are always required."""
        properties: dict[str, list[Schema]] = {}
        required = set(schema.get("required", ()))
        for name, one in schema.get("properties", {}).items():
            _add(properties, name, [one])
        for branch in (*schema.get("allOf", ()), *self._follow(schema)):
            required |= self._take(properties, branch)
        for keyword in ("anyOf", "oneOf"):
            branches = [one for one in schema.get(keyword, ()) if _may_be_object(one)]
            needed = [self._take(properties, branch) for branch in branches]
            required |= set.intersection(*needed) if needed else set()
        return properties, required

    def _take(self, properties: dict[str, list[Schema]], branch: Schema) -> set[str]:
        found, required = self.merge_properties(branch)
        for name, ones in found.items():
            _add(properties, name, ones)
        return required

    def _follow(self, schema: Schema) -> Iterable[Schema]:
        reference = schema.get("$ref")
        if reference and reference not in self._seen:
            self._seen.add(reference)
            _, keyword, step = reference.split("/")
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            yield self._root[keyword][name]


def _add(properties: dict[str, list[Schema]], name: str, ones: list[Schema]) -> None:
    known = properties.setdefault(name, [])
    known += [one for one in ones if one not in known]


def _either(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _may_be_object(schema: Schema) -> bool:
    types = _types(schema)
    return not types or "object" in types
