"""From settings to an engine, or without a graph only to the tools."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpg.catalog.view import ToolView
from mcpg.cli.environment import cache_folder
from mcpg.cli.output import Output
from mcpg.cli.settings import PUBLISHED, Settings
from mcpg.cli.terminal import standard_input
from mcpg.errors import Code, Diagnostic, McpgError, NotFoundError, error
from mcpg.files import MAX_BYTES, present_paths
from mcpg.index.file import add_section, fresh_index
from mcpg.index.layout import ABSENT, SUMMARY_LENGTH, StaleIndexError
from mcpg.index.tables import Section
from mcpg.search.model import pack_notices, read_notices, recipe
from mcpg.search.scope import filter_index, filter_tools
from mcpg.text.json_values import JsonObject
from mcpg.values import Answer, to_json

if TYPE_CHECKING:  # a list of the tools of an index needs no more
    from mcpg.catalog.catalog import Catalog
    from mcpg.catalog.model import Tool
    from mcpg.documents.model import ToolDocument
    from mcpg.engine import Engine
    from mcpg.evaluation.judged import Judgements
    from mcpg.index.reader import Index
    from mcpg.sources import SourceBatch


@dataclass(frozen=True, slots=True)
class IndexedBundle:
    """The index of a bundle."""

    index: Index
    path: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def size(self) -> int:
        return len(self.index)

    def list_filtered(
        self, limit: int | None, filters: Mapping[str, Any]
    ) -> tuple[Sequence[IndexedTool], tuple[Diagnostic, ...]]:
        """Return at most *limit* tools that pass the *filters* of a search, with diagnostics.

        They are in the order of their ids.
        """
        if not filters:
            return self._tools(range(self.size)[:limit]), ()
        numbers, noticed = filter_index(self.index, **filters)
        return self._tools(numbers[:limit]), noticed

    def _tools(self, numbers: Sequence[int]) -> list[IndexedTool]:
        cards = self.index.cards(numbers)
        return [
            IndexedTool(self.index, number, *card)
            for number, card in zip(numbers, cards, strict=True)
        ]

    def find_number(self, name: str) -> int:
        """Return the number of the only tool that *name* means, as `Catalog.named` finds it."""
        number = self.index.find_tool(name.strip().casefold())
        if number != ABSENT:
            return number
        from mcpg.catalog.catalog import ToolLookup  # noqa: PLC0415 - most names are ids

        return self.index.find_tool(ToolLookup(self._tools(range(self.size))).find_named(name).id)

    def document(self, number: int) -> ToolDocument:
        """Return the document of a tool, with its place in the bundle."""
        document = self.index.record(number)
        place = f"{self.path}: documents[{self.index.place(number)}]"
        return replace(document, tool=replace(document.tool, place=place))

    def server(self, number: int) -> list[Tool]:
        """Return the tools of the server of a tool, in the order of their ids."""
        sources = self.index.find_source_numbers(range(len(self.index)))
        same = (other for other, source in enumerate(sources) if source == sources[number])
        return [self.index.record(other).tool for other in same]


def from_index(paths: Sequence[str], answer: Callable[[IndexedBundle], Answer]) -> Answer | None:
    """Return the result of *answer* for the bundle at the only path of *paths*.

    Returns:
        The answer; `None` if the index is missing, stale or damaged.
    """
    if len(paths) != 1:
        return None
    index = fresh_index(paths[0], recipe(), cache_folder())
    if index is None:
        return None
    try:
        if not index.is_checked:
            index.verify(records=False)
        noticed = read_notices(index, paths[0])
        return None if noticed is None else answer(IndexedBundle(index, paths[0], noticed))
    except (StaleIndexError, TypeError, ValueError):
        return None


@dataclass(slots=True)
class IndexedTool:
    """A tool of an index, as lists show it; its summary is the beginning of its description."""

    _index: Index
    _number: int
    id: str
    source_id: str
    name: str
    display_name: str
    summary: str
    enabled: bool

    @property
    def description(self) -> str:
        # The rest is in the record, which takes longer.
        return self.summary if len(self.summary) < SUMMARY_LENGTH else self.view().description

    @property
    def input_schema(self) -> JsonObject:
        return self.view().input_schema

    def view(self) -> ToolView:
        return self._index.view(self._number)

    def to_dict(self) -> JsonObject:
        """Return the tool's record of `mcpg list`."""
        view = self.view()
        return view.card | view.hints


@dataclass(frozen=True, slots=True)
class OpenedBundle:
    """The tools, and of the graph as much as could be had.

    Attributes:
        bundled: Paths of the documents that were read from bundles.
    """

    catalog: Catalog
    documents: Mapping[str, ToolDocument]
    texts: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...] = ()
    bundled: frozenset[str] = frozenset()

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.catalog.tools

    @property
    def size(self) -> int:
        return len(self.tools)

    def list_filtered(
        self, limit: int | None, filters: Mapping[str, Any]
    ) -> tuple[Sequence[Tool], tuple[Diagnostic, ...]]:
        """Return at most *limit* tools that pass the *filters* of a search, with diagnostics."""
        if not filters:
            return self.tools[:limit], ()
        found, noticed = filter_tools(self.tools, **filters)
        return found[:limit], noticed


def read_settings(**flags: Any) -> Settings:
    """Return the settings of this run: *flags* first, then environment and files."""
    return Settings(Path.cwd(), os.environ, flags)


def read_chosen_settings(chosen: Any) -> Settings:
    """Return the settings of this run, first those among the options *chosen*, a dataclass."""
    return read_settings(**{one.name: getattr(chosen, one.name) for one in fields(chosen)})


def open_engine(settings: Settings, output: Output, *, is_cached: bool = True) -> Engine:
    """Load the bundles or sources that the settings name."""
    from mcpg.cli.providers import POSTGRES, ServiceFactory  # noqa: PLC0415 - lists of tools need none
    from mcpg.engine.loading import load  # noqa: PLC0415 - as above

    factory = ServiceFactory(settings)
    arguments = factory.arguments()
    named = settings.find("bundle")
    if named is not None and named.value in (PUBLISHED, [PUBLISHED]):
        services = {name: arguments.get(name) for name in ("observer", "reranker")}
        opened: Engine = factory.make("catalog", POSTGRES, cache_dir=cache_folder(), **services)
        return opened
    if not is_cached:
        arguments.pop("cache", None)
    engine = load(find_bundle_paths(settings, output), cache_dir=cache_folder(), **arguments)
    engine.diagnostics = (*engine.diagnostics, *factory.find_diagnostics())
    return engine


def open_other(
    path: str, place: str, settings: Settings, output: Output, *, is_cached: bool = True
) -> Engine:
    """Load the catalog at *path*, which the option or argument *place* names."""
    other = Settings(settings.folder, settings.environment, {**settings.flags, "bundle": [path]})
    try:
        return open_engine(other, output, is_cached=is_cached)
    except NotFoundError as fault:
        raise NotFoundError(fault.message, place=place, remedy=fault.remedy) from fault


def open_catalog(
    settings: Settings, output: Output = Output(quiet=True), *, texts: bool = False
) -> OpenedBundle:
    """Read the tools that the settings name, and their graph.

    The fresh index of a bundle is read instead of the bundle, once the diagnostics of the bundle
    are known. If the graph cannot be made, only the tools of manifests are returned, with a
    diagnostic. An index lacks the *texts* of documents.
    """
    paths = find_bundle_paths(settings, output)
    if not texts and (opened := from_index(paths, _list_indexed)) is not None:
        return opened
    from mcpg.bundle import assemble  # noqa: PLC0415 - as above

    batch = _read(paths)
    try:
        assembly = assemble(batch)
    except McpgError as fault:
        return _tools_alone(batch, fault)
    if len(paths) == 1:
        opening = pack_notices(paths[0], assembly.diagnostics)
        add_section(paths[0], opening, recipe(), cache_folder())
    bundled = {item.place for item in assembly.read if item.is_bundled}
    return OpenedBundle(
        assembly.catalog,
        {document.tool.id: document for document in assembly.documents},
        {text.path: text.content for text in assembly.texts},
        assembly.diagnostics,
        frozenset(text.path for text in assembly.texts if text.place in bundled),
    )


def _list_indexed(bundle: IndexedBundle) -> OpenedBundle:
    from mcpg.catalog.catalog import Catalog  # noqa: PLC0415 - few lists are of whole tools

    index = bundle.index
    documents = [index.record(number) for number in range(len(index))]
    # A bundle has its documents in the order of their paths.
    paths = sorted(document.path for document in (*documents, *index.pages()))
    places = {name: f"{bundle.path}: documents[{number}]" for number, name in enumerate(paths)}
    placed = [
        replace(document, tool=replace(document.tool, place=places[document.path]))
        for document in documents
    ]
    tools = tuple(document.tool for document in placed)
    by_id = {document.tool.id: document for document in placed}
    return OpenedBundle(Catalog(tools), by_id, {}, bundle.diagnostics)


def open_sources(settings: Settings, output: Output) -> SourceBatch:
    """Read the sources that the settings name, as they are."""
    return _read(find_bundle_paths(settings, output))


def _read(paths: list[str]) -> SourceBatch:
    from mcpg.engine.loading import with_graphs_read  # noqa: PLC0415 - as above
    from mcpg.sources import read_sources  # noqa: PLC0415 - as above

    present, missing = present_paths(paths)
    batch = with_graphs_read(read_sources(present))
    return replace(batch, diagnostics=(*missing, *batch.diagnostics))


def _tools_alone(batch: SourceBatch, fault: McpgError) -> OpenedBundle:
    from mcpg.catalog.catalog import build_catalog  # noqa: PLC0415 - as above

    if not batch.tools:
        raise fault
    catalog = build_catalog(batch.tools, batch.rules)
    advice = f"; {fault.remedy}" if fault.remedy else ""
    noticed = error(
        Code.GRAPH_UNAVAILABLE, f"the graph cannot be made: {fault.message}{advice}", fault.place
    )
    return OpenedBundle(catalog, {}, {}, (*batch.diagnostics, *catalog.diagnostics, noticed))


def find_bundle_paths(settings: Settings, output: Output) -> list[str]:
    """Return the bundles, folders and manifests that the settings name."""
    found = settings.bundles()
    for one in found:
        output.detail(f"loading {one.value} ({one.origin})")
    return [str(one.value) for one in found]


STDIN = "-"


def load_judgements(path: str) -> Judgements:
    """Read the judged queries at *path*; `-` is standard input."""
    from mcpg.evaluation.judged import parse_judged, read_judged  # noqa: PLC0415 - as above

    if path == STDIN:
        # One byte more than is accepted, so that too much is noticed without reading it all.
        return parse_judged(standard_input(MAX_BYTES + 1), "standard input")
    return read_judged(path)


_SECTION = "lastrun"


@dataclass(frozen=True, slots=True)
class BuildStamp:
    """A record of a build and its sources.

    Attributes:
        signature: Signature of the sources; empty when they have none, or when a warning about
            them is to be repeated every time.
        noticed: Number of diagnostics.
        report: The facts that were reported about the bundle.
        files: Signature of all that is in files, among it how servers are reached; empty when the
            sources have none, or when one of them failed.
    """

    signature: str
    noticed: int
    report: Mapping[str, Any]
    files: str = ""

    def section(self) -> Section:
        return Section(_SECTION, "B", json.dumps(to_json(self)).encode())


def build_stamp(bundle: str) -> BuildStamp:
    """Return the stamp in the index beside *bundle*, which is checked as a whole.

    It is empty if the index is missing, stale, damaged or made by something else.
    """
    index = fresh_index(bundle, recipe())
    try:
        if index is not None:
            index.verify()
            return BuildStamp(**json.loads(bytes(index.section(_SECTION))))
    except (StaleIndexError, TypeError, ValueError):
        pass
    return BuildStamp("", 0, {})
