"""YAML from strangers, read as plain values.

The values are those of JSON: text, numbers as JSON writes them, `true`, `false`, `null`, lists,
and mappings whose keys are text. Dates and words such as `yes` or `off` stay text. Tags, anchors,
aliases and repeated keys are refused, so that a small file can neither grow nor run anything.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mcpg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcpg.jsontypes import JsonObject, JsonValue

MAX_CHARACTERS = 16 * 1024 * 1024
"""Longest text that is read, in characters."""

MAX_DEPTH = 100
"""Deepest nesting of lists and mappings that is read, in levels."""

YamlPath: TypeAlias = "tuple[str | int, ...]"
"""Keys and list positions from the root to a value."""

_MAX_DIGITS = 300
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_WORDS: Mapping[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def load_yaml(
    text: str, place: str, *, first_line: int = 1, error: type[InputError] = InputError
) -> JsonValue:
    """Read one YAML document.

    Args:
        text: The document, at most `MAX_CHARACTERS` long.
        place: Name of the file, for messages.
        first_line: Number of the file's line on which *text* begins.
        error: Class of the error to raise.

    Returns:
        The value; `None` when the text is empty.

    Raises:
        InputError: The text is no YAML, or uses what is refused; its place is `file:line`.
    """
    return _read(text, _Builder(place, first_line, error))


def load_yaml_with_lines(
    text: str, place: str, *, error: type[InputError] = InputError
) -> tuple[JsonValue, Mapping[YamlPath, int]]:
    """Read one YAML document and remember the line of every value, counted from 1.

    Arguments and errors are those of `load_yaml`. A mapping's member stands on the line of its key.
    """
    builder = _Builder(place, 1, error, lines={})
    return _read(text, builder), builder.lines or {}


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being filled."""

    value: list[JsonValue] | JsonObject
    key: str | None = None


@dataclass(slots=True)
class _Builder:
    """Turns parser events into values, refusing what is unsafe on the way."""

    place: str
    first_line: int
    error: type[InputError]
    lines: dict[YamlPath, int] | None = None
    root: JsonValue = None
    frames: list[_Frame] = field(default_factory=list)

    def fail(self, message: str, line: int, remedy: str | None = None) -> InputError:
        """Make the error for the zero-based *line* of the text."""
        return self.error(message, place=f"{self.place}:{self.first_line + line}", remedy=remedy)

    def scalar(self, event: Any_) -> None:
        """Take in a scalar: a key where a key is due, else a value."""
        frame = self.frames[-1] if self.frames else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self._take_key(frame, frame.value, event)
        else:
            self.add(plain_value(event.value) if event.implicit[0] else event.value, event)

    def open(self, value: list[JsonValue] | JsonObject, event: Any_) -> None:
        """Begin a list or mapping."""
        if len(self.frames) >= MAX_DEPTH:
            line = event.start_mark.line
            raise self.fail(f"the YAML is nested deeper than {MAX_DEPTH} levels", line)
        self.add(value, event)
        self.frames.append(_Frame(value))

    def add(self, value: JsonValue, event: Any_) -> None:
        """Put *value* where the innermost list or mapping expects it."""
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
            self._note(len(frame.value) - 1, event)
        elif frame.key is None:
            raise self.fail("a key is not plain text", event.start_mark.line)
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _take_key(self, frame: _Frame, mapping: JsonObject, event: Any_) -> None:
        key: str = event.value
        if key in mapping:
            message = f"the key {key!r} stands twice in one mapping"
            raise self.fail(message, event.start_mark.line, "keep one of them")
        frame.key = key
        self._note(key, event)

    def _note(self, step: str | int, event: Any_) -> None:
        if self.lines is None:
            return
        above = (_step_of(frame) for frame in self.frames[:-1])
        self.lines[(*above, step)] = self.first_line + event.start_mark.line


def _step_of(frame: _Frame) -> str | int:
    """Name the member of *frame* that is being filled."""
    return len(frame.value) - 1
