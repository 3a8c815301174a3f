"""Arguments checked against a tool's input schema, as far as that is safe with others' schemas.

What the schema does not say, or says in a way that cannot be checked within bounds, is left to the
server to judge.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from jsonschema.exceptions import best_match

from mcpg.gateway.argumentwords import fault_of, half_character, missing_faults, unknown_faults
from mcpg.gateway.results import Fault, FaultCode
from mcpg.gateway.validation import bounded_validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jsonschema import ValidationError

    from mcpg.jsontypes import JsonObject, JsonValue

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
