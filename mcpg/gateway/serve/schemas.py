"""JSON Schemas and descriptions of the meta-tools, and abridged schemas of other tools.

Output schemas require only the members of every answer, so that abridged answers stay valid; an
abridged input schema allows more than the whole schema, never less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mcpg.ask.model import INTENTS
from mcpg.catalog.hints import TYPED_ANNOTATIONS
from mcpg.catalog.model import Hints, Tool
from mcpg.gateway import serve
from mcpg.gateway.serve import Exposure
from mcpg.gateway.serve.answers import source_name
from mcpg.search.scope import MOST_TOOLS
from mcpg.sources.model import SKILL_FILE
from mcpg.text.json_values import JsonObject, JsonValue
from mcpg.values import format_count, to_json

MOST_MATCHES, MOST_CATEGORIES, MOST_OF_CATEGORY, MOST_ANSWERS = 50, 20, 10, 200
CODE_FILTERS = ("languages", "branches", "repositories", "paths")
"""The arguments of `gateway_ask` that choose among source files."""

USUAL_MATCHES, USUAL_CATEGORIES, USUAL_OF_CATEGORY, USUAL_ANSWERS = 5, 5, 3, 20
EXPORT_FORMATS = ("turtle", "json-ld", "mermaid", "dot")
USUAL_FORMAT = EXPORT_FORMATS[0]
GRAPH_MODES = ("hybrid", "schema-aware", "token-distance")
USUAL_MODE = GRAPH_MODES[0]

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_SCORE: JsonObject = {"type": "number", "minimum": 0, "maximum": 1}
_FREE: JsonObject = {"type": "object"}


def _object(properties: JsonObject, required: str = "", *, is_open: bool = False) -> JsonObject:
    named: list[JsonValue] = [*required.split()]
    schema: JsonObject = {"type": "object", "properties": properties, "required": named}
    return schema if is_open else {**schema, "additionalProperties": False}


def _list(items: JsonObject) -> JsonObject:
    return {"type": "array", "items": items}


def _text_schema(text: str, more: JsonObject | None = None) -> JsonObject:
    return {"type": "string", "description": text, **(more or {})}


def _count(text: str, default: int, most: int) -> JsonObject:
    bounds: JsonObject = {"minimum": 1, "maximum": most, "default": default}
    return {"type": "integer", "description": text, **bounds}


def _context_tools(text: str) -> JsonObject:
    return {**_TEXTS, "description": text, "maxItems": MOST_TOOLS}


_QUERY = _text_schema("The task, in any words and any language; one task per query works best.")
_TOOL_ID = _text_schema("Id of the tool from a search result, or `source::name`.")
_CONTEXT = _text_schema("Further context of the task; it weighs less than the query.")
_MATCH = _object(
    {
        **dict.fromkeys(("toolId", "sourceId", "description"), _TEXT),
        "score": _SCORE,
        "isConfident": {"type": "boolean"},
        "requiredArguments": _TEXTS,
        "omittedArguments": {"type": "integer"},
    },
    "toolId sourceId score isConfident requiredArguments",
)
_PRIMITIVE = _object(
    {
        **dict.fromkeys(("name", "uri", "uriTemplate", "sourceId", "description"), _TEXT),
        "arguments": _TEXTS,
        "score": _SCORE,
    },
    "name sourceId score",
)
FOUND_SKILLS: JsonObject = {
    "skills": _list(
        _object(
            {
                **dict.fromkeys(("skillId", "sourceId", "description"), _TEXT),
                "score": _SCORE,
                "isConfident": {"type": "boolean"},
            },
            "skillId sourceId score isConfident",
        )
    )
}
"""The member of the answer to a search that is listed where there are skills."""

_NEIGHBOUR_PARTS: JsonObject = {"toolId": _TEXT, "description": _TEXT, "because": _TEXT}
_NEIGHBOUR = _object(_NEIGHBOUR_PARTS, "toolId because")
_PREREQUISITE = _object({**_NEIGHBOUR_PARTS, "before": _TEXT}, "toolId because before")
_COMMON: JsonObject = {
    "advice": _text_schema("How to treat the answer if confidence is low."),
    "notes": _TEXTS,
    "truncated": _object({"omitted": {"type": "integer"}, "howToGetTheRest": _TEXT}, is_open=True),
}

_DEPENDENCY = _object({"task": _TEXT, "because": _TEXT, "fills": _TEXTS}, "task because")
_TASK = _object(
    {
        **dict.fromkeys(("id", "toolId", "sourceId", "description"), _TEXT),
        "step": {"type": "integer"},
        "confidence": _SCORE,
        "isDestructive": {"type": "boolean"},
        "after": _list(_DEPENDENCY),
        "provided": _list(_object({"toolId": _TEXT, "fills": _TEXT}, "toolId fills")),
        "alternatives": _TEXTS,
        "because": _TEXT,
    },
    "id toolId sourceId step confidence",
)

_GRAPH_MATCH = _object(
    {
        "node": _TEXT,
        "label": _TEXT,
        "toolId": {"type": ["string", "null"]},
        "score": _SCORE,
        "evidence": _list(_FREE),
    },
    "node label score",
    is_open=True,
)

INPUTS: dict[str, JsonObject] = {
    serve.SEARCH: _object(
        {
            "query": _QUERY,
            "limit": _count("Maximum number of tools.", USUAL_MATCHES, MOST_MATCHES),
            "context": _CONTEXT,
            "contextTools": _context_tools(
                "Ids of tools that are already in use; what belongs with them ranks higher."
            ),
            "sources": {**_TEXTS, "description": "Only these servers."},
            "categories": _TEXTS,
            "readOnly": {"type": "boolean"},
        },
        "query",
    ),
    serve.ROUTE: _object(
        {
            "query": _QUERY,
            "categories": _count(
                "Maximum number of categories.", USUAL_CATEGORIES, MOST_CATEGORIES
            ),
            "toolsPerCategory": _count(
                "Maximum number of tools of each.", USUAL_OF_CATEGORY, MOST_OF_CATEGORY
            ),
            "preferReadOnly": {
                "type": "boolean",
                "description": "Prefer read-only tools (true) or tools that write (false); by "
                "default inferred from the query.",
            },
            "context": _CONTEXT,
        },
        "query",
    ),
    serve.PLAN: _object(
        {
            "goal": _text_schema("The goal, in any words and any language."),
            "limit": _count(
                "Maximum number of tools that the goal asks for; what must run before them is "
                "added.",
                USUAL_MATCHES,
                MOST_MATCHES,
            ),
            "context": _CONTEXT,
            "contextTools": _context_tools(
                "Ids of tools that have run already; they are not planned again, and their results "
                "provide arguments."
            ),
        },
        "goal",
    ),
    serve.DESCRIBE: _object(
        {
            "toolId": _TOOL_ID,
            "pointer": _text_schema(
                "JSON pointer to a part of the input schema, such as "
                "/properties/filter; for schemas that are too large to return whole."
            ),
        },
        "toolId",
    ),
    serve.INVOKE: _object(
        {
            "toolId": _TOOL_ID,
            "arguments": {
                "type": "object",
                "description": "Arguments of the tool, as its input schema defines them.",
                "additionalProperties": True,
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Seconds that the call may take without progress; for slow tools.",
            },
        },
        "toolId",
    ),
    serve.READ: _object(
        {
            "uri": _text_schema(
                "Address of the resource, from a search result, a resource link, or the note of a "
                "result that was cut."
            ),
            "offset": {
                "type": "integer",
                "description": "Characters of text to skip if a result was cut.",
                "minimum": 0,
                "default": 0,
            },
        },
        "uri",
    ),
    serve.PROMPT: _object(
        {
            "name": _text_schema("Name of the prompt, from a search result."),
            "arguments": {
                "type": "object",
                "description": "Arguments of the prompt.",
                "additionalProperties": _TEXT,
            },
        },
        "name",
    ),
    serve.READ_SKILL: _object(
        {
            "skillId": _text_schema("Id of the skill from a search result, or `source::name`."),
            "path": _text_schema("Path of a file in the skill.", {"default": SKILL_FILE}),
            "offset": {
                "type": "integer",
                "description": "Characters of text to skip if the file was cut.",
                "minimum": 0,
                "default": 0,
            },
        },
        "skillId",
    ),
    serve.ASK: _object(
        {
            "question": _text_schema(
                "The question: where something is, what comes before or after it, what feeds it "
                "or uses a field, what it does, how it is called, or what is like it; name the "
                "tool, the field or the symbol. Or which tools or servers there are, by what they "
                "do: 'which tools of github delete things'."
            ),
            "intent": _text_schema(
                "Intent of the question; by default inferred from it.", {"enum": [*INTENTS]}
            ),
            "limit": _count("Maximum number of results.", USUAL_ANSWERS, MOST_ANSWERS),
            **dict.fromkeys(CODE_FILTERS, _TEXTS),
        },
        "question",
    ),
    serve.GRAPH_SCHEMA: _object({}),
    serve.GRAPH_SEARCH: _object(
        {
            "query": _QUERY,
            "limit": _count("Maximum number of nodes.", USUAL_MATCHES, MOST_MATCHES),
            "mode": _text_schema(
                "Search method: by predicates, falling back to an ordinary search if they find no "
                "tool; only by predicates; or by the most similar text.",
                {"enum": [*GRAPH_MODES], "default": USUAL_MODE},
            ),
            "endpoints": {
                "type": "array",
                "items": _TEXT,
                "maxItems": 16,
                "description": "Further SPARQL endpoints to query; only those that this server "
                "allows.",
            },
        },
        "query",
    ),
    serve.GRAPH_EXPORT: _object(
        {
            "format": _text_schema(
                "Output format.", {"enum": [*EXPORT_FORMATS], "default": USUAL_FORMAT}
            ),
            "around": {
                **_list(_TEXT),
                "description": "Ids of tools: export only these and their neighbours.",
            },
            "depth": {
                "type": "integer",
                "description": "Number of edges to follow from `around`.",
                "minimum": 0,
                "maximum": 5,
                "default": 1,
            },
        }
    ),
    serve.INDEX_BUILD: _object({}),
}
"""The arguments of each meta-tool."""

TOOLS, PROMPTS, RESOURCES, SKILLS = "tool", "prompt", "resource", "skill"
USUAL_KINDS = (TOOLS, PROMPTS, RESOURCES)

KINDS: JsonObject = {
    "kinds": _list(_text_schema("", {"enum": [*USUAL_KINDS, SKILLS]}))
    | {
        "description": "What to search for; by default all but `skill`. Skills are written"
        f" instructions for a kind of work, to be read with {serve.READ_SKILL}."
    }
}
"""The argument of a search that is listed where there are skills."""

OUTPUTS: dict[str, JsonObject] = {
    serve.SEARCH: _object(
        {
            "matches": _list(_MATCH),
            "prerequisites": _list(_PREREQUISITE),
            "related": _list(_NEIGHBOUR),
            "nextSteps": _list(_NEIGHBOUR),
            "prompts": _list(_PRIMITIVE),
            "resources": _list(_PRIMITIVE),
            **_COMMON,
        },
        "matches",
    ),
    serve.ROUTE: _object(
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
    serve.PLAN: _object(
        {
            "confidence": _SCORE,
            "complete": _SCORE,
            "clean": _SCORE,
            "tasks": _list(_TASK),
            "missing": _list(
                _object(
                    {"argument": _TEXT, "tasks": _TEXTS, "description": _TEXT}, "argument tasks"
                )
            ),
            **_COMMON,
        },
        "confidence tasks",
    ),
    serve.DESCRIBE: _object(
        {
            **dict.fromkeys(("toolId", "sourceId", "toolName", "title", "description"), _TEXT),
            "inputSchema": _FREE,
            "outputSchema": _FREE,
            "hints": _FREE,
            **_COMMON,
        },
        "toolId inputSchema",
    ),
    serve.ASK: _object(
        {
            **dict.fromkeys(("repo", "branch", "query", "intent"), _TEXT),
            "decision": _FREE,
            "parsed": _FREE,
            "total": {"type": "integer"},
            "results": _list(_FREE),
            "omitted": {"type": "integer"},
            "suggestions": _list(_FREE),
            **_COMMON,
        },
        "query intent total results",
    ),
    serve.GRAPH_SCHEMA: _object(
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
    serve.GRAPH_SEARCH: _object(
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
    serve.GRAPH_EXPORT: _object(
        {
            "format": _TEXT,
            "tools": {"type": "integer"},
            "edges": {"type": "integer"},
            "text": _TEXT,
            **_COMMON,
        },
        "format tools edges",
    ),
    serve.INDEX_BUILD: _object(
        {
            "tools": {"type": "integer"},
            "edges": {"type": "integer"},
            "hasVectors": {"type": "boolean"},
            "sources": _list(
                _object({"sourceId": _TEXT, "tools": {"type": "integer"}}, "sourceId tools")
            ),
            "diagnostics": _list(_FREE),
            **_COMMON,
        },
        "tools sources diagnostics",
    ),
}
"""Output schema of each meta-tool except `INVOKE`, which returns their results."""

_DEPTHS = (4, 2, 1)
_PROSE = ("description", "title", "examples", "default", "$comment")
_NAMESPACES = ("properties", "patternProperties", "$defs", "definitions")


def find_schema_part(schema: JsonValue, pointer: str) -> JsonValue:
    """Return the part of *schema* at a JSON pointer (RFC 6901); raises `LookupError`."""
    at = schema
    for step in pointer.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(at, list) and name.isdecimal() and name.isascii():
            at = at[int(name[:9])]
        elif isinstance(at, dict):
            at = at[name]
        else:
            raise LookupError(pointer)
    return at


def prune_schema(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield *schema* without prose, then less and less deep, at last empty."""
    bare = _without_prose(schema)
    yield bare
    for depth in _DEPTHS:
        yield _shallow(bare, depth)
    yield {"type": "object"}


def _without_prose(value: Any) -> Any:
    """Return a schema without text for people; names of properties are not keywords."""
    if isinstance(value, list):
        return [_without_prose(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {}
    for key, part in value.items():
        if key in _NAMESPACES and isinstance(part, dict):
            kept[key] = {name: _without_prose(one) for name, one in part.items()}
        elif key not in _PROSE:
            kept[key] = _without_prose(part)
    return kept


def _shallow(schema: JsonObject, depth: int) -> JsonObject:
    kept: JsonObject = {key: schema[key] for key in ("type", "required") if key in schema}
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth:
        kept["properties"] = {
            name: _shallow(one, depth - 1) if isinstance(one, dict) else one
            for name, one in properties.items()
        }
    return kept


_HINT_NAMES = {
    "aliases": "searchAliases",
    "keywords": "searchKeywords",
    "examples": "usageExamples",
}
_ANNOTATED = dict(
    zip(TYPED_ANNOTATIONS, ("read_only", "destructive", "idempotent", "open_world"), strict=True)
)


def hints_json(hints: Hints) -> JsonObject:
    """Return *hints* under the keys of the .NET gateway, without the annotations of MCP."""
    members = to_json(hints, _HINT_NAMES, without=_ANNOTATED.values())
    members["usageExamples"] = [
        {key: value for key, value in example.items() if value is not None}
        for example in members["usageExamples"]
    ]
    return {key: value for key, value in members.items() if value not in (None, [])}


def annotations_json(tool: Tool) -> JsonObject:
    """Return the annotations of MCP, as hints resolve them."""
    resolved = ((key, getattr(tool.hints, name)) for key, name in _ANNOTATED.items())
    return {key: value for key, value in resolved if value is not None}


_NAMED = 12


@dataclass(frozen=True, slots=True)
class InstructionsContext:
    """Facts about the catalog for instructions and descriptions.

    They come from the configuration, files and a bundle, and not from servers: lists of tools are
    the same at every start, no matter which servers respond, so that prompt caches can reuse them.

    Attributes:
        sources: Names of the sources, most tools first, reduced to safe characters.
        tools: Number of enabled tools; `None` if that depends on servers.
        can_call: Whether the tools of any source can be called.
        about: The operator's addition to the description of the tool that searches.
    """

    sources: tuple[str, ...] = ()
    tools: int | None = None
    can_call: bool = True
    about: str = ""

    @classmethod
    def make(
        cls, tools: Iterable[Tool], servers: Iterable[str], *, can_call: bool, about: str
    ) -> InstructionsContext:
        """Return the facts on *tools* from files, and on *servers* without tools in files."""
        counts = Counter(source_name(tool.source_id) for tool in tools)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        others = [one for one in dict.fromkeys(map(source_name, servers)) if one not in counts]
        is_one = len(ordered) + len(others) == 1
        names = (name if is_one else f"{name} ({count:,})" for name, count in ordered)
        return cls((*names, *others), None if others else counts.total(), can_call, about)

    def __str__(self) -> str:
        rest = len(self.sources) - _NAMED
        more = f" and {rest:,} more" if rest > 0 else ""
        sources = f"{', '.join(self.sources[:_NAMED])}{more}"
        if self.tools is None:
            return f"the tools of {sources}" if sources else "the tools of other servers"
        if not self.tools:
            return "no tool yet"
        return f"{format_count(self.tools, 'tool')} of {sources}"


def instructions(context: InstructionsContext, expose: Exposure = Exposure.META) -> str:
    """Return the instructions of the server for a model."""
    if not context.can_call:
        return (
            f"A catalog of {context}. They can be found and described here, but not called: find "
            f"them with {serve.SEARCH} when a task may need one, and look at arguments with "
            f"{serve.DESCRIBE}. Search again for each new task before you say that there is no "
            "tool."
        )
    if expose is Exposure.FOUND:
        return (
            f"A gateway to {context}. Their tools are listed here once they are found: search with "
            f"{serve.SEARCH} when a task may need one. Then call what it has found by its own "
            f"name, or with {serve.INVOKE} if it is not listed. Search again for each new task "
            "before you say that there is no tool."
        )
    return (
        f"A gateway to {context}. Their tools are not listed here: find them with {serve.SEARCH} "
        f"when a task may need one, look at arguments with {serve.DESCRIBE}, and call them with "
        f"{serve.INVOKE}. Search again for each new task before you say that there is no tool."
    )


def description(name: str, context: InstructionsContext, expose: Exposure = Exposure.META) -> str:
    """Return the description of the meta-tool *name* for a model."""
    described = _DESCRIPTIONS
    if not context.can_call:
        described = _DESCRIPTIONS | _DESCRIBED_ONLY
    elif expose is Exposure.FOUND:
        described = _DESCRIPTIONS | _LISTED_ONCE_FOUND
    text = described[name].format(context=context)
    return f"{text} {context.about}" if context.about and name == serve.SEARCH else text


_DESCRIPTIONS = {
    serve.SEARCH: (
        "Find the right tool for a task. Behind this server: {context}; they are not listed "
        "otherwise. Call this first whenever a task may need one of them, once per task, in the "
        "words of the task. Each match has an id, a description, the required arguments, and a "
        "score in [0, 1]: the probability that it is the right tool."
    ),
    serve.ROUTE: (
        "Get an overview of the tools behind this server ({context}) for a task or a domain: the "
        "matching categories, each with its best tools. Call it when a task is broad or unclear; "
        f"to find one tool, use {serve.SEARCH}."
    ),
    serve.PLAN: (
        "Plan which tools behind this server ({context}) serve a goal of several steps, and in "
        "which order: tasks with what each runs after and what it is given, and the arguments that "
        "only the user knows. It calls nothing. Check the plan before you follow it; each task has "
        "a confidence, the probability that the goal needs it. For a single tool, use "
        f"{serve.SEARCH}."
    ),
    serve.DESCRIBE: (
        "Return a tool's full description, input schema, output schema and hints. Call it before "
        f"{serve.INVOKE} unless a search result has all that the call needs."
    ),
    serve.INVOKE: (
        "Call one of the tools behind this server by its id, with its own arguments. The result is "
        "returned unchanged; invalid arguments are reported field by field. It has the effects of "
        "the called tool, which may change or delete data."
    ),
    serve.READ: (
        "Read a resource of the servers behind this one, such as a file or a record, by its "
        f"address from a result of {serve.SEARCH} or a resource link; or the rest of a result that "
        "was cut, by the address in its note. Of a template, the variables in braces are filled in "
        "first."
    ),
    serve.PROMPT: (
        "Get a prompt of the servers behind this one, by its name from a result of "
        f"{serve.SEARCH}: instructions for a task that its server has prepared, to be followed "
        "as far as the user wants them."
    ),
    serve.READ_SKILL: (
        "Read a file of a skill, by its id from a result of "
        f"{serve.SEARCH} with `kinds`: its {SKILL_FILE}, then what that refers to. It is text of "
        "its author, and nothing of it is run."
    ),
    serve.ASK: (
        "Answer a question about tools by name: what comes before or after a tool, what provides "
        "its arguments, which tools take a field, how to get from one tool to another, what a "
        "tool does, an example call, similar tools; also which tools and servers there are, and "
        "about symbols of source code, where the "
        f"catalog has any. To find a tool for a task, use {serve.SEARCH}."
    ),
    serve.GRAPH_SCHEMA: (
        "Describe the graph of the tools behind this server: its classes, its predicates with "
        f"examples, and those that {serve.GRAPH_SEARCH} reads. For questions about relations "
        f"between tools; to find a tool for a task, use {serve.SEARCH}."
    ),
    serve.GRAPH_SEARCH: (
        "Search the graph of the tools behind this server by its predicates, and see the evidence "
        "for each node, with related nodes and next steps. For questions about relations between "
        f"tools; to find a tool for a task, {serve.SEARCH} ranks better."
    ),
    serve.GRAPH_EXPORT: (
        "Export the graph of the tools behind this server, or the part around some tools, as "
        "Turtle, JSON-LD, Mermaid or DOT, to draw it or to process it in another program."
    ),
    serve.INDEX_BUILD: (
        "Read all servers behind this one again and build the index of their tools, and return "
        "what it holds and what failed. Servers that announce their changes are read without it: "
        "call it only where a tool that must be there is not found."
    ),
}

_DESCRIBED_ONLY = {
    serve.SEARCH: (
        "Find the right tool for a task. This server describes {context}; they are not listed "
        "otherwise, and not called here. Search first whenever a task may need one of them, once "
        "per task, in the words of the task. Each match has an id, a description, the required "
        "arguments, and a score in [0, 1]: the probability that it is the right tool."
    ),
    serve.DESCRIBE: "Return a tool's full description, input schema, output schema and hints.",
}
"""Descriptions where no tool can be called."""

_LISTED_ONCE_FOUND = {
    serve.SEARCH: (
        "Find the right tool for a task. Behind this server: {context}; they are not listed until "
        "they are found. Call this first whenever a task may need one of them, once per task, in "
        "the words of the task. Each match has an id, a description, the required arguments, and a "
        "score in [0, 1]: the probability that it is the right tool. Matches are then listed as "
        "tools of their own, under their ids, with all arguments: call these."
    ),
    serve.INVOKE: (
        "Call one of the tools behind this server by its id, with its own arguments, where a found "
        "tool is not listed as a tool of its own. The result is returned unchanged; invalid "
        "arguments are reported field by field. It has the effects of the called tool, which may "
        "change or delete data."
    ),
}
"""Descriptions for clients that list found tools."""
