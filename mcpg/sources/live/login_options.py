"""How a login is made, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Manner:
    """How a login is made.

    Attributes:
        show: Brings an address before a person; may take long, and runs in a thread.
        port: The port where a browser comes back to, 0 for any.
        seconds: The time that the person has.
        step: The time that a server has for one answer.
    """

    show: Callable[[str], None]
    port: int = 0
    seconds: float = 300.0
    step: float = 30.0


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """What came of a login.

    Attributes:
        is_new: Whether a login was made; not where the server wants none.
        tools: How many tools the server has for it.
    """

    is_new: bool
    tools: int
