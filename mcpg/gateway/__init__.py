"""The gateway: lists, searches, routes and calls the tools of many sources."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from mcpg.gateway.calls import Fault, FaultCode, Invoked, Limits
    from mcpg.gateway.former_route import route
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.registry import CustomGraph, FileGraph, GeneratedGraph, GraphSource
    from mcpg.gateway.snapshots import Snapshot
    from mcpg.gateway.sync_gateway import SyncGateway
    from mcpg.gateway.views import ItemKind, Selection, View
    from mcpg.review.lock_sources import OnChange, ToolLock
    from mcpg.route import (
        Adjustment,
        Preference,
        RoutedCategory,
        RoutedMatch,
        RouteResult,
        RouteWeights,
    )
    from mcpg.sources.client_config import HttpServer, Live, StdioServer
    from mcpg.sources.registry import (
        FileSource,
        FunctionSource,
        ServerSource,
        Source,
        SourceLike,
        open_sources,
    )

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
    "HttpServer",
    "Invoked",
    "ItemKind",
    "Limits",
    "Live",
    "OnChange",
    "Preference",
    "RouteResult",
    "RouteWeights",
    "RoutedCategory",
    "RoutedMatch",
    "Selection",
    "ServerSource",
    "Snapshot",
    "Source",
    "SourceLike",
    "StdioServer",
    "SyncGateway",
    "ToolLock",
    "View",
    "open_sources",
    "route",
]

# Routing needs no MCP SDK: modules are imported when needed.
_MODULES = (
    "mcpg.gateway.calls",
    "mcpg.sources.registry",
    "mcpg.gateway.registry",
    "mcpg.review.lock_sources",
    "mcpg.gateway.former_route",
    "mcpg.route",
    "mcpg.gateway.gateway",
    "mcpg.gateway.snapshots",
    "mcpg.gateway.sync_gateway",
    "mcpg.gateway.views",
    "mcpg.sources.client_config",
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in __all__:
        for module_name in _MODULES:
            module = import_module(module_name)
            if name in vars(module):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
