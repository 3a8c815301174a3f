"""Tokens: what it costs to make vectors, told by whoever makes them to whoever counts.

Counts belong to a thread or task, so that those of searches that run side by side stay apart.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tokens:
    """A count of tokens.

    Attributes:
        total: All that were told of, `None` while nobody has told of any.
    """

    def __init__(self) -> None:
        self.total: int | None = None


_COUNTING: ContextVar[Tokens | None] = ContextVar("mcpg tokens", default=None)


def count_tokens(count: int) -> None:
    """Tell that the vectors which are being made have cost *count* tokens.

    A provider calls this while it makes them, in the thread in which it was asked; whether anybody
    counts is not its concern.
    """
    tokens = _COUNTING.get()
    if tokens is not None:
        tokens.total = (tokens.total or 0) + count


@contextmanager
def counted_tokens() -> Iterator[Tokens]:
    """Count the tokens that are told of inside; whoever counts outside does not hear of them."""
    tokens = Tokens()
    before = _COUNTING.set(tokens)
    try:
        yield tokens
    finally:
        _COUNTING.reset(before)
