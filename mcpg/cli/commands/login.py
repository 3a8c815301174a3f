"""`mcpg login`."""

from __future__ import annotations

import math
import os
import webbrowser
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from mcpg.cli.environment import LOGIN_VARIABLE, login_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.options import argument, option
from mcpg.cli.output import Output
from mcpg.cli.prompts import find_asker
from mcpg.cli.terminal import one_line
from mcpg.errors import NotFoundError, SourceError, UsageError
from mcpg.sources import live as servers
from mcpg.sources.client_config import (
    HttpServer,
    LoginOptions,
    Server,
    ServerAccess,
    is_address,
    read_client_configuration,
    server_at,
)
from mcpg.sources.model import read_text
from mcpg.text.spelling import suggest
from mcpg.values import format_count

EXAMPLES = """\
mcpg login https://tracker.example.com/mcp
mcpg login tracker mcp.json
mcpg login tracker --no-browser --port 8765       # over ssh -L 8765:127.0.0.1:8765"""
MORE = "docs/how-to/live-servers.md"

ServerName = Annotated[
    str, argument("SERVER", "Address of the server, or its name in CONFIG or mcpg.toml.")
]
Configuration = Annotated[
    str | None, argument("CONFIG", "Client configuration that names the server.")
]

_LONGEST = 86_400
_MOST_PORT = 65_535


def run(
    output: Output,
    *,
    server: ServerName,
    configuration: Configuration = None,
    no_browser: Annotated[
        bool, option("--no-browser", "Print the address, and do not open a browser.")
    ] = False,
    port: Annotated[int, option("--port", "Port of the redirect URI; 0 for any.", "N")] = 0,
    timeout: Annotated[
        float, option("--timeout", "Timeout of the login in seconds.", "SECONDS")
    ] = 300.0,
    scope: Annotated[
        str,
        option(
            "--scope",
            "Scopes to request, separated by spaces.",
            "SCOPE",
        ),
    ] = "",
) -> int:
    """Log in to a server that requires OAuth.

    The login is stored in a private file, in MCPG_LOGIN_DIR or the user's data folder, and renewed
    without a browser.
    """
    if not (math.isfinite(timeout) and 0 < timeout <= _LONGEST):
        message = f"{timeout:g} s is out of range"
        remedy = f"give seconds above 0, up to {_LONGEST}"
        raise UsageError(message, place="--timeout", remedy=remedy)
    if not 0 <= port <= _MOST_PORT:
        remedy = f"give a number from 1 to {_MOST_PORT}, or 0 for any"
        raise UsageError(f"{port} is not a port", place="--port", remedy=remedy)
    show = partial(_show_address, output=output, opens=not no_browser)
    found = find_server(server, configuration)
    chosen = LoginOptions(show, port, timeout, scope=scope.strip())
    login = servers.log_in(found, need_login_folder(), chosen)
    told = f"logged in to {found.place}" if login.is_new else f"{found.place} requires no login"
    output.note(f"{told}: {format_count(login.tools, 'tool')}")
    return ExitCode.DONE


def _show_address(address: str, *, output: Output, opens: bool) -> None:
    if opens:
        output.note("a browser is opened: log in there")
        with suppress(webbrowser.Error, OSError):
            if webbrowser.open(address):
                return
        output.note("no browser can be opened")
    output.note("open this address in a browser on this machine:")
    output.text(one_line(address))
    output.flush()


def find_server(name: str, configuration: str | None) -> HttpServer:
    """Return the server with an address that is at or called *name*.

    The *configuration* of a client names it, or else `[[sources]]` of mcpg.toml.
    """
    settings = read_settings()
    server: Server | None
    if configuration is not None:
        text = read_text(Path(configuration), configuration)
        found, diagnostics = read_client_configuration(
            text, configuration, os.environ, find_asker()
        )
        server = next((one for one in found if one.name == name), None)
        if server is None:
            place = f"{configuration}: {name}"
            fault = next((one for one in diagnostics if one.place == place), None)
            if fault is not None:
                raise SourceError(fault.message, place=place, remedy="see to its entry")
            raise _make_unknown_error(name, [one.name or "" for one in found], configuration)
    elif is_address(name):
        server = server_at(name, ServerAccess(os.environ))
    else:
        entries = [one for one in settings.sources() or () if one.is_server]
        entry = next((one for one in entries if name in {one.entry.id, one.name}), None)
        if entry is None:
            place = "mcpg.toml" if entries else ""
            raise _make_unknown_error(name, [one.name for one in entries], place or None)
        server = entry.server(os.environ)
    if not isinstance(server, HttpServer):
        message = "it is a program, which needs no login"
        raise UsageError(message, place=server.place, remedy="name a server with an address")
    return server


def _make_unknown_error(name: str, known: Collection[str], place: str | None) -> NotFoundError:
    remedy = "name an address, or the file that names the server"
    if near := suggest(name, known):
        remedy = f"did you mean {near[0]!r}?"
    elif known:
        remedy = f"it names {', '.join(sorted(known)[:10])}"
    return NotFoundError(f"no server is called {name!r}", place=place, remedy=remedy)


def need_login_folder() -> str:
    """Return the folder of logins."""
    folder = login_folder()
    if folder is None:
        message = "no folder for logins"
        raise UsageError(message, remedy=f"name one with {LOGIN_VARIABLE}")
    return folder
