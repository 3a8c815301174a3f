"""All texts of a tool that a model or a person may read, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mcpg.catalog.model import Tool
from mcpg.json_types import JsonValue

_MOST_TEXTS = 100_000
_VALUES = ("default", "const")
_HINTS = ("aliases", "keywords", "categories", "tags", "data_sources")


class ToolText(NamedTuple):
    """A text of a tool.

    Attributes:
        member: The way to it from the tool.
        text: The text.
        is_key: Whether it is the name of a property.
    """

    member: tuple[str | int, ...]
    text: str
    is_key: bool = False

    @property
    def holder(self) -> str:
        """The name of the property whose default or only value this is, "" for other texts."""
        is_value = self.member[-1] in _VALUES and len(self.member) > 1
        return str(self.member[-2]) if is_value else ""


def list_texts(tool: Tool) -> Iterator[ToolText]:
    """Yield the texts of *tool*: its names, descriptions, schemas, annotations and hints."""
    yield ToolText(("name",), tool.name)
    if tool.title:
        yield ToolText(("title",), tool.title)
    if tool.description:
        yield ToolText(("description",), tool.description)
    for name in _HINTS:
        for number, text in enumerate(getattr(tool.hints, name)):
            yield ToolText((name, number), text)
    wholes = (
        ("inputSchema", tool.input_schema),
        ("outputSchema", tool.output_schema),
        ("annotations", tool.annotations),
        ("_meta", tool.meta),
        *((name, part) for name, part in tool.listed.items()),
    )
    for name, whole in wholes:
        if whole:
            yield from _within(whole, name)


def _within(whole: JsonValue, name: str) -> Iterator[ToolText]:
    """Yield the texts in a JSON value, without recursion: it may be nested deeply."""
    waiting: list[tuple[tuple[str | int, ...], JsonValue]] = [((name,), whole)]
    count = 0
    while waiting and count < _MOST_TEXTS:
        member, part = waiting.pop()
        if isinstance(part, str):
            count += 1
            yield ToolText(member, part)
        elif isinstance(part, dict):
            count += len(part)
            yield from (ToolText((*member, key), key, is_key=True) for key in part if key)
            waiting += [((*member, key), one) for key, one in reversed(part.items())]
        elif isinstance(part, list):
            waiting += [((*member, at), one) for at, one in reversed([*enumerate(part)])]
