"""Arguments checked against a tool's input schema, as far as that is safe with others' schemas.

What the schema does not say, or says in a way that cannot be checked within bounds, is left to the
server to judge.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend, validator_for
from referencing import Registry

from mcpg.gateway.argumentwords import fault_of, missing_faults, unknown_faults
from mcpg.gateway.patterns import finds
from mcpg.gateway.results import Fault, FaultCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcpg.jsontypes import JsonObject, JsonValue

_MOST_FAULTS = 20
_MOST_NODES = 3_000
_MOST_STEPS = 10_000
_MOST_UNIQUE = 1_000
_KEPT = 256
# Deeper, Python's own stack would end, which a library in Rust below takes for a reason to panic.
_DEEPEST = 40
_DEEPEST_SCHEMA = 60
_left: ContextVar[_Left] = ContextVar("_left")


@dataclass(slots=True)
class _Left:
    """What a check may still take.

    Attributes:
        steps: Keywords that may be looked at.
        depth: How far one may lie inside another.
    """

    steps: int = _MOST_STEPS
    depth: int = _DEEPEST


class _TooMuchError(Exception):
    """Checking would take too long."""


def as_json(arguments: Mapping[str, JsonValue]) -> JsonObject | Fault:
    """Give *arguments* as plain JSON, or say why they are none."""
    try:
        plain: JsonObject = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        message = "the arguments cannot be written as JSON"
        remedy = "give an object of texts, finite numbers, booleans, nulls, lists and objects"
        return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy)
    return plain


def check_arguments(schema: JsonObject, arguments: JsonObject) -> tuple[Fault, ...]:
    """Check *arguments*; formats are not checked, and references lead nowhere outside.

    Args:
        schema: JSON Schema of the arguments, of any draft, which may be none at all.
        arguments: The arguments.

    Returns:
        What is wrong, each with the field, at most 20; nothing where the schema cannot be used.
    """
    if schema.get("type", "object") not in ("object", ["object"]) or not _is_small(schema):
        return ()
    try:
        return tuple(_faults(_validator(json.dumps(schema)), arguments))
    except Exception:  # noqa: BLE001 - a schema that nobody can use is the server's to judge
        return ()


@lru_cache(maxsize=_KEPT)
def _validator(text: str) -> Any:
    """Give the validator of a schema, kept since looking at the schema itself takes longest."""
    schema = json.loads(text)
    known = validator_for(schema, default=Draft202012Validator)
    known.check_schema(schema)
    return _bounded(known)(schema, registry=Registry())


def _faults(validator: Any, arguments: JsonObject) -> list[Fault]:
    token = _left.set(_Left())
    try:
        found: dict[Fault, None] = {}
        for error in validator.iter_errors(arguments):
            found.update(dict.fromkeys(_told(error)))
            if len(found) >= _MOST_FAULTS:
                break
    finally:
        _left.reset(token)
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


def _is_small(schema: JsonValue) -> bool:
    """Say whether a schema has so few parts that checking it takes no time worth naming."""
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > _MOST_NODES or depth > _DEEPEST_SCHEMA:
            return False
        members = node.values() if isinstance(node, dict) else node
        if isinstance(node, dict | list):
            waiting.extend((member, depth + 1) for member in members)
    return True


@cache
def _bounded(known: Any) -> Any:
    """Give a validator like *known* of which every step is counted."""
    checks = known.VALIDATORS
    own = {
        "additionalProperties": _additional(checks["additionalProperties"]),
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "unevaluatedItems": _unchecked,  # these two look into everything again,
        "unevaluatedProperties": _unchecked,  # by way of any pattern that they meet
        "uniqueItems": _unique(checks["uniqueItems"]),
    }
    counted = {name: _counted(check) for name, check in {**checks, **own}.items()}
    return extend(known, counted)  # type: ignore[no-untyped-call]


def _counted(check: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def counted(*given: Any) -> Iterator[ValidationError]:
        left = _left.get()
        left.steps -= 1
        left.depth -= 1
        if left.steps < 0 or left.depth < 0:
            raise _TooMuchError
        try:
            yield from check(*given) or ()
        finally:
            left.depth += 1

    return counted


def _pattern(validator: Any, pattern: str, instance: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and finds(pattern, instance) is False:
        yield ValidationError(f"no match of {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], instance: Any, _: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, part in patterns.items():
            for name, member in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(member, part, path=name, schema_path=pattern)


def _additional(check: Callable[..., Any]) -> Callable[..., Any]:
    def additional(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if validator.is_type(instance, "object"):
            for pattern in schema.get("patternProperties", {}):
                for name in instance:
                    _matches(pattern, name)
        return check(validator, wanted, instance, schema)

    return additional


def _matches(pattern: str, name: str) -> bool:
    """Say whether the members called *name* are meant.

    Raises:
        _TooMuchError: That cannot be said within bounds.
    """
    is_meant = finds(pattern, name)
    if is_meant is None:
        raise _TooMuchError
    return is_meant


def _unchecked(*_: Any) -> tuple[()]:
    return ()


def _unique(check: Callable[..., Any]) -> Callable[..., Any]:
    def unique(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        is_long = validator.is_type(instance, "array") and len(instance) > _MOST_UNIQUE
        return () if is_long else check(validator, wanted, instance, schema)

    return unique
