"""Text and JSON values as YAML that every reader of YAML 1.1 takes back unchanged, or as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.jsontypes import JsonValue

_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = re.compile("\r\n|[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BREAKS = re.compile("\r\n|[\r\n]")

_PLAIN_KEY = re.compile("[A-Za-z_][A-Za-z0-9_-]{0,99}")
_NO_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})

_LONGEST_IMPLICIT_KEY = 1000


def quoted(text: str) -> str:
    """Write *text* as a double-quoted scalar, which is also a JSON string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def flow(value: JsonValue) -> str:
    """Write a JSON value as a YAML flow value on one line."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value)


def indented(value: JsonValue, margin: str = "\n") -> str:
    """Write a JSON value as `json.dumps` with an indent of 2 does, in a third of the time.

    Args:
        value: The value.
        margin: What goes before each of its lines but the first.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        members = (f"{_compact(key)}: {indented(item, inner)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(members)}{margin}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(indented(item, inner) for item in value)}{margin}]"
    return _compact(value)


_compact = json.JSONEncoder(ensure_ascii=False).encode


def without_breaks(text: str) -> str:
    """Give *text* with every line break (CR, LF or both) as one space."""
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def one_line(text: str) -> str:
    """Give *text* with every control character and line break as one space, trimmed."""
    return (text if text.isprintable() else _CONTROLS.sub(" ", text)).strip()


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def member(key: str, value: JsonValue) -> Iterator[str]:
    """Write a member of a block mapping, each item of a list on a line of its own."""
    is_plain = _PLAIN_KEY.fullmatch(key) is not None and key.lower() not in _NO_TEXT
    written = key if is_plain else quoted(key)
    if len(written) > _LONGEST_IMPLICIT_KEY:
        yield f"? {written}"
        yield f": {flow(value)}"
    elif isinstance(value, list) and value:
        yield f"{written}:"
        yield from (f"  - {flow(item)}" for item in value)
    else:
        yield f"{written}: {flow(value)}"


def _key(text: str) -> str:
    """Write a mapping's key; YAML wants a mark before one longer than 1024 characters."""
    key = quoted(text)
    return f"? {key} " if len(key) > _LONGEST_IMPLICIT_KEY else key


def _number(value: float) -> str:
    """Write a number; YAML 1.1 takes `1e-05` for text but `1.0e-05` for a number."""
    mantissa, exponent, power = repr(value).partition("e")
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else repr(value)
