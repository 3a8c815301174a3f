"""The `mcpg` key of the front matter: what cannot be read back from the rest of a document."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from mcpg.catalog.model import Hints, Tier, ToolExample
from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.documents.frontmatter import EXTRAS_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcpg.catalog.model import Tool
    from mcpg.documents.marks import Marks
    from mcpg.jsontypes import JsonObject, JsonValue


def extras_for(tool: Tool, read: Tool) -> JsonObject:
    """Give every member of *tool* in which *read*, its document read back, differs."""
    extras: JsonObject = {}
    for key, (attribute, _) in _MEMBERS.items():
        value = getattr(tool, attribute)
        if value != getattr(read, attribute):
            extras[key] = value
    for key in _HINTS:
        value = getattr(tool.hints, key)
        if value != getattr(read.hints, key):
            extras[key] = _plain(value)
    return extras


def with_extras(tool: Tool, extras: JsonObject, marks: Marks) -> tuple[Tool, list[Diagnostic]]:
    """Replace the members of *tool* that *extras* states; report values of the wrong type."""
    members: dict[str, object] = {}
    hints: dict[str, object] = {}
    found: list[Diagnostic] = []
    for key, value in extras.items():
        try:
            if key in _MEMBERS:
                attribute, decode = _MEMBERS[key]
                members[attribute] = decode(value)
            elif key in _HINTS:
                hints[key] = _HINTS[key](value)
        except (TypeError, ValueError):
            message = f"mcpg.{key} has a value of the wrong type and is ignored"
            found.append(warning(Code.DOCUMENT_INVALID, message, marks.at(EXTRAS_KEY, key)))
    if hints:
        members["hints"] = replace(tool.hints, **hints)  # type: ignore[arg-type]
    return (replace(tool, **members) if members else tool), found  # type: ignore[arg-type]


def _plain(value: object) -> JsonValue:
    """Give the value of a hint as JSON."""
    if isinstance(value, tuple):
        return [_example(item) if isinstance(item, ToolExample) else item for item in value]
    return value  # type: ignore[return-value]  # text, a truth value or None


def _example(example: ToolExample) -> JsonObject:
    members = {slot.name: getattr(example, slot.name) for slot in fields(example)}
    return {name: value for name, value in members.items() if value is not None}


def _text(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _name(value: JsonValue) -> str:
    if not _text(value):
        raise ValueError(value)
    return _text(value)


def _optional_text(value: JsonValue) -> str | None:
    return None if value is None else _text(value)


def _texts(value: JsonValue) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _flag(value: JsonValue) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(value)
    return value


def _tier(value: JsonValue) -> Tier | None:
    return None if value is None else Tier(_text(value))


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _examples(value: JsonValue) -> tuple[ToolExample, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_read_example, value))


def _read_example(value: JsonValue) -> ToolExample:
    members = _object(value)
    return ToolExample(
        _text(members.get("input")),
        _optional_text(members.get("output")),
        _optional_text(members.get("description")),
    )


_MEMBERS: Mapping[str, tuple[str, Callable[[JsonValue], object]]] = {
    "id": ("id", _text),
    "source": ("source_id", _text),
    "name": ("name", _name),
    "title": ("title", _optional_text),
    "description": ("description", _text),
    "annotations": ("annotations", _object),
    "meta": ("meta", _object),
}

_HINTS: Mapping[str, Callable[[JsonValue], object]] = {
    slot.name: _texts if slot.default == () else _flag for slot in fields(Hints)
} | {"examples": _examples, "cost_tier": _tier, "latency_tier": _tier}
