"""Validation of values and arguments by untrusted JSON Schemas, bounded in time and memory.

Regular expressions are run by an engine whose time is linear in the text.
"""

from __future__ import annotations

import json
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import attrs
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend, validator_for
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry

from mcpg.gateway.calls import Fault, FaultCode
from mcpg.gateway.simple_schemas import accepts
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.suggestions import Suggester, suggest

_MAX_NODES = 3_000
_MAX_CHARS = 256 << 10
_MAX_STEPS = 10_000
_MAX_ALL_PATTERN_STEPS = 50_000_000
_MAX_MESSAGE_CHARS = 50_000_000
_VALIDATORS = 256
# What is checked within these is not worth a thread.
_FEW_PARTS, _FEW_CHARS, _FEW_STEPS, _FEW_LEVELS = 200, 8 << 10, 200, 8
# Deeper, Python's own stack would end, on which a library in Rust below panics.
_MAX_DEPTH = 40
_MAX_SCHEMA_DEPTH = 60

_MAX_PATTERN = 500
_MAX_STATES = 20_000
_MAX_PATTERN_STEPS = 5_000_000
_TO_COMPILE = 100
_PATTERNS = ("pattern", "patternProperties")
_UNICODE_CLASS = 100
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\{[^}]*\}|\(\?[a-zA-Z-]*|.", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_UNICODE = re.compile(r"\\[dDpPsSwW]")
# ECMA-262 knows only letters and digits of ASCII here, and other blanks than the engine.
_OF_ASCII, _OF_BLANKS = re.compile(r"\\[dDwWbB]"), re.compile(r"\\[sS]")
_BLANKS = re.compile("[\x85\ufeff]")
_ANCHORS = frozenset((r"\<", r"\>", r"\A", r"\z"))
_SET_OPERATOR = re.compile(r"\[|&&|--|~~")
_NUMBER = re.compile("[0-9]{1,9}")


def finds(pattern: str, text: str) -> bool | None:
    """Return whether *pattern* is found in *text*, `None` where it exceeds the bounds.

    Lookaround and back references do, since they take more than linear time. It is also `None` if
    the engine reads the pattern otherwise than ECMA-262.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    is_otherwise = (not text.isascii() and _OF_ASCII.search(pattern)) or (
        _BLANKS.search(text) and _OF_BLANKS.search(pattern)
    )
    if is_otherwise or steps(pattern, text) > _MAX_PATTERN_STEPS:
        return None
    compiled = _compile_pattern(pattern)
    return compiled.isinstance_python(text) if compiled is not None else None


def steps(pattern: str, text: str) -> float:
    """Return a bound of the steps of a search: the states of the automaton times the characters."""
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
    return part in _ANCHORS


@lru_cache(maxsize=16)
def _compile_pattern(pattern: str) -> SchemaValidator | None:
    """Compile *pattern*; some take ten megabytes."""
    schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True)
    try:
        return SchemaValidator(schema)
    except SchemaError:
        return None


_left: ContextVar[_RemainingBounds] = ContextVar("_left")


@dataclass(slots=True)
class _RemainingBounds:
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
        self._schema = schema
        self._validator = _make_bounded_class(known)(schema, registry=Registry())
        self._has_pattern = has_pattern(schema)

    def errors(self, value: JsonValue) -> Iterator[ValidationError]:
        """Iterate over the errors of *value*; formats are not checked.

        An error of `additionalProperties` has the unknown members for its instance.

        Raises:
            TooMuchError: The check would take too long.
            Exception: Any that a schema makes the library raise.
        """
        _left.set(_RemainingBounds())
        found: Iterator[ValidationError] = self._validator.iter_errors(value)
        return found

    def is_valid(self, value: JsonValue) -> bool:
        """Return whether *value* is valid, or cannot be checked."""
        try:
            return next(self.errors(value), None) is None
        except Exception:  # noqa: BLE001 - an unusable schema refuses nothing
            return True

    def accepts_at_once(self, value: JsonValue) -> bool:
        """Return whether a few steps show that *value* is valid; other values may be, too."""
        if accepts(self._schema, value):
            return True
        if self._has_pattern:
            return False
        _left.set(_RemainingBounds(_FEW_STEPS, _FEW_LEVELS))
        try:
            return next(self._validator.iter_errors(value), None) is None
        except Exception:  # noqa: BLE001 - as above
            return False


def bounded_validator(schema: JsonObject) -> BoundedValidator | None:
    """Return a validator for *schema*, cached since checking the schema itself takes longest.

    Returns:
        `None` where *schema* is too large or not usable.
    """
    validator = latest_validator(schema)
    if validator is None and _is_small(schema):
        text = json.dumps(schema)
        validator = _cached_validator(text) if len(text) <= _MAX_CHARS else None
    if validator is not None:
        _latest[id(schema)] = schema, validator
        while len(_latest) > _VALIDATORS:
            _latest.popitem(last=False)
    return validator


# By the identity of the schema, which stays in use as long as it is kept here.
_latest: OrderedDict[int, tuple[JsonObject, BoundedValidator]] = OrderedDict()


def latest_validator(schema: JsonObject) -> BoundedValidator | None:
    """Return the validator that was made for this very *schema*, `None` for none lately."""
    known = _latest.get(id(schema))
    return known[1] if known is not None else None


@lru_cache(maxsize=_VALIDATORS)
def _cached_validator(text: str) -> BoundedValidator | None:
    try:
        return BoundedValidator(json.loads(text))
    except Exception:  # noqa: BLE001 - a schema makes the library raise anything
        return None


def is_brief(value: Any) -> bool:
    """Return whether *value* has so few parts and characters that reading it is quick."""
    waiting = [value]
    parts = characters = 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            characters += len(node)
        elif isinstance(node, dict | list | tuple):
            parts += len(node)
            if parts > _FEW_PARTS:
                return False
            waiting.extend(node)
            if isinstance(node, dict):
                waiting.extend(node.values())
        if characters > _FEW_CHARS:
            return False
    return True


def has_pattern(schema: JsonValue) -> bool:
    """Return whether a schema has a regular expression."""
    if isinstance(schema, dict):
        return any(key in _PATTERNS or has_pattern(one) for key, one in schema.items())
    return isinstance(schema, list) and any(map(has_pattern, schema))


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
def _make_bounded_class(known: Any) -> Any:
    """Return a validator class like *known* that counts every step."""
    own = {
        "additionalProperties": _additional_properties,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "required": _check_required,
        "unevaluatedItems": _skip_check,  # these two look into everything again,
        "unevaluatedProperties": _skip_check,  # by way of any pattern that they meet
        "uniqueItems": _unique_items,
    }
    counted = {name: _count_steps(check) for name, check in {**known.VALIDATORS, **own}.items()}
    bounded: Any = extend(known, counted)  # type: ignore[no-untyped-call]
    # The library's own takes an unbounded validator where a part of a schema names its draft.
    bounded.evolve = attrs.evolve
    return bounded


def _count_steps(check: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def count_and_check(*given: Any) -> Iterator[ValidationError]:
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

    return count_and_check


def _pattern(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and _find_pattern(pattern, value) is False:
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


def _check_required(
    validator: Any, names: Any, value: Any, schema: Any
) -> Iterator[ValidationError]:
    """Check that members are there, except those with a default.

    Generators of schemas such as zod describe arguments as they are once defaults are filled in.
    """
    if validator.is_type(value, "object") and isinstance(names, list):
        for name in names:
            if name not in value and not _has_default(schema, name):
                yield ValidationError(f"{name!r} is a required property")


def _has_default(schema: Any, name: str) -> bool:
    """Return whether the member *name* of *schema* has a default."""
    member = (schema.get("properties") or {}).get(name)
    return isinstance(member, dict) and "default" in member


def _unique_items(validator: Any, wanted: Any, value: Any, _: Any) -> Iterator[ValidationError]:
    if wanted and validator.is_type(value, "array"):
        items = [json.dumps(item, sort_keys=True) for item in value]
        if len(set(items)) < len(items):
            yield ValidationError("an item is there twice")


def _matches(pattern: str, name: str) -> bool:
    """Return whether *pattern* matches the name of a member."""
    found = _find_pattern(pattern, name)
    if found is None:
        raise TooMuchError
    return found


def _find_pattern(pattern: str, text: str) -> bool | None:
    left = _left.get()
    left.pattern_steps -= steps(pattern, text)
    return finds(pattern, text) if left.pattern_steps >= 0 else None


def _skip_check(*_: Any) -> tuple[()]:
    return ()


# Arguments of tools. What their schema does not state, or what cannot be checked within bounds, is
# left to the server. Messages repeat only names of the arguments.


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


def _faults(error: Any) -> Iterable[Fault]:
    if error.validator == "required":
        return _missing(error)
    if error.validator == "additionalProperties" and error.validator_value is False:
        return _unknown(error)
    return (_invalid(error),)


def _missing(error: Any) -> Iterator[Fault]:
    properties = _properties(error)
    extra = Suggester(name for name in error.instance if name not in properties)
    for name in error.validator_value:
        if name not in error.instance and not _has_default(error.schema, name):
            close = extra.suggest(name)
            remedy = f"is {_short(close[0])} meant to be it?" if close else ""
            path = [*error.absolute_path, name]
            yield _fault(
                path, f"{_label(path)} is missing", remedy or _describe_wanted(properties.get(name))
            )


def _unknown(error: Any) -> Iterator[Fault]:
    properties = _properties(error)
    known_names = Suggester(properties)
    for name in error.instance:
        close = known_names.suggest(name)
        known = f"known are {_list_values(properties)}" if properties else "there are none"
        remedy = f"did you mean {_short(close[0])}?" if close else known
        path = [*error.absolute_path, name]
        yield _fault(path, f"{_label(path)} is unknown", remedy)


def _invalid(error: Any) -> Fault:
    path = list(error.absolute_path)
    rule, limit = error.validator, error.validator_value
    remedy = ""
    if rule == "type":
        message = f"must be {_types(limit)}, not {_type_name(error.instance)}"
        remedy = _advise_unquoted(error.instance, limit)
    elif rule in {"enum", "const"}:
        values = limit if rule == "enum" else [limit]
        message = f"must be {'one of ' if len(values) > 1 else ''}{_list_values(values)}"
        texts = (one for one in values if isinstance(one, str))
        close = suggest(error.instance, texts) if isinstance(error.instance, str) else ()
        remedy = f"did you mean {_short(close[0])}?" if close else ""
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
        return f"must be {_types(types)}, not {_type_name(error.instance)}"
    if not context:
        return "matches several alternatives of which only one is allowed"
    return "matches none of the alternatives in the tool's schema"


def _fault(path: Iterable[str | int], message: str, remedy: str = "") -> Fault:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    field = "".join(f"/{part}" for part in parts)
    return Fault(FaultCode.ARGUMENTS_INVALID, message, remedy, field[: 4 * _MAX_TEXT])


def _label(path: Sequence[str | int]) -> str:
    if not path:
        return "the arguments as a whole"
    argument = f"the argument {_short(str(path[0]))}"
    return f"{_short('/'.join(map(str, path[1:])))} in {argument}" if path[1:] else argument


def _properties(error: Any) -> dict[str, Any]:
    properties = error.schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _describe_wanted(schema: Any) -> str:
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


def _type_name(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return _TYPES["null" if value is None else kinds.get(type(value), "object")]


def _advise_unquoted(value: Any, types: Any) -> str:
    """Return advice on a number or truth value in quotes, "" for other values."""
    if not isinstance(value, str) or not {"integer", "number", "boolean"} & {*_as_list(types)}:
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
