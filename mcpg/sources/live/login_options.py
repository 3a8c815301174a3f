"""Options and result of a login; imports nothing of the SDK."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """How to log in.

    Attributes:
        show: Shows an address to the user; may block, and runs in a thread.
        port: Port of the redirect URI, 0 for any.
        seconds: Time for the user.
        step: Time for one response of a server, in seconds.
    """

    show: Callable[[str], None]
    port: int = 0
    seconds: float = 300.0
    step: float = 30.0


@dataclass(frozen=True, slots=True)
class LoginResult:
    """The result of logging in.

    Attributes:
        is_new: Whether a login was made; not where the server requires none.
        tools: Number of tools that the server offers.
    """

    is_new: bool
    tools: int
