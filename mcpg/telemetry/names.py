"""The names under which OpenTelemetry is told: spans, their attributes, metrics.

docs/reference/telemetry.md lists them all, beside those of the .NET gateway. What the semantic
conventions of OpenTelemetry have a name for bears that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCOPE = "mcpg"
"""Name of the instrumentation scope."""

ERROR_TYPE = "error.type"
"""Semantic conventions, "Error": the class of an error."""

TOOL_NAME = "gen_ai.tool.name"
"""Semantic conventions, "Generative AI", span of an executed tool: its name."""

OPERATION = {"gen_ai.operation.name": "execute_tool"}
"""As above: what every such span says."""

QUERY = "query"
NORMALIZED_QUERY = "normalized_query"

BOUNDARIES = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Bounds of the buckets of histograms, in seconds, unless a host sets up others: a search takes a
millisecond, a call of a tool may take a minute."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: a histogram of seconds, or a counter of anything else.

    Attributes:
        name: What it is called.
        unit: Its unit, as UCUM writes it.
        description: What it measures or counts.
        of: The attribute that it takes its values from, by its short name; "" counts each by one.
    """

    name: str
    unit: str
    description: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing that is watched.

    Attributes:
        span: Name of its span.
        attributes: Names of the attributes of its spans, by their short names.
        duration: Which of them is how long it took.
        metrics: Its metrics.
        dimensions: Short names of the attributes that its metrics have as well: few values each.
        constants: Attributes that each of its spans has.
    """

    span: str
    attributes: Mapping[str, str]
    duration: str
    metrics: tuple[Metric, ...]
    dimensions: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)


def _under(prefix: str, *names: str) -> dict[str, str]:
    return {name: prefix + name for name in names}


_RANKED = (
    "configured_strategy",
    "ranking_mode",
    "used_vector",
    "used_graph",
    "cache_hit",
    "query_normalized",
)
SEARCH = Kind(
    "mcpg.search",
    _under(
        "mcpg.search.",
        *_RANKED,
        "result_count",
        "related_count",
        "next_step_count",
        "focused_graph_node_count",
        "focused_graph_edge_count",
        "vector_tokens",
        "vector_duration",
        "graph_duration",
        "duration",
        QUERY,
        NORMALIZED_QUERY,
    ),
    "duration",
    (
        Metric("mcpg.search.requests", "{request}", "Searches"),
        Metric("mcpg.search.duration", "s", "How long searches took", "duration"),
        Metric(
            "mcpg.search.vector.duration",
            "s",
            "How long searches made and compared vectors",
            "vector_duration",
        ),
        Metric(
            "mcpg.search.vector.tokens",
            "{token}",
            "Tokens that vectors of queries have cost",
            "vector_tokens",
        ),
        Metric(
            "mcpg.search.graph.duration",
            "s",
            "How long the other stages of searches took",
            "graph_duration",
        ),
    ),
    _RANKED,
)
BUILD = Kind(
    "mcpg.index.build",
    _under(
        "mcpg.index.",
        "tool_count",
        "vectorized_tool_count",
        "graph_enabled",
        "graph_node_count",
        "graph_edge_count",
        "build_duration",
    ),
    "build_duration",
    (
        Metric("mcpg.index.builds", "{build}", "Indexes that were made"),
        Metric(
            "mcpg.index.build.duration", "s", "How long it took to make indexes", "build_duration"
        ),
    ),
    ("graph_enabled",),
)
VECTORS = Kind(
    "mcpg.index.vectors",
    _under(
        "mcpg.index.",
        "tool_count",
        "vectorized_tool_count",
        "embedded_tool_count",
        "vector_tokens",
        "vectors_duration",
    ),
    "vectors_duration",
    (
        Metric(
            "mcpg.index.vectors.duration",
            "s",
            "How long it took to find or make the vectors of tools",
            "vectors_duration",
        ),
        Metric(
            "mcpg.index.vectors.tokens",
            "{token}",
            "Tokens that vectors of tools have cost",
            "vector_tokens",
        ),
    ),
)
ROUTE = Kind(
    "mcpg.route",
    _under("mcpg.route.", "category_count", "tool_count", "duration", QUERY),
    "duration",
    (Metric("mcpg.route.duration", "s", "How long searches by categories took", "duration"),),
)
INVOKE = Kind(
    "mcpg.invoke",
    _under("mcpg.invoke.", "source_kind", "source_id", "outcome", "duration")
    | {"tool_name": TOOL_NAME},
    "duration",
    (Metric("mcpg.invoke.duration", "s", "How long calls of tools took", "duration"),),
    ("source_kind", "outcome"),
    OPERATION,
)
KINDS = (SEARCH, BUILD, VECTORS, ROUTE, INVOKE)
