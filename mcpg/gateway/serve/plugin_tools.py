"""Tools that plugins of other packages add to those of `mcpg serve`."""

from __future__ import annotations

import json
from functools import partial

from jsonschema_rs import Draft202012Validator

from mcpg.engine.engine import Engine
from mcpg.errors import Diagnostic
from mcpg.gateway.serve import META_TOOLS
from mcpg.gateway.serve.answers import first_that_fits, line, make_error_result
from mcpg.plugins.hooks import MetaTool
from mcpg.plugins.registry import Registered, load_reference, package_plugins
from mcpg.text.json_values import JsonObject

_MESSAGE = 300


def find_plugin_tools() -> tuple[tuple[Registered[MetaTool], ...], tuple[Diagnostic, ...]]:
    """Return the tools that can be used, and a diagnostic for each plugin that cannot."""
    packages = package_plugins()
    found: dict[str, Registered[MetaTool]] = {}
    noticed = [*packages.diagnostics]
    for one in packages.items(MetaTool):
        fault = one.attempt(partial(_check_tool, one.item, {*META_TOOLS, *found}))
        if isinstance(fault, Diagnostic):
            noticed.append(fault)
        else:
            found[one.item.name] = one
    return tuple(found.values()), tuple(noticed)


def _check_tool(tool: MetaTool, taken: set[str]) -> None:
    if not str(tool.name).isidentifier():
        raise ValueError("the name of a tool has letters, digits and underscores")
    if tool.name in taken:
        raise ValueError(f"there is a tool {tool.name!r} already")
    Draft202012Validator(json.loads(json.dumps(wire_tool(tool)))["inputSchema"])


def wire_tool(tool: MetaTool) -> JsonObject:
    """Return *tool* as `tools/list` has it."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"type": "object", **tool.input_schema},
    }


def call_plugin_tool(
    one: Registered[MetaTool], engine: Engine, arguments: JsonObject, most_bytes: int
) -> JsonObject:
    """Return the result of calling a tool; may take its time.

    Raises:
        McpgError: The plugin reports an error of its own.
    """

    def call() -> JsonObject:
        answer = load_reference(one.item.call)(engine, arguments)
        if not isinstance(answer, dict):
            raise TypeError(f"it returned {type(answer).__name__}, not an object")
        return first_that_fits([answer], most_bytes)

    result = one.attempt(call)
    if isinstance(result, Diagnostic):
        return make_error_result(line(result.message, _MESSAGE))
    return result
