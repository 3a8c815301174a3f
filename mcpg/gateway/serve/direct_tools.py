"""Tools as the server lists them, the pages of that list, and the results of called tools.

Hints stand in `_meta` under the keys of the .NET gateway, so that a gateway of gateways keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from jsonschema.validators import Draft202012Validator, validator_for
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from mcpg.catalog.hints import HINT_KEYS
from mcpg.catalog.model import Tool
from mcpg.gateway.calls.model import Fault, Invoked
from mcpg.gateway.calls.validation import BoundedValidator, bounded_validator
from mcpg.gateway.serve import answers
from mcpg.gateway.serve.answers import (
    Exposure,
    Serving,
    as_list,
    line,
    passed_on,
    repaired,
    size,
    text_block,
    written,
)
from mcpg.gateway.serve.schemas import (
    INPUTS,
    OUTPUTS,
    InstructionsContext,
    annotations_json,
    description,
    hints_json,
    part_of,
    pruned,
)
from mcpg.json_types import JsonObject, JsonValue

RESULT = "result"
"""Member that holds a structured result other than an object."""

_LARGEST = 128 << 10
_ORIGIN = ("toolId", "toolName", "sourceId")
_SHARED = ("$defs", "definitions", "$schema")
_PATTERNS = ("pattern", "patternProperties")


@dataclass(frozen=True, slots=True)
class Exported:
    """A tool as our server lists it.

    Attributes:
        wire: The tool as an entry of `tools/list`.
        is_wrapped: Whether structured results stand under `RESULT`.
        validator: Checks structured results, `None` where no output schema is declared.
    """

    wire: JsonObject
    is_wrapped: bool = False
    validator: BoundedValidator | None = None

    @property
    def declares_output(self) -> bool:
        """Whether clients expect structured content."""
        return "outputSchema" in self.wire


def exported(tool: Tool) -> Exported:
    """Return *tool* as our server lists it; only its id if its schema is too deep."""
    try:
        return _exported(tool)
    except RecursionError:
        return Exported(_bare(tool.id))


def _exported(tool: Tool) -> Exported:
    wire: JsonObject = {"name": tool.id, "inputSchema": input_schema(tool.input_schema)}
    if tool.title:
        wire["title"] = tool.title
    if tool.description:
        wire["description"] = tool.description
    title = tool.annotations.get("title")
    annotations = annotations_json(tool) | ({"title": title} if isinstance(title, str) else {})
    if annotations:
        wire["annotations"] = annotations
    wire["_meta"] = _meta(tool)
    output, is_wrapped = output_schema(tool.output_schema)
    if output is not None:
        wire["outputSchema"] = output
    wire = _bounded(wire)
    if "outputSchema" not in wire:
        return Exported(wire)
    return Exported(wire, is_wrapped, bounded_validator(output) if output is not None else None)


def input_schema(schema: JsonObject) -> JsonObject:
    """Return *schema* for strict clients: of type object, with schemas as properties."""
    return {**_strict(schema), "type": "object"}


def output_schema(schema: JsonObject | None) -> tuple[JsonObject | None, bool]:
    """Return *schema* for strict clients, and whether it wraps the original.

    It is `None` if it is invalid, too large to be checked, or has external references.
    """
    if schema is None or not _is_sound(schema):
        return None, False
    if schema.get("type") == "object":
        return _strict(schema), False
    if any(not ref.startswith(("#/$defs/", "#/definitions/")) for ref in _references(schema)):
        return None, False
    inner: JsonObject = {key: value for key, value in schema.items() if key not in _SHARED}
    shared = {key: schema[key] for key in _SHARED if key in schema}
    return {"type": "object", "properties": {RESULT: inner}, "required": [RESULT], **shared}, True


def _strict(schema: JsonObject) -> JsonObject:
    kept = {**schema}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        kept["properties"] = {name: _schema(one) for name, one in properties.items()}
    else:
        kept.pop("properties", None)
    required = schema.get("required")
    if isinstance(required, list):
        kept["required"] = [name for name in required if isinstance(name, str)]
    else:
        kept.pop("required", None)
    if not isinstance(schema.get("$schema", ""), str):
        del kept["$schema"]
    return kept


def _schema(value: JsonValue) -> JsonObject:
    """Return a schema as an object: `false` allows nothing, an invalid one everything."""
    if isinstance(value, dict):
        return value
    return {"not": {}} if value is False else {}


def _is_sound(schema: JsonObject) -> bool:
    """Return whether a schema can be used, by us and by clients."""
    if not isinstance(schema.get("$schema", ""), str) or bounded_validator(schema) is None:
        return False
    try:
        if _has_pattern(schema):
            validator_for(schema, default=Draft202012Validator).check_schema(schema)
        references = [*_references(schema)]
        for reference in references:
            part_of(schema, reference)
    except Exception:  # noqa: BLE001 - the library raises all kinds of errors on odd schemas
        return False
    return all(one == "#" or one.startswith("#/") for one in references)


def _references(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            if key in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(one, str):
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def _meta(tool: Tool) -> JsonObject:
    kept: JsonObject = {key: value for key, value in tool.meta.items() if key not in HINT_KEYS}
    origin: JsonObject = {key: kept[key] for key in _ORIGIN if key in kept}
    if origin:
        # The tool comes from another gateway: keep that one's metadata.
        kept["behind"] = {**origin, **({"behind": kept["behind"]} if "behind" in kept else {})}
    kept |= {"toolId": tool.id, "toolName": tool.name, "sourceId": tool.source_id}
    return kept | hints_json(tool.hints)


def _bounded(wire: JsonObject) -> JsonObject:
    """Return *wire*, with less of its input schema if it is too large."""
    wire = repaired(wire)
    schema = wire["inputSchema"]
    if size(wire) <= _LARGEST or not isinstance(schema, dict):
        return wire
    rest = {key: value for key, value in wire.items() if key != "outputSchema"}
    for less in pruned(schema):
        shorter: JsonObject = {**rest, "inputSchema": input_schema(less)}
        if size(shorter) <= _LARGEST:
            return shorter
    return _bare(wire["name"])


def _bare(name: JsonValue) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}}


def _has_pattern(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(key in _PATTERNS or _has_pattern(one) for key, one in value.items())
    return isinstance(value, list) and any(map(_has_pattern, value))


_PAGE_TOOLS = 200
_PAGE_BYTES = 1 << 20
_AFTER = "after:"
_TITLES = {
    answers.SEARCH: "Find tools",
    answers.ROUTE: "Overview of tools by category",
    answers.DESCRIBE: "Describe a tool",
    answers.INVOKE: "Call a tool",
    answers.GRAPH_SCHEMA: "Describe the graph of tools",
    answers.GRAPH_SEARCH: "Search the graph of tools",
    answers.GRAPH_EXPORT: "Export the graph of tools",
}
_READS: JsonObject = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
_ACTS: JsonObject = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}


@dataclass(frozen=True)
class Listing:
    """The tools that clients see.

    Attributes:
        meta: The meta-tools as `tools/list` has them, by name.
        tools: The direct tools, where they are shown, in order of id.
    """

    meta: dict[str, JsonObject] = field(default_factory=dict)
    tools: dict[str, Exported] = field(default_factory=dict)

    @cached_property
    def print(self) -> int:
        """Hash of the list, valid within the process."""
        return hash(tuple(written(one) for one in self._all()))

    def page(self, cursor: str | None) -> tuple[list[JsonObject], str | None]:
        """Return the tools after *cursor*, and the cursor of the next page.

        A cursor names the last tool of its page, so it stays valid when tools change.

        Raises:
            LookupError: The cursor is invalid.
        """
        found: list[JsonObject] = []
        room = _PAGE_BYTES
        for one in self._after(cursor):
            room -= size(one)
            if found and (room < 0 or len(found) == _PAGE_TOOLS):
                return found, f"{_AFTER}{found[-1]['name']}"
            found.append(one)
        return found, None

    def input_schema(self, name: str) -> JsonObject | None:
        """Return the input schema of a tool as clients see it, `None` for unknown names."""
        wire = self.meta.get(name) or (self.tools[name].wire if name in self.tools else {})
        schema = wire.get("inputSchema")
        return schema if isinstance(schema, dict) else None

    def _all(self) -> Iterator[JsonObject]:
        yield from self.meta.values()
        for tool in self.tools.values():
            yield tool.wire

    def _after(self, cursor: str | None) -> Iterator[JsonObject]:
        if cursor is None:
            yield from self._all()
            return
        last = cursor.removeprefix(_AFTER)
        if not cursor.startswith(_AFTER) or not last:
            raise LookupError(cursor)
        # The meta-tools are fewer than a page.
        for name, tool in self.tools.items():
            if name > last or last in self.meta:
                yield tool.wire


def listing_of(
    tools: Iterable[Tool] | None, context: InstructionsContext, serving: Serving
) -> Listing:
    """Return the tools that clients see.

    Args:
        tools: The enabled tools in order of id, `None` while the sources are being read.
        context: Facts for the descriptions.
        serving: Which of them are shown.
    """
    shown = (*answers.EVERYDAY, *(answers.GRAPH_TOOLS if serving.graph_tools else ()))
    meta = {name: _meta_tool(name, context, serving) for name in shown}
    if serving.expose is Exposure.META or tools is None:
        return Listing(meta)
    return Listing(meta, {tool.id: exported(tool) for tool in tools})


def _meta_tool(name: str, context: InstructionsContext, serving: Serving) -> JsonObject:
    annotations = _ACTS if name == answers.INVOKE else _READS
    if name == answers.GRAPH_SEARCH and serving.endpoints:
        annotations = {**annotations, "openWorldHint": True}
    wire: JsonObject = {
        "name": name,
        "title": _TITLES[name],
        "description": description(name, context),
        "inputSchema": INPUTS[name],
        "annotations": annotations,
    }
    return {**wire, "outputSchema": OUTPUTS[name]} if name in OUTPUTS else wire


_FAULTS = 20
_MESSAGE = 2000
_MISMATCH = (
    "[mcpg: the tool ran, but its structured result violates its declared output schema and is "
    "omitted; calling it again would not help]"
)


def result_of(invoked: Invoked, budget: int, declared: Exported | None = None) -> JsonObject:
    """Return the result of a call as a tool result of at most *budget* bytes.

    Args:
        invoked: The result.
        budget: Bytes of the result as JSON.
        declared: The tool as clients see it, where it was called by its own name; its structured
            result must then conform to the declared output schema.
    """
    result: JsonObject = {"content": _content(invoked), "isError": not invoked.is_success}
    if not invoked.is_success:
        result["structuredContent"] = _faults(invoked)
        return passed_on(repaired(result), budget, structured_needed=False)
    needed = declared is not None and declared.declares_output
    structured = _structured(invoked.structured, declared)
    if structured is not None:
        result["structuredContent"] = structured
    result = repaired(result)
    if needed and declared is not None and not _conforms(result, declared):
        result.pop("structuredContent", None)
        content = [*as_list(result["content"]), text_block(_MISMATCH)]
        result = {"content": content, "isError": True}
    return passed_on(result, budget, structured_needed=needed)


def _content(invoked: Invoked) -> list[JsonValue]:
    """Return the content blocks, invalid ones as text."""
    blocks: list[JsonValue] = [_block(block) for block in invoked.content]
    if blocks or invoked.is_success:
        if not blocks and invoked.structured is not None:
            blocks.append(text_block(written(invoked.structured)))
        return blocks
    return [text_block("\n".join(map(_sentence, invoked.faults[:_FAULTS])))]


def _block(block: JsonObject) -> JsonObject:
    try:
        validate_server_result("tools/call", LATEST_HANDSHAKE_VERSION, {"content": [block]})
    except ValidationError:
        return text_block(written(block))
    return block


def _sentence(fault: Fault) -> str:
    where = f" at {line(fault.field, 200)}" if fault.field else ""
    remedy = f" ({line(fault.remedy, _MESSAGE)})" if fault.remedy else ""
    return f"{fault.code}{where}: {line(fault.message, _MESSAGE)}{remedy}"


def _faults(invoked: Invoked) -> JsonObject:
    faults: list[JsonValue] = [
        {
            "code": fault.code.value,
            "message": line(fault.message, _MESSAGE),
            "remedy": line(fault.remedy, _MESSAGE),
            "field": line(fault.field, 200),
        }
        for fault in invoked.faults[:_FAULTS]
    ]
    return {"toolId": invoked.tool_id, "faults": faults}


def _structured(value: JsonValue, declared: Exported | None) -> JsonObject | None:
    """Return a structured result as an object, which all versions of MCP accept."""
    if declared is not None and declared.is_wrapped:
        return None if value is None else {RESULT: value}
    if isinstance(value, list):
        return {RESULT: value}
    # Other values are in the content already.
    return value if isinstance(value, dict) else None


def _conforms(result: JsonObject, declared: Exported) -> bool:
    if "structuredContent" not in result:
        return False
    checker = declared.validator
    return checker is None or checker.is_valid(result["structuredContent"])
