"""Relations between tools: groups, related tools, next steps, each edge with its reason."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpg.relations.edges import STATED, authored_edges, relate
    from mcpg.relations.model import Edge, EdgeKind, EdgeOrigin, Relations, ToolRelations

__all__ = [
    "STATED",
    "Edge",
    "EdgeKind",
    "EdgeOrigin",
    "Relations",
    "ToolRelations",
    "authored_edges",
    "relate",
]

# In this order a value object is found before anything that reads or writes is imported.
_MODULES = ("model", "edges")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: an index needs the values alone."""
    if name in __all__:
        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
