"""Validation of values by JSON Schemas of others, within bounds of time and memory.

Their regular expressions are run by an engine whose time is linear in the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import attrs
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend, validator_for
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry

from mcpg.json_types import JsonObject, JsonValue

_MAX_NODES = 3_000
_MAX_CHARS = 256 << 10
_MAX_STEPS = 10_000
_MAX_ALL_PATTERN_STEPS = 50_000_000
_MAX_MESSAGE_CHARS = 50_000_000
_VALIDATORS = 256
# Deeper, Python's own stack would end, on which a library in Rust below panics.
_MAX_DEPTH = 40
_MAX_SCHEMA_DEPTH = 60

_MAX_PATTERN = 500
_MAX_STATES = 20_000
_MAX_PATTERN_STEPS = 5_000_000
_TO_COMPILE = 100
_UNICODE_CLASS = 100
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\{[^}]*\}|\(\?[a-zA-Z-]*|.", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_UNICODE = re.compile(r"\\[dDpPsSwW]")
_SET_OPERATOR = re.compile(r"\[|&&|--|~~")
_NUMBER = re.compile("[0-9]{1,9}")


def finds(pattern: str, text: str) -> bool | None:
    """Return whether *pattern* is found in *text*, `None` where bounds do not allow to search.

    Nor do lookaround and back references, which take no linear time.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    if steps(pattern, text) > _MAX_PATTERN_STEPS:
        return None
    compiled = _compiled(pattern)
    return compiled.isinstance_python(text) if compiled is not None else None


def steps(pattern: str, text: str) -> float:
    """Bound the steps of a search: the states of the automaton times the characters."""
    return _size(pattern) * (_TO_COMPILE + len(text))


@lru_cache(maxsize=1024)
def _size(pattern: str) -> float:
    """Estimate the states of the automaton of *pattern*, infinite where it is not run at all.

    The engine expands repetitions, so that nested ones multiply.
    """
    parts: list[str] = _TOKEN.findall(pattern)
    if len(pattern) > _MAX_PATTERN or any(map(_means_something_else, parts)):
        return math.inf
    groups = [[1]]
    for part in parts:
        if part.startswith("("):
            groups.append([1])
        elif part == ")" and len(groups) > 1:
            inner = sum(groups.pop())
            groups[-1].append(inner)
        elif part.startswith("{"):
            groups[-1][-1] *= 1 + max(map(int, _NUMBER.findall(part)), default=0)
        else:
            groups[-1].append(1 + len(part) // 8 + _UNICODE_CLASS * len(_UNICODE.findall(part)))
    size = sum(map(sum, groups))
    return size if size <= _MAX_STATES else math.inf


def _means_something_else(part: str) -> bool:
    """Return whether the engine reads *part* otherwise than ECMA-262, as JSON Schema requires."""
    if part.startswith("(?"):
        return "x" in part  # blanks and comments would be no part of the pattern
    if part.startswith("[") and part.endswith("]"):
        members = _ESCAPE.sub("", part[1:-1])
        return not part[1:-1].lstrip("^") or bool(_SET_OPERATOR.search(members))
    return part in {r"\<", r"\>"}


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> SchemaValidator | None:
    """Compile *pattern*; some take ten megabytes."""
    schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
    try:
        return SchemaValidator(schema)
    except SchemaError:
        return None


_left: ContextVar[_Left] = ContextVar("_left")


@dataclass(slots=True)
class _Left:
    """What is left of the bounds of a check.

    Attributes:
        steps: Keywords to be evaluated.
        depth: Levels of nesting.
        pattern_steps: Steps of regular expressions.
        message_chars: Length of the messages of errors, each of which repeats its value.
    """

    steps: int = _MAX_STEPS
    depth: int = _MAX_DEPTH
    pattern_steps: float = _MAX_ALL_PATTERN_STEPS
    message_chars: int = _MAX_MESSAGE_CHARS


class TooMuchError(Exception):
    """A check would take too long."""


class BoundedValidator:
    """A validator of one schema that counts every step."""

    def __init__(self, schema: JsonObject) -> None:
        """Make a validator.

        Args:
            schema: The schema, of any draft; references lead nowhere outside it.

        Raises:
            jsonschema.SchemaError: It is no valid schema.
        """
        known: Any = validator_for(schema, default=Draft202012Validator)
        known.check_schema(schema, format_checker=None)
        self._validator = _bounded(known)(schema, registry=Registry())

    def errors(self, value: JsonValue) -> Iterator[ValidationError]:
        """Iterate over the errors of *value*; formats are not checked.

        An error of `additionalProperties` has the unknown members for its instance.

        Raises:
            TooMuchError: The check would take too long.
            Exception: Any that a schema makes the library raise.
        """
        _left.set(_Left())
        found: Iterator[ValidationError] = self._validator.iter_errors(value)
        return found

    def is_valid(self, value: JsonValue) -> bool:
        """Return whether *value* is valid, or cannot be checked."""
        try:
            return next(self.errors(value), None) is None
        except Exception:  # noqa: BLE001 - an unusable schema refuses nothing
            return True


def bounded_validator(schema: JsonObject) -> BoundedValidator | None:
    """Return a validator for *schema*, cached since checking the schema itself takes longest.

    Returns:
        `None` where *schema* is too large or not usable.
    """
    if not _is_small(schema):
        return None
    text = json.dumps(schema)
    return _cached(text) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=_VALIDATORS)
def _cached(text: str) -> BoundedValidator | None:
    try:
        return BoundedValidator(json.loads(text))
    except Exception:  # noqa: BLE001 - a schema makes the library raise anything
        return None


def _is_small(schema: JsonValue) -> bool:
    """Return whether a schema has few enough parts to be checked quickly."""
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > _MAX_NODES or depth > _MAX_SCHEMA_DEPTH:
            return False
        members = node.values() if isinstance(node, dict) else node
        if isinstance(node, dict | list):
            waiting.extend((member, depth + 1) for member in members)
    return True


@cache
def _bounded(known: Any) -> Any:
    """Return a validator class like *known* that counts every step."""
    own = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "unevaluatedItems": _unchecked,  # these two look into everything again,
        "unevaluatedProperties": _unchecked,  # by way of any pattern that they meet
        "uniqueItems": _unique_items,
    }
    counted = {name: _counted(check) for name, check in {**known.VALIDATORS, **own}.items()}
    bounded: Any = extend(known, counted)  # type: ignore[no-untyped-call]
    # The library's own takes an unbounded validator where a part of a schema names its draft.
    bounded.evolve = attrs.evolve
    return bounded


def _counted(check: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def counted(*given: Any) -> Iterator[ValidationError]:
        left = _left.get()
        left.steps -= 1
        left.depth -= 1
        if left.steps < 0 or left.depth < 0:
            raise TooMuchError
        try:
            for error in check(*given) or ():
                left.message_chars -= len(error.message)
                if left.message_chars < 0:
                    raise TooMuchError
                yield error
        finally:
            left.depth += 1

    return counted


def _pattern(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and _found(pattern, value) is False:
        yield ValidationError(f"no match of {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], value: Any, _: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern, part in patterns.items():
            for name, member in value.items():
                if _matches(pattern, name):
                    yield from validator.descend(member, part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, value: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    more = {
        name: member
        for name, member in value.items()
        if name not in known and not any(_matches(pattern, name) for pattern in patterns)
    }
    if isinstance(allowed, dict):
        for name, member in more.items():
            yield from validator.descend(member, allowed, path=name)
    elif more and not allowed:
        yield ValidationError("some members are unknown", instance=more)


def _unique_items(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if wanted and validator.is_type(value, "array"):
        items = [json.dumps(item, sort_keys=True) for item in value]
        if len(set(items)) < len(items):
            yield ValidationError("an item is there twice")


def _matches(pattern: str, name: str) -> bool:
    """Return whether *pattern* matches the name of a member.

    Raises:
        TooMuchError: That takes too long.
    """
    found = _found(pattern, name)
    if found is None:
        raise TooMuchError
    return found


def _found(pattern: str, text: str) -> bool | None:
    left = _left.get()
    left.pattern_steps -= steps(pattern, text)
    return finds(pattern, text) if left.pattern_steps >= 0 else None


def _unchecked(*_: Any) -> tuple[()]:
    return ()
