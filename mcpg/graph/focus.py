"""A part of the graph: some tools and pages, and the edges between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcpg.documents.model import ToolDocument


def neighbourhood(documents: Iterable[ToolDocument], roots: Iterable[str], depth: int) -> set[str]:
    """Give the URIs of the documents that at most *depth* edges, taken either way, part from some.

    Args:
        documents: The documents of tools, and pages.
        roots: URIs of the documents to begin with.
        depth: How many edges to follow, at least 0.
    """
    beside = _adjacent(list(documents))
    reached = set(roots)
    edge = set(reached)
    for _ in range(depth):
        edge = {other for one in edge for other in beside.get(one, ())} - reached
        if not edge:
            break
        reached |= edge
    return reached


def induced(documents: Iterable[ToolDocument], uris: Collection[str]) -> list[ToolDocument]:
    """Give those of *documents* that have one of *uris*, without the edges that lead elsewhere."""
    kept = [document for document in documents if document.uri in uris]
    known = {document.uri for document in kept}
    return [
        replace(one, links=tuple(link for link in one.links if link.target in known))
        for one in kept
    ]


def _adjacent(documents: Collection[ToolDocument]) -> dict[str, set[str]]:
    beside: dict[str, set[str]] = {document.uri: set() for document in documents}
    for document in documents:
        for link in document.links:
            if link.target in beside:
                beside[document.uri].add(link.target)
                beside[link.target].add(document.uri)
    return beside
