"""The lines on which the values of a front matter stand, found only when one has to be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.text.safeyaml import YamlPath


class Marks:
    """Names the place of each value of a front matter for messages."""

    def __init__(self, text: str, place: str, first_line: int) -> None:
        """Take the YAML that begins on the *first_line* of the document at *place*."""
        self._text = text
        self._place = place
        self._first_line = first_line
        self._lines: Mapping[YamlPath, int] | None = None

    @property
    def place(self) -> str:
        """The document."""
        return self._place

    def at(self, *path: str | int) -> str:
        """Give `file:line` of the value under *path*, or of the nearest one that holds it."""
        if self._lines is None:
            self._lines = _lines_of(self._text, self._place, self._first_line)
        held = (self._lines.get(path[:end]) for end in range(len(path), 0, -1))
        line = next(filter(None, held), None)
        return self._place if line is None else f"{self._place}:{line}"


def _lines_of(text: str, place: str, first_line: int) -> Mapping[YamlPath, int]:
    from mcpg.text.safeyaml import load_yaml_with_lines  # noqa: PLC0415 - few documents have faults

    try:
        return load_yaml_with_lines(text, place, first_line=first_line, error=DocumentError)[1]
    except DocumentError:
        return {}
