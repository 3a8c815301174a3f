"""A cache that cannot hurt: what it raises is remembered, and told as a diagnostic."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcpg.diagnostics import Code, Diagnostic, warning
from mcpg.errors import McpgError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.caches import SearchCache

REST = 30.0
"""Seconds that a cache is left alone after it failed: one that fails slowly costs a search much."""


class GuardedCache:
    """Stands before a host's cache.

    A cache that fails is left alone for a while, so that one that is out of order does not slow
    down every search. May be shared between threads.
    """

    def __init__(self, cache: SearchCache, clock: Callable[[], float] = time.monotonic) -> None:
        """Stand before *cache*; *clock* tells the time in seconds."""
        self._cache = cache
        self._clock = clock
        # Time until which the cache is left alone, and why; one tuple, so never half of each.
        self._failed: tuple[float, str] | None = None

    def get(self, kind: str, key: str) -> bytes | None:
        """Give what the cache has; `None` also when it fails or gives anything but bytes."""
        if self._is_resting():
            return None
        try:
            found = self._cache.get(kind, key)
        except Exception as fault:  # noqa: BLE001 - a cache may raise whatever it likes
            self._rest(fault)
            return None
        return found if isinstance(found, bytes) else None

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Have the cache keep *value*, if it can."""
        if self._is_resting():
            return
        try:
            self._cache.put(kind, key, value)
        except Exception as fault:  # noqa: BLE001 - as above
            self._rest(fault)

    def noticed(self) -> tuple[Diagnostic, ...]:
        """Tell that the cache is out of order, if it is."""
        failed = self._failed
        if failed is None or not self._is_resting():
            return ()
        message = f"the search cache failed: {failed[1]}; answers are computed, and are not kept"
        return (warning(Code.SEARCH_CACHE_FAILED, message),)

    def _is_resting(self) -> bool:
        failed = self._failed
        return failed is not None and self._clock() < failed[0]

    def _rest(self, fault: Exception) -> None:
        # The text of a stranger's error may hold a password, so only its type is told.
        reason = fault.message if isinstance(fault, McpgError) else type(fault).__name__
        self._failed = (self._clock() + REST, reason)
