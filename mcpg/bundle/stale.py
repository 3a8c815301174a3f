"""Tools of sources that failed: which they are, and how a new bundle keeps them as stale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mcpg.build_cache import NO_BUILD_CACHE
from mcpg.bundle.assemble import Assembly
from mcpg.bundle.codec import Bundle, ReadDocument, encode_bundle, read_documents
from mcpg.bundle.merge import names_no_tool
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.errors import Code, Diagnostic, warning
from mcpg.sources import RawBundle, SourceBatch
from mcpg.sources.model import FailedSource

_MOST_NAMED = 12


def missing_documents(
    last: Iterable[SourceDocument], assembly: Assembly, failed: Collection[FailedSource]
) -> tuple[ReadDocument, ...]:
    """Return the documents of the last bundle that are missing because sources failed.

    Where a failed source does not tell which tools it has, these are all tools of the last bundle
    whose source no tool of the others has: rather too many than too few.

    Args:
        last: The documents of the last bundle.
        assembly: What could be read.
        failed: The sources that could not.
    """
    tools = assembly.catalog.tools
    present = {(tool.source_id, tool.name) for tool in tools}
    answered = {tool.source_id for tool in tools}
    read, _ = read_documents(last, (), None, NO_BUILD_CACHE)
    return tuple(
        item
        for item in read
        if _key(item) not in present
        and not names_no_tool(item)
        and (
            item.source.path in assembly.unread
            or any(_may_be_from(item.document.tool, one, answered) for one in failed)
        )
    )


def _key(item: ReadDocument) -> tuple[str, str]:
    return item.document.tool.source_id, item.document.tool.name


def _may_be_from(tool: Tool, source: FailedSource, answered: Collection[str]) -> bool:
    if tool.source_id in source.names:
        return True
    is_possible = source.kind in (None, tool.source_kind)
    return is_possible and not source.is_named and tool.source_id not in answered


def with_missing(
    batch: SourceBatch,
    missing: Sequence[ReadDocument],
    assemble: Callable[[SourceBatch], Assembly],
) -> Assembly:
    """Return what *assemble* makes of *batch* with the *missing* tools, which are marked stale."""
    data = encode_bundle(Bundle(tuple(item.source for item in missing)))
    bundles = (*batch.bundles, RawBundle(data.decode(), "last build"))
    assembly = assemble(replace(batch, bundles=bundles))
    keys = {_key(item) for item in missing}
    tools = assembly.catalog.tools
    kept = tuple(tool.id for tool in tools if (tool.source_id, tool.name) in keys)
    stale = tuple(tool.id for tool in tools if tool.id in {*kept, *assembly.stale})
    noticed = (*assembly.diagnostics, *_report_kept(missing))
    return replace(assembly, stale=stale, kept=kept, diagnostics=noticed)


def names_by_source(missing: Iterable[ReadDocument]) -> Mapping[str, list[str]]:
    """Return the names of *missing* tools by their source id."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for source_id, name in sorted(map(_key, missing)):
        names[source_id].append(name)
    return names


def list_names(names: Sequence[str]) -> str:
    """Return *names* as a list that is not too long for a message."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _report_kept(missing: Iterable[ReadDocument]) -> list[Diagnostic]:
    return [
        warning(
            Code.TOOLS_STALE,
            f"tools are kept from the last build, because their source failed: {list_names(names)}",
            source_id,
        )
        for source_id, names in names_by_source(missing).items()
    ]
