"""Untrusted YAML, read as plain values.

The values are JSON values: text, numbers as JSON writes them, `true`, `false`, `null`, lists, and
mappings whose keys are text. Dates and words such as `yes` or `off` stay text. Tags, anchors,
aliases and repeated keys are rejected, so that a small file can neither grow nor run anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

from mcpg.errors import InputError
from mcpg.text.json_values import JsonObject, JsonValue, read_float
from mcpg.text.library_errors import yaml_reason

MAX_CHARACTERS = 16 * 1024 * 1024
"""Longest text that is read, in characters."""

MAX_DEPTH = 100
"""Deepest nesting of lists and mappings that is read, in levels."""

_TOO_DEEP = f"the YAML is nested deeper than {MAX_DEPTH} levels"

YamlPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and list positions from the root to a value."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_FORBIDDEN = re.compile("[^\\t\\n\\r -~\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def load_yaml(
    text: str, place: str, *, first_line: int = 1, error: type[InputError] = InputError
) -> JsonValue:
    """Read one YAML document, at most `MAX_CHARACTERS` long; an empty one is `None`.

    *place* is the name of the file, for messages, and *first_line* the number of its line on which
    *text* begins. Invalid YAML, and a rejected feature, is an *error* at `file:line`.
    """
    return _read(text, _Builder(place, first_line, error))


def load_yaml_with_lines(
    text: str, place: str, *, first_line: int = 1, error: type[InputError] = InputError
) -> tuple[JsonValue, Mapping[YamlPath, int]]:
    """Read one YAML document and remember the file's line of every value.

    Arguments and errors are as in `load_yaml`. A mapping's member is on the line of its key.
    """
    builder = _Builder(place, first_line, error, lines={})
    return _read(text, builder), builder.lines or {}


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being filled, and the key or position of the member that came last.

    `pending` is whether the last key has no value yet.
    """

    value: list[JsonValue] | JsonObject
    step: str | int = 0
    pending: bool = False


# What an editor shows as the end of a line, and what YAML 1.1 also takes for one.
_LINE_END = re.compile("\r\n?|\n")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")


@dataclass(slots=True)
class _Builder:
    """Turns parser events into values, and rejects unsafe features.

    Attributes:
        lines: Receives the file's line of every value, if given.
        rows: The line of the text that each line of the parser begins on; empty if all agree.
        pairs: The replacements of escaped pairs; see `mask_pairs`.
    """

    place: str
    first_line: int
    error: type[InputError]
    lines: dict[YamlPath, int] | None = None
    rows: Sequence[int] = ()
    pairs: re.Pattern[str] | None = None
    root: JsonValue = None
    frames: list[_Frame] = field(default_factory=list)
    documents: int = 0

    def fail(self, message: str, line: int, remedy: str | None = None) -> InputError:
        return self.error(message, place=f"{self.place}:{self.first_line + line}", remedy=remedy)

    def row(self, line: int) -> int:
        """Return the line of the text, from 0, that is *line* of the parser."""
        return self.rows[min(line, len(self.rows) - 1)] if self.rows else line

    def scalar(self, text: str, plain: bool, line: int) -> None:
        frame = self.frames[-1] if self.frames else None
        if frame is not None and isinstance(frame.value, dict) and not frame.pending:
            if text in frame.value:
                message = f"the key {text[:80]!r} occurs twice in one mapping"
                raise self.fail(message, line, "keep one of them")
            frame.step, frame.pending = text, True
            self._note(line)
        else:
            self.add(plain_value(text) if plain else text, line)

    def open(self, value: list[JsonValue] | JsonObject, line: int) -> None:
        if len(self.frames) >= MAX_DEPTH:
            raise self.fail(_TOO_DEEP, line)
        self.add(value, line)
        self.frames.append(_Frame(value))

    def add(self, value: JsonValue, line: int) -> None:
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if isinstance(frame.value, list):
            frame.step = len(frame.value)
            frame.value.append(value)
            self._note(line)
        elif frame.pending:
            frame.value[str(frame.step)] = value
            frame.pending = False
        else:
            raise self.fail("a key of a mapping must be plain text", line)

    def _note(self, line: int) -> None:
        if self.lines is not None:
            self.lines[tuple(frame.step for frame in self.frames)] = self.first_line + line


def plain_value(text: str) -> JsonValue:
    """Read an unquoted YAML scalar: a JSON number, `true`, `false`, `null` or else text."""
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.match(text)
    if number is None or not math.isfinite(float(text)):
        return text
    return int(text) if number.groups() == (None, None) else read_float(text)


def _read(text: str, builder: _Builder) -> JsonValue:
    import yaml  # noqa: PLC0415 - a search never needs it

    if len(text) > MAX_CHARACTERS:
        message = f"the YAML is longer than {MAX_CHARACTERS} characters"
        raise builder.fail(message, 0, "split it into several files")
    found = _FORBIDDEN.search(text)
    if found is not None:
        message = f"YAML does not allow the character U+{ord(found.group()):04X}"
        line = sum(1 for _ in _LINE_END.finditer(text, 0, found.start()))
        raise builder.fail(message, line, "remove it, or write it as an escape in double quotes")
    if _ODD_BREAK.search(text):
        ends = (_LINE_END.match(found.group()) is not None for found in _BREAK.finditer(text))
        builder.rows = [*accumulate(ends, initial=0)]
    masked, builder.pairs = mask_pairs(text)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(masked, Loader=loader):
            _take(event, builder)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        problem, remedy = yaml_reason(fault.problem or fault.context or "")
        if problem.endswith("not closed") and fault.context_mark:
            mark = fault.context_mark
        line = builder.row(mark.line if mark else 0)
        key = _unspaced_key(text, line) if _COLON.search(fault.problem or "") else None
        if key is not None:
            problem, line = f"no blank behind the colon of {key[0][:80]!r}", key[1]
            remedy = "write key: value"
        if "nesting depth" in (fault.problem or ""):  # the bound of libyaml, met before ours
            raise builder.fail(_TOO_DEEP, line) from None
        raise builder.fail(f"invalid YAML: {problem}", line, remedy) from None
    return builder.root


PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9A-Fa-f]{2})\\u([dD][c-fC-F][0-9A-Fa-f]{2})"
)
"""A character beyond U+FFFF as JSON escapes it; parsers of YAML refuse each half."""
_OF_PRIVATE = re.compile(r"(?=([eEfF][0-9A-Fa-f]{3}))")


def mask_pairs(text: str) -> tuple[str, re.Pattern[str] | None]:
    """Return *text* with private characters instead of escaped pairs, and a pattern for them.

    Everything else keeps its place. Only a parser finds the texts with escapes. A text that
    contains each of the first 256 private characters, or its number, is returned unchanged.
    """
    if PAIR.search(text) is None:
        return text, None
    # An escape may also denote a private character.
    escaped = {found[1] for found in _OF_PRIVATE.finditer(text)}
    taken = {*text, *(chr(int(one, 16)) for one in escaped)}
    mark = next((one for one in map(chr, range(0xE000, 0xF900)) if one not in taken), None)
    if mark is None:
        return text, None
    masked = PAIR.sub(rf"\g<1>{mark}\g<2>\g<3>{mark * 3}", text)
    return masked, re.compile(f"{mark}(.{{4}})(.{{4}}){mark * 3}")


_COLON = re.compile(r"mapping values|expected ':'")
_UNSPACED = re.compile(r"\s*([A-Za-z_][\w-]*):[^\s:/]")


def _unspaced_key(text: str, line: int) -> tuple[str, int] | None:
    """Return the key before *line* without a space before its value, and its line.

    Without a space, key and value are a text that continues on the next line, on which the parser
    fails.
    """
    lines = _LINE_END.split(text)
    above = next((one for one in range(line - 1, -1, -1) if lines[one].strip()), None)
    found = _UNSPACED.match(lines[above]) if above is not None else None
    return None if found is None or above is None else (found[1], above)


def _take(event: Any, builder: _Builder) -> None:
    line = builder.row(event.start_mark.line if event.start_mark else 0)
    if hasattr(event, "anchor"):
        _refuse_unsafe(event, builder, line)
    match type(event).__name__:
        case "ScalarEvent":
            text = event.value
            if builder.pairs is not None and event.style == '"':
                text = builder.pairs.sub(
                    lambda found: bytes.fromhex(found[1] + found[2]).decode("utf-16-be"), text
                )
            elif builder.pairs is not None:
                text = builder.pairs.sub(r"\\u\g<1>\\u\g<2>", text)
            builder.scalar(text, event.implicit[0], line)
        case "MappingStartEvent":
            builder.open({}, line)
        case "SequenceStartEvent":
            builder.open([], line)
        case "MappingEndEvent" | "SequenceEndEvent":
            builder.frames.pop()
        case "DocumentStartEvent":
            builder.documents += 1
            if builder.documents > 1:
                raise builder.fail("a second YAML document begins here", line, "keep one per file")


def _refuse_unsafe(event: Any, builder: _Builder, line: int) -> None:
    tag = getattr(event, "tag", None)
    if tag is not None:
        shown = tag[:80].replace("tag:yaml.org,2002:", "!!")
        raise builder.fail(f"the tag {shown!r} is not allowed", line, "write the value out")
    if event.anchor is not None:
        # An alias event names its anchor in the same attribute.
        message = f"anchors and aliases are not allowed ({event.anchor[:80]!r})"
        remedy = "quote a text that begins with & or *, or write values out: yq 'explode(.)' FILE"
        raise builder.fail(message, line, remedy)


# Control characters, bidirectional overrides, invisible characters that hide or reorder text, tag
# characters, and halves of surrogate pairs. The joiners U+200C and U+200D stay: scripts need them.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LAST_OF_LATIN = 0xFF
_LAST_OF_BASIC_PLANE = 0xFFFF


def visible_form(found: re.Match[str]) -> str:
    """Write the unsafe character that was *found* as an escape."""
    code = ord(found.group())
    return f"\\x{code:02x}" if code <= _LAST_OF_LATIN else f"\\u{{{code:x}}}"


def json_form(found: re.Match[str]) -> str:
    """Write the unsafe character that was *found* as a string of JSON has it."""
    code = ord(found.group())
    if code > _LAST_OF_BASIC_PLANE:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def turtle_form(found: re.Match[str]) -> str:
    """Write the unsafe character that was *found* as a string of Turtle and N-Quads has it."""
    code = ord(found.group())
    return f"\\u{code:04X}" if code <= _LAST_OF_BASIC_PLANE else f"\\U{code:08X}"


def escape_unsafe(text: str) -> str:
    """Make unsafe characters in *text* visible, keeping line ends and tabs."""
    return "\n".join(
        "\t".join(UNSAFE.sub(visible_form, part) for part in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )
