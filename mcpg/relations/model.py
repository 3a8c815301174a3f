"""Edges between tools, each with its weight and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class EdgeKind(StrEnum):
    """What an edge says about its target."""

    RELATED = "related"
    NEXT_STEP = "nextStep"


class EdgeOrigin(StrEnum):
    """Who says so."""

    AUTHORED = "authored"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge from one tool to another.

    Attributes:
        kind: What the edge says.
        source: Tool id it leaves.
        target: Tool id it reaches.
        weight: Strength in (0, 1]; 1 for what an author wrote.
        reason: Why, for people ("shares the rare term 'invoice'").
        origin: Who says so.
    """

    kind: EdgeKind
    source: str
    target: str
    weight: float
    reason: str
    origin: EdgeOrigin = EdgeOrigin.INFERRED


@dataclass(frozen=True, slots=True)
class ToolRelations:
    """What the graph says about one tool.

    Attributes:
        groups: Group ids such as `domain:invoice` or `category:billing`.
        related: Edges to tools of the same kind of work, strongest first.
        next_steps: Edges to tools one would call afterwards, strongest first.
    """

    groups: tuple[str, ...] = ()
    related: tuple[Edge, ...] = ()
    next_steps: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of a whole catalogue, by tool id."""

    by_tool: Mapping[str, ToolRelations]

    def of(self, tool_id: str) -> ToolRelations:
        """Give what is known about *tool_id*; empty when nothing is."""
        return self.by_tool.get(tool_id, ToolRelations())
