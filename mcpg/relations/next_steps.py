"""What may follow a tool: by what its server's tools do, by subject, and by fields that flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcpg.catalog.model import Tool
from mcpg.relations.affinity import AffinityIndex, ToolAffinities
from mcpg.relations.edges import Coverage, Edge, EdgeKind, EdgeOrigin, compute_weight
from mcpg.relations.kinds import FOLLOWED_BY, ToolOperation, classify_operation
from mcpg.relations.provides import FieldIndex, Provision, quote_words
from mcpg.relations.workflow import LEAST_CHANCE, ServerSteps

# What one server finds, another can seldom look at: between servers one shared word is no evidence.
_ACROSS_SOURCES = 1.0

_REASONS = {
    ToolOperation.INSPECT: "inspects what this one finds",
    ToolOperation.ACT: "acts on what this one inspects",
}


class _OperationCache(dict[int, ToolOperation]):
    """The kind of work of each tool that was looked at, by position."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        super().__init__()
        self._tools = tools

    def __missing__(self, position: int) -> ToolOperation:
        found = self[position] = classify_operation(self._tools[position])
        return found


def saturate_evidence(evidence: float) -> float:
    """Bring *evidence* above 0 into (0, 1); saturating: each further bit of it adds less."""
    return evidence / (evidence + 1.0)


@dataclass(frozen=True, slots=True)
class NextStepIndex:
    """Finds what may follow a tool.

    Attributes:
        affinity: What tools have in common.
        fields: What they give and take.
        provisions: What each provides to others.
        operations: The kind of work of each tool.
    """

    affinity: AffinityIndex
    fields: FieldIndex
    provisions: Sequence[Sequence[Provision]]
    operations: Mapping[int, ToolOperation]

    def is_alone(self, position: int) -> bool:
        """Return whether nothing follows the tool, the only one of its server, or is like it."""
        return position not in self.affinity.namesakes and not self.provisions[position]

    def edges(
        self,
        position: int,
        near: ToolAffinities,
        chances: Mapping[int, float],
        steps: ServerSteps | None,
        count: int,
    ) -> list[Edge]:
        """Make edges from the tool at *position* to the *count* likeliest next steps.

        Within a server a tool follows when their names, arguments and kinds of work make it likely;
        between servers, and between tools that take nothing, when it does the next kind of work on
        the same subject; anywhere, when it must be given what this one gives. Where several hold,
        the strongest evidence counts, and the reason names fields that flow.

        Args:
            position: The tool that comes first.
            near: The affinity of the tools near it.
            chances: How likely tools of its server follow it.
            steps: What its server's tools do; `None` where it is the only one.
            count: The most edges to make.
        """
        kind, origin = EdgeKind.NEXT_STEP, EdgeOrigin.INFERRED
        weights = {
            at: compute_weight(kind, origin, chance)
            for at, chance in chances.items()
            if chance >= LEAST_CHANCE
        }
        akin = self._by_kind(position, near, steps)
        weights |= {
            at: compute_weight(kind, origin, saturate_evidence(one)) for at, one in akin.items()
        }
        provided = {one.target: one for one in self._iter_provisions(position)}
        for at, provision in provided.items():
            weights[at] = max(provision.weight, weights.get(at, 0.0))
        ids = self.affinity.ids
        return [
            self._by_fields(position, provided[at], weights[at])
            if at in provided
            else Edge(
                kind,
                ids[position],
                ids[at],
                weights[at],
                self._reason(position, at, steps if at not in akin else None),
                origin,
            )
            for at in self.affinity.strongest(weights, count)
        ]

    def _iter_provisions(self, position: int) -> Iterator[Provision]:
        """Return what the tool provides of the needs of others, where nothing comes between."""
        for provision in self.provisions[position]:
            is_need = provision.coverage is not Coverage.OPTIONAL
            if is_need and not self.fields.skips_a_step(position, provision):
                yield provision

    def _by_kind(
        self, position: int, near: ToolAffinities, steps: ServerSteps | None
    ) -> dict[int, float]:
        """Return what does the next kind of work, where arguments do not tell what follows."""
        if not (near.home or near.abroad):
            return {}
        kind = FOLLOWED_BY.get(self.operations[position])
        if kind is None:
            return {}
        found = {at: one for at, one in near.abroad.items() if one >= _ACROSS_SOURCES}
        if steps and steps.is_silent(position):
            found |= {at: one for at, one in near.home.items() if steps.is_silent(at)}
        return {at: one for at, one in found.items() if self.operations[at] is kind}

    def _reason(self, position: int, at: int, steps: ServerSteps | None) -> str:
        if steps:
            return steps.reason(position, at)
        shared = quote_words(self.affinity.shared_words(position, at))
        return f"{_REASONS[self.operations[at]]}: shares {shared}"

    def _by_fields(self, position: int, provision: Provision, weight: float) -> Edge:
        ids = self.affinity.ids
        return Edge(
            EdgeKind.NEXT_STEP,
            ids[position],
            ids[provision.target],
            weight,
            provision.reason,
            EdgeOrigin.SCHEMA,
            provision.fields,
            provision.coverage,
        )


def build_next_steps(
    affinity: AffinityIndex, fields: FieldIndex, provisions: Sequence[Sequence[Provision]]
) -> NextStepIndex:
    """Build the index of next steps over the tools of *affinity*."""
    return NextStepIndex(affinity, fields, provisions, _OperationCache(affinity.tools))
