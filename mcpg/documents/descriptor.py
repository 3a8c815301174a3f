"""A tool in plain words: one labelled line for each thing known about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcpg.documents.scalars import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcpg.catalog.model import Hints, Tool, ToolExample
    from mcpg.jsontypes import JsonValue

LIST_LABELS: Mapping[str, str] = {
    "aliases": "Search aliases",
    "keywords": "Search keywords",
    "categories": "Categories",
    "tags": "Tags",
    "data_sources": "Data sources",
}
"""The label of each list among the hints, by its attribute."""

FLAG_LABELS: Mapping[str, str] = {
    "read_only": "Read only",
    "idempotent": "Idempotent",
    "destructive": "Destructive",
    "open_world": "Open world",
}
"""The label of each yes-or-no hint, by its attribute."""

TIER_LABELS: Mapping[str, str] = {"cost_tier": "Cost tier", "latency_tier": "Latency tier"}
"""The label of each price, by its attribute."""

NAME_LABEL = "Tool name"
TITLE_LABEL = "Display name"
DESCRIPTION_LABEL = "Description"
ENABLED_LABEL = "Enabled by default"
ARGUMENTS_LABEL = "Required arguments"
EXAMPLES_LABEL = "Usage examples"
INPUT_LABEL = "Input"
OUTPUT_LABEL = "Output"

_SENTENCE_ENDS = (".", "!", "?", "。")


def descriptor_text(tool: Tool) -> str:
    r"""Describe *tool* in labelled lines joined by `\n`, in the .NET gateway's order.

    A line break or control character inside a value becomes a space, so one label is one line.
    Nothing is cut off.
    """
    return "\n".join(_lines(tool))


def _lines(tool: Tool) -> Iterator[str]:
    hints = tool.hints
    titled = tool.title or tool.display_name != tool.name
    yield from _line(NAME_LABEL, tool.name)
    yield from _line(TITLE_LABEL, tool.display_name if titled else "")
    yield from _line(DESCRIPTION_LABEL, tool.description)
    yield from _hint_lines(hints)
    yield from _line(ENABLED_LABEL, str(tool.enabled))
    yield from _line(ARGUMENTS_LABEL, ", ".join(tool.required_arguments))
    yield from _schema_lines(tool)
    if hints.examples:
        yield f"{EXAMPLES_LABEL}:"
        for example in hints.examples:
            yield from _example_lines(example)


def _line(label: str, value: str) -> Iterator[str]:
    text = one_line(value)
    if text:
        yield f"{label}: {text}"


def _hint_lines(hints: Hints) -> Iterator[str]:
    for attribute, label in LIST_LABELS.items():
        yield from _line(label, ", ".join(getattr(hints, attribute)))
    for attribute, label in FLAG_LABELS.items():
        flag = getattr(hints, attribute)
        yield from _line(label, "" if flag is None else str(flag))
    for attribute, label in TIER_LABELS.items():
        yield from _line(label, getattr(hints, attribute) or "")


def _schema_lines(tool: Tool) -> Iterator[str]:
    properties = tool.input_schema.get("properties")
    if isinstance(properties, dict):
        for name, schema in properties.items():
            yield _parameter_line(name, schema)
    else:
        raw = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
        yield from _line("Input schema", raw)


def _parameter_line(name: str, schema: JsonValue) -> str:
    members = schema if isinstance(schema, dict) else {}
    description, kind = members.get("description"), members.get("type")
    values = members.get("enum")
    parts = [f"Parameter {name}:"]
    if isinstance(description, str) and description.strip():
        parts.append(_sentence(description.strip()))
    if isinstance(kind, str) and kind:
        parts.append(f"Type {kind}.")
    typical = ", ".join(_texts(values)) if isinstance(values, list) else ""
    if typical:
        parts.append(f"Typical values: {typical}.")
    return one_line(" ".join(parts))


def _sentence(text: str) -> str:
    return text if text.endswith(_SENTENCE_ENDS) else f"{text}."


def _texts(values: Iterable[JsonValue]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


def _example_lines(example: ToolExample) -> Iterator[str]:
    yield from _line(DESCRIPTION_LABEL, example.description or "")
    yield from _line(INPUT_LABEL, example.input)
    yield from _line(OUTPUT_LABEL, example.output or "")
