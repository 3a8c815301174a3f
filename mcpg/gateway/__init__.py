"""The gateway: the tools of many sources behind one door, to list, search, route and invoke."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpg.gateway.blocking import SyncGateway
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.graphsources import CustomGraph, FileGraph, GeneratedGraph, GraphSource
    from mcpg.gateway.limits import Limits
    from mcpg.gateway.opening import open_sources
    from mcpg.gateway.preference import Preference
    from mcpg.gateway.results import Fault, FaultCode, Invoked
    from mcpg.gateway.routeweights import RouteWeights
    from mcpg.gateway.routing import (
        Adjustment,
        RoutedCategory,
        RoutedMatch,
        RouteResult,
        route,
    )
    from mcpg.gateway.snapshot import Snapshot
    from mcpg.gateway.sources import FileSource, FunctionSource, ServerSource, Source

__all__ = [
    "Adjustment",
    "CustomGraph",
    "Fault",
    "FaultCode",
    "FileGraph",
    "FileSource",
    "FunctionSource",
    "Gateway",
    "GeneratedGraph",
    "GraphSource",
    "Invoked",
    "Limits",
    "Preference",
    "RouteResult",
    "RouteWeights",
    "RoutedCategory",
    "RoutedMatch",
    "ServerSource",
    "Snapshot",
    "Source",
    "SyncGateway",
    "open_sources",
    "route",
]

# Routing needs no MCP SDK: nothing is imported before it is asked for.
_MODULES = (
    "mcpg.gateway.limits",
    "mcpg.gateway.results",
    "mcpg.gateway.sources",
    "mcpg.gateway.graphsources",
    "mcpg.gateway.opening",
    "mcpg.gateway.preference",
    "mcpg.gateway.routeweights",
    "mcpg.gateway.routing",
    "mcpg.gateway.gateway",
    "mcpg.gateway.blocking",
    "mcpg.gateway.snapshot",
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - as above

        for module_name in _MODULES:
            module = import_module(module_name)
            if name in vars(module):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
