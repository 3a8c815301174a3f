"""Schema-aware search: by the predicates that are registered, with what speaks for each match."""

from mcpg.graph.search.model import (
    Evidence,
    GraphMatch,
    GraphSearchRequest,
    GraphSearchResult,
    Mode,
    Role,
    SourceContext,
)
from mcpg.graph.search.profile import DEFAULT_PROFILE, SearchProfile
from mcpg.graph.search.searcher import GraphSearcher

__all__ = [
    "DEFAULT_PROFILE",
    "Evidence",
    "GraphMatch",
    "GraphSearchRequest",
    "GraphSearchResult",
    "GraphSearcher",
    "Mode",
    "Role",
    "SearchProfile",
    "SourceContext",
]
