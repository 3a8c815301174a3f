"""JSON Schemas in a plain form: references followed, conjunctions joined, unions as branches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mcpg.catalog.model import resolve
from mcpg.text.json_values import JsonObject, JsonValue

MOST_BRANCHES = 24
"""The most branches of a union that are distinguished."""

TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
UNIONS = ("anyOf", "oneOf")
ANNOTATIONS = frozenset(
    ("title", "description", "$comment", "examples", "default", "$defs", "definitions")
)
"""Keywords that refuse no value."""

NOTHING: JsonObject = {"not": {}}
"""A schema that accepts no value."""

_ANYTHING: JsonObject = {}
_MOST_HOPS, _MOST_UNIONS = 16, 3
_MOST_JOINED = 300_000
_JOINED = ("properties", "required")
_REFERENCES = ("$ref", "$dynamicRef")
_ANCHORS = {"$anchor": "#", "$dynamicAnchor": "#", "$id": ""}
_EXACT = 2**53
canonical_text = json.JSONEncoder(sort_keys=True).encode
"""Returns a text that values share if they are equal; Python takes 1 and true for equal."""


@dataclass(slots=True)
class SchemaReader:
    """Reads the schemas below one root."""

    root: JsonObject
    # By identity, which is theirs for as long as the schema itself is kept.
    _read: dict[int, tuple[JsonValue, JsonObject]] = field(default_factory=dict)
    _branches: dict[int, tuple[JsonObject, list[JsonObject]]] = field(default_factory=dict)
    _anchors: dict[str, JsonObject] | None = None
    _joins_left: int = _MOST_JOINED

    def plain(self, schema: JsonValue) -> JsonObject:
        """Return *schema* with its references and the parts of `allOf` joined into one object.

        Parts that conflict under one key stay in `allOf`.
        """
        if isinstance(schema, bool):
            return _ANYTHING if schema else NOTHING
        if not isinstance(schema, dict):
            return _ANYTHING
        known = self._read.get(id(schema))
        if known is None:
            known = self._read[id(schema)] = schema, _with_whole_types(self._join_all(schema))
        return known[1]

    def _join_all(self, schema: JsonObject, hops: int = 0) -> JsonObject:
        joined = {key: one for key, one in schema.items() if key not in (*_REFERENCES, "allOf")}
        stated = schema.get("allOf")
        parts = list(stated) if isinstance(stated, list) else []
        unknown: list[JsonValue] = []
        for key in (key for key in _REFERENCES if key in schema):
            found = self._follow(schema[key])
            if found is None:
                unknown.append({key: schema[key]})
            parts.append({key: schema[key]} if found is None else found)
        rest: list[JsonValue] = []
        for part in parts:
            own: JsonObject = part if isinstance(part, dict) else {}
            if hops < _MOST_HOPS and self._joins_left > 0 and part not in unknown:
                own = self._join_all(own, hops + 1)
            if part is False or own == NOTHING:
                return NOTHING
            # Joining copies the parts joined so far.
            self._joins_left -= (
                1 + len(property_schemas(joined)) + len(only_texts(joined.get("required")))
            )
            if self._joins_left > 0 and _is_joinable(joined, own):
                joined = _join(joined, own)
            else:
                rest.append(own)
        is_nothing = joined.get("not") is True or joined.get("not") == {}
        return NOTHING if is_nothing else joined | ({"allOf": rest} if rest else {})

    def collect_references(self, schema: JsonValue) -> JsonObject:
        """Return the schemas that *schema* refers to, and those that these refer to, by address."""
        found: JsonObject = {}
        left = [schema]
        for one in _objects_in(left):
            stated = (one.get(key) for key in _REFERENCES)
            for address in (each for each in stated if isinstance(each, str)):
                if address not in found:
                    found[address] = self._follow(address)
                    left.append(found[address])
        return found

    def _follow(self, reference: JsonValue) -> JsonObject | None:
        found = resolve(reference, self.root)
        if found is not None or not isinstance(reference, str):
            return found
        if self._anchors is None:  # the schemas with an anchor or an id, by what refers to them
            self._anchors = {
                f"{sign}{one[key]}": one
                for one in _objects_in([self.root])
                for key, sign in _ANCHORS.items()
                if isinstance(one.get(key), str)
            }
        return self._anchors.get(reference)

    def branches(self, schema: JsonObject) -> list[JsonObject]:
        """Return the plain schemas of a union, one of which a value has to match.

        Keywords beside a union apply to each of its branches; several types, or values, are also
        branches.
        """
        known = self._branches.get(id(schema))
        if known is None:
            known = self._branches[id(schema)] = schema, self._unfold(schema)
        return known[1]

    def _unfold(self, schema: JsonObject, hops: int = 0) -> list[JsonObject]:
        union = next((key for key in UNIONS if isinstance(schema.get(key), list)), None)
        # Keywords that describe the whole are not part of its branches.
        dropped = ANNOTATIONS if union or not hops else ()
        beside = {key: one for key, one in schema.items() if key != union and key not in dropped}
        if union is None or hops == _MOST_UNIONS:
            return list(_alternatives(beside if union is None else schema))
        stated = schema[union]
        branches = [self.plain(one) for one in stated] if isinstance(stated, list) else []
        found: list[JsonObject] = []
        for one in branches[: MOST_BRANCHES + 1]:
            both = one  # with the keywords beside the union, in `allOf` if these differ
            if beside and _is_joinable(beside, one):
                both = _join(beside, one)
            elif beside:
                both = {**one, "allOf": [beside]}
            found += self._unfold(both, hops + 1)
        return found

    def is_exclusive(self, schema: JsonObject) -> bool:
        """Return whether a value is refused if it matches several branches of *schema*."""
        found = self.branches(schema)
        stated = schema.get("anyOf")
        others = stated if isinstance(stated, list) else []
        is_stated = "oneOf" in schema or any("oneOf" in self.plain(one) for one in others)
        return is_stated and not all(
            are_disjoint(one, other) for at, one in enumerate(found) for other in found[:at]
        )


def _objects_in(left: list[JsonValue]) -> Iterator[JsonObject]:
    """Yield all objects in the list *left*, to which the caller may append."""
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            left += one.values()
            yield one


def are_disjoint(one: JsonObject, other: JsonObject) -> bool:
    """Return whether it is plain that no value matches both plain schemas."""
    if allowed_types(one).isdisjoint(allowed_types(other)):
        return True
    if _are_other_values(one, other):
        return True
    shared = {*only_texts(one.get("required"))} & {*only_texts(other.get("required"))}
    if allowed_types(one) & allowed_types(other) != {"object"}:
        return False
    members = property_schemas(one), property_schemas(other)
    return any(
        isinstance(left, dict) and isinstance(right, dict) and _are_other_values(left, right)
        for left, right in ((members[0].get(name), members[1].get(name)) for name in shared)
    )


def allowed_types(schema: JsonObject) -> frozenset[str]:
    """Return the types that a value may have; an integer is a number."""
    stated = schema.get("type")
    names = frozenset(only_texts(stated if isinstance(stated, list) else [stated])) & TYPES
    if stated is None:
        values = allowed_values(schema)
        names = TYPES if values is None else frozenset(map(value_type, values))
    if schema.get("nullable") is True:  # of OpenAPI 3.0
        names |= {"null"}
    return names | {"integer"} if "number" in names else names


def bare_types(names: Iterable[str]) -> list[str]:
    """Return *names* in order, without the integer that every number may be."""
    found = sorted(names)
    return [one for one in found if one != "integer" or "number" not in found]


def allowed_values(schema: JsonObject) -> list[JsonValue] | None:
    """Return the values that *schema* lists and its type allows, `None` if it lists none."""
    listed = schema.get("enum")
    if "const" in schema:
        value = schema["const"]
        is_listed = not isinstance(listed, list) or canonical_text(value) in map(
            canonical_text, listed
        )
        listed = [value] if is_listed else []
    if not isinstance(listed, list) or "type" not in schema:
        return listed if isinstance(listed, list) else None
    types = allowed_types(schema)
    return [one for one in listed if value_type(one) in types]


def property_schemas(schema: JsonObject) -> Mapping[str, JsonValue]:
    """Return the schemas of the properties, by name."""
    stated = schema.get("properties")
    return stated if isinstance(stated, dict) else {}


def only_texts(stated: JsonValue) -> list[str]:
    """Return the texts of a list, and nothing of another value."""
    return [one for one in stated if isinstance(one, str)] if isinstance(stated, list) else []


def with_plain_numbers(one: JsonValue) -> JsonValue:
    """Return *one* with whole numbers as integers: to JSON Schema, 1.0 is 1."""
    if isinstance(one, dict):
        return {name: with_plain_numbers(member) for name, member in one.items()}
    if isinstance(one, list):
        return [*map(with_plain_numbers, one)]
    return plain_number(one) if isinstance(one, float) else one


def plain_number(one: float) -> float:
    """Return a whole number as an integer, if that loses nothing."""
    return int(one) if one.is_integer() and abs(one) < _EXACT else one


def _is_joinable(one: JsonObject, other: JsonObject) -> bool:
    """Return whether the common keys agree, except those that can be joined."""
    return all(
        key in _JOINED or one[key] == other[key] for key in one.keys() & other.keys() - ANNOTATIONS
    )


def _join(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return a schema with the demands of both; descriptions are taken from the first."""
    joined = other | one
    properties = dict(property_schemas(other))
    for name, part in property_schemas(one).items():
        known = properties.get(name, part)
        properties[name] = part if known == part else {"allOf": [part, known]}
    if properties:
        joined["properties"] = properties
    required = [*only_texts(other.get("required")), *only_texts(one.get("required"))]
    if required:
        joined["required"] = [*dict.fromkeys(required)]
    return joined


def _with_whole_types(schema: JsonObject) -> JsonObject:
    """Return *schema* with types instead of its values if these are all values of the types."""
    values = allowed_values(schema)
    if values is None or schema.get("nullable") is True:
        return schema
    types = allowed_types({"enum": values})
    has_all_flags = "boolean" not in types or _has_both_flags(values)
    if not types or not types <= {"boolean", "null"} or not has_all_flags:
        return schema
    bare = {key: one for key, one in schema.items() if key not in ("enum", "const")}
    return bare | {"type": [*sorted(types)] if len(types) > 1 else next(iter(types))}


def _has_both_flags(values: Iterable[JsonValue]) -> bool:
    return len({one for one in values if isinstance(one, bool)}) > 1


def _alternatives(schema: JsonObject) -> Iterator[JsonObject]:
    values = allowed_values(schema)
    types = schema.get("type")
    if values is not None and len(values) <= MOST_BRANCHES:
        bare = {key: one for key, one in schema.items() if key not in ("enum", "const", "type")}
        if _has_both_flags(values):
            yield bare | {"type": "boolean"}
            values = [one for one in values if not isinstance(one, bool)]
        yield from (bare | {"const": one} for one in values)
    elif isinstance(types, list) or (types is not None and schema.get("nullable") is True):
        bare = {key: one for key, one in schema.items() if key != "nullable"}
        yield from (bare | {"type": one} for one in bare_types(allowed_types(schema)))
    else:
        yield schema


def _are_other_values(one: JsonObject, other: JsonObject) -> bool:
    values, others = allowed_values(one), allowed_values(other)
    if values is None or others is None:
        return False
    return {*map(canonical_text, values)}.isdisjoint(map(canonical_text, others))


def value_type(one: JsonValue) -> str:
    """Return the type of a value, for a whole number `integer`."""
    kinds = {bool: "boolean", str: "string", list: "array", dict: "object", int: "integer"}
    return "null" if one is None else kinds.get(type(one), "number")
