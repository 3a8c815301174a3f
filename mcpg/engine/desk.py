"""Who stands between a host and the searcher: a cache of results, an observer, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mcpg.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.diagnostics import Diagnostic
    from mcpg.engine.cached import ResultCache
    from mcpg.engine.equipment import Equipment
    from mcpg.engine.request import Request
    from mcpg.engine.results import SearchResult
    from mcpg.engine.searcher import Searcher

    Asking = Callable[[Callable[[Searcher], SearchResult]], SearchResult]
    """Asks the engine's searcher, and once more where its index turns out to be damaged."""


class Desk(Protocol):
    """Answers searches in place of the searcher."""

    def answer(
        self, ask: Asking, request: Request, noticed: tuple[Diagnostic, ...]
    ) -> SearchResult:
        """Answer *request* as `Searcher.answer` does."""


class CachedDesk:
    """Answers from a cache of results where it can."""

    def __init__(self, results: ResultCache) -> None:
        """Answer from *results*."""
        self._results = results

    def answer(
        self, ask: Asking, request: Request, noticed: tuple[Diagnostic, ...]
    ) -> SearchResult:
        """See `Desk.answer`."""
        return ask(lambda searcher: self._results.answer(searcher, request, noticed))


def prepared(equipment: Equipment) -> tuple[Equipment, Desk]:
    """Give *equipment*, which has a cache or an observer, guarded, and the desk made of them."""
    results: ResultCache | None = None
    if equipment.cache is not None:
        from mcpg.engine.cached import ResultCache  # noqa: PLC0415 - only where there is a cache
        from mcpg.engine.guarded import GuardedCache  # noqa: PLC0415 - as above

        cache = GuardedCache(equipment.cache)
        equipment, results = replace(equipment, cache=cache), ResultCache(cache)
    if equipment.observer is None and results is not None:
        return equipment, CachedDesk(results)
    from mcpg.engine.observed import ObservedDesk  # noqa: PLC0415 - only where somebody watches
    from mcpg.telemetry.guarded import GuardedObserver  # noqa: PLC0415 - as above

    observer = GuardedObserver.of(equipment.observer)
    return replace(equipment, observer=observer), ObservedDesk(observer, results)
