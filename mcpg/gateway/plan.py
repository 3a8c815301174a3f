"""How a gateway makes its index."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcpg.engine.equipment import NONE, Equipment
from mcpg.engine.loading import load
from mcpg.gateway.graphsources import GENERATED

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcpg.engine.engine import Engine
    from mcpg.gateway.graphsources import GraphSource


@dataclass(frozen=True, slots=True)
class Plan:
    """How an index is made.

    Attributes:
        graph: Where the documents come from.
        reserved: Ids that no tool may get, in any case.
        equipment: What the engine may use.
        cache_dir: Folder for the indexes of bundles that lie where nothing can be written.
    """

    graph: GraphSource
    reserved: Collection[str] = ()
    equipment: Equipment = NONE
    cache_dir: str | None = None

    def bare(self) -> Plan:
        """Give the plan of an index that is made of nothing but what sources say."""
        return replace(self, graph=GENERATED)

    def load(self, path: str, source_id: str | None = None) -> Engine:
        """Open what stands at *path*, through its compiled index where it has one.

        Raises:
            McpgError: There is nothing at *path*, or it cannot be used.
        """
        held = self.equipment
        return load(
            path,
            source_id=source_id,
            cache_dir=self.cache_dir,
            embeddings=held.embedder,
            store=held.store,
            normalizer=held.normalizer,
            cache=held.cache,
            candidates=held.candidates,
            observer=held.observer,
        )
