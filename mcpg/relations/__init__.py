"""The relations floor: groups, related tools, next steps, each edge with its reason."""

from __future__ import annotations

from mcpg.relations.model import Edge, EdgeKind, EdgeOrigin, Relations, ToolRelations
from mcpg.relations.relate import STATED, authored_edges, relate

__all__ = [
    "STATED",
    "Edge",
    "EdgeKind",
    "EdgeOrigin",
    "Relations",
    "ToolRelations",
    "authored_edges",
    "relate",
]
