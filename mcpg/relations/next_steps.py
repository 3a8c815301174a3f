"""What one would call after a tool, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.relations.affinity import edge_weight, quoted
from mcpg.relations.model import Edge, EdgeKind
from mcpg.relations.operations import FOLLOWED_BY, Operation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcpg.relations.affinity import AffinityIndex
    from mcpg.relations.flow import Flow, FlowIndex

# What one server finds, another can seldom look at: between servers one shared word is no evidence.
_ACROSS_SOURCES = 1.0

_REASONS = {
    Operation.INSPECT: "inspects what this one finds",
    Operation.ACT: "acts on what this one inspects",
}


@dataclass(frozen=True, slots=True)
class NextStepIndex:
    """Finds what may follow a tool.

    Attributes:
        affinity: What tools have in common.
        flow: What flows between them.
        operations: The kind of work of each tool.
    """

    affinity: AffinityIndex
    flow: FlowIndex
    operations: Sequence[Operation]

    def edges(self, position: int, near: Mapping[int, float], count: int) -> list[Edge]:
        """Make edges from the tool at *position* to the *count* likeliest next steps.

        A tool follows when it does the next kind of work on the same subject, or when it must be
        given what this one gives; where both hold, the stronger evidence counts.

        Args:
            position: The tool that comes first.
            near: The affinity of the tools that share a term with it.
            count: The most edges to make.
        """
        strengths = self._following(position, near)
        flows = self.flow.flows(position, near)
        for at, flow in flows.items():
            strengths[at] = max(flow.strength, strengths.get(at, 0.0))
        chosen = self.affinity.strongest(strengths, count)
        return [self._edge(position, at, strengths[at], flows.get(at)) for at in chosen]

    def _following(self, position: int, near: Mapping[int, float]) -> dict[int, float]:
        tools = self.affinity.tools
        source = tools[position].source_id
        kind = FOLLOWED_BY.get(self.operations[position])
        return {
            at: value
            for at, value in near.items()
            if self.operations[at] is kind
            and (tools[at].source_id == source or value >= _ACROSS_SOURCES)
        }

    def _edge(self, position: int, at: int, strength: float, flow: Flow | None) -> Edge:
        tools = self.affinity.tools
        if flow is not None and flow.strength >= strength:
            reason = flow.reason
        else:
            shared = quoted(self.affinity.shared_words(position, at))
            reason = f"{_REASONS[self.operations[at]]}: shares {shared}"
        source, target = tools[position].id, tools[at].id
        return Edge(EdgeKind.NEXT_STEP, source, target, edge_weight(strength), reason)
