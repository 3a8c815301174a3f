"""What bundles carry beside their documents, and what of it a new bundle keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpg.build_cache import NO_BUILD_CACHE
from mcpg.bundle.codec import Bundle, read_documents
from mcpg.catalog.catalog import build_catalog
from mcpg.catalog.model import SourceDocument, Tool
from mcpg.errors import Code, Diagnostic, warning
from mcpg.json_types import JsonValue


def read_ranking(bundles: Iterable[Bundle]) -> tuple[JsonValue, list[Diagnostic]]:
    """Return the one ranking that *bundles* carry; of several, none counts."""
    carried = [bundle.ranking for bundle in bundles if bundle.ranking is not None]
    if all(one == carried[0] for one in carried):
        return next(iter(carried), None), []
    message = "the bundles carry different rankings, and the shipped one is used"
    return None, [warning(Code.RANKING_IGNORED, message)]


def still_stale(
    bundles: Sequence[Bundle],
    documents: Iterable[SourceDocument],
    tools: Iterable[Tool],
    source_id: str | None,
) -> frozenset[tuple[str, str]]:
    """Return source id and name of the tools that *bundles* mark as stale and nothing else has.

    Args:
        bundles: The bundles among the sources.
        documents: The documents among the sources that are of no bundle.
        tools: The tools of manifests and servers.
        source_id: The server of documents that name none.
    """
    if not any(bundle.stale for bundle in bundles):
        return frozenset()
    stale: set[tuple[str, str]] = set()
    fresh = {(tool.source_id, tool.name) for tool in tools}
    fresh |= {(tool.source_id, tool.name) for tool in _tools(documents, source_id)}
    for bundle in bundles:
        for tool in _tools(bundle.documents, source_id):
            marked = stale if tool.id in bundle.stale else fresh
            marked.add((tool.source_id, tool.name))
    return frozenset(stale - fresh)


def _tools(documents: Iterable[SourceDocument], source_id: str | None) -> tuple[Tool, ...]:
    """Return the tools of *documents* under the ids that they have among themselves."""
    read, _ = read_documents(documents, (), source_id, NO_BUILD_CACHE)
    own = (item.document.tool for item in read if not item.document.is_page)
    return build_catalog(list(own), ()).tools
