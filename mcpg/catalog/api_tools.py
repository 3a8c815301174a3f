"""Tools as the function lists that the APIs of language models take, and calls mapped back.

Formats and limits follow the public documentation: function calling and tool search of
OpenAI (developers.openai.com/api/docs), tool use and tool search of Anthropic
(platform.claude.com/docs), function calling of Gemini (ai.google.dev/api/caching, `Tool`), and
`tools/list` of MCP 2025-11-25. OpenAI documents no limit of descriptions, but Chat Completions
refuses a request that has one of more than 1,024 characters.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from mcpg.catalog.api_schemas import (
    NotStrictError,
    Schema,
    acceptable,
    strict_schema,
    without_left_out,
)
from mcpg.catalog.model import Tool
from mcpg.errors import NotFoundError, UsageError
from mcpg.values import join_choices

ApiName: TypeAlias = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]

_HASH_LENGTH = 8
_LONGEST_DESCRIPTION, _LONGEST_OF_NAMESPACE = 1_024, 500
# Keywords that name arguments beside `properties`, and cannot follow when one is renamed.
_NAMING = {
    *("dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"),
    *("if", "then", "else"),
}


@dataclass(frozen=True, slots=True)
class ToolOrigin:
    """The tool behind a name that was given to a model.

    Attributes:
        arguments: Arguments with another name in the definition, each with its own name.
        optional: Arguments that a strict definition requires, and that are null when the model
            leaves them out: JSON pointers, with `*` for each item of a list.
    """

    tool_id: str
    source_id: str
    tool_name: str
    arguments: tuple[tuple[str, str], ...] = ()
    optional: tuple[str, ...] = ()
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for, as `Gateway.invoke` takes it: by the tool's own names."""

    tool_id: str
    source_id: str
    tool_name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ApiTools:
    """Tools as an API of language models takes them.

    Attributes:
        definitions: The list for the parameter `tools` of the requests.
        origins: The tool behind each name in the list.
        not_strict: Names of tools whose definitions cannot be strict, each with the reason.
    """

    api: ApiName
    definitions: list[dict[str, Any]]
    origins: dict[str, ToolOrigin]
    not_strict: tuple[tuple[str, str], ...] = ()

    def call(self, name: str, arguments: str | Mapping[str, Any] | None = None) -> ToolCall:
        """Return the call of a tool that a model requests, by the *name* that it was given.

        The arguments are an object, or the text of one in JSON.

        Raises:
            NotFoundError: No tool was given by that name.
            UsageError: The arguments are not a JSON object.
        """
        origin = self.origins.get(name)
        if origin is None:
            remedy = f"use one of the {len(self.origins)} names that the model was given"
            raise NotFoundError(f"no tool was given as {name!r}", remedy=remedy)
        own = dict(origin.arguments)
        stated = without_left_out(_arguments(name, arguments), frozenset(origin.optional))
        given = {own.get(key, key): one for key, one in stated.items()}
        return ToolCall(origin.tool_id, origin.source_id, origin.tool_name, given)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as `mcpg search --as` prints it."""
        origins = {
            name: {
                "toolId": one.tool_id,
                "sourceId": one.source_id,
                "toolName": one.tool_name,
                "arguments": dict(one.arguments),
                **({"optional": [*one.optional]} if one.is_strict else {}),
            }
            for name, one in self.origins.items()
        }
        return {
            "schema": "mcpg/tools/1",
            "api": self.api,
            "tools": self.definitions,
            "origins": origins,
            **({"notStrict": dict(self.not_strict)} if self.not_strict else {}),
        }


@dataclass(frozen=True, slots=True)
class _NameRules:
    """Which names an API accepts: their characters, as in a character class, and their length.

    An identifier begins with a letter or `_`.
    """

    characters: str = "a-zA-Z0-9_-"
    longest: int = 64
    is_identifier: bool = False

    def accepts(self, name: str) -> bool:
        begins = "(?=[a-zA-Z_])" if self.is_identifier else ""
        return bool(re.match(rf"{begins}[{self.characters}]{{1,{self.longest}}}\Z", name))

    def plain(self, name: str) -> str:
        text = re.sub(f"[^{self.characters}]+", "_", name).strip("_")
        return f"_{text}" if self.is_identifier and re.match("[^a-zA-Z]", text) else text

    def make_unique(self, name: str, taken: set[str]) -> str:
        """Return *name* as it is accepted, cut, and made unique with a hash."""
        start = self.plain(name) or "tool"
        salt, found = 0, ""
        while not found or found in taken:
            digest = hashlib.sha256(f"{salt or ''}{name}".encode("utf-8", "replace")).hexdigest()
            found = f"{start[: self.longest - _HASH_LENGTH - 1]}_{digest[:_HASH_LENGTH]}"
            salt += 1
        return found


@dataclass(frozen=True, slots=True)
class _Api:
    """The requirements of an API.

    Attributes:
        define: Writes a definition of a tool: its name, itself, its input schema, whether strict.
        names: The names of tools.
        search: The tool of the API that searches deferred tools, `None` if it has none.
        has_own_schemas: Whether schemas are given as the server has them.
        arguments: The names of arguments, `None` if all are accepted.
        has_namespaces: Whether deferred tools are grouped.
        wrapped_as: The member of the single tool with all definitions, "" if each is a tool.
        has_strict: Whether it has a strict mode.
    """

    define: Callable[[str, Tool, Schema, bool], dict[str, Any]]
    names: _NameRules = _NameRules()
    search: dict[str, Any] | None = None
    has_own_schemas: bool = False
    arguments: _NameRules | None = None
    has_namespaces: bool = False
    wrapped_as: str = ""
    has_strict: bool = False


def _define_function(name: str, tool: Tool, schema: Schema) -> dict[str, Any]:
    text = tool.description
    if len(text) > _LONGEST_DESCRIPTION:
        text = f"{text[: _LONGEST_DESCRIPTION - 1].rstrip()}…"
    return {"name": name, "description": text, "parameters": schema}


def _define_for_mcp(name: str, tool: Tool, schema: Schema, _: bool) -> dict[str, Any]:
    members: dict[str, Any] = {
        "name": name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": {**schema, "type": "object"},
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
        "_meta": tool.meta,
    }
    return {key: one for key, one in members.items() if one}


_APIS: dict[ApiName, _Api] = {
    "openai": _Api(
        lambda name, tool, schema, strict: {
            "type": "function",
            "function": _define_function(name, tool, schema) | ({"strict": True} if strict else {}),
        },
        has_strict=True,
    ),
    "openai-responses": _Api(
        # By default the API makes a schema strict, which changes it.
        lambda name, tool, schema, strict: {
            "type": "function",
            **_define_function(name, tool, schema),
            "strict": strict,
        },
        search={"type": "tool_search"},
        has_namespaces=True,
        has_strict=True,
    ),
    "anthropic": _Api(
        lambda name, tool, schema, _: {
            "name": name,
            "description": tool.description,
            "input_schema": schema,
        },
        search={"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        arguments=_NameRules("a-zA-Z0-9_.-"),
    ),
    "gemini": _Api(
        # It refuses objects without properties.
        lambda name, tool, schema, _: {
            "name": name,
            "description": tool.description,
            **({"parametersJsonSchema": schema} if schema["properties"] else {}),
        },
        _NameRules(is_identifier=True),
        arguments=_NameRules("a-zA-Z0-9_", is_identifier=True),
        wrapped_as="functionDeclarations",
    ),
    "mcp": _Api(_define_for_mcp, _NameRules("a-zA-Z0-9_.-", 128), has_own_schemas=True),
}
APIS: tuple[ApiName, ...] = tuple(_APIS)


def api_tools(
    name: str, tools: Iterable[Tool], deferred: Iterable[Tool] = (), *, strict: bool = False
) -> ApiTools:
    """Return *tools* as the API *name* takes them, each once.

    Args:
        name: One of `APIS`.
        tools: Tools that the model sees from the start.
        deferred: Tools that the model finds with the tool search of the API.
        strict: Whether definitions are strict, as far as their schemas can be written so.

    Raises:
        UsageError: See `check_api`.
    """
    loaded = {tool.id: tool for tool in tools}
    later = {tool.id: tool for tool in deferred if tool.id not in loaded}
    api_name = check_api(name, is_deferring=bool(later), is_strict=strict)
    api = _APIS[api_name]
    everything = loaded | later
    definitions: dict[str, dict[str, Any]] = {}
    origins: dict[str, ToolOrigin] = {}
    reasons: list[tuple[str, str]] = []
    for tool_id, given in _names(everything, api).items():
        definition, origins[given], reason = _define_tool(given, everything[tool_id], api, strict)
        definitions[tool_id] = definition | ({"defer_loading": True} if tool_id in later else {})
        reasons += [(given, reason)] if reason else []
    shown = [definitions[tool_id] for tool_id in loaded]
    if later and api.search:
        shown.insert(0, dict(api.search))
    if api.has_namespaces:
        shown += _namespaces(later.values(), definitions, api)
    else:
        shown += [definitions[tool_id] for tool_id in later]
    if api.wrapped_as and shown:
        shown = [{api.wrapped_as: shown}]
    return ApiTools(api_name, shown, origins, tuple(reasons))


def _define_tool(
    name: str, tool: Tool, api: _Api, strict: bool
) -> tuple[dict[str, Any], ToolOrigin, str]:
    """Return the definition and the origin of *tool*, and why it is not strict if it is to be."""
    origin = ToolOrigin(tool.id, tool.source_id, tool.name)
    reason = ""
    if strict and api.has_strict:
        try:
            schema, optional = strict_schema(tool.input_schema)
        except NotStrictError as fault:
            reason = str(fault)
        else:
            origin = replace(origin, optional=optional, is_strict=True)
            return api.define(name, tool, schema, True), origin, ""
    schema = tool.input_schema if api.has_own_schemas else acceptable(tool.input_schema)
    if api.arguments is not None:
        schema, renamed = _rename_arguments(schema, api.arguments)
        origin = replace(origin, arguments=tuple(renamed.items()))
    return api.define(name, tool, schema, False), origin, reason


def _namespaces(
    tools: Iterable[Tool], definitions: Mapping[str, dict[str, Any]], api: _Api
) -> list[dict[str, Any]]:
    """Return a namespace for each source of *tools*, with their definitions.

    The model sees its description before it searches, so this has the names of the tools.
    """
    by_source: dict[str, list[dict[str, Any]]] = {}
    for tool in tools:
        by_source.setdefault(tool.source_id, []).append(definitions[tool.id])
    return [
        {
            "type": "namespace",
            "name": name,
            "description": _tools_in(name, by_source[source]),
            "tools": by_source[source],
        }
        for source, name in _names(by_source, api).items()
    ]


def _tools_in(name: str, definitions: Iterable[dict[str, Any]]) -> str:
    names = [str(one["name"]) for one in definitions]
    text = f"Tools of {name}: {names[0]}"
    for shown, one in enumerate(names[1:], 1):
        rest = f" and {len(names) - shown:,} more."
        if len(text) + len(one) + len(rest) + 2 > _LONGEST_OF_NAMESPACE:
            return text + rest
        text = f"{text}, {one}"
    return f"{text}."


def check_api(name: str, *, is_deferring: bool = False, is_strict: bool = False) -> ApiName:
    """Return the API called *name*.

    Raises:
        UsageError: The name is unknown, or the API lacks tool search or strict mode.
    """
    able = [
        one
        for one, api in _APIS.items()
        if (api.search or not is_deferring) and (api.has_strict or not is_strict)
    ]
    for known in able:
        if known == name:
            return known
    fault = "is not an API"
    if name in APIS:
        lacks_strict = is_strict and not _APIS[name].has_strict
        fault = f"has no {'strict mode' if lacks_strict else 'tool search for deferred tools'}"
    raise UsageError(f"{name!r} {fault}", remedy=f"use {join_choices(able)}")


def _names(ids: Iterable[str], api: _Api) -> dict[str, str]:
    """Return a name for each id that the API accepts, no two the same: the id itself if possible.

    Other names depend only on the id, unless two hashes are the same.
    """
    reserved = {str(api.search["name"])} if api.search and "name" in api.search else set()
    ids = tuple(ids)
    plain = {one for one in ids if api.names.accepts(one) and one not in reserved}
    taken, names = plain | reserved, {}
    for one in ids:
        names[one] = one if one in plain else api.names.make_unique(one, taken)
        taken.add(names[one])
    return names


def _rename_arguments(schema: Schema, naming: _NameRules) -> tuple[dict[str, Any], dict[str, str]]:
    properties = schema["properties"]
    bad = [name for name in properties if not naming.accepts(name)]
    if not bad:
        return schema, {}
    taken = properties.keys() - {*bad}
    names = {}
    for name in bad:
        plain = naming.plain(name)
        if not naming.accepts(plain) or plain in taken:
            plain = naming.make_unique(name, taken)
        taken.add(plain)
        names[name] = plain
    members = {name: one for name, one in schema.items() if name not in _NAMING}
    members["properties"] = {names.get(name, name): one for name, one in properties.items()}
    if "required" in schema:
        members["required"] = [names.get(name, name) for name in schema["required"]]
    return members, {given: name for name, given in names.items()}


def _arguments(name: str, given: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the arguments that a model gives the tool *name*; blank text means none."""
    read: Any = given
    broken = None
    if isinstance(given, str):
        try:
            read = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError) as fault:
            read, broken = given, fault
    if read is None:
        return {}
    if not isinstance(read, Mapping):
        message = f"the arguments of {name} are not a JSON object"
        raise UsageError(message, remedy="return the error to the model") from broken
    return read
