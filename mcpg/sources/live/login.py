"""A login: a person is sent to a browser, and what comes of it is kept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
from mcp import Client

from mcpg.errors import SourceError, UsageError
from mcpg.sources.client_config import CLIENT_CREDENTIALS, OAuth
from mcpg.sources.live.errors import AskingError, Trouble
from mcpg.sources.live.listing import listing_of, reason
from mcpg.sources.live.login_options import LoggedIn
from mcpg.sources.live.oauth import Person, listening, may_be_told
from mcpg.sources.live.oauth_store import LoginFile
from mcpg.sources.live.transports import http_transport, muted

if TYPE_CHECKING:
    from mcpg.sources.client_config import HttpServer
    from mcpg.sources.live.login_options import Manner
    from mcpg.sources.live.oauth import Callback
    from mcpg.sources.live.oauth_store import Login

_REMEDY = "try again, or see what its documentation says of OAuth"


def log_in(server: HttpServer, folder: str, manner: Manner) -> LoggedIn:
    """Log in to *server*; see `mcpg.sources.live.log_in`."""
    oauth = _wanted(server)
    file = LoginFile(folder, server.url)
    file.prepare()  # before a person takes trouble for nothing
    with muted():
        return anyio.run(partial(_log_in, server, oauth, file, manner))


def _wanted(server: HttpServer) -> OAuth:
    place = server.place
    if server.has_key:
        message = "its headers let mcpg in already"
        raise UsageError(message, place=place, remedy="leave out `Authorization` to log in")
    if server.oauth is None:
        message = "its configuration wants no OAuth"
        raise UsageError(message, place=place, remedy="leave out `oauth` to log in")
    if server.oauth.grant == CLIENT_CREDENTIALS:
        message = "it is entered with a secret, and nobody needs to log in"
        raise UsageError(message, place=place, remedy="leave out `grant` to log in")
    if not may_be_told(server.url):
        message = "a login would go over the network unencrypted"
        raise UsageError(message, place=place, remedy="name its address with https")
    return server.oauth


async def _log_in(server: HttpServer, oauth: OAuth, file: LoginFile, manner: Manner) -> LoggedIn:
    trouble = Trouble()
    with listening(oauth.redirect, manner.port) as callback:
        person = _person(server, oauth, callback, manner, trouble)
        try:
            with anyio.fail_after(manner.seconds):
                transport = http_transport(server, manner.step, trouble, auth=person)
                async with Client(transport, cache=None) as client:
                    listing = await listing_of(client, trouble)
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is told in our words
            why = reason(fault, trouble, manner.seconds)
            raise SourceError(why, place=server.place, remedy=_REMEDY) from None
        login = person.login()
        if login is not None:
            await _keep(login, server, file, manner.step)
    return LoggedIn(login is not None, len(listing.tools))


async def _keep(login: Login, server: HttpServer, file: LoginFile, seconds: float) -> None:
    """Keep a login once nobody is renewing an earlier one."""
    try:
        async with file.turn(seconds):
            file.write(login)
    except AskingError as fault:
        raise SourceError(str(fault), place=server.place, remedy="try again") from None


def _person(
    server: HttpServer, oauth: OAuth, callback: Callback, manner: Manner, trouble: Trouble
) -> Person:
    async def show(address: str) -> None:
        # A browser within the terminal takes as long as its person does.
        await anyio.to_thread.run_sync(manner.show, address, abandon_on_cancel=True)

    return Person(server, oauth, callback, show, trouble, manner.step)
