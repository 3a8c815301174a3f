"""Servers that are asked for their tools, and how they are asked."""

from __future__ import annotations

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
    """

    place: str
    name: str | None
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_sse: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)


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
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = DEFAULT_TIMEOUT
    told: Callable[[int, int], None] | None = None
