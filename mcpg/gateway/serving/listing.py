"""What a client sees: the list of tools, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mcpg.gateway.serving import names
from mcpg.gateway.serving.behind import Behind, description
from mcpg.gateway.serving.exported import Exported, exported
from mcpg.gateway.serving.metaschemas import INPUTS, OUTPUTS
from mcpg.gateway.serving.options import Exposure
from mcpg.gateway.serving.wording import size, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpg.catalog.model import Tool
    from mcpg.gateway.serving.options import Serving
    from mcpg.jsontypes import JsonObject

_PAGE_TOOLS = 200
_PAGE_BYTES = 1 << 20
_AFTER = "after:"
_TITLES = {
    names.SEARCH: "Find tools",
    names.ROUTE: "Overview of tools by category",
    names.DESCRIBE: "Describe a tool",
    names.INVOKE: "Call a tool",
    names.GRAPH_SCHEMA: "Describe the graph of tools",
    names.GRAPH_SEARCH: "Search the graph of tools",
    names.GRAPH_EXPORT: "Export the graph of tools",
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
        tools: The tools behind, where they are shown, in order of id.
    """

    meta: dict[str, JsonObject] = field(default_factory=dict)
    tools: dict[str, Exported] = field(default_factory=dict)

    @cached_property
    def print(self) -> int:
        """A number that differs when the list does, for as long as the process lives."""
        return hash(tuple(written(one) for one in self._all()))

    def page(self, cursor: str | None) -> tuple[list[JsonObject], str | None]:
        """Give the tools after *cursor*, and the cursor of the next page.

        A cursor names the last tool that was given, so that it stays good when tools come and go.

        Raises:
            LookupError: No page has such a cursor.
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
        """Give the input schema of a tool as clients see it, `None` for other names."""
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


def listing_of(tools: Iterable[Tool] | None, behind: Behind, serving: Serving) -> Listing:
    """Give what clients see.

    Args:
        tools: The enabled tools in order of id, `None` while the sources are still being asked.
        behind: What is told of them.
        serving: Which of them are shown.
    """
    shown = (*names.EVERYDAY, *(names.GRAPH_TOOLS if serving.graph_tools else ()))
    meta = {name: _meta_tool(name, behind, serving) for name in shown}
    if serving.expose is Exposure.META or tools is None:
        return Listing(meta)
    return Listing(meta, {tool.id: exported(tool) for tool in tools})


def _meta_tool(name: str, behind: Behind, serving: Serving) -> JsonObject:
    annotations = _ACTS if name == names.INVOKE else _READS
    if name == names.GRAPH_SEARCH and serving.endpoints:
        annotations = {**annotations, "openWorldHint": True}
    wire: JsonObject = {
        "name": name,
        "title": _TITLES[name],
        "description": description(name, behind),
        "inputSchema": INPUTS[name],
        "annotations": annotations,
    }
    return {**wire, "outputSchema": OUTPUTS[name]} if name in OUTPUTS else wire
