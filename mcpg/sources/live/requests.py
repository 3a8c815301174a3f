"""Requests to live servers: their progress, and the results of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcpg.json_types import JsonObject, JsonValue

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a call: how much is done, the total if known, and a message."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call.

    Attributes:
        content: The content blocks of MCP, in their order.
        structured: The structured result, or `None`.
        is_error: Whether the tool reports a failure, which the content describes.
        wire: The result as its server sent it; `None` for other sources.
    """

    content: tuple[JsonObject, ...] = ()
    structured: JsonValue = None
    is_error: bool = False
    wire: JsonObject | None = None


class LatestProgress:
    """Passes on the latest progress; what a listener is too slow for is left out.

    Attributes:
        is_over: Whether there is a result, after which nothing is passed on.
    """

    def __init__(self, listener: Progress) -> None:
        """Pass progress on to *listener*."""
        self.is_over = False
        self._listener = listener
        self._next: tuple[float, float | None, str | None] | None = None
        self._is_reporting = False

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on progress, unless the listener is still busy with the one before."""
        self._next = (progress, total, message)
        if self._is_reporting:
            return
        self._is_reporting = True
        try:
            while self._next is not None and not self.is_over:
                latest, self._next = self._next, None
                await self._listener(*latest)
        finally:
            self._is_reporting = False
