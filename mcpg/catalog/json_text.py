"""Untrusted JSON: strict, of bounded depth, with whole characters only."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

from mcpg.errors import SourceError
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.text.library_errors import json_reason

MAX_DEPTH = 100
"""Deepest nesting of arrays and objects that is read, in levels."""

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|-?Infinity|NaN|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?',
    re.DOTALL,
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_SURE_DIGITS = 300
_KEY_SHOWN = 80
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_END = re.compile(r"\r\n|\r|\n")
_SERVER_EVENT = re.compile(r"(?:event|data|id|retry|):")


def parse_json_documents(
    text: str,
    place: str,
    repeated: set[str] | None = None,
    parse_float: Callable[[str], float] = float,
) -> list[JsonValue]:
    """Parse one JSON document, or several that follow each other (JSON lines are such).

    A stream of server-sent events, which is how an HTTP server may answer, is read as the
    documents in its `data:` lines.

    *repeated* gets every key that occurs more than once in one object, of which the last counts;
    *parse_float* reads a number with a fraction or an exponent.

    Raises:
        SourceError: The text is not JSON, has a number that is not finite (`NaN`), or is nested
            deeper than `MAX_DEPTH`; its place names line and column.
    """
    if not text.strip():
        raise SourceError("is empty", place=place, remedy="save the list of tools into it")
    content = text
    if _SERVER_EVENT.match(text.lstrip()):
        lines = (line.partition(":") for line in _LINE_END.split(text))
        content = "\n".join(value for name, _, value in lines if name == "data")
    try:
        values = _decode_all(content, repeated, parse_float)
    except json.JSONDecodeError as fault:
        problem, remedy = json_reason(fault)
        at = f"{place}:{fault.lineno}:{fault.colno}"
        raise SourceError(f"invalid JSON: {problem}", place=at, remedy=remedy) from None
    except _NotANumberError:
        numbers = (one for one in _TOKEN.finditer(content) if one.group()[0] not in '"[{]}')
        bad = (one.start() for one in numbers if not math.isfinite(float(one.group())))
        at = f"{place}:{_position(content, next(bad))}"
        message = "numbers in JSON must be finite (no NaN, Infinity or overflow)"
        raise SourceError(message, place=at, remedy="write a finite number or null") from None
    except RecursionError:
        raise _too_deep(content, place) from None
    if is_deeper(values, MAX_DEPTH):
        raise _too_deep(content, place)
    return values


def has_surrogate_escapes(text: str) -> bool:
    """Return whether strings of this JSON text may have lone surrogates."""
    return _SURROGATE_ESCAPE.search(text) is not None


def repair_surrogates(value: JsonValue, path: str, repaired: list[str]) -> JsonValue:
    """Replace every lone surrogate in *value*, JSON of bounded depth at *path*, by U+FFFD.

    *repaired* takes an item for every text or key that was changed, the first of them its path: so
    many of them could be many times the size of the file.
    """

    def repair(text: str) -> str:
        clean, count = _SURROGATE.subn("\ufffd", text)
        if count:
            repaired.append("" if repaired else path)
        return clean

    if isinstance(value, str):
        return repair(value)
    if isinstance(value, list):
        return [repair_surrogates(v, f"{path}[{i}]", repaired) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {
            (name := repair(key)): repair_surrogates(
                member, f"{path}.{name[:_KEY_SHOWN]}".removeprefix("."), repaired
            )
            for key, member in value.items()
        }
    return value


class _NotANumberError(Exception):
    """The text has a number that is not JSON or that overflows."""


def _decode_all(
    text: str, repeated: set[str] | None, parse_float: Callable[[str], float]
) -> list[JsonValue]:
    decoder = json.JSONDecoder(
        object_pairs_hook=None if repeated is None else partial(_object, repeated, {}),
        parse_constant=partial(_finite, float),
        parse_float=partial(_finite, parse_float),
        parse_int=_int,
    )
    values: list[JsonValue] = []
    at = _after_space(text, 0)
    while at < len(text) or not values:
        value, end = decoder.raw_decode(text, at)
        values.append(value)
        at = _after_space(text, end)
    return values


def _object(
    repeated: set[str], types: dict[str, str], pairs: list[tuple[str, JsonValue]]
) -> JsonObject:
    value = dict(pairs)
    kind = value.get("type")
    if isinstance(kind, str):  # all schemas share the few texts of their types
        value["type"] = types.setdefault(kind, kind)
    if len(value) < len(pairs):
        repeated.update(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return value


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _finite(parse_float: Callable[[str], float], text: str) -> float:
    value = parse_float(text)
    if not math.isfinite(value):
        raise _NotANumberError
    return value


def _int(text: str) -> int:
    # Most readers of JSON lose a number that overflows a double; Python also limits the digits.
    if len(text) > _SURE_DIGITS:
        _finite(float, text)
    return int(text)


def is_deeper(values: Iterable[JsonValue], levels: int) -> bool:
    """Return whether lists and mappings nest deeper than *levels*, without recursion."""
    level = [value for value in values if isinstance(value, (dict, list))]
    for _ in range(levels):
        level = [
            member
            for value in level
            for member in (value.values() if isinstance(value, dict) else value)
            if isinstance(member, (dict, list))
        ]
        if not level:
            return False
    return True


def _too_deep(text: str, place: str) -> SourceError:
    depth = start = 0
    for token in _TOKEN.finditer(text):
        depth += _STEPS.get(token.group(), 0)
        if depth > MAX_DEPTH:
            start = token.start()
            break
    # Only for a caller that is itself deep in recursion it is the beginning.
    message = f"the JSON is nested deeper than {MAX_DEPTH} levels"
    return SourceError(message, place=f"{place}:{_position(text, start)}", remedy="flatten it")


def _position(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"{line}:{at - (text.rfind(chr(10), 0, at) + 1) + 1}"
