"""The engine: finds tools, says how sure it is, and explains itself."""

from __future__ import annotations

from mcpg.engine.engine import Engine
from mcpg.engine.loading import load
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
    "RankingMode",
    "SearchResult",
    "Strategy",
    "Via",
    "load",
]
