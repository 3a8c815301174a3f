"""The sources of a gateway: a registry of what each last returned, and the index made of that.

Neither a source nor a graph that fails is an error here: each becomes a diagnostic, and there is
something to fall back on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mcpg.build_cache import KeptMemo
from mcpg.bundle import Assembly, assemble
from mcpg.catalog.catalog import Catalog, build_catalog
from mcpg.catalog.model import Tool
from mcpg.engine.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import Diagnostic, McpgError, Severity, UsageError
from mcpg.gateway.index.graph import Plan, UnusableGraphError, as_it_is, mapped
from mcpg.gateway.sources import CustomGraph, FileGraph, FileSource, GeneratedGraph, Source
from mcpg.index.reader import Index
from mcpg.sources.model import PYTHON, SourceBatch

Key = tuple[str, str]
"""Identity of a tool: its source id and its name there."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The tools and documents that one source returned."""

    source: Source
    batch: SourceBatch


@dataclass(frozen=True, slots=True)
class Built:
    """An index and the tools behind it.

    Attributes:
        engine: Searches the index.
        catalog: Returns the tools.
        diagnostics: What was noticed.
        owners: The source of each tool.
        sole: The source of all other tools, `None` if unknown.
    """

    engine: Engine
    catalog: Callable[[], Catalog]
    diagnostics: tuple[Diagnostic, ...] = ()
    owners: Mapping[Key, Source] = field(default_factory=dict)
    sole: Source | None = None


def opened(sources: Sequence[Source], plan: Plan) -> Built | None:
    """Open the existing index of a gateway with a single file; `build` reports why it cannot be.

    Returns:
        `None` where there is no such index.
    """
    only = sources[0] if len(sources) == 1 else None
    if not isinstance(only, FileSource) or not isinstance(plan.graph, GeneratedGraph):
        return None
    if only.path.startswith(PYTHON):
        return None
    try:
        engine = plan.load(only.path, only.source_id)
    except McpgError:
        return None
    if {name.casefold() for name in plan.reserved} & engine.enabled_by_id.keys():
        return None
    return Built(engine, lambda: engine.catalog, engine.diagnostics, sole=only)


def build(readings: Sequence[Reading], plan: Plan, memo: KeptMemo) -> Built:
    """Build an index.

    Args:
        readings: What the sources returned; of two with the same tool, the first owns it.
        plan: How it is built.
        memo: Results of an earlier run.
    """
    batch = SourceBatch.join(reading.batch for reading in readings)
    live: dict[Key, Tool] = {}
    owners: dict[Key, Source] = {}
    for reading in readings:
        for tool in reading.batch.tools:
            live.setdefault((tool.source_id, tool.name), tool)
            owners.setdefault((tool.source_id, tool.name), reading.source)
    if isinstance(plan.graph, GeneratedGraph):
        built = _generated(batch, plan, memo)
    else:
        built = _by_documents(plan.graph, batch, plan, memo)
    catalog = built.catalog
    return replace(built, catalog=lambda: _as_live(catalog(), live), owners=owners)


def _as_live(catalog: Catalog, live: Mapping[Key, Tool]) -> Catalog:
    """Return each tool as its source has it now, with the id and hints of its document."""
    tools = (
        replace(live.get((tool.source_id, tool.name), tool), id=tool.id, hints=tool.hints)
        for tool in catalog.tools
    )
    return Catalog(tuple(tools), catalog.assertions, catalog.diagnostics)


def _generated(batch: SourceBatch, plan: Plan, memo: KeptMemo) -> Built:
    assembly = assemble(batch, reserved=plan.reserved, memo=memo, texts=False)
    return _built(assembly, plan, memo, assembly.diagnostics)


def _built(assembly: Assembly, plan: Plan, memo: KeptMemo, noticed: Iterable[Diagnostic]) -> Built:
    index = Index(compile_assembly(assembly, memo=memo))
    engine = Engine(index, equipment=plan.equipment)
    return Built(engine, lambda: assembly.catalog, tuple(noticed))


def _by_documents(
    graph: FileGraph | CustomGraph, batch: SourceBatch, plan: Plan, memo: KeptMemo
) -> Built:
    """Build of the documents of *graph*, or without where they are not usable."""
    catalog = _catalog(batch, plan, memo)
    try:
        engine = as_it_is(graph, catalog, plan)
        if engine is not None:
            noticed = (*catalog.diagnostics, *engine.diagnostics)
            return Built(engine, lambda: engine.catalog, noticed)
        assembly, found = mapped(graph, catalog, batch.rules, plan, memo)
    except UnusableGraphError as fault:
        built = _generated(batch, plan, memo)
        return replace(built, diagnostics=(*built.diagnostics, fault.diagnostic))
    return _built(assembly, plan, memo, (*catalog.diagnostics, *found))


def _catalog(batch: SourceBatch, plan: Plan, memo: KeptMemo) -> Catalog:
    """Return the tools of *batch* with their ids, and all that was noticed."""
    if batch.documents or batch.bundles:
        assembly = assemble(batch, reserved=plan.reserved, memo=memo, texts=False)
        return replace(assembly.catalog, diagnostics=assembly.diagnostics)
    found = build_catalog(batch.tools, batch.rules, reserved=plan.reserved)
    return replace(found, diagnostics=(*batch.diagnostics, *found.diagnostics))


@dataclass(slots=True)
class _Entry:
    """A source, what it last returned, and as of which versions it changed and was queried."""

    source: Source
    batch: SourceBatch | None = None
    changed: int = 0
    queried: int = -1
    has_failed: bool = False

    @property
    def is_fresh(self) -> bool:
        return self.queried >= self.changed


class Registry:
    """Sources by their ids, in the order in which they were added.

    Attributes:
        version: Grows with every change.
        required: The least version for a request now: changes made by the host are seen at once,
            those of a server when they are known.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        """Register *sources*.

        Raises:
            UsageError: Two have the same id.
        """
        self.version = 0
        self.required = 0
        self._entries: dict[str, _Entry] = {}
        for source in sources:
            self.add(source)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources."""
        return tuple(entry.source for entry in self._entries.values())

    def add(self, source: Source) -> None:
        """Register *source*.

        Raises:
            UsageError: Its id is blank, or another one's, in any case.
        """
        key = _key(source.id)
        if not key:
            raise UsageError("a source has no id", remedy="give it one")
        if key in self._entries:
            message = f"there is a source {source.id!r} already"
            raise UsageError(message, place=source.id, remedy="give it another id")
        entry = self._entries[key] = _Entry(source)
        self._changed(entry, is_required=True)

    def remove(self, source_id: str) -> Source | None:
        """Remove a source and return it, `None` where there is none of this id."""
        entry = self._entries.pop(_key(source_id), None)
        if entry is None:
            return None
        self._changed(is_required=True)
        return entry.source

    def invalidate(self, source_id: str) -> bool:
        """Record that a source has changed; return whether it is registered."""
        entry = self._entries.get(_key(source_id))
        if entry is None:
            return False
        self._changed(entry, is_required=False)
        return True

    def invalidate_all(self) -> None:
        """Record that every source has to be queried again."""
        self._changed(*self._entries.values(), is_required=True)

    def retry(self) -> bool:
        """Record that failed sources have to be queried again; return whether there are any.

        Those that wait for it already do not count.
        """
        failed = [one for one in self._entries.values() if one.has_failed and one.is_fresh]
        if failed:
            self._changed(*failed, is_required=False)
        return bool(failed)

    def stale(self) -> tuple[Source, ...]:
        """Return the sources that have to be queried."""
        return tuple(entry.source for entry in self._entries.values() if not entry.is_fresh)

    def update(self, source: Source, batch: SourceBatch, version: int) -> None:
        """Record what *source* returned. Where it failed, what it returned before is kept.

        Args:
            source: The source.
            batch: What it returned.
            version: The version when its query began: later changes need another.
        """
        entry = self._entries.get(_key(source.id))
        if entry is None or entry.source is not source:
            return  # it was removed meanwhile
        entry.queried = version
        is_empty = not (batch.tools or batch.documents or batch.bundles)
        entry.has_failed = is_empty and any(
            one.severity == Severity.ERROR for one in batch.diagnostics
        )
        if entry.has_failed and entry.batch is not None:
            batch = replace(entry.batch, diagnostics=batch.diagnostics)
        entry.batch = batch

    def readings(self) -> list[Reading]:
        """Return what every source last returned."""
        return [
            Reading(entry.source, entry.batch)
            for entry in self._entries.values()
            if entry.batch is not None
        ]

    def _changed(self, *entries: _Entry, is_required: bool) -> None:
        self.version += 1
        for entry in entries:
            entry.changed = self.version
        if is_required:
            self.required = self.version


def _key(source_id: str) -> str:
    return source_id.strip().casefold()
