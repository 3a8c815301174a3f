"""Progress of a call, told no faster than its listener takes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Gets how much is done, of how much if that is known, and a word on it."""


class Latest:
    """Tells a listener the latest progress; what it was too slow for is left out."""

    def __init__(self, listener: Progress) -> None:
        self._listener = listener
        self._next: tuple[float, float | None, str | None] | None = None
        self._is_telling = False
        self._is_over = False

    async def tell(self, progress: float, total: float | None, message: str | None) -> None:
        """Take note of progress, and tell it unless the listener still has the one before."""
        self._next = (progress, total, message)
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._next is not None and not self._is_over:
                latest, self._next = self._next, None
                await self._listener(*latest)
        finally:
            self._is_telling = False

    def end(self) -> None:
        """Tell nothing more: there is a result."""
        self._is_over = True
