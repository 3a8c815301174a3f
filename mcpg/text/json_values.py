"""Numbers as their author wrote them, such as `1.10`, in JSON and as values."""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder
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

try:
    from _json import encode_basestring as _string
    from _json import make_scanner
except ImportError:  # another Python than CPython
    from json.encoder import encode_basestring as _string
    from json.scanner import make_scanner


_LITERALS = {None: "null", True: "true", False: "false"}
_INFINITY = float("inf")


class _UnsupportedInputError(Exception):
    """What JSON has no type for, or `json` writes by rules of its own."""


class _ScannerOptions:
    """How the scanner reads: as `json.loads` does."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - where the scanner is written in Python
    parse_constant = {"NaN": float("nan"), "Infinity": _INFINITY, "-Infinity": -_INFINITY}.get

    def __init__(self, parse_float: Callable[[str], float]) -> None:
        self.parse_float = parse_float


_scan = make_scanner(_ScannerOptions(float))  # type: ignore[arg-type]


def read_json(text: str, parse_float: Callable[[str], float] | None = None) -> Any:
    """Return the value that a JSON *text* without white space around it holds.

    Args:
        text: The text.
        parse_float: Reads a number with a fraction or exponent.

    Raises:
        ValueError: It is no such text.
        RecursionError: It is nested too deeply.
    """
    scan = make_scanner(_ScannerOptions(parse_float)) if parse_float else _scan  # type: ignore[arg-type]
    try:
        value, end = scan(text, 0)
    except StopIteration:
        value, end = None, -1
    if end != len(text):
        raise ValueError("no JSON text")
    return value


def write_json(value: Any, indent: int | None = None) -> str:
    """Return *value* as `json.dumps` writes it, with all characters as they are."""
    try:
        return _format_plain(value, None if indent is None else "\n", " " * (indent or 0))
    except (_UnsupportedInputError, RecursionError):
        import json  # noqa: PLC0415 - as above

        return json.dumps(value, ensure_ascii=False, indent=indent)


def _format_plain(value: Any, line: str | None, indent: str) -> str:
    """Return *value* as text; *line* begins the line that it stands in, `None` for one line."""
    kind = type(value)
    if kind is str:
        return _string(value)
    if value is None or kind is bool:
        return _LITERALS[value]
    if kind is int or (kind is float and -_INFINITY < value < _INFINITY):
        return repr(value)
    if kind is dict or kind is list or kind is tuple:
        return _container(value, line, indent) if value else ("{}" if kind is dict else "[]")
    if isinstance(value, str):  # a member of an enumeration
        return _string(value)
    raise _UnsupportedInputError


def _container(value: Any, line: str | None, indent: str) -> str:
    inner = None if line is None else line + indent
    if isinstance(value, dict):
        brackets = "{}"
        if {*map(type, value)} != {str}:
            raise _UnsupportedInputError
        # Most members are texts.
        parts = [
            f"{_string(key)}: "
            + (_string(one) if type(one) is str else _format_plain(one, inner, indent))
            for key, one in value.items()
        ]
    else:
        brackets = "[]"
        parts = [_format_plain(one, inner, indent) for one in value]
    between = ", " if inner is None else f",{inner}"
    return f"{brackets[0]}{inner or ''}{between.join(parts)}{line or ''}{brackets[1]}"


class WrittenNumber(float):
    """A number that is written otherwise than Python writes it, such as `1.10`.

    It equals the number, but as text it is what was written.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        """Read *text*, which is a number in JSON's notation."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __repr__(self) -> str:
        """Return what was written."""
        return self.text


def read_float(text: str) -> float:
    """Read a number with a fraction or exponent; one that Python writes otherwise stays as written.

    `json.loads` takes it as `parse_float`.
    """
    value = float(text)
    return value if repr(value) == text else WrittenNumber(text)


def write_exact_json(value: JsonValue) -> str:
    """Write *value* in one line of JSON without blanks, its numbers as they were written."""
    if _has_spelling(value):
        return _format_exact(value)
    return _encoder().encode(value)


# `json.dumps` makes such an encoder for each value; what only reads numbers needs none.
_encoders: list[JSONEncoder] = []


def _encoder() -> JSONEncoder:
    if not _encoders:
        import json  # noqa: PLC0415 - slow to import

        _encoders.append(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")))
    return _encoders[0]


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
        members = (f"{_encoder().encode(k)}:{_format_exact(v)}" for k, v in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_format_exact, value))}]"
    return _encoder().encode(value)
