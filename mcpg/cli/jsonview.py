"""Tools as the JSON objects that `list` and `show` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.answerjson import card_json, diagnostics_json, hints_json, score_json
from mcpg.relations.model import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcpg.catalog.model import Tool
    from mcpg.cli.opening import Card, Neighbour
    from mcpg.diagnostics import Diagnostic
    from mcpg.jsontypes import JsonObject


def list_json(tools: Iterable[Tool], diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Give the object that `list` prints."""
    return {
        "schema": "mcpg/list/1",
        "tools": [card_json(tool) | hints_json(tool.hints) for tool in tools],
        "diagnostics": diagnostics_json(diagnostics),
    }


def show_json(card: Card, diagnostics: Iterable[Diagnostic]) -> JsonObject:
    """Give the object that `show` prints."""
    document = card.document
    return {
        "schema": "mcpg/show/1",
        "tool": _tool(card.tool),
        "groups": list(card.groups),
        "related": [_neighbour(one) for one in card.neighbours if one.kind is EdgeKind.RELATED],
        "nextSteps": [_neighbour(one) for one in card.neighbours if one.kind is EdgeKind.NEXT_STEP],
        "document": {"path": document.path, "uri": document.uri} if document else None,
        "diagnostics": diagnostics_json(diagnostics),
    }


def _neighbour(neighbour: Neighbour) -> JsonObject:
    return {
        "toolId": neighbour.tool_id,
        "uri": neighbour.uri,
        "weight": score_json(neighbour.weight),
        "reason": neighbour.reason,
        "origin": neighbour.origin.value,
    }


def _tool(tool: Tool) -> JsonObject:
    return {
        **card_json(tool),
        "requiredArguments": list(tool.required_arguments),
        **hints_json(tool.hints),
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "meta": tool.meta,
        "sourceKind": tool.source_kind.value,
        "place": tool.place or None,
    }
