"""Which searches run in the event loop rather than in a thread.

A thread that computes keeps the interpreter lock for up to `sys.getswitchinterval()`, 5 ms, before
the event loop gets it back. A search that takes less holds up the event loop as long in a thread as
without one, and the switch to a thread and back costs 0.2 to 0.3 ms. A search that may take longer,
or that waits for a service, runs in a thread.
"""

from __future__ import annotations

from typing import Any

from mcpg.caches import MemoryCache, NoCache
from mcpg.engine.engine import Engine
from mcpg.engine.results import EngineServices, Strategy

_MOST_CHARACTERS = 240
_MOST_TOOLS = 20_000
# Options by which a search takes no longer; others count where they are set.
_FREE = frozenset(("limit", "include_disabled", "min_score", "abstain", "fusion", "lexicon"))


def is_brief_search(engine: Engine, query: object = None, **options: Any) -> bool:
    """Return whether a search is sure to be short, once the engine has answered another one.

    Args:
        engine: The engine.
        query: The query.
        **options: The other arguments of `Engine.search`.
    """
    if not isinstance(query, str) or len(query) > _MOST_CHARACTERS or not query.strip():
        return False
    if options.pop("strategy", Strategy.GRAPH) != Strategy.GRAPH:
        return False
    if any(value for name, value in options.items() if name not in _FREE):
        return False
    return len(engine.index) <= _MOST_TOOLS and not _waits(engine.services)


def _waits(services: EngineServices | None) -> bool:
    """Return whether searches by the graph use a service that may have to be waited for."""
    if services is None:
        return False
    is_at_hand = services.cache is None or isinstance(services.cache, MemoryCache | NoCache)
    return not is_at_hand or services.candidates is not None or services.observer is not None
