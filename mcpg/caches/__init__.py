"""Search caches: what a host may keep of normalised queries, query vectors and results."""

from mcpg.caches.memory import ABSOLUTE, ENTRIES, SLIDING, MemoryCache
from mcpg.caches.none import NoCache
from mcpg.caches.protocol import KINDS, QUERY, RESULT, VECTOR, SearchCache

__all__ = [
    "ABSOLUTE",
    "ENTRIES",
    "KINDS",
    "QUERY",
    "RESULT",
    "SLIDING",
    "VECTOR",
    "MemoryCache",
    "NoCache",
    "SearchCache",
]
