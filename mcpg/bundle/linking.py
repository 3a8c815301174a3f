"""The links that documents state: resolved, joined with what hints assert, and as edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.documents import Link
from mcpg.relations import STATED, Edge, EdgeKind, EdgeOrigin, ToolRelations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcpg.bundle.reading import ReadDocument
    from mcpg.documents import ToolDocument
    from mcpg.documents.targets import Targets


def resolve_links(item: ReadDocument, targets: Targets) -> tuple[ToolDocument, list[Diagnostic]]:
    """Put the URI of the document that is meant into each link of the document of *item*.

    A link whose target nobody bears stays as it is, with a diagnostic; of two that come to the same
    document the first stays.
    """
    document = item.document
    links: dict[tuple[EdgeKind, str], Link] = {}
    diagnostics: list[Diagnostic] = []
    for link in document.links:
        uri = targets.resolve(link.target, document.path)
        if uri is None:
            diagnostics.append(_unresolved(link, item))
        resolved = replace(link, target=uri or link.target)
        links.setdefault((link.kind, resolved.target), resolved)
    return replace(document, links=tuple(links.values())), diagnostics


def joined_links(first: Iterable[Link], then: Iterable[Link]) -> tuple[Link, ...]:
    """Join links, by kind; of two of one kind to one document the first counts."""
    links: dict[tuple[EdgeKind, str], Link] = {}
    for link in (*first, *then):
        links.setdefault((link.kind, link.target), link)
    return tuple(sorted(links.values(), key=lambda link: list(EdgeKind).index(link.kind)))


def with_asserted(
    document: ToolDocument,
    edges: Mapping[EdgeKind, Iterable[Edge]],
    addresses: Mapping[str, tuple[str, str]],
) -> ToolDocument:
    """Put what hints assert before the links of *document*, unless its author says it already.

    Args:
        document: The document, its links resolved.
        edges: What hints assert about its tool.
        addresses: Path and URI of every tool, by id.
    """
    links = [
        link
        for kind in EdgeKind
        for link in _joined(document, kind, [addresses[edge.target][1] for edge in edges[kind]])
    ]
    return replace(document, links=tuple(links)) if set(links) != set(document.links) else document


def relations_of(document: ToolDocument, tool_id: str, targets: Targets) -> ToolRelations:
    """Give the relations that *document* states, its links resolved, as those of its tool."""
    edges = [
        Edge(link.kind, tool_id, target, link.weight, link.reason, link.origin)
        for link in document.links
        if (target := targets.by_uri.get(link.target, "")) not in {"", tool_id}
    ]
    related = tuple(edge for edge in edges if edge.kind is EdgeKind.RELATED)
    next_steps = tuple(edge for edge in edges if edge.kind is EdgeKind.NEXT_STEP)
    return ToolRelations(document.groups, related, next_steps)


def _joined(document: ToolDocument, kind: EdgeKind, asserted: list[str]) -> list[Link]:
    present = [link for link in document.links if link.kind is kind]
    authored = {link.target for link in present if link.origin is EdgeOrigin.AUTHORED}
    missing = [uri for uri in asserted if uri not in authored]
    return [
        *(Link(kind, uri, reason=STATED) for uri in missing),
        *(link for link in present if link.target not in missing),
    ]


def _unresolved(link: Link, item: ReadDocument) -> Diagnostic:
    message = f"no document here is called {link.target!r}; name it by tool id, URI or path"
    return warning(Code.RELATION_UNRESOLVED, message, item.place_of(link.target))
