"""The index of a gateway: built from its sources' tools, and from documents made elsewhere.

A source or graph that fails becomes a diagnostic, not an error: the build falls back on earlier
results, all other sources, or generated documents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from anyio import from_thread

from mcpg.bundle import Assembly, assemble
from mcpg.bundle.codec import decode_bundle
from mcpg.bundle.metadata import collect_definitions, definitions_in
from mcpg.caching.build_cache import StoredBuildCache
from mcpg.catalog.catalog import Catalog, assign_ids, build_catalog
from mcpg.catalog.definitions import Key
from mcpg.catalog.model import Hints, SourceDocument, Tool
from mcpg.documents.model import ToolDocument
from mcpg.engine.engine import Engine
from mcpg.engine.loading import compile_assembly, load, with_graphs_read
from mcpg.errors import Code, Diagnostic, McpgError, error, info, warning
from mcpg.files import exists
from mcpg.gateway.registry import (
    CustomDocuments,
    DocumentSource,
    GeneratedDocuments,
    ReviewedDocuments,
    SourceReading,
)
from mcpg.gateway.views import (
    ItemKind,
    ShownItems,
    View,
    drop_broken_links,
    is_shown_whole,
    name_server,
    narrow_batch,
    report_unmatched,
)
from mcpg.index.reader import Index
from mcpg.review.lock import lock_changes
from mcpg.review.lock_sources import (
    NO_REVIEW,
    OnChange,
    ReviewedGraph,
    ReviewOutcome,
    ToolLock,
    leave_out_unapproved,
    nothing_reviewed,
    review_locked_tools,
    review_tools,
    stated_in,
)
from mcpg.search.results import DEFAULT_LIMIT, NONE, EngineServices
from mcpg.skills.pages import ENTRY_TYPE as SKILL_PAGE
from mcpg.skills.pages import SOURCE
from mcpg.sources import read_sources
from mcpg.sources.listings import CATALOG_KEY
from mcpg.sources.listings import ENTRY_TYPE as LISTING_PAGE
from mcpg.sources.model import PYTHON, SourceBatch
from mcpg.sources.registry import FileSource, Source, runs_tools

_ICONS = "icons"
_OF_TOOLS = frozenset(
    (Code.DUPLICATE_TOOL_ID, Code.DUPLICATE_TOOL_NAME, Code.TOOL_REPEATED, Code.HINT_UNTRUSTED)
)
"""Diagnostics that concern only the tools that they name."""

_OWNERS = {LISTING_PAGE: CATALOG_KEY, SKILL_PAGE: SOURCE}
"""Keys of pages with the name of the server that has the page's items."""

_FALLBACK = "the tools of the sources are searched without it"


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """The specification of an index.

    Attributes:
        graph: The source of the documents.
        reserved: Ids that no tool may get, in any case.
        cache_dir: Folder for the indexes of bundles in read-only folders.
        limit: Default maximum number of matches of a search.
        earlier: Tools with the ids that they had before, and keep.
        lock: Definitions that tools must match, `None` for none.
        shown: The tools that a view shows, `None` for everything.
        left_out: Names of sources that are left out because no view shows them.
    """

    graph: DocumentSource
    reserved: Collection[str] = ()
    services: EngineServices = NONE
    cache_dir: str | None = None
    limit: int = DEFAULT_LIMIT
    earlier: tuple[Tool, ...] = ()
    lock: ToolLock | None = None
    shown: ShownItems | None = None
    left_out: Collection[str] = ()

    def load(self, path: str, source_id: str | None = None) -> Engine:
        """Open the bundle or source at *path*, through its compiled index if it has one."""
        held = self.services
        return load(
            path,
            source_id=source_id,
            cache_dir=self.cache_dir,
            limit=self.limit,
            embeddings=held.embeddings,
            store=held.store,
            rewriter=held.rewriter,
            cache=held.cache,
            candidates=held.candidates,
            observer=held.observer,
        )


class UnusableGraphError(Exception):
    """The documents of a graph are unavailable, for the reason in its *diagnostic*."""

    def __init__(self, code: str, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = error(code, f"{message}: {_FALLBACK}", place)


def matching_engine(
    graph: ReviewedDocuments | CustomDocuments, catalog: Catalog, plan: IndexSpec
) -> Engine | None:
    """Open a bundle that has exactly the tools of *catalog*, under the same ids; else `None`."""
    if not isinstance(graph, ReviewedDocuments) or not exists(graph.path):
        return None
    try:
        engine = plan.load(graph.path)
    except McpgError:
        return None
    tools = {tool.id: (tool.source_id, tool.name) for tool in catalog.tools}
    return engine if _list_ids(engine.index) == tools else None


def _list_ids(index: Index) -> dict[str, Key]:
    return {
        index.tool_id(number): (index.source_id(number), index.tool_name(number))
        for number in range(len(index))
    }


def map_documents(
    graph: ReviewedDocuments | CustomDocuments,
    catalog: Catalog,
    batch: SourceBatch,
    plan: IndexSpec,
    memo: StoredBuildCache,
    hidden: Collection[Key] = (),
) -> tuple[Assembly, list[Diagnostic]]:
    """Combine the documents of *graph* with the tools of *catalog*; return also the diagnostics.

    A document belongs to the tool that its source and name, its key `tool`, its URI, or its file
    name identifies; if there is only one tool, to that. Documents of other tools are left out, and
    reported unless they are *hidden*; for a tool without a document, a document is generated from
    its source. The relations in *batch* from rules and observed calls supplement all documents.

    Raises:
        UnusableGraphError: The documents are unavailable or broken.
    """
    # The tools have the hints already.
    relating = tuple(replace(rule, hints=Hints()) for rule in batch.rules)
    live = SourceBatch(tools=catalog.tools, rules=relating, observed=batch.observed)
    try:
        put_together = partial(
            assemble, reserved=plan.reserved, earlier=plan.earlier, memo=memo, hosted=True
        )
        assembly = put_together(SourceBatch.join([_read_documents(graph, catalog), live]))
        keys = {(tool.source_id, tool.name) for tool in catalog.tools}
        foreign = {
            one.path: one.tool
            for one in assembly.documents
            if (one.tool.source_id, one.tool.name) not in keys
        }
        if foreign or plan.shown is not None:
            written = {one.path for one in assembly.documents if one.tool.id in assembly.documented}
            pages = {page.path for page in assembly.pages}
            pages = pages if plan.shown is None else pages & plan.shown.pages
            kept = written.union(pages).difference(foreign)
            texts = tuple(text for text in assembly.texts if text.path in kept)
            whole = assembly
            assembly = put_together(SourceBatch.join([SourceBatch(documents=texts), live]))
            assembly = assembly if plan.shown is None else drop_broken_links(assembly, whole)
    except McpgError as fault:
        raise UnusableGraphError(Code.GRAPH_BUILD_FAILED, fault.message, fault.place) from fault
    unknown = {
        path: tool for path, tool in foreign.items() if (tool.source_id, tool.name) not in hidden
    }
    return assembly, _describe_mapping(assembly, catalog, unknown)


def _describe_mapping(
    assembly: Assembly, catalog: Catalog, unknown: Mapping[str, Tool]
) -> list[Diagnostic]:
    diagnostics = []
    for path, tool in unknown.items():
        message = f"no source has {tool.name!r} of {tool.source_id!r}: its document is ignored"
        diagnostics.append(warning(Code.GRAPH_DOCUMENT_UNMAPPED, message, path))
    # Documents of a graph are meant to supersede the sources' documents.
    known = {*catalog.diagnostics}
    diagnostics += [
        one
        for one in assembly.diagnostics
        if one.code != Code.DOCUMENT_SUPERSEDES and one not in known
    ]
    for tool in assembly.catalog.tools:
        if tool.id not in assembly.documented:
            message = f"the graph has no document of {tool.id!r}: it is generated from the source"
            diagnostics.append(info(Code.GRAPH_TOOL_UNDOCUMENTED, message, tool.place or None))
    return diagnostics


def _assemble_without_texts(
    batch: SourceBatch, plan: IndexSpec, memo: StoredBuildCache
) -> Assembly:
    return assemble(batch, reserved=plan.reserved, earlier=plan.earlier, memo=memo, texts=False)


def _read_documents(graph: ReviewedDocuments | CustomDocuments, catalog: Catalog) -> SourceBatch:
    if isinstance(graph, ReviewedDocuments):
        path = graph.path.strip()
        if not path or not exists(graph.path):
            message = "no such graph" if path else "the graph has no path"
            raise UnusableGraphError(Code.GRAPH_PATH_MISSING, message, path or None)
        return with_graphs_read(read_sources([graph.path]))
    if graph.documents is None:
        message = "no function for the documents of the graph is set"
        raise UnusableGraphError(Code.GRAPH_FACTORY_MISSING, message)
    try:
        found = graph.documents(catalog.tools)
        if isinstance(found, Awaitable):
            awaited = found

            async def wait() -> Iterable[SourceDocument]:
                return await awaited

            found = from_thread.run(wait)
        made = [*found]
        if not all(isinstance(one, SourceDocument) for one in made):
            raise TypeError  # noqa: TRY301 - as an error of the host's function
        return SourceBatch(documents=tuple(made))
    except Exception as fault:
        message = f"the host could not make the documents of the graph ({type(fault).__name__})"
        raise UnusableGraphError(Code.GRAPH_BUILD_FAILED, message) from fault


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index and the tools behind it.

    Attributes:
        catalog: Returns the tools.
        diagnostics: Problems that did not stop the build.
        owners: The source of each tool.
        sole: The source of all other tools, `None` if unknown.
        review: The treatment of live tools that differ from reviewed ones.
    """

    engine: Engine
    catalog: Callable[[], Catalog]
    diagnostics: tuple[Diagnostic, ...] = ()
    owners: Mapping[Key, Source] = field(default_factory=dict)
    sole: Source | None = None
    review: ReviewOutcome = NO_REVIEW


def open_existing(sources: Sequence[Source], plan: IndexSpec) -> BuiltIndex | None:
    """Open the existing index of a gateway with a single file, `None` if there is none.

    `build` reports why it cannot be opened.
    """
    only = sources[0] if len(sources) == 1 else None
    is_as_it_stands = isinstance(plan.graph, GeneratedDocuments) and plan.lock is None
    if not isinstance(only, FileSource) or not is_as_it_stands:
        return None
    if only.path.startswith(PYTHON) or only.trust_hints:
        return None
    try:
        engine = plan.load(only.path, only.source_id)
    except McpgError:
        return None
    if {name.casefold() for name in plan.reserved} & engine.enabled_by_id.keys():
        return None
    # No tool may get a new id, or an earlier id of another tool.
    keys = {tool.id: (tool.source_id, tool.name) for tool in plan.earlier}
    named = {key: tool_id for tool_id, key in keys.items()}
    if keys and any(
        keys.get(tool_id, key) != key or named.get(key, tool_id) != tool_id
        for tool_id, key in _list_ids(engine.index).items()
    ):
        return None
    return BuiltIndex(engine, lambda: engine.catalog, engine.diagnostics, sole=only)


def build(readings: Sequence[SourceReading], plan: IndexSpec, memo: StoredBuildCache) -> BuiltIndex:
    """Build an index of *readings*.

    Of two sources with the same tool, the first that can run it owns it, or else the first.
    """
    batch = SourceBatch.join(reading.batch for reading in readings)
    live: dict[Key, Tool] = {}
    owners: dict[Key, Source] = {}
    # `sorted` keeps the order of the others.
    hides = isinstance(plan.graph, ReviewedDocuments) and plan.graph.on_change == OnChange.HIDE
    for reading in sorted(
        readings, key=lambda one: not (one.batch.tools and runs_tools(one.source))
    ):
        for tool in reading.batch.tools:
            if hides or plan.lock is not None:  # only icons need no review
                listed = {key: tool.listed[key] for key in tool.listed if key == _ICONS}
                tool = replace(tool, listed=listed)  # noqa: PLW2901
            live.setdefault((tool.source_id, tool.name), tool)
            owners.setdefault((tool.source_id, tool.name), reading.source)
    batch, whole = _narrow(batch, plan, memo)
    batch, held = _hold_to_review(batch, plan, memo)
    if isinstance(plan.graph, GeneratedDocuments):
        built = _build_generated(batch, plan, memo, whole)
    else:
        built = _build_by_documents(plan.graph, batch, plan, memo, held.hidden)
    review = held.followed_by(built.review)
    current = {**live, **review.shown}

    def list_current() -> Catalog:
        """Return each tool as its source has it now, or as reviewed, with its id and hints."""
        catalog = built.catalog()
        tools: list[Tool] = []
        for tool in catalog.tools:
            key = tool.source_id, tool.name
            flags: Mapping[str, Any] = review.flags.get(key, {})
            hints = replace(tool.hints, **flags)
            tools.append(replace(current.get(key, tool), id=tool.id, hints=hints))
        return Catalog(tuple(tools), catalog.assertions, catalog.diagnostics)

    return replace(
        built,
        catalog=list_current,
        owners=owners,
        review=review,
        diagnostics=(*built.diagnostics, *held.diagnostics),
    )


def build_view(
    whole: BuiltIndex,
    views: Sequence[View],
    readings: Sequence[SourceReading],
    plan: IndexSpec,
    memo: StoredBuildCache,
) -> BuiltIndex:
    """Build an index of the part of *readings* that all *views* show; *whole* is built of all.

    The index of all tools only decides which tools are shown: it has their ids and hints.
    Diagnostics name nothing that is hidden, except for diagnostics of the views.
    """
    known = (*whole.catalog().tools, *whole.review.hidden.values())
    tools = frozenset(
        one.key
        for one in known
        if all(view.shows_tool(one, whole.owners.get(one.key, whole.sole)) for view in views)
    )
    pages = frozenset(one.path for one in whole.engine.pages if _shows_page(one, views))
    shown = ShownItems(tools, pages)
    parts = [
        one if is_shown_whole(one, shown, views) else one.without_diagnostics()
        for one in readings
        if all(view.may_show(one.source) for view in views)
    ]
    is_whole = len(parts) == len(readings)
    is_whole = is_whole and len(tools) == len(known) and len(pages) == len(whole.engine.pages)
    is_same = is_whole and _keeps_ids(whole.catalog().tools, plan)
    built = whole if is_same else build(parts, replace(plan, shown=shown), memo)
    # Diagnostics of a source, a review or a hints file may name hidden tools.
    safe = {notice for one in parts for notice in one.batch.diagnostics}
    kept = (one for one in built.diagnostics if one in safe or one.code in _OF_TOOLS)
    names = [name for one in readings for name in name_server(one.source)]
    failed = (name for one in readings if one.has_failed for name in name_server(one.source))
    unread = {*plan.left_out, *failed}
    noticed = (one for view in views for one in report_unmatched(view, known, names, unread))
    return replace(built, diagnostics=(*kept, *noticed))


def _shows_page(page: ToolDocument, views: Sequence[View]) -> bool:
    """Return whether *views* show a page.

    A page of listed servers belongs to the server of its catalog, a skill's page to its source.
    """
    entry = page.further.get("entry_type")
    kind = ItemKind.SKILL if entry == SKILL_PAGE else ItemKind.PAGE
    owner = page.further.get(_OWNERS.get(str(entry), ""))
    return all(view.shows_kind(kind) for view in views) and (
        not isinstance(owner, str) or all(view.shows_server(owner) for view in views)
    )


def _keeps_ids(tools: Sequence[Tool], plan: IndexSpec) -> bool:
    """Return whether *tools* would get the ids that they have, which may be earlier ids."""
    named, _ = assign_ids(tools, plan.reserved, plan.earlier)
    return [(one.key, one.id) for one in named] == [(one.key, one.id) for one in tools]


def _narrow(
    batch: SourceBatch, plan: IndexSpec, memo: StoredBuildCache
) -> tuple[SourceBatch, Assembly | None]:
    """Return the shown part of *batch*, and, if that is not all, the assembled whole."""
    if plan.shown is None:
        return batch, None
    whole = _assemble_without_texts(batch, plan, memo)
    return narrow_batch(batch, plan.shown, whole), whole


def _hold_to_review(
    batch: SourceBatch, plan: IndexSpec, memo: StoredBuildCache
) -> tuple[SourceBatch, ReviewOutcome]:
    """Return the approved part of *batch*, and the treatment of the rest."""
    if plan.lock is None:
        return batch, NO_REVIEW
    stated, read = stated_in(batch, lambda some: _assemble_without_texts(some, plan, memo))
    changes = lock_changes(plan.lock.lock, stated)
    if not changes:
        return batch, NO_REVIEW
    found = review_locked_tools(changes, plan.lock, {one.tool.source_id for one in stated})
    hides = plan.lock.on_change == OnChange.HIDE
    return leave_out_unapproved(batch, read, changes, hides=hides), found


def _build_generated(
    batch: SourceBatch, plan: IndexSpec, memo: StoredBuildCache, whole: Assembly | None = None
) -> BuiltIndex:
    """Build from the tools and documents of *batch*, a part of *whole* unless that is `None`."""
    assembly = _assemble_without_texts(batch, plan, memo)
    if whole is not None:
        assembly = drop_broken_links(assembly, whole)
    return _build_from_assembly(assembly, plan, memo, assembly.diagnostics)


def _build_from_assembly(
    assembly: Assembly, plan: IndexSpec, memo: StoredBuildCache, diagnostics: Iterable[Diagnostic]
) -> BuiltIndex:
    index = Index(compile_assembly(assembly, memo=memo))
    engine = Engine(index, services=plan.services, limit=plan.limit)
    return BuiltIndex(engine, lambda: assembly.catalog, tuple(diagnostics))


def _build_by_documents(
    graph: ReviewedDocuments | CustomDocuments,
    batch: SourceBatch,
    plan: IndexSpec,
    memo: StoredBuildCache,
    hidden: Collection[Key],
) -> BuiltIndex:
    """Build from the documents of *graph*, or without them if they are not usable."""
    try:
        if isinstance(graph, CustomDocuments):
            return _build_from_graph(graph, batch, plan, memo, NO_REVIEW, hidden)
        reviewed = _read_reviewed(graph, plan, memo)
        found = review_tools(reviewed, batch.tools, OnChange(graph.on_change), graph.path)
        plan = replace(plan, earlier=(*plan.earlier, *reviewed.tools))
        hidden = {*hidden, *found.hidden}
        return _build_from_graph(graph, _without_hidden(batch, found), plan, memo, found, hidden)
    except UnusableGraphError as fault:
        found = NO_REVIEW
        if isinstance(graph, ReviewedDocuments) and graph.on_change == OnChange.HIDE:
            # Removing the bundle approves nothing.
            found = nothing_reviewed(batch.tools, graph.path)
        built = _build_generated(_without_hidden(batch, found), plan, memo)
        noticed = (*built.diagnostics, fault.diagnostic, *found.diagnostics)
        return replace(built, diagnostics=noticed, review=found)


def _read_reviewed(
    graph: ReviewedDocuments, plan: IndexSpec, memo: StoredBuildCache
) -> ReviewedGraph:
    """Read only *graph*, a bundle through its compiled index."""
    try:
        batch = _read_documents(graph, Catalog())
        if len(batch.bundles) == 1 and not (batch.documents or batch.tools):
            (raw,) = batch.bundles
            documents = tuple(plan.load(graph.path).documents.values())
            definitions = definitions_in(decode_bundle(raw.text, raw.place), documents)
        else:
            assembly = assemble(batch, reserved=plan.reserved, memo=memo, texts=False)
            documents = assembly.documents
            definitions = collect_definitions(documents, assembly.definitions)
    except McpgError as fault:
        raise UnusableGraphError(Code.GRAPH_BUILD_FAILED, fault.message, fault.place) from fault
    tools = (document.tool for document in documents)
    shown = plan.shown
    tools = (one for one in tools if shown is None or one.key in shown.tools)
    return ReviewedGraph(tuple(tools), definitions)


def _without_hidden(batch: SourceBatch, found: ReviewOutcome) -> SourceBatch:
    if not found.hidden:
        return batch
    tools = (tool for tool in batch.tools if (tool.source_id, tool.name) not in found.hidden)
    return replace(batch, tools=tuple(tools))


def _build_from_graph(
    graph: ReviewedDocuments | CustomDocuments,
    batch: SourceBatch,
    plan: IndexSpec,
    memo: StoredBuildCache,
    found: ReviewOutcome,
    hidden: Collection[Key],
) -> BuiltIndex:
    if batch.documents or batch.bundles:
        assembly = _assemble_without_texts(batch, plan, memo)
        catalog = replace(assembly.catalog, diagnostics=assembly.diagnostics)
    else:
        catalog = build_catalog(
            batch.tools, batch.rules, reserved=plan.reserved, earlier=plan.earlier
        )
        catalog = replace(catalog, diagnostics=(*batch.diagnostics, *catalog.diagnostics))
    engine = matching_engine(graph, catalog, plan)
    if engine is not None and (plan.shown is None or not engine.pages):
        noticed = (*catalog.diagnostics, *engine.diagnostics, *found.diagnostics)
        return BuiltIndex(engine, lambda: engine.catalog, noticed, review=found)
    assembly, mapped = map_documents(graph, catalog, batch, plan, memo, hidden)
    noticed = (*catalog.diagnostics, *mapped, *found.diagnostics)
    return replace(_build_from_assembly(assembly, plan, memo, noticed), review=found)
