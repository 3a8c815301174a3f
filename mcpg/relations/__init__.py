"""The relations floor: groups, related tools, next steps, each edge with its reason."""

from __future__ import annotations

from mcpg.relations.model import Edge, EdgeKind, EdgeOrigin, Relations, ToolRelations
from mcpg.relations.relate import relate

__all__ = ["Edge", "EdgeKind", "EdgeOrigin", "Relations", "ToolRelations", "relate"]
