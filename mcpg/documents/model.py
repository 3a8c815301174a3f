"""Markdown-LD documents, of tools and pages, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpg.relations.model import EdgeKind, EdgeOrigin

if TYPE_CHECKING:
    from mcpg.catalog.model import Tool
    from mcpg.jsontypes import JsonObject


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as a document writes it: to the URI of another document.

    Attributes:
        kind: What the edge says.
        target: Canonical URI of the other document, which may be absent.
        weight: Strength in (0, 1]; 1 for what an author wrote.
        reason: Why, for people; "" when the document does not say.
        origin: Who says so.
    """

    kind: EdgeKind
    target: str
    weight: float = 1.0
    reason: str = ""
    origin: EdgeOrigin = EdgeOrigin.AUTHORED


@dataclass(frozen=True, slots=True)
class ToolDocument:
    """One tool, its place in the graph, and what a person wrote about it.

    A page, which is of no tool, is one as well: its `tool` holds title, description and hints.

    Attributes:
        tool: The tool.
        path: Relative path of the document in a folder or bundle.
        uri: Canonical URI of the document.
        groups: Group ids that the tool belongs to.
        links: Edges to other documents, in the document's order.
        body: Markdown that a person wrote outside the generated sections; "" when none.
        states_relations: Whether the text itself carries any `graph_*` key; without one,
            relations are inferred when a bundle is made.
        further: Front-matter keys that say nothing of the tool itself, as their author wrote them;
            `mcpg.documents.facts` reads what they state. Shared, not copied: read-only.
        is_page: Whether the document is of no tool.
    """

    tool: Tool
    path: str
    uri: str
    groups: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    body: str = ""
    states_relations: bool = True
    further: JsonObject = field(default_factory=dict)
    is_page: bool = False
