"""A part of the graph: some tools, and the edges between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcpg.documents.model import ToolDocument


def neighbourhood(
    documents: Mapping[str, ToolDocument], roots: Iterable[str], depth: int
) -> set[str]:
    """Give the ids of the tools that at most *depth* edges, taken either way, part from *roots*.

    Args:
        documents: The documents by tool id.
        roots: Ids of the tools to begin with.
        depth: How many edges to follow, at least 0.
    """
    beside = _adjacent(documents)
    reached = set(roots)
    edge = set(reached)
    for _ in range(depth):
        edge = {other for one in edge for other in beside.get(one, ())} - reached
        if not edge:
            break
        reached |= edge
    return reached


def induced(
    documents: Mapping[str, ToolDocument], tool_ids: Collection[str]
) -> dict[str, ToolDocument]:
    """Give the documents of *tool_ids*, without the edges that lead elsewhere."""
    kept = {tool_id: one for tool_id, one in documents.items() if tool_id in tool_ids}
    uris = {document.uri for document in kept.values()}
    return {
        tool_id: replace(one, links=tuple(link for link in one.links if link.target in uris))
        for tool_id, one in kept.items()
    }


def _adjacent(documents: Mapping[str, ToolDocument]) -> dict[str, set[str]]:
    by_uri = {document.uri: tool_id for tool_id, document in documents.items()}
    beside: dict[str, set[str]] = {}
    for tool_id, document in documents.items():
        for link in document.links:
            other = by_uri.get(link.target)
            if other is not None:
                beside.setdefault(tool_id, set()).add(other)
                beside.setdefault(other, set()).add(tool_id)
    return beside
