"""How a gateway is served."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from mcpg.errors import UsageError
from mcpg.gateway.serving.budget import SMALLEST_BUDGET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mcpg.diagnostics import Diagnostic


class Exposure(StrEnum):
    """What clients see."""

    META = "meta"
    """The meta-tools alone."""
    ALL = "all"
    """Every enabled tool as well, under its id."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How a gateway is served.

    Attributes:
        expose: What clients see.
        graph_tools: Whether the meta-tools of the graph are among it.
        endpoints: SPARQL endpoints that a search of the graph may ask when it is told to.
        answer_bytes: Budget of the answer of a meta-tool, as JSON.
        result_bytes: Budget of a result that is passed on, as JSON.
        search: What every search is asked beside its query, such as `strategy`.
        route: What every route is asked, likewise.
        told: Gets one line for each request, without what was asked; `None` for nobody.
        noticed: Gets what was noticed of the sources whenever that may be news; `None` for nobody.

    Raises:
        UsageError: A budget is too small for any answer, or endpoints are allowed to tools that
            are not shown.
    """

    expose: Exposure = Exposure.META
    graph_tools: bool = False
    endpoints: tuple[str, ...] = ()
    answer_bytes: int = 32 << 10
    result_bytes: int = 256 << 10
    search: Mapping[str, Any] = field(default_factory=dict)
    route: Mapping[str, Any] = field(default_factory=dict)
    told: Callable[[str], None] | None = None
    noticed: Callable[[tuple[Diagnostic, ...]], None] | None = None

    def __post_init__(self) -> None:
        if min(self.answer_bytes, self.result_bytes) < SMALLEST_BUDGET:
            raise UsageError(
                f"no answer has room in less than {SMALLEST_BUDGET:,} bytes",
                remedy="allow more, or leave it out",
            )
        if self.endpoints and not self.graph_tools:
            raise UsageError(
                "endpoints are asked by the tools of the graph, which are not shown",
                remedy="show them, too (--graph-tools)",
            )
