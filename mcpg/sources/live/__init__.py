"""Live MCP servers: query them for their tools, log in to them.

The `mcp` SDK is imported by the functions that need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec

from mcpg.errors import UsageError
from mcpg.sources.client_config import HttpServer, LoginOptions, LoginResult, Server, ServerAccess
from mcpg.sources.model import ServerListing, SourceBatch
from mcpg.text.library_errors import install_command

__all__ = ["log_in", "log_out", "query_each", "query_servers", "require_sdk"]


def query_servers(
    servers: Sequence[Server],
    live: ServerAccess,
    *,
    source_id: str | None = None,
    timeouts: Sequence[float | None] = (),
) -> SourceBatch:
    """Query *servers* for their tools as `query_each` does, and join the results."""
    replies = query_each(servers, live, source_id=source_id, timeouts=timeouts)
    return replace(SourceBatch.join(reply.batch for reply in replies), sources=len(replies))


def query_each(
    servers: Sequence[Server],
    live: ServerAccess,
    *,
    source_id: str | None = None,
    timeouts: Sequence[float | None] = (),
) -> tuple[ServerListing, ...]:
    """Query *servers* for their tools concurrently, each with its own timeout.

    A failure becomes a diagnostic. Programs that were started have ended when this returns or
    raises. Replies are in the order of *servers*; *timeouts* are in seconds, `None` for the timeout
    of *live*; *source_id* replaces the servers' names.
    """
    if not servers:
        return ()
    require_sdk(servers[0].place)  # before anything is started
    with _requiring_sdk(servers[0].place):
        from mcpg.sources.live.query import query_all  # noqa: PLC0415 - an extra

        return query_all(servers, live, source_id, timeouts or [None] * len(servers))


def require_sdk(place: str) -> None:
    """Raise a `UsageError` if the SDK, which *place* needs, is not installed.

    It is not imported, which takes most of a second.
    """
    with suppress(ValueError):  # of a module that is barred
        if find_spec("mcp") is not None:
            return
    raise _lack_module("mcp", place)


def log_in(server: HttpServer, folder: str, options: LoginOptions) -> LoginResult:
    """Log in to *server*, list its tools to verify the login, and store it in *folder*.

    An earlier login is replaced only when this one succeeds.

    Raises:
        OutputError: The login cannot be stored.
        SourceError: The login failed.
        UsageError: The server requires none, or it would go unencrypted over a network; or the SDK
            is not installed.
    """
    with _requiring_sdk(server.place):
        from mcpg.sources.live import login  # noqa: PLC0415 - as above
    return login.log_in(server, folder, options)


def log_out(server: HttpServer, folder: str) -> bool:
    """Remove the login to *server* from *folder*; return whether there was one."""
    with _requiring_sdk(server.place):
        from mcpg.sources.live.oauth import LoginFile  # noqa: PLC0415 - as above
    return LoginFile(folder, server.url).remove()


@contextmanager
def _requiring_sdk(place: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as fault:
        raise _lack_module(fault.name, place) from None


def _lack_module(name: str | None, place: str) -> UsageError:
    message = f"servers cannot be queried without the MCP SDK: {name} is not installed"
    return UsageError(message, place=place, remedy=install_command("mcp"))
