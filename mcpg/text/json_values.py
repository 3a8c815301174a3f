"""Numbers as their author wrote them, such as `1.10`, in JSON and as values."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import JSONDecoder, JSONEncoder
from typing import Any, Self

from mcpg.values import JsonObject, JsonValue

__all__ = [
    "JsonObject",
    "JsonValue",
    "WrittenNumber",
    "read_float",
    "read_json",
    "without_spelling",
    "write_exact_json",
    "write_json",
]

_DECODER = JSONDecoder()
_ENCODER = JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def read_json(text: str, parse_float: Callable[[str], float] | None = None) -> Any:
    """Return the value of a JSON *text* without surrounding white space.

    *parse_float* reads a number with a fraction or exponent. Any other text is a `ValueError`, one
    that is nested too deeply a `RecursionError`.
    """
    decoder = JSONDecoder(parse_float=parse_float) if parse_float else _DECODER
    try:
        value, end = decoder.scan_once(text, 0)  # type: ignore[attr-defined]
    except StopIteration:
        value, end = None, -1
    if end != len(text):
        raise ValueError("no JSON text")
    return value


def write_json(value: Any, indent: int | None = None) -> str:
    """Return *value* as `json.dumps` writes it, with all characters as they are."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


class WrittenNumber(float):
    """A number that is not written as Python writes it, such as `1.10`.

    It equals the number, but its text is the original.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        """Read *text*, which is a number in JSON's notation."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        """Return the original text."""
        return self.text


def read_float(text: str) -> float:
    """Read a number with a fraction or exponent, keeping its text if Python writes it otherwise.

    For the argument `parse_float` of `json.loads`.
    """
    value = float(text)
    return value if repr(value) == text else WrittenNumber(text)


def write_exact_json(value: JsonValue) -> str:
    """Write *value* in one line of JSON without blanks, its numbers as they were written."""
    if _has_spelling(value):
        return _format_exact(value)
    return _ENCODER.encode(value)


def without_spelling(value: Any) -> Any:
    """Return the JSON value *value* with plain numbers instead of written ones."""
    if isinstance(value, WrittenNumber):
        return float(value)
    if isinstance(value, dict):
        return {key: without_spelling(item) for key, item in value.items()}
    return list(map(without_spelling, value)) if isinstance(value, list) else value


def _has_spelling(value: Any) -> bool:
    kind = type(value)
    if kind is not dict and kind is not list:
        return kind is WrittenNumber
    # Most members are texts, and to call this function for each takes longer than to write it.
    for member in value.values() if kind is dict else value:
        inner = type(member)
        if inner is WrittenNumber:
            return True
        if (inner is dict or inner is list) and _has_spelling(member):
            return True
    return False


def _format_exact(value: JsonValue) -> str:
    # The package `json` writes each number its own way.
    if isinstance(value, WrittenNumber):
        return value.text
    if isinstance(value, dict):
        members = (f"{_ENCODER.encode(k)}:{_format_exact(v)}" for k, v in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_format_exact, value))}]"
    return _ENCODER.encode(value)
