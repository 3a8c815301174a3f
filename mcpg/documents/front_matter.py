"""The YAML between the `---` lines that begin a document, read and written.

Values are written so that every YAML 1.1 reader returns them unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcpg.catalog.json_text import is_deeper
from mcpg.errors import DocumentError
from mcpg.text.json_values import JsonObject, JsonValue, WrittenNumber
from mcpg.text.safeyaml import MAX_DEPTH, load_yaml, plain_value

MAX_FRONT_MATTER = 256 * 1024
"""Longest front matter that is read or written, in characters."""

EXTRAS_KEY = "mcpg"
"""The key for values that the .NET gateway has no field for."""

# Below blank lines, a line of hyphens may be a rule, unless a key follows it.
_FENCE = re.compile(r"---[ \t]*(?:\n|\Z)|(?:[ \t]*\n)+---[ \t]*\n(?=[A-Za-z_][\w.-]*[ \t]*:)")
_CLOSING = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z_]+\Z")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A document cut in two.

    Attributes:
        values: The values of the front matter; empty without one.
        markdown: The text after it.
        line: Number of the document's line on which *markdown* begins, counted from 1.
        text: The YAML between the fences; "" without one.
        text_line: Number of the document's line on which *text* begins.
        is_plain: Whether all its lines are as this package writes them.
    """

    values: JsonObject
    markdown: str
    line: int
    text: str = ""
    text_line: int = 2
    is_plain: bool = False


def split_front_matter(content: str, place: str, limit: int = MAX_FRONT_MATTER) -> FrontMatter:
    """Cut a document with LF line ends into front matter, of *limit* characters, and Markdown."""
    opening = _FENCE.match(content)
    if opening is None:
        return FrontMatter({}, content, 1)
    first = content.count("\n", 0, opening.end()) + 1
    fence = f"{place}:{first - 1}"
    closing = _CLOSING.search(content, opening.end())
    if closing is None:
        raise DocumentError(
            "the front matter is not closed",
            place=fence,
            remedy="close it with a line of three hyphens",
        )
    text = content[opening.end() : closing.start()]
    if len(text) > limit:
        message = f"the front matter is longer than {limit} characters"
        raise DocumentError(message, place=fence, remedy="move prose below it")
    line = content.count("\n", 0, closing.end()) + 1
    plain = _read_plain(text)
    values = (
        load_yaml(text, place, first_line=first, error=DocumentError) if plain is None else plain
    )
    if not isinstance(values, dict | None):
        raise DocumentError(
            "the front matter is not a mapping",
            place=f"{place}:{first}",
            remedy="write `key: value` lines",
        )
    markdown = content[closing.end() :]
    return FrontMatter(values or {}, markdown, line, text, first, plain is not None)


def front_matter_text(content: str) -> str | None:
    """Return the YAML between the fences of a document with LF line ends, read or not.

    It is "" without fences, and `None` if the second is missing.
    """
    opening = _FENCE.match(content)
    if opening is None:
        return ""
    closing = _CLOSING.search(content, opening.end())
    return content[opening.end() : closing.start()] if closing else None


def _read_plain(text: str) -> JsonObject | None:
    """Read the narrow YAML of generated documents many times faster than a YAML parser does.

    That is keys of letters and underscores, each with a double-quoted text, a list of such texts
    or, for `EXTRAS_KEY`, a mapping of values in JSON's notation. Gives `None` for any other text.
    """
    if needs_yaml(text):
        return None
    values: JsonObject = {}
    try:
        for key, rest, block in _entries(text):
            if key in values or _KEY.match(key) is None:
                return None
            if rest.startswith(' "') and not block:
                values[key] = _decode(rest)
            elif rest == " []" and not block:
                values[key] = []
            elif rest or not block:
                return None
            elif key == EXTRAS_KEY:
                values[key] = _mapping(block)
            else:
                values[key] = [_item(line, '- "') for line in block]
    except (ValueError, RecursionError):
        return None
    # Values nested too deeply are refused by the YAML parser, which reports the line.
    return None if is_deeper([values], MAX_DEPTH) else values


def needs_yaml(text: str) -> bool:
    """Return whether *text* may have half a surrogate pair, which only a YAML parser refuses."""
    return "\\ud" in text or "\\uD" in text


def _entries(text: str) -> list[tuple[str, str, list[str]]]:
    """Group lines by key: the key, the rest of its line, the indented lines under it."""
    entries: list[tuple[str, str, list[str]]] = []
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("  ") and entries:
            entries[-1][2].append(line[2:])
        else:
            key, _, rest = line.partition(":")
            entries.append((key, rest, []))
    return entries


def _mapping(block: list[str]) -> JsonObject:
    """Read `key: value` lines, in which the items of a list may have lines of their own."""
    values: JsonObject = {}
    items: list[JsonValue] | None = None
    for line in block:
        if items is not None and line.startswith("  "):
            items.append(_item(line, "  - {"))
            continue
        key, colon, value = line.partition(":")
        if not colon or key in values or _KEY.match(key) is None:
            raise ValueError(line)
        items = None if value else []
        values[key] = _decode(value) if value else items
    if [] in values.values():
        raise ValueError(block)  # YAML takes a key without a value for null
    return values


def _item(line: str, start: str) -> JsonValue:
    if not line.startswith(start):
        raise ValueError(line)
    return _decode(line[len(start) - 1 :])


def _decode(text: str) -> JsonValue:
    plain = text.strip(" ")
    is_quoted = plain[:1] == '"' == plain[-1:] and plain.count('"') == _QUOTES
    if is_quoted and plain.isprintable() and "\\" not in plain:
        return plain[1:-1]  # with nothing that is escaped or would have to be
    value: JsonValue = _DECODER.decode(text)
    return value


def _number(text: str) -> JsonValue:
    value = plain_value(text)
    if isinstance(value, str):
        raise ValueError(text)  # noqa: TRY004 - too big for a number: YAML takes it for text
    return value


_QUOTES = 2
# No constant, such as NaN, is an integer.
_DECODER = json.JSONDecoder(parse_constant=int, parse_float=_number, parse_int=_number)


_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = re.compile("\r\n|[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BREAKS = re.compile("\r\n|[\r\n]")

_PLAIN_KEY = re.compile("[A-Za-z_][A-Za-z0-9_-]{0,99}")
_NO_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})

_LONGEST_IMPLICIT_KEY = 1000


def quote_scalar(text: str) -> str:
    """Write *text* as a double-quoted scalar, which is also a JSON string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def flow(value: JsonValue) -> str:
    """Write a JSON value as a YAML flow value on one line."""
    if isinstance(value, str):
        return quote_scalar(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, WrittenNumber):
        return value.text
    # Write a number; YAML 1.1 takes `1e-05` for text but `1.0e-05` for a number.
    mantissa, exponent, power = repr(value).partition("e")
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else repr(value)


def dump_indented(value: JsonValue, margin: str = "\n") -> str:
    """Write a JSON value as `json.dumps` with an indent of 2 does, in a third of the time.

    The *margin* goes before each of its lines but the first.
    """
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        members = (f"{compact(key)}: {dump_indented(item, inner)}" for key, item in value.items())
        return f"{{{inner}{f',{inner}'.join(members)}{margin}}}"
    if isinstance(value, list) and value:
        return f"[{inner}{f',{inner}'.join(dump_indented(item, inner) for item in value)}{margin}]"
    return compact(value)


def compact(value: JsonValue) -> str:
    """Write a JSON value on one line, without blanks between its parts."""
    if isinstance(value, str) and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'  # as most texts are
    text = _encode(value)
    return text if text.isprintable() else _CONTROLS_OF_JSON.sub(_escape, text)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_CONTROLS_OF_JSON = re.compile("[\x7f-\x9f]")  # JSON itself escapes those below 0x20


def without_breaks(text: str) -> str:
    """Return *text* with every line break (CR, LF or both) as one space."""
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def one_line(text: str) -> str:
    """Return *text* with every control character and line break as one space, trimmed."""
    return (text if text.isprintable() else _CONTROLS.sub(" ", text)).strip()


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def member(key: str, value: JsonValue) -> Iterator[str]:
    """Write a member of a block mapping, each item of a list on a line of its own."""
    is_plain = _PLAIN_KEY.fullmatch(key) is not None and key.lower() not in _NO_TEXT
    written = key if is_plain else quote_scalar(key)
    if len(written) > _LONGEST_IMPLICIT_KEY:
        yield f"? {written}"
        yield f": {flow(value)}"
    elif isinstance(value, list) and value:
        yield f"{written}:"
        yield from (f"  - {flow(item)}" for item in value)
    else:
        yield f"{written}: {flow(value)}"


def _key(text: str) -> str:
    """Write a mapping's key; YAML requires a mark before a key longer than 1024 characters."""
    key = quote_scalar(text)
    return f"? {key} " if len(key) > _LONGEST_IMPLICIT_KEY else key
