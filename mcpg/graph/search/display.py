"""How nodes are shown."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpg.graph.search.queries import DESCRIBED, LABELS
from mcpg.graph.vocabulary import RDF_TYPE, SCHEMA_DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Display:
    """How one node is shown: its name or IRI, what it is, IRIs of its classes."""

    label: str
    description: str = ""
    types: tuple[str, ...] = ()


def displayed(rows: Iterable[Mapping[str, str]]) -> dict[str, Display]:
    """Make the answer to `mcpg.graph.search.queries.description_query` into displays by IRI."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        predicate = row.get("predicate", "")
        if predicate in DESCRIBED and "node" in row and "value" in row:
            values[row["node"]][predicate].append(row["value"])
    return {node: _display(node, of) for node, of in values.items()}


def _display(node: str, values: Mapping[str, list[str]]) -> Display:
    # The first answer counts: that of the graph at hand, then the endpoints' in order.
    label = next((values[name][0] for name in LABELS if name in values), node)
    description = values[SCHEMA_DESCRIPTION][0] if SCHEMA_DESCRIPTION in values else ""
    types = values.get(RDF_TYPE, ())
    return Display(label, description, tuple(sorted(set(types))))
