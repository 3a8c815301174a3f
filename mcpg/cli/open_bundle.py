"""From settings to an engine, or to the tools alone where the graph cannot be had."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.cli.folders import cache_folder
from mcpg.cli.output import Output
from mcpg.cli.providers import Equipping
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import standard_input
from mcpg.errors import Code, Diagnostic, McpgError, error
from mcpg.evaluation.judged import parse_judged, read_judged
from mcpg.files import MAX_BYTES
from mcpg.gateway.json import card_json, diagnostics_json, hints_json, score_json
from mcpg.relations.model import EdgeKind
from mcpg.values import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.engine import Engine
    from mcpg.evaluation.judged import Judgements
    from mcpg.json_types import JsonObject
    from mcpg.relations.model import EdgeOrigin
    from mcpg.sources import SourceBatch


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tool at the other end of an edge.

    Attributes:
        kind: What the edge says.
        tool_id: Id of the tool, `None` where no tool of the catalogue has the URI.
        uri: URI of its document.
        weight: Strength of the edge in (0, 1].
        reason: Why, for people; "" when nobody says.
        origin: Who says so.
    """

    kind: EdgeKind
    tool_id: str | None
    uri: str
    weight: float
    reason: str
    origin: EdgeOrigin

    @property
    def name(self) -> str:
        return self.tool_id or self.uri


@dataclass(frozen=True, slots=True)
class Card:
    """One tool and its place in the graph.

    Attributes:
        tool: The tool.
        document: Its document, `None` where there is no graph.
        text: The document as it stands in a bundle, "" where there is none.
        neighbours: The tools that its edges lead to, in the document's order.
    """

    tool: Tool
    document: ToolDocument | None = None
    text: str = ""
    neighbours: tuple[Neighbour, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        return self.document.groups if self.document else ()


@dataclass(frozen=True, slots=True)
class Opened:
    """The tools, and of the graph as much as could be had.

    Attributes:
        catalog: The tools.
        documents: Documents by tool id.
        texts: Text of each document by path.
        diagnostics: What loading noticed.
    """

    catalog: Catalog
    documents: Mapping[str, ToolDocument] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.catalog.tools

    def card(self, name: str) -> Card:
        """Give the card of the tool called *name*: an id, `source::name` or a raw name.

        Raises:
            NotFoundError: No tool is called so, or several are.
        """
        tool = self.catalog.named(name)
        document = self.documents.get(tool.id)
        if document is None:
            return Card(tool)
        by_uri = {one.uri: tool_id for tool_id, one in self.documents.items()}
        neighbours = tuple(
            Neighbour(
                link.kind,
                by_uri.get(link.target),
                link.target,
                link.weight,
                link.reason,
                link.origin,
            )
            for link in document.links
        )
        return Card(tool, document, self.texts.get(document.path, ""), neighbours)


def settings_of(**flags: Any) -> Settings:
    """Return the settings of this run: *flags* first, then environment and files."""
    return Settings(Path.cwd(), os.environ, flags)


def open_engine(settings: Settings, output: Output, *, is_cached: bool = True) -> Engine:
    """Load what the settings name.

    Args:
        settings: The settings.
        output: Where progress is shown.
        is_cached: Whether searches may be answered from a cache.

    Raises:
        McpgError: Nothing is named or found, or what is there cannot be used.
    """
    from mcpg.engine import load  # noqa: PLC0415 - help and completion need no engine

    equipping = Equipping(settings)
    arguments = equipping.arguments()
    if not is_cached:
        arguments.pop("cache", None)
    engine = load(_paths(settings, output), cache_dir=cache_folder(), **arguments)
    engine.diagnostics = (*engine.diagnostics, *equipping.noticed())
    return engine


def open_catalog(settings: Settings, output: Output = Output(quiet=True)) -> Opened:
    """Read the tools that the settings name, and their graph.

    Where the graph cannot be made, the tools of manifests are given alone, with a diagnostic.

    Raises:
        McpgError: Nothing is named or found, or what is there holds no tool that can be used.
    """
    from mcpg.bundle import assemble  # noqa: PLC0415 - as above

    batch = open_sources(settings, output)
    try:
        assembly = assemble(batch)
    except McpgError as fault:
        return _tools_alone(batch, fault)
    return Opened(
        assembly.catalog,
        {document.tool.id: document for document in assembly.documents},
        {text.path: text.content for text in assembly.texts},
        assembly.diagnostics,
    )


def open_sources(settings: Settings, output: Output) -> SourceBatch:
    """Read the sources that the settings name, as they stand.

    Raises:
        McpgError: Nothing is named or found, or a file cannot be used.
    """
    from mcpg.sources import present_sources, read_sources  # noqa: PLC0415 - as above

    present, missing = present_sources(_paths(settings, output))
    batch = read_sources(present)
    return replace(batch, diagnostics=(*missing, *batch.diagnostics))


def _tools_alone(batch: SourceBatch, fault: McpgError) -> Opened:
    from mcpg.catalog.catalog import build_catalog  # noqa: PLC0415

    if not batch.tools:
        raise fault
    catalog = build_catalog(batch.tools, batch.rules)
    advice = f"; {fault.remedy}" if fault.remedy else ""
    noticed = error(
        Code.GRAPH_UNAVAILABLE, f"the graph cannot be made: {fault.message}{advice}", fault.place
    )
    return Opened(catalog, diagnostics=(*batch.diagnostics, *catalog.diagnostics, noticed))


def _paths(settings: Settings, output: Output) -> list[str]:
    found = settings.bundles()
    for one in found:
        output.detail(f"loading {one.value} ({one.origin})")
    return [str(one.value) for one in found]


# SECTION judgedfile: Judged queries from a file or from standard input.


STDIN = "-"


def judgements_of(path: str) -> Judgements:
    """Read the judged queries at *path*; `-` is standard input.

    Raises:
        McpgError: There is no such file, or no query in it can be used.
    """
    if path == STDIN:
        # One byte more than is accepted, so that too much is noticed without reading it all.
        return parse_judged(standard_input(MAX_BYTES + 1), "standard input")
    return read_judged(path)


# SECTION jsonview: Tools as the JSON objects that `list` and `show` print.


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
    return to_json(neighbour, without=["kind"]) | {"weight": score_json(neighbour.weight)}


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
