"""Arguments checked against a tool's input schema, as far as that is safe with others' schemas.

What the schema does not say, or says in a way that cannot be checked within bounds, is left to the
server to judge.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import best_match

from mcpg.gateway.calls.model import Fault, FaultCode
from mcpg.gateway.calls.validation import bounded_validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jsonschema import ValidationError

    from mcpg.json_types import JsonObject, JsonValue

# SECTION argumentwords: What is wrong with arguments, in words that repeat nothing of what was
# given but names.


_LONGEST = 80
_LONGEST_TEXT = 200
_MOST_NAMES = 20
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
}


def missing_faults(error: Any) -> Iterator[Fault]:
    """Say which members are missing.

    Args:
        error: A `jsonschema.ValidationError`, as for the others.
    """
    properties = _properties(error)
    extra = [name for name in error.instance if name not in properties]
    for name in error.validator_value:
        if name not in error.instance:
            slip = next(iter(get_close_matches(name, extra, 1)), None)
            wanted = _wanted(properties.get(name))
            remedy = f"is {_named(slip)} meant to be it?" if slip is not None else wanted
            path = [*error.absolute_path, name]
            yield _fault(path, f"{_label(path)} is missing", remedy)


def unknown_faults(error: Any) -> Iterator[Fault]:
    """Say which members the schema does not know."""
    properties = _properties(error)
    for name in error.instance:
        close = get_close_matches(name, properties, 1)
        known = f"known are {_listed(properties)}" if properties else "there are none"
        remedy = f"did you mean {_named(close[0])}?" if close else known
        path = [*error.absolute_path, name]
        yield _fault(path, f"{_label(path)} is no argument that the tool knows", remedy)


def fault_of(error: Any) -> Fault:
    """Say what is wrong with one argument."""
    path = list(error.absolute_path)
    rule, limit = error.validator, error.validator_value
    remedy = ""
    if rule == "type":
        said = f"must be {_types(limit)}, not {_type_of(error.instance)}"
        remedy = _unquoted(error.instance, limit)
    elif rule in {"enum", "const"}:
        values = limit if rule == "enum" else [limit]
        said = f"must be {'one of ' if len(values) > 1 else ''}{_listed(values)}"
        remedy = _slip(error.instance, values)
    elif rule in {"anyOf", "oneOf"}:
        said = _alternatives(error)
    elif rule in _RULES:
        said = f"{_RULES[rule]}".format(_short(limit))
    elif rule == "uniqueItems":
        said = "must not have an item twice"
    else:
        said = f"does not meet {_named(str(rule))} of the tool's schema"
    return _fault(path, f"{_label(path)} {said}", remedy)


def half_character(name: str) -> Fault:
    """Report that an argument holds a lone surrogate, which no message can carry."""
    return _fault([name], f"{_label([name])} holds half a character", "")


def _alternatives(error: Any) -> str:
    context: Sequence[Any] = error.context or ()
    if context and all(one.validator == "type" for one in context):
        types = [name for one in context for name in _as_list(one.validator_value)]
        return f"must be {_types(types)}, not {_type_of(error.instance)}"
    if not context:
        return "fits several of the forms that only one may fit"
    return "has none of the forms that the tool's schema allows"


def _fault(path: Iterable[str | int], message: str, remedy: str) -> Fault:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    field = "".join(f"/{part}" for part in parts)
    return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy, field[: 4 * _LONGEST_TEXT])


def _label(path: Sequence[str | int]) -> str:
    if not path:
        return "the whole of the arguments"
    if len(path) == 1:
        return f"the argument {_named(str(path[0]))}"
    return f"{_named('/'.join(map(str, path[1:])))} in the argument {_named(str(path[0]))}"


def _properties(error: Any) -> dict[str, Any]:
    properties = error.schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _wanted(schema: Any) -> str:
    """Say what an argument is, in the schema's words."""
    if not isinstance(schema, dict):
        return "give it"
    kind = _types(schema["type"]) if "type" in schema else ""
    about = schema.get("description")
    text = " ".join(about.split())[:_LONGEST_TEXT] if isinstance(about, str) else ""
    if kind and text:
        return f"give {kind}: {text}"
    return f"give {kind or text or 'it'}"


def _types(types: Any) -> str:
    names = [_TYPES.get(name, str(name)) for name in dict.fromkeys(_as_list(types))]
    return " or ".join(names)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _type_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return _TYPES["null" if value is None else kinds.get(type(value), "object")]


def _unquoted(value: Any, types: Any) -> str:
    """Give advice on a number or truth value in quotes."""
    if not isinstance(value, str) or not {"integer", "number", "boolean"} & {*_as_list(types)}:
        return ""
    try:
        is_plain = isinstance(json.loads(value), bool | int | float)
    except ValueError:
        return ""
    return "give it without quotes" if is_plain else ""


def _slip(value: Any, values: list[Any]) -> str:
    texts = {one.casefold(): one for one in values if isinstance(one, str)}
    if not isinstance(value, str):
        return ""
    close = get_close_matches(value.casefold(), texts, 1)
    return f"did you mean {_named(texts[close[0]])}?" if close else ""


def _listed(values: Iterable[Any]) -> str:
    every = [_short(one) for one in values]
    more = f" and {len(every) - _MOST_NAMES} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(every[:_MOST_NAMES]) + more


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _named(name: str) -> str:
    return _short(name)


_MOST_FAULTS = 20


def as_json(arguments: Mapping[str, JsonValue]) -> JsonObject | Fault:
    """Give *arguments* as plain JSON, or say why they are none."""
    try:
        plain: JsonObject = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        message = "the arguments cannot be written as JSON"
        remedy = "give an object of texts, finite numbers, booleans, nulls, lists and objects"
        return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy)
    halved = next((name for name, value in plain.items() if not _is_unicode([name, value])), None)
    return plain if halved is None else half_character(halved)


def _is_unicode(value: JsonValue) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def check_arguments(schema: JsonObject, arguments: JsonObject) -> tuple[Fault, ...]:
    """Check *arguments*; formats are not checked, and references lead nowhere outside.

    Args:
        schema: JSON Schema of the arguments, of any draft, which may be none at all.
        arguments: The arguments.

    Returns:
        What is wrong, each with the field, at most 20; nothing where the schema cannot be used.
    """
    if schema.get("type", "object") not in ("object", ["object"]):
        return ()
    validator = bounded_validator(schema)
    if validator is None:
        return ()
    try:
        return tuple(_faults(validator.errors(arguments)))
    except Exception:  # noqa: BLE001 - a schema that nobody can use is the server's to judge
        return ()


def _faults(errors: Iterable[ValidationError]) -> list[Fault]:
    found: dict[Fault, None] = {}
    for error in errors:
        found.update(dict.fromkeys(islice(_told(error), _MOST_FAULTS)))
        if len(found) >= _MOST_FAULTS:
            break
    return sorted(found, key=lambda fault: fault.field)[:_MOST_FAULTS]


def _told(error: ValidationError) -> Iterator[Fault]:
    error = _innermost(error)
    if error.validator == "required":
        yield from missing_faults(error)
    elif error.validator == "additionalProperties" and error.validator_value is False:
        yield from unknown_faults(error)
    else:
        yield fault_of(error)


def _innermost(error: ValidationError) -> ValidationError:
    """Give the fault in the alternative that is meant, unless none is."""
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
