"""Tools as the function lists that the APIs of language models take, and calls mapped back.

Formats and limits are those of the public documentation: function calling and tool search of
OpenAI (developers.openai.com/api/docs), tool use and tool search of Anthropic
(platform.claude.com/docs), and `tools/list` of MCP 2025-11-25.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcpg.catalog.api_schemas import Schema, acceptable
from mcpg.errors import NotFoundError, UsageError
from mcpg.values import value

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool

ApiName: TypeAlias = Literal["openai", "openai-responses", "anthropic", "mcp"]

_HASH_LENGTH = 8
_ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}\Z")
_OTHER_IN_ARGUMENT = re.compile(r"[^a-zA-Z0-9_.-]+")
_LONGEST_ARGUMENT = 64
# What names arguments beside `properties`, and cannot be written when an argument is renamed.
_NAMING = {
    *("dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"),
    *("if", "then", "else"),
}


@value
class ToolOrigin:
    """The tool behind a name that was given to a model.

    Attributes:
        tool_id: Id of the tool in its catalogue.
        source_id: The server it comes from.
        tool_name: The name its server knows it by.
        arguments: Arguments that the model knows by another name, each with its own name.
    """

    tool_id: str
    source_id: str
    tool_name: str
    arguments: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as a JSON object."""
        return {
            "toolId": self.tool_id,
            "sourceId": self.source_id,
            "toolName": self.tool_name,
            "arguments": dict(self.arguments),
        }


@value
class ToolCall:
    """A call that a model asks for, as `Gateway.invoke` takes it.

    Attributes:
        tool_id: Id of the tool in its catalogue.
        source_id: The server it comes from.
        tool_name: The name its server knows it by.
        arguments: The arguments by the names that the tool knows.
    """

    tool_id: str
    source_id: str
    tool_name: str
    arguments: dict[str, Any]


@value
class ApiTools:
    """Tools as an API of language models takes them.

    Attributes:
        api: The API.
        definitions: The list for the parameter `tools` of its requests.
        origins: The tool behind each name in the list.
    """

    api: ApiName
    definitions: list[dict[str, Any]]
    origins: dict[str, ToolOrigin]

    def call(self, name: str, arguments: str | Mapping[str, Any] | None = None) -> ToolCall:
        """Return the call of a tool that a model asks for.

        Args:
            name: The name of the function, as the model gives it.
            arguments: Its arguments: an object, or the text of one in JSON.

        Raises:
            NotFoundError: No tool was given by that name.
            UsageError: The arguments are no JSON object.
        """
        origin = self.origins.get(name)
        if origin is None:
            remedy = f"use one of the {len(self.origins)} names that the model was given"
            raise NotFoundError(f"no tool was given as {name!r}", remedy=remedy)
        own = dict(origin.arguments)
        given = {own.get(key, key): one for key, one in _arguments(name, arguments).items()}
        return ToolCall(origin.tool_id, origin.source_id, origin.tool_name, given)

    def to_dict(self) -> dict[str, Any]:
        """Return the list as `mcpg search --as` prints it."""
        return {
            "schema": "mcpg/tools/1",
            "api": self.api,
            "tools": self.definitions,
            "origins": {name: one.to_dict() for name, one in self.origins.items()},
        }


@value
class _Api:
    """What an API takes.

    Attributes:
        name: The characters of a tool's name, without the brackets of a character class.
        longest: The greatest length of a name.
        define: Writes the definition of a tool: its name, itself, and its input schema.
        search: The tool of the API that searches deferred tools, `None` where it has none.
        has_own_schemas: Whether schemas are given as the server has them.
        checks_arguments: Whether the names of arguments are restricted.
    """

    name: str
    longest: int
    define: Callable[[str, Tool, dict[str, Any]], dict[str, Any]]
    search: dict[str, Any] | None = None
    has_own_schemas: bool = False
    checks_arguments: bool = False


def _openai(name: str, tool: Tool, schema: Schema) -> dict[str, Any]:
    function = {"name": name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _openai_responses(name: str, tool: Tool, schema: Schema) -> dict[str, Any]:
    # The API makes a schema strict, which changes it, unless the definition says not to.
    members = {"name": name, "description": tool.description, "parameters": schema}
    return {"type": "function", **members, "strict": False}


def _anthropic(name: str, tool: Tool, schema: Schema) -> dict[str, Any]:
    return {"name": name, "description": tool.description, "input_schema": schema}


def _mcp(name: str, tool: Tool, schema: Schema) -> dict[str, Any]:
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
    "openai": _Api("a-zA-Z0-9_-", 64, _openai),
    "openai-responses": _Api("a-zA-Z0-9_-", 64, _openai_responses, {"type": "tool_search"}),
    "anthropic": _Api(
        "a-zA-Z0-9_-",
        64,
        _anthropic,
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        checks_arguments=True,
    ),
    "mcp": _Api("a-zA-Z0-9_.-", 128, _mcp, has_own_schemas=True),
}
APIS: tuple[ApiName, ...] = tuple(_APIS)


def api_tools(name: str, tools: Iterable[Tool], deferred: Iterable[Tool] = ()) -> ApiTools:
    """Return *tools* as the API *name* takes them, each once.

    Args:
        name: One of `APIS`.
        tools: Tools that the model sees from the start.
        deferred: Tools that the model finds with the tool search of the API; those among *tools*
            are not deferred.

    Raises:
        UsageError: No API is called so, or it has no tool search and tools are deferred.
    """
    loaded = {tool.id: tool for tool in tools}
    later = {tool.id: tool for tool in deferred if tool.id not in loaded}
    api_name = check_api(name, is_deferring=bool(later))
    api = _APIS[api_name]
    definitions = [api.search] if later and api.search else []
    origins: dict[str, ToolOrigin] = {}
    everything = loaded | later
    for tool_id, given in _names(everything, api).items():
        tool = everything[tool_id]
        schema = tool.input_schema if api.has_own_schemas else acceptable(tool.input_schema)
        renamed: dict[str, str] = {}
        if api.checks_arguments:
            schema, renamed = _renamed(schema)
        definition = api.define(given, tool, schema)
        definitions.append(definition | ({"defer_loading": True} if tool_id in later else {}))
        origins[given] = ToolOrigin(tool_id, tool.source_id, tool.name, tuple(renamed.items()))
    return ApiTools(api_name, [dict(one) for one in definitions], origins)


def check_api(name: str, *, is_deferring: bool = False) -> ApiName:
    """Return the API called *name*.

    Raises:
        UsageError: No API is called so, or it has no tool search and tools are deferred.
    """
    able = [one for one in APIS if _APIS[one].search or not is_deferring]
    for known in able:
        if known == name:
            return known
    *others, last = able
    fault = "has no tool search for deferred tools" if name in APIS else "is no API"
    raise UsageError(f"{name!r} {fault}", remedy=f"use {', '.join(others)} or {last}")


def _names(ids: Iterable[str], api: _Api) -> dict[str, str]:
    """Return a name for each id that the API accepts, no two the same.

    It is the id itself where possible. What else it is depends on the id alone, unless two
    hashes are the same.
    """
    accepted = re.compile(rf"[{api.name}]{{1,{api.longest}}}\Z")
    reserved = {str(api.search.get("name"))} if api.search else set()
    ids = tuple(ids)
    plain = {one for one in ids if accepted.match(one) and one not in reserved}
    taken, names = plain | reserved, {}
    for one in ids:
        names[one] = one if one in plain else _hashed(one, rf"[^{api.name}]+", api.longest, taken)
        taken.add(names[one])
    return names


def _hashed(text: str, others: str, longest: int, taken: set[str]) -> str:
    """Return *text* without the characters *others*, cut, and made unique with a hash."""
    start = re.sub(others, "_", text).strip("_") or "tool"
    salt, name = 0, ""
    while not name or name in taken:
        digest = hashlib.sha256(f"{salt or ''}{text}".encode("utf-8", "replace")).hexdigest()
        name = f"{start[: longest - _HASH_LENGTH - 1]}_{digest[:_HASH_LENGTH]}"
        salt += 1
    return name


def _renamed(schema: Schema) -> tuple[dict[str, Any], dict[str, str]]:
    """Return *schema* with names of arguments that Anthropic accepts, and their own names."""
    properties = schema["properties"]
    bad = [name for name in properties if not _ARGUMENT.match(name)]
    if not bad:
        return schema, {}
    taken = {name for name in properties if _ARGUMENT.match(name)}
    names = {}
    for name in bad:
        plain = _OTHER_IN_ARGUMENT.sub("_", name).strip("_")
        if not _ARGUMENT.match(plain) or plain in taken:
            plain = _hashed(name, _OTHER_IN_ARGUMENT.pattern, _LONGEST_ARGUMENT, taken)
        taken.add(plain)
        names[name] = plain
    members = {name: one for name, one in schema.items() if name not in _NAMING}
    members["properties"] = {names.get(name, name): one for name, one in properties.items()}
    if "required" in schema:
        members["required"] = [names.get(name, name) for name in schema["required"]]
    return members, {given: name for name, given in names.items()}


def _arguments(name: str, given: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the arguments that a model gives the tool *name*; blank text is none.

    Raises:
        UsageError: They are no JSON object.
    """
    read: Any = given
    if isinstance(given, str):
        try:
            read = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError) as fault:
            raise _no_object(name) from fault
    if read is None:
        return {}
    if not isinstance(read, Mapping):
        raise _no_object(name)
    return read


def _no_object(name: str) -> UsageError:
    return UsageError(
        f"the arguments of {name} are no JSON object", remedy="return the error to the model"
    )
