"""Tools as lists show them, as light as a plain search needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mcpg.text.json_values import JsonObject, JsonValue


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Trim *values*, drop blanks and repeats (case-insensitively), keep first-seen order."""
    seen: dict[str, str] = {}
    for text in values:
        trimmed = text.strip()
        if trimmed:
            seen.setdefault(trimmed.casefold(), trimmed)
    return tuple(seen.values())


def display_name(title: str | None, annotations: Mapping[str, JsonValue], name: str) -> str:
    """Return the name to show: the title, else the annotations' title, else the raw name."""
    annotated = annotations.get("title")
    return title or (annotated.strip() if isinstance(annotated, str) else "") or name


def required_arguments(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the names of the arguments that must be given, in the order of the *schema*."""
    required = schema.get("required")
    if not isinstance(required, list):
        return ()
    return unique(name for name in required if isinstance(name, str))


def hints_json(hints: Mapping[str, Any]) -> JsonObject:
    """Return all *hints*; unset ones are `null`, but a tool is enabled by default."""
    said = hints.get
    examples: list[JsonValue] = [
        {name: one.get(name) for name in ("input", "output", "description")}
        for one in said("examples") or ()
    ]
    return {
        "aliases": list(said("aliases") or ()),
        "keywords": list(said("keywords") or ()),
        "categories": list(said("categories") or ()),
        "tags": list(said("tags") or ()),
        "dataSources": list(said("data_sources") or ()),
        "usageExamples": examples,
        "costTier": said("cost_tier"),
        "latencyTier": said("latency_tier"),
        "isReadOnly": said("read_only"),
        "isIdempotent": said("idempotent"),
        "isDestructive": said("destructive"),
        "isOpenWorld": said("open_world"),
        "isEnabledByDefault": said("enabled_by_default") is not False,
    }


class ToolView(NamedTuple):
    """A tool in lists: names and description, required arguments, hints, input schema."""

    card: JsonObject
    required: tuple[str, ...]
    hints: JsonObject
    input_schema: JsonObject

    @property
    def description(self) -> str:
        return str(self.card["description"])


def record_view(members: Mapping[str, Any]) -> ToolView:
    """Return the tool with the *members* of a record, as lists show it.

    Raises:
        AttributeError, KeyError, TypeError: The members do not make a tool.
    """
    name = members["name"]
    card = {
        "toolId": members["id"],
        "sourceId": members["source_id"],
        "toolName": name,
        "displayName": display_name(members.get("title"), members["annotations"], name),
        "description": members["description"],
    }
    schema = members["input_schema"]
    return ToolView(card, required_arguments(schema), hints_json(members["hints"]), schema)
