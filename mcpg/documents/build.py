"""From a tool and its relations to its document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.documents.model import Link, ToolDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.catalog.model import Tool
    from mcpg.relations.model import Edge, ToolRelations


def document_for(
    tool: Tool, relations: ToolRelations, addresses: Mapping[str, tuple[str, str]]
) -> ToolDocument:
    """Make the document of *tool*, with a link for every edge.

    A tool without any relation states none, as in the .NET gateway's layout.

    Args:
        tool: The tool.
        relations: What the graph says about it.
        addresses: Path and URI of every tool, by id, as `uris_for` gives them.

    Raises:
        KeyError: The tool, or one that an edge reaches, has no address.
    """
    path, uri = addresses[tool.id]
    edges = (*relations.related, *relations.next_steps)
    return ToolDocument(
        tool=tool,
        path=path,
        uri=uri,
        groups=relations.groups,
        links=tuple(_link(edge, addresses) for edge in edges),
        states_relations=bool(relations.groups or edges),
    )


def _link(edge: Edge, addresses: Mapping[str, tuple[str, str]]) -> Link:
    return Link(edge.kind, addresses[edge.target][1], edge.weight, edge.reason, edge.origin)
