"""Telemetry: what an engine and a gateway tell whoever watches them; opt-in.

An observer is told by an engine or a gateway; a host brings its own.
"""

from __future__ import annotations

from mcpg.telemetry.facts import (
    BuildFacts,
    InvokeFacts,
    RouteFacts,
    SearchFacts,
    VectorFacts,
)
from mcpg.telemetry.guarded import GuardedObserver
from mcpg.telemetry.observer import Observer, Tell

__all__ = [
    "BuildFacts",
    "GuardedObserver",
    "InvokeFacts",
    "Observer",
    "RouteFacts",
    "SearchFacts",
    "Tell",
    "VectorFacts",
]
