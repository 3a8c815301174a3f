"""Keeps what functions print from standard output, where perhaps a protocol is spoken."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = Lock()
_count = [0]
_is_diverted: ContextVar[bool] = ContextVar("_is_diverted", default=False)


class _Door:
    """Stands in for standard output: whoever is diverted reaches standard error."""

    def __init__(self) -> None:
        self.real: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _is_diverted.get() else self.real, name)


# One for all times: `print` borrows `sys.stdout` from the interpreter, and crashes when another
# thread takes away the last reference while it writes (github.com/python/cpython/issues/130163).
_DOOR = _Door()


@contextmanager
def stdout_diverted() -> Iterator[None]:
    """Send what this thread or task prints to standard error; the others print as before."""
    with _LOCK:
        _count[0] += 1
        if sys.stdout is not _DOOR:
            _DOOR.real, sys.stdout = sys.stdout, _DOOR
    token = _is_diverted.set(True)
    try:
        yield
    finally:
        _is_diverted.reset(token)
        with _LOCK:
            _count[0] -= 1
            if _count[0] == 0 and sys.stdout is _DOOR:
                sys.stdout = _DOOR.real
