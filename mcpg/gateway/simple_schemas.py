"""Values that a JSON Schema of simple keywords accepts, without a validator.

Most arguments of tools are texts, numbers and lists of texts, and their schemas name types and
bounds. Checking those takes a few microseconds here, and some hundred by a validator of any schema.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

_KINDS: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (NoneType,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_MOST_CHOICES = 200


def accepts(schema: Any, value: Any) -> bool:
    """Return whether *schema* is sure to accept *value*, by any draft.

    Args:
        schema: A JSON Schema.
        value: A JSON value; one of unusual numbers or under other keywords may be valid as well.
    """
    return isinstance(schema, dict) and all(
        keyword in _NOTES or (keyword in _CHECKS and _CHECKS[keyword](limit, value, schema))
        for keyword, limit in schema.items()
    )


def _has_type(name: Any, value: Any, _: Any) -> bool:
    names = name if isinstance(name, list) else [name]
    return any(isinstance(one, str) and type(value) in _KINDS.get(one, ()) for one in names)


def _has_members(schemas: Any, value: Any, _: Any) -> bool:
    return isinstance(schemas, dict) and (
        not isinstance(value, dict)
        or all(name not in schemas or accepts(schemas[name], one) for name, one in value.items())
    )


def _has_required(names: Any, value: Any, _: Any) -> bool:
    return isinstance(names, list) and (
        not isinstance(value, dict)
        or all(isinstance(name, str) and name in value for name in names)
    )


def _has_no_others(schema: Any, value: Any, parent: dict[str, Any]) -> bool:
    known = parent.get("properties", {})
    if schema is True or not isinstance(value, dict):
        return isinstance(schema, bool | dict)
    others = (one for name, one in value.items() if name not in known)
    return isinstance(known, dict) and all(schema and accepts(schema, one) for one in others)


def _has_items(schema: Any, value: Any, _: Any) -> bool:
    # A list of schemas means something else in each draft.
    return isinstance(schema, dict) and (
        not isinstance(value, list) or all(accepts(schema, one) for one in value)
    )


def _is_choice(choices: Any, value: Any, _: Any) -> bool:
    # In Python, True equals 1.
    is_list = isinstance(choices, list) and len(choices) <= _MOST_CHOICES
    return is_list and isinstance(value, str) and value in choices


def _make_bound_check(
    measure: Callable[[Any], Any], holds: Callable[[Any, Any], bool]
) -> Callable[..., bool]:
    """Return a check of what *measure* makes of a value, `None` of those that have no bound."""

    def check(limit: Any, value: Any, _: Any) -> bool:
        measured = measure(value)
        return type(limit) in _KINDS["number"] and (measured is None or holds(measured, limit))

    return check


def _number(value: Any) -> Any:
    return value if type(value) in _KINDS["number"] else None


def _characters(value: Any) -> int | None:
    return len(value) if isinstance(value, str) else None


def _items(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


_CHECKS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "type": _has_type,
    "properties": _has_members,
    "required": _has_required,
    "additionalProperties": _has_no_others,
    "items": _has_items,
    "enum": _is_choice,
    "minimum": _make_bound_check(_number, lambda value, limit: value >= limit),
    "maximum": _make_bound_check(_number, lambda value, limit: value <= limit),
    "exclusiveMinimum": _make_bound_check(_number, lambda value, limit: value > limit),
    "exclusiveMaximum": _make_bound_check(_number, lambda value, limit: value < limit),
    "minLength": _make_bound_check(_characters, lambda value, limit: value >= limit),
    "maxLength": _make_bound_check(_characters, lambda value, limit: value <= limit),
    "minItems": _make_bound_check(_items, lambda value, limit: value >= limit),
    "maxItems": _make_bound_check(_items, lambda value, limit: value <= limit),
}
# Keywords that refuse nothing by themselves; formats are not checked.
_NOTES = frozenset(
    (
        *("$schema", "$comment", "title", "description", "default", "examples", "format"),
        *("deprecated", "readOnly", "writeOnly", "$defs", "definitions"),
    )
)
