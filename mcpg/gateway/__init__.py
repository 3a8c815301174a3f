"""The gateway: lists, searches, routes and calls the tools of many sources."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcpg.values import find_former

if TYPE_CHECKING:
    from typing import Any

    from mcpg.gateway.calls import CallResult, Fault, FaultCode, Limits
    from mcpg.gateway.former_route import route
    from mcpg.gateway.gateway import Gateway
    from mcpg.gateway.registry import (
        CustomDocuments,
        DocumentSource,
        GeneratedDocuments,
        ReviewedDocuments,
    )
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
    from mcpg.sources.client_config import HttpServer, ServerAccess, StdioServer
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
    "CallResult",
    "CustomDocuments",
    "DocumentSource",
    "Fault",
    "FaultCode",
    "FileSource",
    "FunctionSource",
    "Gateway",
    "GeneratedDocuments",
    "HttpServer",
    "ItemKind",
    "Limits",
    "OnChange",
    "Preference",
    "ReviewedDocuments",
    "RouteResult",
    "RouteWeights",
    "RoutedCategory",
    "RoutedMatch",
    "Selection",
    "ServerAccess",
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

_FORMER = {
    "CustomGraph": "CustomDocuments",
    "FileGraph": "ReviewedDocuments",
    "GeneratedGraph": "GeneratedDocuments",
    "GraphSource": "DocumentSource",
    "Invoked": "CallResult",
    "Live": "ServerAccess",
}

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
    return find_former(__name__, _FORMER, name)


def __dir__() -> list[str]:
    return __all__
