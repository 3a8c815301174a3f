"""Why a server could not be asked, in our own words: its own may repeat what is secret."""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
        is_cut: Whether the connection of a request was lost before all of the answer was there.
        over: Called when the server cannot be heard any more, if not `None`.
        secrets: Tokens that were used, which must not come back in what the server says.
    """

    said: str | None = None
    rubbish: int = 0
    is_too_large: bool = False
    is_cut: bool = False
    over: Callable[[], None] | None = None
    secrets: set[str] = field(default_factory=set, repr=False)

    def cut(self, said: str) -> None:
        """Take note that the connection of a request was lost."""
        self.said = said
        self.is_cut = True

    def end(self, said: str) -> None:
        """Take note that the server cannot be heard any more, and why unless that is known."""
        if self.over is not None:
            self.said = self.said or said
            self.over()

    @property
    def here(self) -> Trouble:
        """The trouble of the request that runs in this context, else of the whole connection."""
        whole, part = _of_request.get()
        return part if whole is self else self

    @contextmanager
    def of_request(self) -> Iterator[Trouble]:
        """Keep apart what goes wrong with the requests that are made inside, and give it.

        Over HTTP, requests that run side by side fail each for itself; the SDK sends each in a copy
        of the context in which it was made.
        """
        part = Trouble(over=self.over, secrets=self.secrets)
        token = _of_request.set((self, part))
        try:
            yield part
        finally:
            _of_request.reset(token)


_of_request: ContextVar[tuple[Trouble | None, Trouble]] = ContextVar(
    "_of_request", default=(None, Trouble())
)


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


# SECTION veil: Hides what is secret in what servers say of their tools.


_SHORTEST = 12
_VEIL = "***"


def veiled(value: Any, secrets: Iterable[str]) -> tuple[Any, bool]:
    """Replace every one of *secrets* in the texts of JSON, keys included.

    Short ones, of fewer than 12 characters, are left: words such as `localhost` stand in the
    descriptions of honest tools.

    Returns:
        The JSON, and whether anything was replaced.
    """
    long = sorted(
        {one for one in secrets if len(one) >= _SHORTEST}, key=lambda one: (-len(one), one)
    )
    if not long:
        return value, False
    pattern = re.compile("|".join(map(re.escape, long)))
    found: list[str] = []

    def hidden(_: re.Match[str]) -> str:
        found.append(_VEIL)
        return _VEIL

    def walk(item: Any) -> Any:
        if isinstance(item, str):
            return pattern.sub(hidden, item)
        if isinstance(item, list):
            return [walk(member) for member in item]
        if isinstance(item, dict):
            return {pattern.sub(hidden, key): walk(member) for key, member in item.items()}
        return item

    return walk(value), bool(found)
