"""Rests: what has failed is left alone for a while, so that it does not slow down every search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Reason = TypeVar("Reason")

REST = 30.0
"""Seconds that what failed is left alone: what fails slowly costs a search much."""

SLOW = 1.0
"""Seconds from which on a failure is slow."""


class Rest(Generic[Reason]):
    """Until when something is left alone, and why; may be shared between threads."""

    def __init__(self, clock: Callable[[], float], seconds: float = REST) -> None:
        """Prepare for rests of so many *seconds*; *clock* tells the time in seconds."""
        self.now = clock
        self._seconds = seconds
        # The end of the rest, and its reason; one tuple, so never half of each.
        self._failed: tuple[float, Reason] | None = None

    @property
    def reason(self) -> Reason | None:
        """Why it is left alone now; `None` when it is not."""
        failed = self._failed
        return failed[1] if failed is not None and self.now() < failed[0] else None

    def begin(self, reason: Reason) -> None:
        """Leave it alone from now on."""
        self._failed = (self.now() + self._seconds, reason)

    def begin_if_slow(self, reason: Reason, start: float) -> None:
        """Leave it alone from now on if it took long to fail, asked at *start*."""
        if self.now() - start >= SLOW:
            self.begin(reason)
