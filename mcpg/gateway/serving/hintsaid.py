"""The hints of a tool under the keys of the .NET gateway; what nobody said is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.catalog.hintkeys import TYPED_ANNOTATIONS

if TYPE_CHECKING:
    from mcpg.catalog.model import Hints, Tool
    from mcpg.jsontypes import JsonObject


def hints_said(hints: Hints) -> JsonObject:
    """Give *hints* without the four that MCP knows as annotations."""
    said: JsonObject = {
        "searchAliases": [*hints.aliases],
        "searchKeywords": [*hints.keywords],
        "categories": [*hints.categories],
        "tags": [*hints.tags],
        "dataSources": [*hints.data_sources],
        "usageExamples": [
            _given({"input": one.input, "output": one.output, "description": one.description})
            for one in hints.examples
        ],
        "costTier": hints.cost_tier,
        "latencyTier": hints.latency_tier,
        "enabledByDefault": hints.enabled_by_default,
    }
    return {key: value for key, value in said.items() if value not in (None, [])}


def annotations_said(tool: Tool) -> JsonObject:
    """Give the annotations that MCP knows: as the server gave them, and as hints settle them."""
    hints = tool.hints
    settled = (hints.read_only, hints.destructive, hints.idempotent, hints.open_world)
    return _given(dict(zip(TYPED_ANNOTATIONS, settled, strict=True)))


def _given(members: JsonObject) -> JsonObject:
    return {key: value for key, value in members.items() if value is not None}
