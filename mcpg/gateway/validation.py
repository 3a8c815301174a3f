"""Validation of values by untrusted JSON Schemas, bounded in time and memory, and faults in words.

The library does not count steps, so mcpg estimates the worst case for each part of a value
beforehand. The library's regular expressions take a time that is linear in the text.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

import jsonschema_rs
from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind, Validator

from mcpg.catalog.model import resolve
from mcpg.gateway.calls import Fault, FaultCode
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.spelling import Suggester, suggest

_MAX_NODES, _MAX_CHARS = 3_000, 256 << 10
_MAX_SCHEMA_DEPTH, _MAX_VALUE_DEPTH = 60, 60
_MAX_PARTS = 1_000_000
# Levels of keywords; a stack of 512 KB has room for twice as many.
_MAX_LEVELS = 400
# A step takes about 5 ns, and a possible error this many steps.
_STEPS_OF_ERROR = 8
_MAX_STEPS = 100_000_000
# All errors are made at once, each with a copy of the value.
_MAX_ERRORS = 20_000
_MAX_ERROR_CHARS = 50_000_000
_ENDLESS = math.inf, 0
_VALIDATORS, _MAX_PATTERNS, _ALL_PATTERNS = 256, 32, 96
_MAX_STATES = 100_000
# Checks within these limits are not worth a thread.
_FEW_PARTS, _FEW_CHARS, _FEW_STEPS = 200, 8 << 10, 500_000

_DRAFTS: dict[str, type[Validator]] = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
}
_DATA = frozenset(("const", "default", "enum", "examples", "required"))
_MAPS = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas"))
_MAPS |= {"patternProperties", "properties"}
_UNCHECKED = frozenset(
    (
        *("contentEncoding", "contentMediaType", "contentSchema"),
        *("unevaluatedItems", "unevaluatedProperties"),  # these examine everything again
        # Every part has the draft of the whole schema, and references are pointers into that.
        *("$schema", "$vocabulary", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"),
    )
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_OF_THE_SAME = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
    *("dependencies", "dependentSchemas"),
)
_OF_ONE_MEMBER = ("properties", "prefixItems")
_OF_MEMBERS = (
    *("patternProperties", "additionalProperties", "propertyNames"),
    *("items", "additionalItems", "contains"),
)

_MAX_PATTERN = 500
_PATTERN_BYTES = (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
_STATE_BYTES = 40
_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\\\]])*\]|\(\?[a-zA-Z-]*|.", re.DOTALL)
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ANCHORS = frozenset((r"\<", r"\>", r"\A", r"\z"))
_BOUNDARIES = frozenset((r"\b", r"\B"))
_SET_OPERATOR = re.compile(r"\[|&&|--|~~")


@lru_cache(maxsize=1024)
def count_states(pattern: str) -> int | None:
    """Return the approximate size of the automaton of *pattern*, `None` if it is not run.

    Patterns without an automaton of bounded size, such as lookaround or back references, and
    patterns that the library reads differently from ECMA-262 are not run.
    """
    if len(pattern) > _MAX_PATTERN:
        return None
    for part in _TOKEN.findall(pattern):
        if part.startswith("(?"):
            # Blanks and comments would not be part of the pattern; `.` does not match line breaks.
            is_other = "x" in part or "s" in part
        elif part.startswith("[") and part.endswith("]"):
            is_other = _SET_OPERATOR.search(_ESCAPE.sub("", part[1:-1])) is not None
        else:
            is_other = part in _ANCHORS
        if is_other:
            return None
    for size in _PATTERN_BYTES:
        try:
            _make_validator(Draft202012Validator, {"pattern": pattern}, size)
        except ValueError:
            continue
        return size // _STATE_BYTES
    return None


def _make_validator(
    draft: type[Validator], schema: JsonObject, pattern_bytes: int = _PATTERN_BYTES[-1]
) -> Validator:
    options = jsonschema_rs.RegexOptions(
        size_limit=pattern_bytes, dfa_size_limit=_PATTERN_BYTES[-2]
    )
    return draft(schema, validate_formats=False, mask="_", offline=True, pattern_options=options)


class _Extent(NamedTuple):
    """The extent of a JSON value: its parts, the characters of its texts, its levels."""

    parts: int
    characters: int
    depth: int


def _measure(value: Any, most_parts: int) -> _Extent:
    """Measure *value*, until it has more than *most_parts*."""
    parts, characters, depth = 1, 0, 0
    level = [value]
    while True:
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                characters += len(node)
            elif isinstance(node, dict | list | tuple):
                parts += len(node)
                if parts > most_parts:
                    return _Extent(parts, characters, depth)
                if isinstance(node, dict):
                    characters += sum(map(len, node))
                below.extend(node.values() if isinstance(node, dict) else node)
        if not below:
            return _Extent(parts, characters, depth)
        level, depth = below, depth + 1


def is_brief(value: Any) -> bool:
    """Return whether *value* has so few parts and characters that reading it is quick."""
    extent = _measure(value, _FEW_PARTS)
    return extent.parts <= _FEW_PARTS and extent.characters <= _FEW_CHARS


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A schema as it is checked, with the number of its regular expressions."""

    schema: JsonObject
    patterns: int
    steps: _StepCounter
    validator: Validator
    has_alternatives: bool

    def estimate(self, extent: _Extent, characters: int | None = None) -> float:
        """Return the steps for values of *extent*, infinitely many for values that are too large.

        Patterns examine the number of *characters*, `None` for the characters of *extent*.
        """
        if extent.parts > _MAX_PARTS:
            return math.inf
        if characters is None:
            characters = extent.characters if self.patterns else 0
        return self.steps.count(extent.depth) * (extent.parts + characters)


class BoundedValidator:
    """A validator of one schema for values that it checks in bounded time.

    Attributes:
        patterns: The number of regular expressions that it checks.
        schema: The part of the schema that it checks; paths of errors refer to it.
    """

    def __init__(self, schema: JsonObject) -> None:
        """Make a validator of *schema*, of any draft since 4; references are pointers into it.

        Any exception means that the schema is invalid or too large, or a reference is broken.
        """
        extent = _measure(schema, _MAX_NODES)
        is_small = extent.parts <= _MAX_NODES and extent.characters <= _MAX_CHARS
        if not is_small or extent.depth > _MAX_SCHEMA_DEPTH:
            raise ValueError("the schema is too large")
        self._given = schema
        self._whole = _compile_schema(schema)
        self.patterns, self.schema = self._whole.patterns, self._whole.schema
        self._without_patterns = None if self._whole.patterns else self._whole

    def errors(self, value: JsonValue) -> list[ValidationError]:
        """Return the errors of *value*, without formats. A schema can make it raise any exception.

        It returns none if the check takes too long, and at most one if there may be too many.
        Patterns that would take too long are not checked.
        """
        extent = _measure(value, _MAX_PARTS)
        chosen = self._choose(extent)
        if chosen is None or chosen.validator.is_valid(value):
            return []
        if chosen.estimate(extent, 0) <= _STEPS_OF_ERROR * _MAX_ERRORS:
            copied = chosen.estimate(extent, extent.characters)
            if copied <= _STEPS_OF_ERROR * _MAX_ERROR_CHARS:
                return list(chosen.validator.iter_errors(value))
        if not chosen.has_alternatives:
            try:
                chosen.validator.validate(value)
            except ValidationError as first:
                return [first]
        return []

    def is_valid(self, value: JsonValue) -> bool:
        """Return whether *value* is valid, or cannot be checked."""
        try:
            chosen = self._choose(_measure(value, _MAX_PARTS))
            return chosen is None or chosen.validator.is_valid(value)
        except Exception:  # noqa: BLE001 - as it has half a character
            return True

    def accepts_at_once(self, value: JsonValue) -> bool:
        """Return whether a few steps show that *value* is valid; other values may also be valid."""
        extent = _measure(value, _FEW_PARTS)
        is_quick = extent.parts <= _FEW_PARTS and self._whole.estimate(extent) <= _FEW_STEPS
        try:
            return is_quick and self._whole.validator.is_valid(value)
        except Exception:  # noqa: BLE001 - as above
            return False

    def _choose(self, extent: _Extent) -> _Compiled | None:
        """Return the check for values of *extent*, `None` if that takes too long."""
        if self._whole.estimate(extent) <= _MAX_STEPS:
            return self._whole
        if self._without_patterns is None:
            self._without_patterns = _compile_schema(self._given, has_patterns=False)
        bare = self._without_patterns
        return bare if bare.estimate(extent) <= _MAX_STEPS else None


def _compile_schema(schema: JsonObject, *, has_patterns: bool = True) -> _Compiled:
    """Compile *schema*, without its regular expressions if these are too many."""
    nodes: list[dict[str, Any]] = []
    copied: JsonObject = _copy_schema(schema, nodes, has_patterns=has_patterns)
    patterns = sum(len(node.get("patternProperties", ())) + ("pattern" in node) for node in nodes)
    steps = _StepCounter(copied, nodes)
    if patterns > _MAX_PATTERNS or (patterns and steps.states > _MAX_STATES):
        return _compile_schema(schema, has_patterns=False)
    draft = _DRAFTS.get(str(schema.get("$schema")).rstrip("#"), Draft202012Validator)
    has_alternatives = any(node.keys() & {"anyOf", "oneOf"} for node in nodes)
    return _Compiled(copied, patterns, steps, _make_validator(draft, copied), has_alternatives)


def _copy_schema(node: Any, nodes: list[dict[str, Any]], *, has_patterns: bool) -> Any:
    """Return a copy of a schema with only checked keywords, and append its parts to *nodes*."""
    copy = partial(_copy_schema, nodes=nodes, has_patterns=has_patterns)
    if isinstance(node, list):
        return [copy(part) for part in node]
    if not isinstance(node, dict):
        return node
    copied: dict[str, Any] = {}
    for key, part in node.items():
        if key in _DATA:
            copied[key] = part
        elif key in _MAPS and isinstance(part, dict):
            copied[key] = {name: copy(one) for name, one in part.items()}
        elif key not in _UNCHECKED and (key != "id" or not isinstance(part, str)):
            copied[key] = copy(part)
    _relax_required(copied)
    _adapt_patterns(copied, has_patterns=has_patterns)
    nodes.append(copied)
    return copied


def _relax_required(schema: dict[str, Any]) -> None:
    """Let members of a *schema* with a default be left out.

    Generators such as zod describe arguments as they are once defaults are filled in.
    """
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return
    kept = [
        name
        for name in required
        if not (isinstance(properties.get(name), dict) and "default" in properties[name])
    ]
    if len(kept) < len(required):
        schema["required"] = kept
        if not kept:
            del schema["required"]  # draft 4 has no empty ones


def _adapt_patterns(schema: dict[str, Any], *, has_patterns: bool) -> None:
    """Keep the patterns of *schema* that can be run; its check refuses other types than text."""

    def adapt(pattern: str) -> str:
        # Word boundaries of ECMA-262 only consider ASCII.
        tokens = _TOKEN.findall(pattern)
        return "".join(f"(?-u:{one})" if one in _BOUNDARIES else one for one in tokens)

    pattern, named = schema.get("pattern"), schema.get("patternProperties")
    if isinstance(pattern, str):
        schema["pattern"] = adapt(pattern)
        if not has_patterns or count_states(schema["pattern"]) is None:
            del schema["pattern"]
    if isinstance(named, dict) and named:
        named = {adapt(one): part for one, part in named.items()}
        schema["patternProperties"] = named
        if not has_patterns or None in map(count_states, named):
            del schema["patternProperties"]
            schema.pop("additionalProperties", None)  # unknown without the patterns


class _SchemaLinks(NamedTuple):
    """The subschemas of a schema, by identity, and the steps of its own keywords.

    Attributes:
        same: Schemas of the same value.
        one: Schemas of members of the value, of which each has one.
        every: Schemas of members of the value, of which each may have all.
        states: The number of states of its patterns; each is a step.
    """

    same: list[int]
    one: list[int]
    every: list[int]
    steps: int
    states: int


def _link(node: dict[str, Any], root: JsonObject) -> _SchemaLinks:
    patterns = [*_as_list(node.get("pattern")), *(node.get("patternProperties") or ())]
    states = sum(count_states(one) or 0 for one in patterns if isinstance(one, str))
    steps = _STEPS_OF_ERROR * (1 + len(node))
    links = _SchemaLinks([], [], [], steps, states)
    kinds = ((_OF_THE_SAME, links.same), (_OF_ONE_MEMBER, links.one), (_OF_MEMBERS, links.every))
    for keyword, part in node.items():
        if isinstance(part, dict | list):
            steps += len(part) * (_STEPS_OF_ERROR if keyword == "required" else 1)
        if isinstance(part, dict):  # names that another name requires
            lists = (one for one in part.values() if isinstance(one, list))
            steps += _STEPS_OF_ERROR * sum(map(len, lists))
        if keyword in _REFERENCES:
            links.same.append(id(resolve(part, root)))
        for keywords, found in kinds:
            if keyword in keywords:
                is_map = keyword in _MAPS and isinstance(part, dict)
                parts = part.values() if is_map else _as_list(part)
                found.extend(id(one) for one in parts if isinstance(one, dict))
    return links._replace(steps=steps)


class _StepCounter:
    """Counts how many steps a part of a value takes in the worst case.

    Every schema of a part examines it, through references more often than there are schemas, and
    endlessly if a reference leads back to itself, or to a value that is not a schema.
    """

    def __init__(self, root: JsonObject, nodes: Sequence[dict[str, Any]]) -> None:
        self._root = id(root)
        self._links = {id(node): _link(node, root) for node in nodes}
        self.states = sum(one.states for one in self._links.values())
        self._lock = threading.Lock()
        self._counts: list[float] = []
        self._is_complete = False
        # By the identity of a schema: the steps, and the levels of keywords.
        self._level: dict[int, tuple[float, int]] = {}
        self._below: dict[int, tuple[float, int]] = {}

    def count(self, depth: int) -> float:
        with self._lock:
            while len(self._counts) <= depth and not self._is_complete:
                self._below, self._level = self._level, {}
                for key in self._links:
                    self._count(key)
                steps, levels = self._level[self._root]
                self._is_complete = not steps
                if levels > _MAX_LEVELS or len(self._counts) > _MAX_VALUE_DEPTH:
                    self._is_complete = True
                    self._counts.append(math.inf)
                elif steps:
                    self._counts.append(max([steps, *self._counts[-1:]]))
        return self._counts[min(depth, len(self._counts) - 1)]

    def _count(self, key: int) -> tuple[float, int]:
        """Return the steps that a schema takes at the present level, and the levels of keywords."""
        if key in self._level:
            return self._level[key]
        self._level[key] = _ENDLESS  # until it is known that no reference leads back to it
        links, below = self._links[key], self._below
        steps, levels = 0.0 if below else links.steps + links.states, 0
        for part in links.same:
            more, deep = self._count(part) if part in self._links else _ENDLESS
            steps, levels = steps + more, max(levels, deep)
        if below:
            members = [below[part] for part in links.one]
            steps += max((more for more, _ in members), default=0)
            members += (others := [below[part] for part in links.every])
            steps += sum(more for more, _ in others)
            levels = max((levels, *(deep for _, deep in members)))
        self._level[key] = steps, levels + 1
        return steps, levels + 1


def are_patterns_valid(schema: JsonValue) -> bool:
    """Return whether the regular expressions of *schema* are valid, for clients in Python."""
    if isinstance(schema, list):
        return all(map(are_patterns_valid, schema))
    if not isinstance(schema, dict):
        return True
    named = schema.get("patternProperties")
    try:
        for text in (schema.get("pattern"), *(named if isinstance(named, dict) else ())):
            if isinstance(text, str):
                re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return all(map(are_patterns_valid, schema.values()))


def bounded_validator(schema: JsonObject) -> BoundedValidator | None:
    """Return a validator for *schema*, the same for the same object as long as it is in use.

    It is `None` if the schema is too large or not usable.
    """
    known = _latest.get(id(schema))
    if known is None:
        try:
            made = BoundedValidator(schema)
        except Exception:  # noqa: BLE001 - a schema makes the library raise anything
            made = None
        with _latest_lock:
            _latest[id(schema)] = schema, made
            patterns = sum(one.patterns for _, one in _latest.values() if one is not None)
            while len(_latest) > _VALIDATORS or (patterns > _ALL_PATTERNS and len(_latest) > 1):
                _, (_, gone) = _latest.popitem(last=False)
                patterns -= gone.patterns if gone is not None else 0
        return made
    return known[1]


# By the identity of the schema, which stays in use as long as it is kept here.
_latest: OrderedDict[int, tuple[JsonObject, BoundedValidator | None]] = OrderedDict()
_latest_lock = threading.Lock()


def accepts_at_once(schema: JsonObject, value: JsonValue) -> bool:
    """Return whether a few steps show that *value* is valid.

    The validator of *schema* is not made for it, since that may take long.
    """
    _, validator = _latest.get(id(schema), (schema, None))
    return validator is not None and validator.accepts_at_once(value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_MAX_FAULTS, _MAX_NAMES, _MAX_VALUE, _MAX_TEXT = 20, 20, 80, 200
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
    """Return *arguments* as plain JSON, or a fault if they are not JSON."""
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
            return _fault([name], f"{_label([name])} contains half a character")
    return plain


def check_arguments(schema: JsonObject, arguments: JsonObject) -> tuple[Fault, ...]:
    """Return up to 20 faults of *arguments*; none if *schema* is not usable.

    The schema may have any draft; formats and external references are ignored.
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
    """The part of the arguments with an error, and the part of the schema that it violates."""

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
        if isinstance(self._kind, ValidationErrorKind.Required):
            extra = Suggester(one for one in self._value if one not in self._properties)
            required = self._limit if isinstance(self._limit, list) else [self._kind.property]
            for name in (one for one in required if one not in self._value):
                close, path = extra.suggest(name), [*self._path, name]
                schema = self._properties.get(name)
                stated = schema if isinstance(schema, dict) else {}
                kind, about = (
                    _types(stated["type"]) if "type" in stated else "",
                    stated.get("description"),
                )
                text = " ".join(about.split())[:_MAX_TEXT] if isinstance(about, str) else ""
                wanted = f"{kind}: {text}" if kind and text else kind or text or "it"
                remedy = f"is {_short(close[0])} meant to be it?" if close else f"give {wanted}"
                yield _fault(path, f"{_label(path)} is missing", remedy)
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

    def _describe_invalid(self) -> tuple[str, str]:
        rule, limit = self._kind.name, self._limit
        if rule == "type":
            remedy = ""
            if isinstance(self._value, str) and {"integer", "number", "boolean"} & {
                *_as_list(limit)
            }:
                with suppress(ValueError):
                    is_plain = isinstance(json.loads(self._value), bool | int | float)
                    remedy = "give it without quotes" if is_plain else ""
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
            limit = re.sub(r"\(\?-u:(\\[bB])\)", r"\1", limit)  # unchanged
        if rule in _RULES:
            return _RULES[rule].format(_short(limit)), ""
        return f"does not meet {_short(str(rule))} of the tool's schema", ""

    def _describe_alternatives(self) -> str:
        if isinstance(self._kind, ValidationErrorKind.OneOfMultipleValid):
            return "matches several alternatives of which only one is allowed"
        errors = [error for errors in self._kind.context for error in errors]
        if all(isinstance(error.kind, ValidationErrorKind.Type) for error in errors):
            stated = [_follow(self._schema, error.schema_path) for error in errors]
            types = [name for one in stated for name in _as_list(one)]
            return f"must be {_types(types)}, not {_type_name(self._value)}"
        return "matches none of the alternatives in the tool's schema"


def _find_innermost(error: ValidationError) -> ValidationError:
    """Return the error in the intended alternative, if only one is possible."""
    kind = error.kind
    if not isinstance(kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        return error
    # The caller did not mean an alternative of another type.
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


def _types(types: Any) -> str:
    return " or ".join(_TYPES.get(name, str(name)) for name in dict.fromkeys(_as_list(types)))


def _type_name(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return _TYPES["null" if value is None else kinds.get(type(value), "object")]


def _list_values(values: Iterable[Any]) -> str:
    every = [_short(one) for one in values]
    more = f" and {len(every) - _MAX_NAMES} more" if len(every) > _MAX_NAMES else ""
    return ", ".join(every[:_MAX_NAMES]) + more


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."
