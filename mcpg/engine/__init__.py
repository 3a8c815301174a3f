"""The engine: finds tools, says how sure it is, and explains itself."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcpg.engine.engine import Engine
    from mcpg.engine.loading import load
    from mcpg.engine.plan import Plan
    from mcpg.engine.results import (
        Evidence,
        FocusedGraph,
        Match,
        RankingMode,
        SearchResult,
        Strategy,
        Via,
    )
    from mcpg.engine.trace import Explanation

__all__ = [
    "Engine",
    "Evidence",
    "Explanation",
    "FocusedGraph",
    "Match",
    "Plan",
    "RankingMode",
    "SearchResult",
    "Strategy",
    "Via",
    "load",
]

_MODULES = ("results", "engine", "trace", "loading", "plan")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: to load takes more than to search."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - a search does without

        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
