"""The named fields that a tool's schemas ask for and give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.text import split_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.catalog.model import Tool
    from mcpg.jsontypes import JsonObject, JsonValue

_DEEPEST = 4
_MOST = 256
_WIDER = {
    "number": {"integer"},
    "string": {"boolean", "integer", "number"},
}
# Keywords under which a schema may keep the schema of the same value.
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")

FieldKey = tuple[str, ...]
"""The stems of a field's name, sorted: `orderId` and `id_of_order` are one field."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema.

    Attributes:
        name: As the schema writes it.
        key: The stems of its name.
        types: JSON types that its value may have; empty when the schema does not say.
        owner: Stems of the name of the field that holds it; empty at the top.
    """

    name: str
    key: FieldKey
    types: frozenset[str]
    owner: FieldKey = ()


def field_key(name: str) -> FieldKey:
    """Give the stems of *name*, sorted, without repeats."""
    return tuple(sorted({stem(word) for word in split_words(name)}))


def given_fields(tool: Tool) -> list[Field]:
    """List the fields of the structured result of *tool*, those inside lists and objects too."""
    return _fields(tool.output_schema, _DEEPEST) if tool.output_schema else []


def needed_fields(tool: Tool) -> list[Field]:
    """List the required arguments of *tool*."""
    required = set(tool.required_arguments)
    fields = _fields(tool.input_schema, 1) if required else []
    return [field for field in fields if field.name in required]


def accepts(needed: frozenset[str], given: frozenset[str]) -> bool:
    """Whether a value of one of the *given* types can stand where *needed* ones are asked for."""
    if not needed or not given:
        return True
    wider = needed.union(*(_WIDER.get(kind, ()) for kind in needed))
    return not wider.isdisjoint(given)


def _fields(schema: JsonObject, deepest: int) -> list[Field]:
    """List the fields of *schema*, nearest the top first, at most `_MOST` of them."""
    found: list[Field] = []
    level: list[tuple[FieldKey, JsonValue]] = [((), schema)]
    for _ in range(deepest):
        deeper: list[tuple[FieldKey, JsonValue]] = []
        for owner, holder in level:
            for name, value in _properties(holder, schema):
                if len(found) >= _MOST:
                    return found
                field = Field(name, field_key(name), _types(value, schema), owner)
                found.append(field)
                deeper.append((field.key, value))
        level = deeper
    return found


def _properties(holder: JsonValue, root: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    for schema in _same_value(holder, root):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties.items()


def _types(value: JsonValue, root: JsonObject) -> frozenset[str]:
    kinds: set[str] = set()
    for schema in _same_value(value, root):
        stated = schema.get("type")
        kinds.update(kind for kind in _listed(stated) if isinstance(kind, str))
    scalar = kinds - {"array", "null"}
    return frozenset(scalar or kinds - {"null"})


def _same_value(value: JsonValue, root: JsonObject) -> Iterator[JsonObject]:
    """Give the schemas that describe *value*: references, alternatives and list elements.

    A list counts as its elements, because one takes an element out of it for the next tool.
    """
    waiting: list[JsonValue] = [value]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        schema = waiting.pop(0)
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        waiting.append(_referred(schema.get("$ref"), root))
        waiting.extend(part for word in _ALTERNATIVES for part in _listed(schema.get(word)))
        waiting.append(schema.get("items"))


def _referred(reference: JsonValue, root: JsonObject) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    value: JsonValue = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]
