"""The optional rooms of mcpg: the module in which each registers what it adds, and its hooks.

A module is imported only when something of its hooks is asked for. `tests/plugins` holds the hooks
to what the modules register.
"""

from __future__ import annotations

ROOMS: dict[str, tuple[str, ...]] = {
    "mcpg.code.plugin": ("source_kinds", "item_kinds", "answerers"),
    "mcpg.graph.plugin": ("commands", "graph_readers", "caches"),
    "mcpg.gateway.plugin": ("commands",),
    "mcpg.postgres.plugin": ("commands", "services", "checks"),
    "mcpg.explore.plugin": ("commands",),
    "mcpg.telemetry.plugin": ("services", "checks"),
}
