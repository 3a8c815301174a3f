"""Arguments checked against a tool's input schema, as far as schemas of others can be trusted.

What a schema does not state, or states in a way that cannot be checked within bounds, is left to
the server. Messages repeat nothing of the arguments but names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

from jsonschema import ValidationError
from jsonschema.exceptions import best_match

from mcpg.gateway.calls.model import Fault, FaultCode
from mcpg.gateway.calls.validation import bounded_validator
from mcpg.json_types import JsonObject, JsonValue

_MAX_FAULTS = 20
_MAX_NAMES = 20
_MAX_VALUE = 80
_MAX_TEXT = 200
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}
_RULES = {
    "exclusiveMaximum": "must be below {}",
    "exclusiveMinimum": "must be above {}",
    "maxItems": "must have at most {} items",
    "maxLength": "must have at most {} characters",
    "maxProperties": "must have at most {} members",
    "maximum": "must be at most {}",
    "minItems": "must have at least {} items",
    "minLength": "must have at least {} characters",
    "minProperties": "must have at least {} members",
    "minimum": "must be at least {}",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match the pattern {}",
    "uniqueItems": "must not have an item twice",
}


def as_json(arguments: Mapping[str, JsonValue]) -> JsonObject | Fault:
    """Return *arguments* as plain JSON, or the fault of those that are not JSON."""
    try:
        plain: JsonObject = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        message = "the arguments cannot be written as JSON"
        remedy = "give an object of texts, finite numbers, booleans, nulls, lists and objects"
        return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy)
    for name, value in plain.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError:  # a lone surrogate, which no message can carry
            return _fault([name], f"{_label([name])} holds half a character")
    return plain


def check_arguments(schema: JsonObject, arguments: JsonObject) -> tuple[Fault, ...]:
    """Check *arguments*; formats are not checked, and references lead nowhere outside.

    Args:
        schema: JSON Schema of the arguments, of any draft, perhaps invalid.
        arguments: The arguments.

    Returns:
        Up to 20 faults, each with its field; none where the schema is not usable.
    """
    if schema.get("type", "object") not in ("object", ["object"]):
        return ()
    validator = bounded_validator(schema)
    if validator is None:
        return ()
    found: dict[Fault, None] = {}
    try:
        for error in validator.errors(arguments):
            found.update(dict.fromkeys(islice(_faults(_innermost(error)), _MAX_FAULTS)))
            if len(found) >= _MAX_FAULTS:
                break
    except Exception:  # noqa: BLE001 - a schema that is not usable is the server's to judge
        return ()
    return tuple(sorted(found, key=lambda fault: fault.field)[:_MAX_FAULTS])


def _innermost(error: ValidationError) -> ValidationError:
    """Return the error in the alternative that is meant, if only one can be."""
    if error.validator not in {"anyOf", "oneOf"}:
        return error
    # An alternative of another type is not what was meant.
    meant = [
        one
        for one in error.context or ()
        if one.validator != "type" or one.absolute_path != error.absolute_path
    ]
    forms = {one.schema_path[0] for one in meant}
    return _innermost(best_match(meant) or error) if len(forms) == 1 else error


def _faults(error: Any) -> Iterator[Fault]:
    if error.validator == "required":
        yield from _missing(error)
    elif error.validator == "additionalProperties" and error.validator_value is False:
        yield from _unknown(error)
    else:
        yield _invalid(error)


def _missing(error: Any) -> Iterator[Fault]:
    properties = _properties(error)
    extra = [name for name in error.instance if name not in properties]
    for name in error.validator_value:
        if name not in error.instance:
            close = get_close_matches(name, extra, 1)
            remedy = f"is {_short(close[0])} meant to be it?" if close else ""
            path = [*error.absolute_path, name]
            yield _fault(
                path, f"{_label(path)} is missing", remedy or _wanted(properties.get(name))
            )


def _unknown(error: Any) -> Iterator[Fault]:
    properties = _properties(error)
    for name in error.instance:
        close = get_close_matches(name, properties, 1)
        known = f"known are {_listed(properties)}" if properties else "there are none"
        remedy = f"did you mean {_short(close[0])}?" if close else known
        path = [*error.absolute_path, name]
        yield _fault(path, f"{_label(path)} is no argument that the tool knows", remedy)


def _invalid(error: Any) -> Fault:
    path = list(error.absolute_path)
    rule, limit = error.validator, error.validator_value
    remedy = ""
    if rule == "type":
        message = f"must be {_types(limit)}, not {_type_of(error.instance)}"
        remedy = _unquoted(error.instance, limit)
    elif rule in {"enum", "const"}:
        values = limit if rule == "enum" else [limit]
        message = f"must be {'one of ' if len(values) > 1 else ''}{_listed(values)}"
        remedy = _slip(error.instance, values)
    elif rule in {"anyOf", "oneOf"}:
        message = _alternatives(error)
    elif rule in _RULES:
        message = _RULES[rule].format(_short(limit))
    else:
        message = f"does not meet {_short(str(rule))} of the tool's schema"
    return _fault(path, f"{_label(path)} {message}", remedy)


def _alternatives(error: Any) -> str:
    context: Sequence[Any] = error.context or ()
    if context and all(one.validator == "type" for one in context):
        types = [name for one in context for name in _as_list(one.validator_value)]
        return f"must be {_types(types)}, not {_type_of(error.instance)}"
    if not context:
        return "fits several of the forms that only one may fit"
    return "has none of the forms that the tool's schema allows"


def _fault(path: Iterable[str | int], message: str, remedy: str = "") -> Fault:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    field = "".join(f"/{part}" for part in parts)
    return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy, field[: 4 * _MAX_TEXT])


def _label(path: Sequence[str | int]) -> str:
    if not path:
        return "the whole of the arguments"
    argument = f"the argument {_short(str(path[0]))}"
    return f"{_short('/'.join(map(str, path[1:])))} in {argument}" if path[1:] else argument


def _properties(error: Any) -> dict[str, Any]:
    properties = error.schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _wanted(schema: Any) -> str:
    """Describe an argument in the words of its schema."""
    if not isinstance(schema, dict):
        return "give it"
    kind = _types(schema["type"]) if "type" in schema else ""
    about = schema.get("description")
    text = " ".join(about.split())[:_MAX_TEXT] if isinstance(about, str) else ""
    return f"give {kind}: {text}" if kind and text else f"give {kind or text or 'it'}"


def _types(types: Any) -> str:
    return " or ".join(_TYPES.get(name, str(name)) for name in dict.fromkeys(_as_list(types)))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _type_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return _TYPES["null" if value is None else kinds.get(type(value), "object")]


def _unquoted(value: Any, types: Any) -> str:
    """Return advice on a number or truth value in quotes, "" for other values."""
    if not isinstance(value, str) or not {"integer", "number", "boolean"} & {*_as_list(types)}:
        return ""
    try:
        is_plain = isinstance(json.loads(value), bool | int | float)
    except ValueError:
        return ""
    return "give it without quotes" if is_plain else ""


def _slip(value: Any, values: list[Any]) -> str:
    texts = {one.casefold(): one for one in values if isinstance(one, str)}
    close = get_close_matches(value.casefold(), texts, 1) if isinstance(value, str) else ()
    return f"did you mean {_short(texts[close[0]])}?" if close else ""


def _listed(values: Iterable[Any]) -> str:
    every = [_short(one) for one in values]
    more = f" and {len(every) - _MAX_NAMES} more" if len(every) > _MAX_NAMES else ""
    return ", ".join(every[:_MAX_NAMES]) + more


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."
