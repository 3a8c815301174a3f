"""Which way mcpg is let in to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcpg.catalog.sources.live.oauth.kept import Kept
from mcpg.catalog.sources.live.oauth.logins import LoginFile
from mcpg.catalog.sources.live.oauth.machine import Machine
from mcpg.catalog.sources.servers import CLIENT_CREDENTIALS
from mcpg.net.addresses import is_loopback

if TYPE_CHECKING:
    from mcpg.catalog.sources.live.oauth.bounded import Bounded
    from mcpg.catalog.sources.live.trouble import Trouble
    from mcpg.catalog.sources.servers import HttpServer


def authorisation(
    server: HttpServer, tokens: str | None, trouble: Trouble, seconds: float
) -> Bounded | None:
    """Give what lets mcpg in, `None` where nothing is configured and nobody has logged in.

    A token never goes over a network unencrypted: over `http` there is no OAuth but to this
    machine. A server whose headers hold a key is left to these.

    Args:
        server: The address.
        tokens: The folder in which logins are kept.
        trouble: Gets what goes wrong.
        seconds: Time for one step of a request.
    """
    oauth = server.oauth
    if oauth is None or server.has_key or not may_be_told(server.url):
        return None
    if oauth.grant == CLIENT_CREDENTIALS:
        return Machine(server, oauth, trouble, seconds)
    file = LoginFile(tokens, server.url) if tokens else None
    if file is None or file.read() is None:
        return None
    return Kept(server, oauth, file, trouble, seconds)


def may_be_told(url: str) -> bool:
    """Tell whether a token may be sent to *url*: over https, or within this machine."""
    parts = urlsplit(url)
    return parts.scheme.lower() == "https" or is_loopback(parts.hostname or "")
