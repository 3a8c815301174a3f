"""The keywords of a schema that stand for themselves: kept where a reader can rely on them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.jsontypes import JsonObject, JsonValue

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_TEXTS = ("title", "description", "format", "pattern")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_FLAGS = ("uniqueItems", "deprecated", "readOnly", "writeOnly")
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_MAX_ENUM = 500
_MAX_EXAMPLES = 10
_MAX_VALUE = 500
_ORDINARY = 200


def shallow(value: JsonValue) -> JsonObject:
    """Say of a schema only what it is about: it lets through at least what *value* does."""
    if not isinstance(value, dict):
        return {}
    texts: JsonObject = {
        key: text for key in ("title", "description") if isinstance(text := value.get(key), str)
    }
    return {**_type(value), **texts}


def plain_keywords(value: JsonObject) -> JsonObject:
    """Copy the keywords that hold no schema, in JSON Schema 2020-12; ill-typed ones are dropped."""
    kept = _type(value)
    kept.update((key, text) for key in _TEXTS if isinstance(text := value.get(key), str))
    kept.update((key, number) for key in _NUMBERS if _is_number(number := value.get(key)))
    kept.update((key, count) for key in _COUNTS if _is_count(count := value.get(key)))
    kept.update((key, flag) for key in _FLAGS if (flag := value.get(key)) is True)
    for exclusive, bound in _BOUNDS:
        if value.get(exclusive) is True and bound in kept:
            kept[exclusive] = kept.pop(bound)
    if "file" in (value.get("type"), value.get("format")) and "format" not in kept:
        kept["format"] = "binary"
    return {**kept, **_values(value)}


def weight(kept: JsonObject) -> int:
    """Say how much *kept* adds to a schema, in sub-schemas of ordinary size."""
    values = kept.get("enum")
    named = values if isinstance(values, list) else []
    texts = (kept.get(key) for key in (*_TEXTS, "const"))
    return 1 + len(named) // 8 + weight_of_texts((*named, *texts))


def weight_of_texts(texts: Iterable[JsonValue]) -> int:
    """Say how much long texts among *texts* add to a schema, in sub-schemas of ordinary size."""
    return sum(len(text) // _ORDINARY for text in texts if isinstance(text, str))


def _type(value: JsonObject) -> JsonObject:
    stated = value.get("type")
    names = [
        "string" if name == "file" else name
        for name in (stated if isinstance(stated, list) else [stated])
        if isinstance(name, str)
    ]
    if not names or not _TYPES.issuperset(names):
        return {}
    if value.get("nullable") is True:
        names.append("null")
    names = list(dict.fromkeys(names))
    return {"type": names[0] if len(names) == 1 else list(names)}


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_plain(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


def _values(value: JsonObject) -> JsonObject:
    """Copy the values that a schema names: those it allows, its default, its examples."""
    kept: JsonObject = {}
    allowed = value.get("enum")
    examples = value.get("examples", [value["example"]] if "example" in value else [])
    samples = list(examples) if isinstance(examples, list) else []
    if isinstance(allowed, list) and allowed and all(map(_is_plain, allowed)):
        if len(allowed) > _MAX_ENUM:
            samples = allowed
        else:
            null = [None] if value.get("nullable") is True and None not in allowed else []
            kept["enum"] = [*allowed, *null]
    if "const" in value and _is_plain(value["const"]):
        kept["const"] = value["const"]
    if "default" in value and len(json.dumps(value["default"])) <= _MAX_VALUE:
        kept["default"] = value["default"]
    shown = [one for one in samples if _is_plain(one) and len(str(one)) <= _MAX_VALUE]
    return {**kept, "examples": shown[:_MAX_EXAMPLES]} if shown else kept
