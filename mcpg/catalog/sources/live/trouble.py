"""Why a server could not be asked, in our own words: its own may repeat what is secret."""

from __future__ import annotations

from dataclasses import dataclass

MAX_ANSWER = 32 << 20
"""Bytes that one server may answer altogether."""


class AskingError(Exception):
    """A server could not be asked; the text says why, and holds nothing that it said."""


@dataclass(slots=True)
class Trouble:
    """What a transport saw go wrong.

    Attributes:
        said: What, or `None`.
        rubbish: Lines on standard output that were no messages.
        received: Bytes that the server has sent.
    """

    said: str | None = None
    rubbish: int = 0
    received: int = 0

    def count(self, size: int) -> None:
        """Take note of *size* bytes.

        Raises:
            AskingError: They are too many.
        """
        self.received += size
        if self.received > MAX_ANSWER:
            self.said = f"it answered more than {MAX_ANSWER >> 20} MB"
            raise AskingError(self.said)
