"""Servers asked for their tools, through the `mcp` SDK, which is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpg.errors import UsageError
from mcpg.sources.model import SourceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.sources.client_config import HttpServer, Live, Server
    from mcpg.sources.live.login_options import LoggedIn, Manner
    from mcpg.sources.model import Reply

__all__ = ["ask_each", "ask_servers", "log_in", "log_out"]


def ask_servers(
    servers: Sequence[Server],
    live: Live,
    *,
    source_id: str | None = None,
    timeouts: Sequence[float | None] = (),
) -> SourceBatch:
    """Ask *servers* for their tools as `ask_each` does, and put what they say together."""
    replies = ask_each(servers, live, source_id=source_id, timeouts=timeouts)
    return SourceBatch.join(reply.batch for reply in replies)


def ask_each(
    servers: Sequence[Server],
    live: Live,
    *,
    source_id: str | None = None,
    timeouts: Sequence[float | None] = (),
) -> tuple[Reply, ...]:
    """Ask *servers* for their tools, side by side, each with its own time limit.

    A server that cannot be asked becomes a diagnostic. Programs that were started have ended when
    this returns, however it does.

    Args:
        servers: The servers; their order is that of the replies, whoever answers first.
        live: How they are asked.
        source_id: Source id of all tools, in place of the servers' names.
        timeouts: Seconds that each of them has, `None` for what *live* says, as for all when this
            is empty.

    Raises:
        UsageError: The SDK is not installed.
    """
    if not servers:
        return ()
    try:
        from mcpg.sources.live.listing import ask_all  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as fault:
        raise _without_sdk(fault, servers[0]) from None
    return ask_all(servers, live, source_id, timeouts or [None] * len(servers))


def log_in(server: HttpServer, folder: str, manner: Manner) -> LoggedIn:
    """Log in to *server*, see that it lets mcpg in, and keep the login in *folder*.

    An earlier login stays as it was unless this one succeeds.

    Raises:
        OutputError: The login cannot be kept.
        SourceError: There is no login; the message says why in our own words.
        UsageError: The server needs none, or is not to be told one; or the SDK is not installed.
    """
    try:
        from mcpg.sources.live import login  # noqa: PLC0415 - as above
    except ModuleNotFoundError as fault:
        raise _without_sdk(fault, server) from None
    return login.log_in(server, folder, manner)


def log_out(server: HttpServer, folder: str) -> bool:
    """Forget the login to *server* in *folder*; say whether there was one.

    Raises:
        OutputError: It cannot be removed.
        UsageError: The SDK is not installed.
    """
    try:
        from mcpg.sources.live.oauth_store import LoginFile  # noqa: PLC0415 - as above
    except ModuleNotFoundError as fault:
        raise _without_sdk(fault, server) from None
    return LoginFile(folder, server.url).forget()


def _without_sdk(fault: ModuleNotFoundError, server: Server) -> UsageError:
    return UsageError(
        f"servers cannot be asked without the MCP SDK: {fault.name} is not installed",
        place=server.place,
        remedy="pip install 'mcpg-graph[mcp]'",
    )
