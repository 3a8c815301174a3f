"""Why a server could not be asked, in our own words: its own may repeat what is secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ANSWER = 32 << 20
"""Bytes of one answer of a server, and of its list of tools as a whole."""


class AskingError(Exception):
    """A server could not be asked; the text says why, and holds nothing that it said."""


@dataclass(slots=True)
class Trouble:
    """What a transport saw go wrong.

    Attributes:
        said: What, or `None`.
        rubbish: Lines on standard output since the last message that were no messages.
        is_too_large: Whether an answer was larger than `MAX_ANSWER`.
        over: Called when the server cannot be heard any more, if not `None`.
        secrets: Tokens that were used, which must not come back in what the server says.
    """

    said: str | None = None
    rubbish: int = 0
    is_too_large: bool = False
    over: Callable[[], None] | None = None
    secrets: set[str] = field(default_factory=set, repr=False)


class Meter:
    """Counts the bytes of one answer after another."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._size = 0

    def count(self, size: int) -> None:
        """Take note of *size* more bytes of an answer.

        Raises:
            AskingError: They are too many; the trouble knows.
        """
        self._size += size
        if self._size > MAX_ANSWER:
            self._trouble.said = too_large()
            self._trouble.is_too_large = True
            raise AskingError(self._trouble.said)

    def start(self) -> None:
        """Begin with the next answer."""
        self._size = 0


def too_large() -> str:
    """Say that an answer is larger than `MAX_ANSWER`."""
    return f"it answered more than {MAX_ANSWER >> 20} MB"
