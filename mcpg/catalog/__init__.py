"""Tools, the hints that authors add to them, and the catalogue that holds them together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcpg.catalog.catalog import (
        Assertion,
        Catalog,
        append_suffix,
        assign_ids,
        build_catalog,
        normalize,
        source_qualified,
        tool_id,
    )
    from mcpg.catalog.hints import hints_from, read_hint_rules
    from mcpg.catalog.model import (
        HintRule,
        Hints,
        Parameter,
        SourceDocument,
        SourceKind,
        Tier,
        Tool,
        ToolExample,
        walk_parameters,
    )

__all__ = [
    "Assertion",
    "Catalog",
    "HintRule",
    "Hints",
    "Parameter",
    "SourceDocument",
    "SourceKind",
    "Tier",
    "Tool",
    "ToolExample",
    "append_suffix",
    "assign_ids",
    "build_catalog",
    "hints_from",
    "normalize",
    "read_hint_rules",
    "source_qualified",
    "tool_id",
    "walk_parameters",
]

# In this order a value object is found before anything that reads files is imported.
_MODULES = ("model", "hints", "catalog")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: a search needs few of them."""
    if name in __all__:
        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
