"""Ending when the system says so."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def when_told(stop: Callable[[], None]) -> None:
    """Wait until the process is to end, and call *stop*; a second signal ends it at once.

    Signals are the main thread's; elsewhere, and where the system knows none of this, whoever runs
    the event loop ends it.
    """
    try:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for _ in signals:
                stop()
                return
    except (NotImplementedError, ValueError, RuntimeError):  # pragma: no cover - by the system
        return
