"""A lock around OAuth, which lets go while the request itself is under way."""

from __future__ import annotations

import anyio


class Turnstile:
    """Stands in for the lock that the SDK holds from before a request until its answer begins.

    That is right for tokens: one renews them, and the others wait. But a server may begin to answer
    only when a tool is done, and then calls at the same time would go one after another, and not
    even a cancellation would come through. So whoever sends the request itself steps aside.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock()

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let others pass, if it is us that holds them up."""
        owner = self._lock.statistics().owner
        if owner is not None and owner.id == anyio.get_current_task().id:
            self._lock.release()

    async def enter(self) -> None:
        """Wait for one's turn."""
        await self._lock.acquire()
