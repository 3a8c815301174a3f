"""Faults of the arguments of tools, in words.

What their schema does not state, or what cannot be checked within bounds, is left to the server.
Messages repeat only names of the arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from jsonschema_rs import ValidationError, ValidationErrorKind

from mcpg.gateway.calls import Fault, FaultCode
from mcpg.gateway.validation import as_list, bounded_validator, latest_validator
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import Suggester, suggest

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
        message = "the arguments are not valid JSON"
        remedy = "give an object of texts, finite numbers, booleans, nulls, lists and objects"
        return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy)
    for name, value in plain.items():
        try:
            json.dumps([name, value], ensure_ascii=False).encode()
        except UnicodeEncodeError:  # a lone surrogate, which no message can carry
            return _fault([name], f"{_label([name])} holds half a character")
    return plain


def accepts_at_once(schema: JsonObject, arguments: JsonObject) -> bool:
    """Return whether a few steps show that *arguments* are valid.

    The validator of *schema* is not made for it: that may take its time.
    """
    validator = latest_validator(schema)
    return validator is not None and validator.accepts_at_once(arguments)


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
            faults = _FaultyPart(error, validator.schema, arguments).faults()
            found.update(dict.fromkeys(islice(faults, _MAX_FAULTS)))
            if len(found) >= _MAX_FAULTS:
                break
    except Exception:  # noqa: BLE001 - a schema that is not usable is the server's to judge
        return ()
    return tuple(sorted(found, key=lambda fault: fault.field)[:_MAX_FAULTS])


_ADDITIONAL = ["additionalProperties"]


class _FaultyPart:
    """The part of the arguments in which an error is, and of the schema by which it is one."""

    def __init__(self, error: ValidationError, schema: JsonObject, arguments: JsonObject) -> None:
        error = _find_innermost(error)
        while isinstance(error.kind, ValidationErrorKind.PropertyNames):
            error = error.kind.error
        self._kind: Any = error.kind
        self._path = error.instance_path
        self._schema = schema
        self._value = _follow(arguments, error.instance_path)
        self._limit = _follow(schema, error.schema_path)
        properties = _follow(schema, [*error.schema_path[:-1], "properties"])
        self._properties = properties if isinstance(properties, dict) else {}
        self._unknown: Iterable[str] | None = None
        if isinstance(error.kind, ValidationErrorKind.AdditionalProperties):
            self._unknown = error.kind.unexpected
        elif error.kind.name == "falseSchema" and error.schema_path[-1:] == _ADDITIONAL:
            self._unknown = self._value  # of a schema without properties

    def faults(self) -> Iterator[Fault]:
        """Iterate over what is wrong, in words."""
        if isinstance(self._kind, ValidationErrorKind.Required):
            extra = Suggester(one for one in self._value if one not in self._properties)
            required = self._limit if isinstance(self._limit, list) else [self._kind.property]
            for name in required:
                if name not in self._value:
                    yield self._missing(name, extra)
        elif self._unknown is not None:
            known = Suggester(self._properties)
            known_names = _list_values(self._properties)
            otherwise = f"known are {known_names}" if known_names else "there are none"
            for name in self._unknown:
                close = known.suggest(name)
                remedy = f"did you mean {_short(close[0])}?" if close else otherwise
                path = [*self._path, name]
                yield _fault(path, f"{_label(path)} is unknown", remedy)
        else:
            message, remedy = self._describe_invalid()
            yield _fault(self._path, f"{_label(self._path)} {message}", remedy)

    def _missing(self, name: str, extra: Suggester) -> Fault:
        close = extra.suggest(name)
        path = [*self._path, name]
        remedy = (
            f"is {_short(close[0])} meant to be it?"
            if close
            else _describe_wanted(self._properties.get(name))
        )
        return _fault(path, f"{_label(path)} is missing", remedy)

    def _describe_invalid(self) -> tuple[str, str]:
        """Return what is wrong with the value, and a remedy or ""."""
        rule, limit = self._kind.name, self._limit
        if rule == "type":
            remedy = _advise_unquoted(self._value, limit)
            return f"must be {_types(limit)}, not {_type_name(self._value)}", remedy
        if rule in {"enum", "const"}:
            values = limit if rule == "enum" else [limit]
            texts = (one for one in values if isinstance(one, str))
            close = suggest(self._value, texts) if isinstance(self._value, str) else ()
            remedy = f"did you mean {_short(close[0])}?" if close else ""
            return f"must be {'one of ' if len(values) > 1 else ''}{_list_values(values)}", remedy
        if rule in {"anyOf", "oneOf"}:
            return self._describe_alternatives(), ""
        if rule == "falseSchema":
            return "is not allowed", ""
        if rule == "pattern":
            limit = re.sub(r"\(\?-u:(\\[bB])\)", r"\1", limit)  # as it was given
        if rule in _RULES:
            return _RULES[rule].format(_short(limit)), ""
        return f"does not meet {_short(str(rule))} of the tool's schema", ""

    def _describe_alternatives(self) -> str:
        if isinstance(self._kind, ValidationErrorKind.OneOfMultipleValid):
            return "matches several alternatives of which only one is allowed"
        errors = [error for errors in self._kind.context for error in errors]
        if all(isinstance(error.kind, ValidationErrorKind.Type) for error in errors):
            stated = [_follow(self._schema, error.schema_path) for error in errors]
            types = [name for one in stated for name in as_list(one)]
            return f"must be {_types(types)}, not {_type_name(self._value)}"
        return "matches none of the alternatives in the tool's schema"


def _find_innermost(error: ValidationError) -> ValidationError:
    """Return the error in the alternative that is meant, if only one can be."""
    kind = error.kind
    if not isinstance(kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        return error
    # An alternative of another type is not what was meant.
    forms = [
        [
            one
            for one in errors
            if one.kind.name != "type" or one.instance_path != error.instance_path
        ]
        for errors in kind.context
    ]
    meant = [errors for errors in forms if errors]
    if len(meant) != 1:
        return error
    return _find_innermost(
        min(meant[0], key=lambda one: (len(one.instance_path), one.kind.name in {"anyOf", "oneOf"}))
    )


def _follow(value: Any, path: Sequence[str | int]) -> Any:
    """Return the part of *value* at *path*, `None` where there is none."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _fault(path: Iterable[str | int], message: str, remedy: str = "") -> Fault:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    field = "".join(f"/{part}" for part in parts)
    return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy, field[: 4 * _MAX_TEXT])


def _label(path: Sequence[str | int]) -> str:
    if not path:
        return "the arguments as a whole"
    argument = f"the argument {_short(str(path[0]))}"
    return f"{_short('/'.join(map(str, path[1:])))} in {argument}" if path[1:] else argument


def _describe_wanted(schema: Any) -> str:
    """Describe an argument in the words of its schema."""
    if not isinstance(schema, dict):
        return "give it"
    kind = _types(schema["type"]) if "type" in schema else ""
    about = schema.get("description")
    text = " ".join(about.split())[:_MAX_TEXT] if isinstance(about, str) else ""
    return f"give {kind}: {text}" if kind and text else f"give {kind or text or 'it'}"


def _types(types: Any) -> str:
    return " or ".join(_TYPES.get(name, str(name)) for name in dict.fromkeys(as_list(types)))


def _type_name(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return _TYPES["null" if value is None else kinds.get(type(value), "object")]


def _advise_unquoted(value: Any, types: Any) -> str:
    """Return advice on a number or truth value in quotes, "" for other values."""
    if not isinstance(value, str) or not {"integer", "number", "boolean"} & {*as_list(types)}:
        return ""
    try:
        is_plain = isinstance(json.loads(value), bool | int | float)
    except ValueError:
        return ""
    return "give it without quotes" if is_plain else ""


def _list_values(values: Iterable[Any]) -> str:
    every = [_short(one) for one in values]
    more = f" and {len(every) - _MAX_NAMES} more" if len(every) > _MAX_NAMES else ""
    return ", ".join(every[:_MAX_NAMES]) + more


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."
