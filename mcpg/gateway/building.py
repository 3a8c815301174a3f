"""Building: from what sources said to an engine and the tools behind it.

Nothing here fails for a source or a graph that is broken: each becomes a diagnostic, and there is
something to fall back on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mcpg.bundle import assemble
from mcpg.catalog.catalog import Catalog, build_catalog
from mcpg.catalog.sources.batch import SourceBatch
from mcpg.catalog.sources.kinds import PYTHON
from mcpg.engine.engine import Engine
from mcpg.engine.loading import compile_assembly
from mcpg.errors import McpgError
from mcpg.gateway.graphing import UnusableGraphError, as_it_is, mapped
from mcpg.gateway.graphsources import GeneratedGraph
from mcpg.gateway.sources import FileSource
from mcpg.index.reader import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcpg.bundle import Assembly
    from mcpg.catalog.model import Tool
    from mcpg.diagnostics import Diagnostic
    from mcpg.gateway.graphsources import CustomGraph, FileGraph
    from mcpg.gateway.plan import Plan
    from mcpg.gateway.sources import Source
    from mcpg.memo import KeptMemo

Key = tuple[str, str]
"""What tells a tool from all others: its source id and its name there."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one source said.

    Attributes:
        source: The source.
        batch: Its tools and documents.
    """

    source: Source
    batch: SourceBatch


@dataclass(frozen=True, slots=True)
class Built:
    """What came of building.

    Attributes:
        engine: Searches the index.
        catalog: Gives the tools.
        diagnostics: What was noticed.
        owners: Which source has a tool.
        sole: The source that has all other tools, `None` where nobody knows.
    """

    engine: Engine
    catalog: Callable[[], Catalog]
    diagnostics: tuple[Diagnostic, ...] = ()
    owners: Mapping[Key, Source] = field(default_factory=dict)
    sole: Source | None = None


def opened(sources: Sequence[Source], plan: Plan) -> Built | None:
    """Open the index of a gateway that has one file and nothing else, without reading it anew.

    Gives `None` where that cannot be done; building then says why.
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
    if {name.casefold() for name in plan.reserved} & engine.roll.keys():
        return None
    return Built(engine, lambda: engine.catalog, engine.diagnostics, sole=only)


def build(readings: Sequence[Reading], plan: Plan, memo: KeptMemo) -> Built:
    """Build an index of what sources said.

    Args:
        readings: What each source said; of two that have the same tool, the first has it.
        plan: How it is built.
        memo: What is known from an earlier run.
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
    """Give each tool as its source has it now; its id and hints are those of its document."""
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
    """Build of the documents of *graph*, or as if there were none where they cannot be had."""
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
    """Give the tools of *batch* with their ids, and all that was noticed."""
    if batch.documents or batch.bundles:
        assembly = assemble(batch, reserved=plan.reserved, memo=memo, texts=False)
        return replace(assembly.catalog, diagnostics=assembly.diagnostics)
    found = build_catalog(batch.tools, batch.rules, reserved=plan.reserved)
    return replace(found, diagnostics=(*batch.diagnostics, *found.diagnostics))
