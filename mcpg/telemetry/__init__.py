"""Telemetry: what an engine and a gateway tell whoever watches them; opt-in.

An observer is given to `mcpg.load(..., observer=)` or to a gateway. `telemetry()` makes one that
tells OpenTelemetry, with spans and metrics; a host may bring its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.telemetry.facts import (
    BuildFacts,
    InvokeFacts,
    RouteFacts,
    SearchFacts,
    VectorFacts,
)
from mcpg.telemetry.guarded import GuardedObserver
from mcpg.telemetry.observer import Observer, Tell

if TYPE_CHECKING:
    from mcpg.telemetry.opening import telemetry

__all__ = [
    "BuildFacts",
    "GuardedObserver",
    "InvokeFacts",
    "Observer",
    "RouteFacts",
    "SearchFacts",
    "Tell",
    "VectorFacts",
    "telemetry",
]


def __getattr__(name: str) -> object:
    """Import what needs the API of OpenTelemetry when it is first asked for."""
    if name == "telemetry":
        from mcpg.telemetry.opening import telemetry  # noqa: PLC0415 - as above

        return telemetry
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
