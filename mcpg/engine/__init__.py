"""The engine: search, explanation, questions and plans over the index of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from mcpg.engine.ask import Answer, AskResult, IntentPattern
    from mcpg.engine.candidate_source import CandidateSource
    from mcpg.engine.engine import Engine
    from mcpg.engine.loading import load
    from mcpg.engine.plan import Plan, Task
    from mcpg.engine.results import (
        EngineServices,
        Evidence,
        FocusedGraph,
        Match,
        RankingMode,
        SearchResult,
        Strategy,
        LinkReason,
    )
    from mcpg.engine.trace import Explanation

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
    "Match",
    "Plan",
    "RankingMode",
    "SearchResult",
    "Strategy",
    "Task",
    "LinkReason",
    "load",
]

_MODULES = ("results", "engine", "trace", "loading", "plan", "ask", "candidate_source")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: to load takes more than to search."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415 - a search does without

        for module_name in _MODULES:
            module = import_module(f"{__name__}.{module_name}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
