"""What the meta-tools take and give, as JSON Schema.

Outputs say no more than what every answer holds, so that an answer which was cut to its budget
still validates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.gateway.serving import names

if TYPE_CHECKING:
    from mcpg.jsontypes import JsonObject, JsonValue

MOST_MATCHES = 50
MOST_CATEGORIES = 20
MOST_OF_CATEGORY = 10
USUAL_MATCHES, USUAL_CATEGORIES, USUAL_OF_CATEGORY = 5, 5, 3
EXPORT_FORMATS = ("turtle", "json-ld", "mermaid", "dot")
USUAL_FORMAT = EXPORT_FORMATS[0]
GRAPH_MODES = ("hybrid", "schema-aware", "token-distance")
USUAL_MODE = GRAPH_MODES[0]

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_SCORE: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
_FREE: JsonObject = {"type": "object"}


def _object(properties: JsonObject, *required: str, is_open: bool = False) -> JsonObject:
    named: list[JsonValue] = [*required]
    said: JsonObject = {"type": "object", "properties": properties, "required": named}
    return said if is_open else {**said, "additionalProperties": False}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def _told(text: str, more: JsonObject | None = None) -> JsonObject:
    return {"type": "string", "description": text, **(more or {})}


def _count(text: str, default: int, most: int) -> JsonObject:
    return {
        "type": "integer",
        "description": text,
        "minimum": 1,
        "maximum": most,
        "default": default,
    }


def _choice(text: str, values: tuple[str, ...]) -> JsonObject:
    allowed: list[JsonValue] = [*values]
    return _told(text, {"enum": allowed, "default": values[0]})


_QUERY = _told("What is to be done, in any words and any language; one task reads best.")
_CONTEXT = _told("What else is known of the task; it weighs less than the query.")
_MATCH = _object(
    {
        "toolId": _TEXT,
        "sourceId": _TEXT,
        "description": _TEXT,
        "score": _SCORE,
        "isConfident": {"type": "boolean"},
        "requiredArguments": _TEXTS,
        "omittedArguments": {"type": "integer"},
    },
    "toolId",
    "sourceId",
    "score",
    "isConfident",
    "requiredArguments",
)
_NEIGHBOUR = _object({"toolId": _TEXT, "description": _TEXT, "because": _TEXT}, "toolId", "because")
_COMMON: JsonObject = {
    "advice": _told("What to make of the answer, where there is something to heed."),
    "notes": _TEXTS,
    "truncated": _object({"omitted": {"type": "integer"}, "howToGetTheRest": _TEXT}, is_open=True),
}

_GRAPH_MATCH = _object(
    {
        "node": _TEXT,
        "label": _TEXT,
        "toolId": {"type": ["string", "null"]},
        "score": _SCORE,
        "evidence": _list(_FREE),
    },
    "node",
    "label",
    "score",
    is_open=True,
)

INPUTS: dict[str, JsonObject] = {
    names.SEARCH: _object(
        {
            "query": _QUERY,
            "limit": _count("The most tools to give.", USUAL_MATCHES, MOST_MATCHES),
            "context": _CONTEXT,
        },
        "query",
    ),
    names.ROUTE: _object(
        {
            "query": _QUERY,
            "categories": _count("The most categories to give.", USUAL_CATEGORIES, MOST_CATEGORIES),
            "toolsPerCategory": _count(
                "The most tools of each.", USUAL_OF_CATEGORY, MOST_OF_CATEGORY
            ),
            "preferReadOnly": {
                "type": "boolean",
                "description": "Whether tools that change nothing come first (true), or those that "
                "act (false); without it, the words of the query decide.",
            },
            "context": _CONTEXT,
        },
        "query",
    ),
    names.DESCRIBE: _object(
        {
            "toolId": _told("Id of a tool as an answer gives it; `source::name` will do."),
            "pointer": _told(
                "A part of the input schema alone, as a JSON pointer such as "
                "/properties/filter; for schemas that are too large to be given whole."
            ),
        },
        "toolId",
    ),
    names.INVOKE: _object(
        {
            "toolId": _told("Id of the tool as an answer gives it; `source::name` will do."),
            "arguments": {
                "type": "object",
                "description": "Its arguments, by its own input schema.",
                "additionalProperties": True,
            },
        },
        "toolId",
    ),
    names.GRAPH_SCHEMA: _object({}),
    names.GRAPH_SEARCH: _object(
        {
            "query": _QUERY,
            "limit": _count("The most nodes to give.", USUAL_MATCHES, MOST_MATCHES),
            "mode": _choice(
                "How to find: by words under known predicates, with an ordinary search in their "
                "stead where they find no tool; by them alone; or by the nearest text.",
                GRAPH_MODES,
            ),
            "endpoints": {
                "type": "array",
                "items": _TEXT,
                "maxItems": 16,
                "description": "SPARQL endpoints to ask beside the graph at hand; only those that "
                "this server allows.",
            },
        },
        "query",
    ),
    names.GRAPH_EXPORT: _object(
        {
            "format": _choice("How to write it.", EXPORT_FORMATS),
            "around": {
                **_list(_TEXT),
                "description": "Ids of tools: only these and those near them, not the whole graph.",
            },
            "depth": {
                "type": "integer",
                "description": "How many edges to follow from `around`.",
                "minimum": 0,
                "maximum": 5,
                "default": 1,
            },
        }
    ),
}
"""The arguments of each meta-tool."""

OUTPUTS: dict[str, JsonObject] = {
    names.SEARCH: _object(
        {
            "matches": _list(_MATCH),
            "related": _list(_NEIGHBOUR),
            "nextSteps": _list(_NEIGHBOUR),
            **_COMMON,
        },
        "matches",
    ),
    names.ROUTE: _object(
        {
            "preference": _TEXT,
            "categories": _list(
                _object(
                    {"name": _TEXT, "score": {"type": "number"}, "tools": _list(_MATCH)}, "name"
                )
            ),
            **_COMMON,
        },
        "categories",
    ),
    names.DESCRIBE: _object(
        {
            "toolId": _TEXT,
            "sourceId": _TEXT,
            "toolName": _TEXT,
            "title": _TEXT,
            "description": _TEXT,
            "inputSchema": _FREE,
            "outputSchema": _FREE,
            "hints": _FREE,
            **_COMMON,
        },
        "toolId",
        "inputSchema",
    ),
    names.GRAPH_SCHEMA: _object(
        {
            "triples": {"type": "integer"},
            "prefixes": _FREE,
            "classes": _list(_FREE),
            "predicates": _list(_FREE),
            "search": _FREE,
            **_COMMON,
        },
        "triples",
    ),
    names.GRAPH_SEARCH: _object(
        {
            "matches": _list(_GRAPH_MATCH),
            "related": _list(_GRAPH_MATCH),
            "nextSteps": _list(_GRAPH_MATCH),
            "sparql": _TEXT,
            "expansionSparql": _TEXT,
            "endpoints": _TEXTS,
            "diagnostics": _list(_FREE),
            **_COMMON,
        },
        "matches",
    ),
    names.GRAPH_EXPORT: _object(
        {
            "format": _TEXT,
            "tools": {"type": "integer"},
            "edges": {"type": "integer"},
            "text": _TEXT,
            **_COMMON,
        },
        "format",
        "tools",
        "edges",
    ),
}
"""The structured answer of each meta-tool; an invocation answers as the tool itself does."""
