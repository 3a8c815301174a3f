"""Keeps the SDK from logging what servers say: it may repeat what is secret."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from mcp.client import session

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGGERS = ("mcp.client", "mcp.os", "mcp.shared", "httpx2", "httpcore2")
_SHARED = "client"
_SILENT = logging.NullHandler()
_LOCK = Lock()
_held: list[dict[str, bool]] = []
_count = [0]


@contextmanager
def muted() -> Iterator[None]:
    """Keep the SDK's client from logging for as long as anybody is inside."""
    with _LOCK:
        _count[0] += 1
        if _count[0] == 1:
            _held.append(_mute())
    try:
        yield
    finally:
        with _LOCK:
            _count[0] -= 1
            if _count[0] == 0:
                _restore(_held.pop())


def _is_of_host(record: logging.LogRecord) -> bool:
    """Return whether somebody else has logged to `client`, as one module of the SDK does."""
    return record.pathname != session.__file__


def _mute() -> dict[str, bool]:
    logging.getLogger(_SHARED).addFilter(_is_of_host)
    before = {}
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before[name] = logger.propagate
        logger.propagate = False
        logger.addHandler(_SILENT)
    return before


def _restore(before: dict[str, bool]) -> None:
    logging.getLogger(_SHARED).removeFilter(_is_of_host)
    for name, propagates in before.items():
        logger = logging.getLogger(name)
        logger.propagate = propagates
        logger.removeHandler(_SILENT)
