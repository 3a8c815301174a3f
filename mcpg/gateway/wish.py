"""What a tool is wanted for, as its arguments and its server may hear of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcpg.catalog.jsontext import repair_surrogates
from mcpg.engine.request import flatten_context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.jsontypes import JsonObject, JsonValue

META = "managedCodeMcpGateway"
"""The member of a request's `_meta` that holds the wish, by the .NET gateway's name."""

_TYPES = {"string": str, "object": dict, "array": list, "boolean": bool, "number": int | float}


def filled(schema: JsonObject, arguments: JsonObject, query: str, context: JsonValue) -> JsonObject:
    """Add the wish to *arguments*, where the tool has an argument for it and nobody gave one.

    Args:
        schema: The tool's input schema.
        arguments: What the caller gave.
        query: What the tool is wanted for, goes into `query`.
        context: What else is known: goes into `context` as it is or as a text, whatever the schema
            wants, and into `contextSummary` as a text.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    offered: dict[str, tuple[JsonValue, ...]] = {
        "query": (query,),
        "context": (context, flatten_context(context)),
        "contextSummary": (flatten_context(context),),
    }
    added = dict(arguments)
    for name, values in offered.items():
        if name in properties and name not in arguments:
            suitable = [one for one in values if one and _suits(one, properties[name])]
            if suitable:
                added[name] = suitable[0]
    return added


def _suits(value: JsonValue, schema: JsonValue) -> bool:
    wanted = schema.get("type") if isinstance(schema, dict) else None
    names = wanted if isinstance(wanted, list) else [wanted]
    return wanted is None or any(
        isinstance(value, _TYPES[name])
        for name in names
        if isinstance(name, str) and name in _TYPES
    )


def meta_of(query: str, context: JsonValue) -> JsonObject | None:
    """Give the `_meta` that tells a server of the wish, `None` where there is none."""
    said = dict(_said(query, context))
    return {META: said} if said else None


def _said(query: str, context: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    if query:
        yield "query", query
    if isinstance(context, str) and context:
        yield "contextSummary", context
    elif context:
        yield "context", context


def plain_wish(wish: Any) -> JsonValue:
    """Return *wish* as JSON that can be sent; one that is none counts as not given."""
    try:
        return repair_surrogates(json.loads(json.dumps(wish, allow_nan=False)), "", [])
    except (TypeError, ValueError, RecursionError):
        return None
