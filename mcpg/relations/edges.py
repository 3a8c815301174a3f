"""Edges between tools: kinds, origins and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EdgeKind(StrEnum):
    """The kind of an edge."""

    RELATED = "related"
    NEXT_STEP = "nextStep"


class EdgeOrigin(StrEnum):
    """Where an edge comes from, the most reliable first."""

    AUTHORED = "authored"
    OBSERVED = "observed"
    SCHEMA = "schema"
    INFERRED = "inferred"


class Coverage(StrEnum):
    """How much of what a tool takes another one provides."""

    STRICT = "strict"
    PARTIAL = "partial"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """An output field of one tool that fills an argument of another.

    Attributes:
        given: Path of the output field, as in `orders[].id`.
    """

    given: str
    argument: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge from one tool to another.

    Attributes:
        weight: Strength in (0, 1], see `compute_weight`; 1 for what an author wrote.
        fields: The output fields of the source that fill arguments of the target.
        coverage: How much of the target's input they are; `None` without fields.
    """

    kind: EdgeKind
    source: str
    target: str
    weight: float
    reason: str
    origin: EdgeOrigin = EdgeOrigin.INFERRED
    fields: tuple[FieldMapping, ...] = ()
    coverage: Coverage | None = None


KIND_FACTORS = {EdgeKind.NEXT_STEP: 1.0, EdgeKind.RELATED: 0.8}
ORIGIN_FACTORS = {
    EdgeOrigin.AUTHORED: 1.0,
    EdgeOrigin.OBSERVED: 1.0,
    EdgeOrigin.SCHEMA: 0.7,
    EdgeOrigin.INFERRED: 0.5,
}
COVERAGE_FACTORS = {Coverage.STRICT: 1.0, Coverage.PARTIAL: 0.7, Coverage.OPTIONAL: 0.4}
"""The strength of a mapping of fields by its coverage; a factor of the evidence."""

LEAST_WEIGHT = 0.01


def compute_weight(kind: EdgeKind, origin: EdgeOrigin, strength: float) -> float:
    """Return the weight of an edge without an author's weight, in hundredths of (0, 1].

    It is the factor of its kind times the factor of its origin times the *strength* of the
    evidence, in (0, 1]. Hundredths keep a document unchanged when a tool is added elsewhere in the
    catalog and rarities change slightly.
    """
    weight = KIND_FACTORS[kind] * ORIGIN_FACTORS[origin] * strength
    return min(1.0, max(LEAST_WEIGHT, round(weight, 2)))


@dataclass(frozen=True, slots=True)
class ToolRelations:
    """The groups and edges of one tool.

    Attributes:
        groups: Group ids such as `domain:invoice` or `category:billing`.
        related: Edges to tools of the same kind of work, strongest first.
        next_steps: Edges to tools to call afterwards, strongest first.
    """

    groups: tuple[str, ...] = ()
    related: tuple[Edge, ...] = ()
    next_steps: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of a whole catalog, by tool id."""

    by_tool: Mapping[str, ToolRelations]

    def of(self, tool_id: str) -> ToolRelations:
        """Return the relations of *tool_id*; empty if it has none."""
        return self.by_tool.get(tool_id, ToolRelations())
