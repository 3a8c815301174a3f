"""The transport to a server, whatever it is, and the programs that are alive for it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from mcpg.catalog.sources.live.http import http_transport
from mcpg.catalog.sources.live.sieve import sieved
from mcpg.catalog.sources.live.stdio import stdio_transport
from mcpg.catalog.sources.servers import StdioServer

if TYPE_CHECKING:
    from mcp.client import Transport

    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import Live, Server

AT_ONCE = 16
"""Servers that are started or first spoken to at the same time."""


class Living(set[int]):
    """The process groups that may be alive."""

    def kill(self) -> None:
        """End what is still alive because even the tidying up was interrupted."""
        for group in self:
            with suppress(OSError):
                os.killpg(group, signal.SIGKILL)


def transport_to(
    server: Server, live: Live, trouble: Trouble, living: Living, *, is_kept: bool = False
) -> Transport:
    """Give the transport to a server.

    Args:
        server: The server.
        live: How servers are asked.
        trouble: Gets what goes wrong.
        living: Holds the process group of a program for as long as it may be alive.
        is_kept: Whether the connection stays open: then silence is no failure.
    """
    if isinstance(server, StdioServer):
        return sieved(stdio_transport(server, live.environ, trouble, living))
    return sieved(http_transport(server, live.timeout, trouble, live.tokens, is_kept=is_kept))
