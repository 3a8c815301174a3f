"""Cache of the hints of found tools, by index: reading a record takes longer than finding it."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mcpg.catalog.model import Hints
from mcpg.index import Index

if TYPE_CHECKING:
    from mcpg.engine import Match

_MOST_KEPT = 4_096


class HintsCache:
    """Hints of the tools of one index."""

    def __init__(self) -> None:
        self._kept: dict[str, Hints] = {}

    def of(self, matches: Iterable[Match]) -> dict[str, Hints]:
        """Return the hints of the tools of *matches*, which are of this index, by tool id."""
        return {match.tool_id: self._of(match) for match in matches}

    def _of(self, match: Match) -> Hints:
        known = self._kept.get(match.tool_id)
        if known is None:
            known = match.descriptor.hints
            if len(self._kept) < _MOST_KEPT:
                self._kept[match.tool_id] = known
        return known


class _HintsCaches:
    """Caches by index, dropped with their index."""

    def __init__(self) -> None:
        self._caches: WeakKeyDictionary[Index, HintsCache] = WeakKeyDictionary()
        self._lock = allocate_lock()

    def of_index(self, index: Index) -> HintsCache:
        """Return the cache of *index*, which threads share."""
        with self._lock:
            return self._caches.setdefault(index, HintsCache())


HINTS = _HintsCaches()
