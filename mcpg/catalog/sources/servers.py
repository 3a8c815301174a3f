"""Servers that are asked for their tools, and how they are asked."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_TIMEOUT = 30.0
"""Seconds that a server has for everything, from its start to its last page of tools."""


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a program, spoken to over its standard input and output.

    What may hold a secret is kept out of its repr.

    Attributes:
        place: How messages name it; holds no secret.
        name: The source id of its tools; `None` for what the server calls itself.
        command: The program.
        args: Its arguments.
        env: Environment variables beside the few that every server gets.
        cwd: The folder in which it runs, or `None` for the present one.
        secrets: Texts that must not come back in what it says of its tools.
    """

    place: str
    name: str | None
    command: str = field(repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


AUTHORIZATION_CODE = "authorization_code"
"""The grant by which a person lets mcpg in, once, in a browser."""

CLIENT_CREDENTIALS = "client_credentials"
"""The grant by which mcpg lets itself in, with a secret of its own."""


@dataclass(frozen=True, slots=True)
class OAuth:
    """How mcpg is let in to a server that wants OAuth; what it says of itself may be empty.

    Attributes:
        grant: `AUTHORIZATION_CODE`, for which `mcpg login` must have been run, or
            `CLIENT_CREDENTIALS`.
        client_id: The client as which mcpg is registered; empty when it registers itself.
        client_secret: The secret of that client.
        scope: What is asked for, words with spaces between; empty for what the server names.
        method: How the secret is sent: `client_secret_basic` or `client_secret_post`.
        issuer: The authorisation server to which the client belongs; empty for the origin of the
            server itself. A secret is sent to no other.
        redirect: The address on this machine that is registered for the client, where a browser
            comes back to; empty for any port.
    """

    grant: str = AUTHORIZATION_CODE
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    method: str = field(default="client_secret_basic", repr=False)
    issuer: str = ""
    redirect: str = ""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at an address.

    Attributes:
        place: How messages name it; holds no secret.
        name: The source id of its tools; `None` for what the server calls itself.
        url: Its address, `http` or `https`.
        headers: Headers of every request.
        is_sse: Whether it speaks the older transport of two addresses.
        secrets: Texts that must not come back in what it says of its tools.
        oauth: How mcpg is let in where the server wants OAuth; `None` for not at all.
    """

    place: str
    name: str | None
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)
    oauth: OAuth | None = OAuth()

    @property
    def has_key(self) -> bool:
        """Whether its headers let mcpg in already, so that no OAuth is needed."""
        return any(name.casefold() == "authorization" for name in self.headers)

    @property
    def login(self) -> str:
        """The command by which a person logs in to it, as messages say it."""
        file, _, name = self.place.rpartition(": ")
        if not file:
            return "mcpg login ADDRESS"
        words = [name] if file.endswith(".toml") else [name, file]
        return f"mcpg login {shlex.join(words)}"


Server = StdioServer | HttpServer


def secrets_of(url: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Give what may be secret in an address and its headers, also without `Bearer` before it."""
    values = tuple(headers.values())
    return (url, *values, *(word for value in values for word in value.split()))


@dataclass(frozen=True, slots=True)
class Live:
    """How servers are asked.

    Attributes:
        environ: The environment from which variables are filled in.
        headers: Headers for servers named by their address.
        timeout: Seconds that each server has, above 0.
        told: Gets how many servers are done, and of how many.
        tokens: The folder in which logins are kept, `None` when there are none.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    told: Callable[[int, int], None] | None = None
    tokens: str | None = field(default=None, repr=False)
