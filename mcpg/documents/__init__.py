"""Tools and their relations as Markdown-LD documents, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.documents.model import Link, ToolDocument, tool_path, tool_uri, uris_for
from mcpg.documents.page import descriptor_text
from mcpg.documents.reader import parse_document
from mcpg.documents.writer import can_be_written, write_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcpg.catalog.model import Tool
    from mcpg.relations.model import Edge, ToolRelations

__all__ = [
    "Link",
    "ToolDocument",
    "can_be_written",
    "descriptor_text",
    "document_for",
    "parse_document",
    "tool_path",
    "tool_uri",
    "uris_for",
    "write_document",
]


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
