"""The catalog as clients see it: tools as entries of `tools/list`, pages, and its latest state.

Hints are in `_meta` under the keys of the .NET gateway, so that a gateway of gateways keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import anyio
import anyio.to_thread
from jsonschema_rs import Draft202012Validator
from mcp_types import Tool as McpTool
from pydantic import ValidationError

from mcpg.catalog.hints import HINT_FIELDS, HINT_KEYS, TYPED_ANNOTATIONS
from mcpg.catalog.model import Tool
from mcpg.engine.engine import Engine
from mcpg.errors import Code, Diagnostic, warning
from mcpg.gateway import serve
from mcpg.gateway.calls import Fault
from mcpg.gateway.directory import NOTHING
from mcpg.gateway.gateway import Gateway
from mcpg.gateway.serve import META_TOOLS, MOST_PINNED, Exposure, ServingOptions
from mcpg.gateway.serve.answers import (
    AFTER,
    RESULT,
    ListedTool,
    cut_page,
    encode_json,
    first_that_fits,
    line,
    make_error_result,
    repair_value,
    size,
    source_name,
)
from mcpg.gateway.serve.clients import MOST_FOUND, ClientView
from mcpg.gateway.serve.prompts_and_resources import PrimitiveIndex
from mcpg.gateway.serve.schemas import (
    FOUND_SKILLS,
    INPUTS,
    KINDS,
    OUTPUTS,
    TITLES,
    InstructionsContext,
    annotations_json,
    description,
    find_schema_part,
    hints_json,
    prune_schema,
)
from mcpg.gateway.serve.skills import has_skills
from mcpg.gateway.snapshots import Snapshot
from mcpg.gateway.validation import are_patterns_valid, bounded_validator
from mcpg.plugins.hooks import MetaTool
from mcpg.plugins.registry import Registered, load_reference, package_plugins
from mcpg.sources.registry import has_runnable
from mcpg.text.json_values import JsonObject, JsonValue

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
    """Return the result of calling a tool; may take long, and raise an error of the plugin."""

    def call() -> JsonObject:
        answer = load_reference(one.item.call)(engine, arguments)
        if not isinstance(answer, dict):
            raise TypeError(f"it returned {type(answer).__name__}, not an object")
        return first_that_fits([answer], most_bytes)

    result = one.attempt(call)
    if isinstance(result, Diagnostic):
        return make_error_result(line(result.message, _MESSAGE))
    return result


_LARGEST = 128 << 10
_PIN, _UNLISTED = "--pin", Code.SERVED_NAME_UNKNOWN
_ORIGIN = ("toolId", "toolName", "sourceId")
_SHARED = ("$defs", "definitions", "$schema")
_READ_ANNOTATIONS = frozenset(("title", *TYPED_ANNOTATIONS, *HINT_KEYS))


def export_tool(tool: Tool) -> ListedTool:
    """Return *tool* as our server lists it; only its id if its schema is too deep."""
    try:
        return _export_whole(tool)
    except RecursionError:
        return ListedTool({"name": tool.id, "inputSchema": {"type": "object"}})


def _export_whole(tool: Tool) -> ListedTool:
    schema: JsonObject = {**_strict(tool.input_schema), "type": "object"}
    wire: JsonObject = {}
    for key, one in tool.listed.items():  # members that mcpg does not read
        # A tool that makes clients refuse the whole list is left out.
        with suppress(ValidationError):
            McpTool.model_validate({"name": tool.id, "inputSchema": {}, key: one})
            wire[key] = one
    wire |= {"name": tool.id, "inputSchema": schema}
    if tool.title:
        wire["title"] = tool.title
    if tool.description:
        wire["description"] = tool.description
    title = tool.annotations.get("title")
    annotations: JsonObject = {
        **{key: one for key, one in tool.annotations.items() if key not in _READ_ANNOTATIONS},
        **annotations_json(tool),  # as hints resolve them; lists have hints in `_meta`
        **({"title": title} if isinstance(title, str) else {}),
    }
    if annotations:
        wire["annotations"] = annotations
    wire["_meta"] = _describe_origin(tool)
    output, is_wrapped = output_schema(tool.output_schema)
    if output is not None:
        wire["outputSchema"] = output
    wire = _limit_size(wire)
    if output is None or "outputSchema" not in wire:
        return ListedTool(wire)
    return ListedTool(wire, is_wrapped, bounded_validator(output))


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
    """Return *schema* for strict clients: with schemas as properties."""
    kept = {**schema}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        # `false` allows nothing; an invalid schema, everything.
        kept["properties"] = {
            name: one if isinstance(one, dict) else {"not": {}} if one is False else {}
            for name, one in properties.items()
        }
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


def _is_sound(schema: JsonObject) -> bool:
    """Return whether a schema can be used, by us and by clients."""
    if not isinstance(schema.get("$schema", ""), str) or bounded_validator(schema) is None:
        return False
    try:
        if not are_patterns_valid(schema):
            return False
        references = [*_references(schema)]
        for reference in references:
            find_schema_part(schema, reference)
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


def _describe_origin(tool: Tool) -> JsonObject:
    """Return `_meta`: the tool's, with our hints instead of its own, and its origin."""
    known = {name for name in HINT_FIELDS if getattr(tool.hints, name) not in ((), None)}
    replaced = {key for name in known for key in HINT_FIELDS[name].keys}
    kept: JsonObject = {key: value for key, value in tool.meta.items() if key not in replaced}
    origin: JsonObject = {key: kept[key] for key in _ORIGIN if key in kept}
    if origin:
        # The tool comes from another gateway: keep its metadata.
        kept["behind"] = {**origin, **({"behind": kept["behind"]} if "behind" in kept else {})}
    kept |= {"toolId": tool.id, "toolName": tool.name, "sourceId": tool.source_id}
    return hints_json(tool.hints) | kept


def _limit_size(wire: JsonObject) -> JsonObject:
    wire = repair_value(wire)
    schema = wire["inputSchema"]
    if size(wire) <= _LARGEST or not isinstance(schema, dict):
        return wire
    rest = {key: value for key, value in wire.items() if key != "outputSchema"}
    for less in prune_schema(schema):
        shorter: JsonObject = {**rest, "inputSchema": {**_strict(less), "type": "object"}}
        if size(shorter) <= _LARGEST:
            return shorter
    return {"name": wire["name"], "inputSchema": {"type": "object"}}


# The largest found and pinned tools and the meta-tools fit, so that their lists have one page.
_PAGE_BYTES = (MOST_FOUND + MOST_PINNED + 1) * _LARGEST
_READS: JsonObject = dict(zip(TYPED_ANNOTATIONS, (True, False, True, False), strict=True))
_ACTS: JsonObject = dict(zip(TYPED_ANNOTATIONS, (False, True, False, True), strict=True))


@dataclass(frozen=True)
class VisibleTools:
    """The tools that clients see.

    Attributes:
        meta: The meta-tools as `tools/list` has them, by name.
        tools: The direct tools, if they are shown: all in order of id, or pinned and found ones.
    """

    meta: dict[str, JsonObject] = field(default_factory=dict)
    tools: dict[str, ListedTool] = field(default_factory=dict)

    @cached_property
    def print(self) -> int:
        """Hash of the list, valid within the process."""
        return hash(tuple(encode_json(one) for one in self._list_after(None)))

    def page(self, cursor: str | None) -> tuple[list[JsonObject], str | None]:
        """Return the tools after *cursor*, and the cursor of the next page.

        Raises `LookupError` if the cursor is invalid.
        """
        named = ((str(one["name"]), one) for one in self._list_after(cursor))
        return cut_page(named, _PAGE_BYTES)

    def input_schema(self, name: str) -> JsonObject | None:
        wire = self.meta.get(name) or (self.tools[name].wire if name in self.tools else {})
        schema = wire.get("inputSchema")
        return schema if isinstance(schema, dict) else None

    def _list_after(self, cursor: str | None) -> Iterator[JsonObject]:
        if cursor is None:
            yield from self.meta.values()
            yield from (tool.wire for tool in self.tools.values())
            return
        last = cursor.removeprefix(AFTER)
        if not cursor.startswith(AFTER) or not last:
            raise LookupError(cursor)
        # The meta-tools are fewer than a page.
        for name, tool in self.tools.items():
            if name > last or last in self.meta:
                yield tool.wire


_OF_FOUND = (serve.SEARCH, serve.DESCRIBE, serve.INVOKE, serve.READ)


def _is_of_use(name: str, context: InstructionsContext, kinds: Collection[str]) -> bool:
    if name == serve.READ:  # results that are cut are read like resources
        return context.can_call or "resources" in kinds
    if name in (serve.PROMPT, serve.READ_SKILL):
        return ("prompts" if name == serve.PROMPT else "skills") in kinds
    return name != serve.INVOKE or context.can_call


def meta_tools(
    context: InstructionsContext, serving: ServingOptions, kinds: Collection[str] = ()
) -> dict[str, JsonObject]:
    """Return the meta-tools as `tools/list` has them, by name.

    The gateway has items of the *kinds*, among `prompts`, `resources` and `skills`.
    """
    everyday = _OF_FOUND if serving.expose is Exposure.FOUND else serve.EVERYDAY
    graph = serve.GRAPH_TOOLS if serving.graph_tools else ()
    own: dict[str, JsonObject] = {}
    for name in (*everyday, serve.PROMPT, serve.READ_SKILL, *graph):
        if not _is_of_use(name, context, kinds):
            continue
        annotations = _ACTS if name == serve.INVOKE else _READS
        if name == serve.GRAPH_SEARCH and serving.endpoints:
            annotations = {**annotations, "openWorldHint": True}
        own[name] = {
            "name": name,
            "title": TITLES[name],
            "description": description(name, context),
            "inputSchema": INPUTS[name],
            "annotations": annotations,
            **({"outputSchema": OUTPUTS[name]} if name in OUTPUTS else {}),
        }
    if "skills" in kinds:
        for member, more in (("inputSchema", KINDS), ("outputSchema", FOUND_SKILLS)):
            schema: Any = own[serve.SEARCH][member]
            own[serve.SEARCH][member] = {**schema, "properties": {**schema["properties"], **more}}
    return own | {one.item.name: wire_tool(one.item) for one in serving.plugin_tools}


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """A state of the catalog.

    Attributes:
        snapshot: Its snapshot, `None` before the sources have been read.
        context: Facts for instructions and descriptions.
        listing: The tools that clients see, unless they have found tools.
        primitives: The index of prompts and resources, `None` before they have been listed.
        exported: The entries made so far of tools that clients see once they have found them;
            `None` if found tools are not listed.
        diagnostics: Pinned tools that cannot be listed.
    """

    snapshot: Snapshot | None
    context: InstructionsContext
    listing: VisibleTools
    primitives: PrimitiveIndex | None = None
    exported: dict[str, ListedTool | None] | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def find(self, tool_id: str) -> Tool | None:
        return self.snapshot.catalog.get(tool_id) if self.snapshot is not None else None

    def source_ids(self, names: Iterable[str]) -> list[str]:
        """Return the ids of the sources called *names*, as descriptions write them or in full.

        Unknown names stay as they are.
        """
        named = [*names]
        if self.snapshot is None or not named:
            return named
        ids = self.snapshot.engine.index.source_ids
        # Descriptions name a server as the configuration does; its tools may differ.
        owners = self.snapshot.built.owners.items()
        written = {source_name(owner.id).casefold(): key[0] for key, owner in owners}
        written |= {source_name(one).casefold(): one for one in ids}
        full = {one.casefold() for one in ids}
        return [
            one if one.casefold() in full else written.get(one.casefold(), one) for one in named
        ]

    def direct(self, name: str) -> ListedTool | None:
        """Return the tool that clients may call by its own *name*, `None` if there is none."""
        if self.exported is None or self.snapshot is None:
            return self.listing.tools.get(name)
        tool = self.snapshot.catalog.get(name)
        if tool is None or tool.id != name:
            return None
        if name not in self.exported:
            is_shown = tool.enabled and self.snapshot.can_call(tool)
            self.exported[name] = export_tool(tool) if is_shown else None
        return self.exported[name]

    def can_list(self, name: str) -> bool:
        """Return whether a tool of this *name* can be listed once it is found."""
        return name in self.listing.meta or self.direct(name) is not None

    def make_listing(self, found: Iterable[str]) -> VisibleTools:
        """Return the tools that a client sees after its searches have *found* some."""
        known, context = self.listing.meta, self.context
        hidden = {serve.READ, serve.PROMPT, *((serve.DESCRIBE,) if context.can_call else ())}
        first: dict[str, JsonObject] = {}
        for name, wire in known.items():
            if name in serve.META_TOOLS and name not in hidden:
                first[name] = {**wire, "description": description(name, context, Exposure.FOUND)}
            elif name not in hidden:
                first[name] = wire
        shown = {**self.listing.tools}  # the pinned tools
        for name in found:
            tool = ListedTool(known[name]) if name in known else self.direct(name)
            if tool is not None and name not in shown:
                shown[name] = tool
        return VisibleTools(first, shown)


class Catalogue:
    """The latest state of a gateway's catalog.

    Attributes:
        known: The last computed state.
    """

    def __init__(self, gateway: Gateway, serving: ServingOptions) -> None:
        self._gateway = gateway
        self._serving = serving
        self._lock = anyio.Lock()
        self._stated: tuple[Tool, ...] | None = None
        self._early: CatalogueState | None = None
        self.known = self._make_first_state(())

    async def latest(self) -> CatalogueState:
        """Return the current state, after the sources have been read once."""
        if self._stated is None:  # before waiting for servers
            await self._read_stated()
        snapshot = await self._gateway.snapshot()
        if self._is_known(snapshot):
            return self.known
        async with self._lock:
            if not self._is_known(snapshot):
                self.known = await anyio.to_thread.run_sync(self._compute_state, snapshot)
                self._early = None
        return self.known

    async def early(self) -> CatalogueState:
        """Return the state for a search, which does not wait for servers with known tools."""
        snapshot = await self._gateway.early_snapshot()
        if snapshot is None:
            return await self.latest()
        async with self._lock:
            if self._early is None or self._early.snapshot is not snapshot:
                self._early = await anyio.to_thread.run_sync(self._compute_state, snapshot)
        return self._early

    async def _read_stated(self) -> None:
        async with self._lock:
            if self._stated is None:
                self._stated = await anyio.to_thread.run_sync(self._gateway.read_graph)
                work = partial(self._make_first_state, self._stated)
                self.known = await anyio.to_thread.run_sync(work)

    async def within(self, seconds: float) -> CatalogueState:
        """Return the current state, or after *seconds* the previous one."""
        with anyio.move_on_after(seconds):
            return await self.latest()
        return self.known

    async def listing(self, known: CatalogueState, view: ClientView) -> VisibleTools:
        if view.found is None or self._serving.expose is not Exposure.FOUND:
            return known.listing
        work = partial(known.make_listing, tuple(view.found))
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    async def direct(self, name: str) -> ListedTool | None:
        known = await self.latest()
        if known.exported is None:
            return known.direct(name)
        return await anyio.to_thread.run_sync(known.direct, name, abandon_on_cancel=True)

    def _is_known(self, snapshot: Snapshot) -> bool:
        return self.known.snapshot is snapshot and not self._is_stale(self.known.primitives)

    def _is_stale(self, primitives: PrimitiveIndex | None) -> bool:
        directory = self._gateway.primitives.directory
        return directory is not NOTHING and (
            primitives is None or primitives.directory is not directory
        )

    def _make_first_state(self, stated: tuple[Tool, ...]) -> CatalogueState:
        """Return the state before sources are read; the graph defines the *stated* tools."""
        context = self._describe(stated)
        return CatalogueState(None, context, VisibleTools(meta_tools(context, self._serving)))

    def _describe(self, tools: Iterable[Tool], *, is_whole: bool = False) -> InstructionsContext:
        """Return the facts on *tools* from files, and on others unless these are all."""
        about, can_call = self._serving.about, has_runnable(self._gateway.sources)
        names = () if is_whole else self._gateway.sure_names
        return InstructionsContext.make(tools, names, can_call=can_call, about=about)

    def _find_pinned(self, snapshot: Snapshot) -> tuple[list[Tool], tuple[Diagnostic, ...]]:
        """Return the pinned tools, and diagnostics of pinned tools that cannot be listed."""
        found: dict[str, Tool] = {}
        noticed: list[Diagnostic] = []
        for name in self._serving.pins:
            tool = snapshot.find(name)
            if isinstance(tool, Fault):
                advice = f" ({tool.remedy})" if tool.remedy else ""
                noticed.append(warning(_UNLISTED, f"{tool.message}{advice}", _PIN))
            elif tool.enabled and snapshot.can_call(tool):
                found[tool.id] = tool
            else:
                reason = "cannot be called" if tool.enabled else "is disabled"
                noticed.append(warning(_UNLISTED, f"the tool {tool.id!r} {reason}", _PIN))
        return [*found.values()], tuple(noticed)

    def _compute_state(self, snapshot: Snapshot) -> CatalogueState:
        tools = tuple(tool for tool in snapshot.catalog.tools if tool.enabled)
        is_static = not self._gateway.primitives.servers
        context = self._describe(tools if is_static else self._stated or (), is_whole=is_static)
        primitives = self.known.primitives
        if self._is_stale(primitives):
            primitives = PrimitiveIndex(self._gateway.primitives.directory)
        kinds = primitives.kinds if primitives is not None else frozenset[str]()
        kinds |= {"skills"} if has_skills(snapshot.engine) else frozenset()
        direct, noticed = self._find_pinned(snapshot)
        if self._serving.expose is Exposure.ALL:
            direct = [*filter(snapshot.can_call, tools)]
        shown = {tool.id: export_tool(tool) for tool in direct}
        listing = VisibleTools(meta_tools(context, self._serving, kinds), shown)
        exported: dict[str, ListedTool | None] = {}
        is_found = self._serving.expose is Exposure.FOUND
        return CatalogueState(
            snapshot, context, listing, primitives, exported if is_found else None, noticed
        )
