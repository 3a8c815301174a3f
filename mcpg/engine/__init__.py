"""The engine: search, explanation, questions and plans over the index of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from mcpg.ask import Answer, AskResult, IntentPattern
    from mcpg.engine.engine import Engine
    from mcpg.engine.loading import load
    from mcpg.plan import Plan, Task
    from mcpg.search.guards import CandidateSource
    from mcpg.search.results import (
        EngineServices,
        Evidence,
        FocusedGraph,
        LinkReason,
        Match,
        RankingMode,
        SearchResult,
        Strategy,
    )
    from mcpg.search.trace import Explanation

__all__ = [
    "Answer",
    "AskResult",
    "CandidateSource",
    "Engine",
    "EngineServices",
    "Evidence",
    "Explanation",
    "FocusedGraph",
    "IntentPattern",
    "LinkReason",
    "Match",
    "Plan",
    "RankingMode",
    "SearchResult",
    "Strategy",
    "Task",
    "load",
]

_MODULES = (
    "mcpg.search.results",
    "mcpg.engine.engine",
    "mcpg.search.trace",
    "mcpg.engine.loading",
    "mcpg.plan",
    "mcpg.ask",
    "mcpg.search.guards",
)


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: loading needs more modules than searching."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - a search does without

        for module_name in _MODULES:
            module = import_module(module_name)
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
