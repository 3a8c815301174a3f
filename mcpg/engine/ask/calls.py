"""Calls of tools made up from their input schemas, to copy and to adapt.

A call holds the required arguments and those that are asked for. Its values are what the schema
offers (examples, defaults, the first of an enumeration), else placeholders of the right type and
size, so that the call is valid; a pattern is the one thing that a placeholder cannot follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from mcpg.catalog.model import resolve
from mcpg.json_types import JsonObject, JsonValue

_DEEPEST = 6
_MOST_ITEMS, _MOST_CHARACTERS = 16, 2_000
_GREATEST = 1e15
_FORMATS = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T09:00:00Z",
    "time": "09:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.com",
    "idn-email": "someone@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "/path",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "json-pointer": "/member",
    "regex": ".*",
}
_COMBINED = ("allOf", "anyOf", "oneOf")


def made_up_call(
    schema: JsonObject, asked: Collection[str] = ()
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return arguments that are valid under *schema*, and what they do not follow.

    Args:
        schema: The input schema of a tool.
        asked: Names of optional arguments to fill as well.

    Returns:
        The arguments, and the names of those whose pattern a placeholder does not follow.
    """
    maker = _CallMaker(schema)
    made = maker.object(schema, 0, frozenset(asked))
    return made, tuple(maker.unfollowed)


class _CallMaker:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self.unfollowed: list[str] = []

    def object(
        self, schema: JsonObject, depth: int, asked: frozenset[str] = frozenset()
    ) -> JsonObject:
        """Return an object with the required members of *schema* and those *asked* for."""
        parts = list(self._parts(schema))
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        for part in parts:
            held, named = part.get("properties"), part.get("required")
            properties |= held if isinstance(held, dict) else {}
            names = named if isinstance(named, list) else []
            required |= dict.fromkeys(name for name in names if isinstance(name, str))
        required |= dict.fromkeys(name for name in properties if name in asked)
        made: JsonObject = {}
        for name in [*(one for one in properties if one in required), *required]:
            if name not in made:
                made[name] = self.value(properties.get(name, {}), name, depth + 1)
        return made

    def value(self, schema: JsonValue, name: str, depth: int) -> JsonValue:
        """Return a value that is valid under *schema*."""
        if not isinstance(schema, dict):
            return name
        parts = list(self._parts(schema))
        offered = next((one for part in parts for one in _iter_offered_values(part)), None)
        if offered is not None:
            return offered[0]
        kind = next((kind for part in parts if (kind := _type(part))), "")
        whole: JsonObject = {}
        for part in reversed(parts):
            whole |= part
        if depth > _DEEPEST and kind in {"object", "array"}:
            return {} if kind == "object" else []
        return self._of_type(kind, whole, schema, name, depth)

    def _of_type(
        self, kind: str, whole: JsonObject, schema: JsonObject, name: str, depth: int
    ) -> JsonValue:
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self._array(whole, name, depth)
        if kind in {"integer", "number"}:
            return _number(whole, kind)
        if kind == "boolean":
            return True
        if kind == "null":
            return None
        if "pattern" in whole:
            self.unfollowed.append(name)
        return _text(whole, name)

    def _array(self, schema: JsonObject, name: str, depth: int) -> list[JsonValue]:
        least = _whole_number(schema.get("minItems"), 1)
        most = _whole_number(schema.get("maxItems"), _MOST_ITEMS)
        count = min(max(1, least), most, _MOST_ITEMS)
        tuples = schema.get("prefixItems")
        if isinstance(tuples, list):
            return [self.value(one, name, depth + 1) for one in tuples[:_MOST_ITEMS]]
        items = schema.get("items", {})
        first = self.value(items, name.removesuffix("s"), depth + 1)
        if schema.get("uniqueItems") is True and count > 1:
            return [first, *(_vary_value(first, number) for number in range(2, count + 1))]
        return [first] * count

    def _parts(self, schema: JsonObject) -> Iterator[JsonObject]:
        """Return *schema* and what it refers to: of alternatives, the first that says a type."""
        seen: set[int] = set()
        waiting = [schema]
        while waiting and len(seen) < _MOST_ITEMS:
            part = waiting.pop(0)
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            target = resolve(part.get("$ref"), self._root)
            waiting += [target] if target is not None else []
            for key in _COMBINED:
                branches = part.get(key)
                held = (
                    [one for one in branches if isinstance(one, dict)]
                    if isinstance(branches, list)
                    else []
                )
                named = [one for one in held if _type(one) != "null"]
                waiting += held if key == "allOf" else (named or held)[:1]


def _iter_offered_values(schema: JsonObject) -> Iterator[tuple[JsonValue]]:
    """Yield the values that *schema* offers itself, the most telling first."""
    if "const" in schema:
        yield (schema["const"],)
    for key in ("examples", "enum"):
        values = schema.get(key)
        if (
            isinstance(values, list)
            and values
            and (key == "enum" or _is_of_type(values[0], schema))
        ):
            yield (values[0],)
    for key in ("example", "default"):
        if schema.get(key) is not None and _is_of_type(schema[key], schema):
            yield (schema[key],)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def _is_of_type(found: JsonValue, schema: JsonObject) -> bool:
    """Return whether an example is what it should be: authors err. Objects must be made anew."""
    kind = _type(schema)
    if kind in {"object", "array"} or "enum" in schema:
        return False
    if isinstance(found, bool):
        return kind in {"boolean", ""}
    return kind not in _TYPES or isinstance(found, _TYPES[kind])


def _type(schema: JsonObject) -> str:
    named = schema.get("type")
    kinds = named if isinstance(named, list) else [named]
    texts = [kind for kind in kinds if isinstance(kind, str)]
    kind = next((one for one in texts if one != "null"), texts[0] if texts else "")
    if not kind and isinstance(schema.get("properties"), dict):
        return "object"
    return "array" if not kind and "items" in schema else kind


def _number(schema: JsonObject, kind: str) -> float:
    least, most = _find_bound(schema, "minimum", 1), _find_bound(schema, "maximum", -1)
    step = _quantity(schema.get("multipleOf"))
    size = step if step is not None and step > 0 else 1
    made = max(1, least) if least is not None else 1
    if most is not None:
        made = min(made, most)
    # The next multiple upwards, unless that is too great.
    multiple = -(-made // size) * size
    made = multiple if most is None or multiple <= most else made // size * size
    return int(made) if kind == "integer" or made == int(made) else made


def _quantity(found: JsonValue) -> float | None:
    """Return a number that a float holds exactly, `None` for anything else."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return found if abs(found) < _GREATEST else None


def _find_bound(schema: JsonObject, key: str, way: int) -> float | None:
    """Return the bound called *key*, or the first whole number inside an exclusive one."""
    strict = _quantity(schema.get(f"exclusive{key.capitalize()}"))
    if strict is None:
        return _quantity(schema.get(key))
    whole = int(strict) + way
    other = _quantity(schema.get("maximum" if way > 0 else "minimum"))
    return whole if other is None or (whole - other) * way <= 0 else (strict + other) / 2


def _text(schema: JsonObject, name: str) -> str:
    form = schema.get("format")
    made = _FORMATS.get(form, f"<{name}>") if isinstance(form, str) else f"<{name}>"
    least = min(_whole_number(schema.get("minLength"), 0), _MOST_CHARACTERS)
    most = _whole_number(schema.get("maxLength"), _MOST_CHARACTERS)
    return (made + "x" * (least - len(made)))[:most]


def _whole_number(found: JsonValue, otherwise: int) -> int:
    return (
        found
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0
        else otherwise
    )


def _vary_value(found: JsonValue, number: int) -> JsonValue:
    """Return a value unlike *found*, for lists whose items must differ."""
    if isinstance(found, str):
        return f"{found}{number}"
    if isinstance(found, bool) or found is None:
        return not found
    if isinstance(found, int | float):
        return found + number - 1
    return {**found, "number": number} if isinstance(found, dict) else [*found, number]
