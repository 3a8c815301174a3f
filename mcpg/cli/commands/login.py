"""`mcpg login`."""

from __future__ import annotations

import math
import os
import webbrowser
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.environment import LOGIN_VARIABLE as VARIABLE
from mcpg.cli.environment import login_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import read_settings
from mcpg.cli.output import Output
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import one_line
from mcpg.errors import NotFoundError, SourceError, UsageError
from mcpg.sources import live as servers
from mcpg.sources.client_config import (
    HttpServer,
    Live,
    LoginOptions,
    Server,
    is_address,
    read_client_configuration,
    server_at,
)
from mcpg.sources.model import read_text
from mcpg.text.suggestions import suggest
from mcpg.values import format_count

LoginServer = Annotated[
    str,
    typer.Argument(
        metavar="SERVER",
        help="Address of the server, or its name in CONFIG or mcpg.toml.",
    ),
]
LoginConfiguration = Annotated[
    str | None,
    typer.Argument(
        metavar="CONFIG",
        show_default=False,
        help="Client configuration that names the server.",
    ),
]

EXAMPLES = """\
mcpg login https://tracker.example.com/mcp
mcpg login tracker mcp.json
mcpg login tracker --no-browser --port 8765       # over ssh -L 8765:127.0.0.1:8765"""


def register_login(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "login", examples=EXAMPLES, more="docs/how-to/live-servers.md")(login)


def login(
    output: Output,
    *,
    server: LoginServer,
    configuration: LoginConfiguration = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, in place of opening a browser.")
    ] = False,
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", help="Port of the redirect URI; 0 for any."),
    ] = 0,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="Timeout of the login in seconds."),
    ] = 300.0,
    scope: Annotated[
        str,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            show_default=False,
            help="Scopes to request, with spaces between, in place of those configured.",
        ),
    ] = "",
) -> int:
    """Log in to a server that requires OAuth.

    The login is stored in a file that only you can read, in the folder MCPG_TOKENS or that of the
    user, and renewed without a browser.
    """
    chosen = login_options(timeout, port, output, opens=not no_browser)
    chosen = replace(chosen, scope=scope.strip())
    found = named_server(server, configuration, read_settings())
    log_in(found, chosen, output)
    return ExitCode.DONE


# `mcpg logout`.


LOGOUT_EXAMPLES = """\
mcpg logout https://tracker.example.com/mcp
mcpg logout tracker mcp.json"""


def register_logout(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "logout", examples=LOGOUT_EXAMPLES, more="docs/how-to/live-servers.md")(
        logout
    )


def logout(
    output: Output,
    *,
    server: LoginServer,
    configuration: LoginConfiguration = None,
) -> int:
    """Remove a login that `mcpg login` stored.

    The server is not notified; revoke the grant on its own pages.
    """
    found = named_server(server, configuration, read_settings())
    log_out(found, output)
    return ExitCode.DONE


# Logging in to servers and out of them: which server is meant, and how a
# browser is opened.


_LONGEST = 86_400
_MOST_PORT = 65_535


def named_server(name: str, configuration: str | None, settings: Settings) -> HttpServer:
    """Return the server at an address that a person means.

    Args:
        name: Its address, or what it is called.
        configuration: The configuration of a client that names it; `None` for the `[[sources]]` of
            mcpg.toml.
        settings: What is set.

    Raises:
        NotFoundError: There is none of that name, or no such file.
        SourceError: It cannot be used, or the file is no configuration.
        UsageError: It is a program.
    """
    if configuration is not None:
        server = _find_configured_server(name, configuration)
    elif is_address(name):
        server = server_at(name, Live(os.environ))
    else:
        server = _of_settings(name, settings)
    if not isinstance(server, HttpServer):
        message = "it is a program, which needs no login"
        raise UsageError(message, place=server.place, remedy="name a server with an address")
    return server


def log_in(server: HttpServer, chosen: LoginOptions, output: Output) -> None:
    """Log in to *server*, and report the result."""
    login = servers.log_in(server, _folder(), chosen)
    tools = format_count(login.tools, "tool")
    if login.is_new:
        output.note(f"logged in to {server.place}: {tools}")
    else:
        output.note(f"{server.place} requires no login: {tools}")


def log_out(server: HttpServer, output: Output) -> None:
    """Remove the login to *server*, and report whether there was one."""
    was_there = servers.log_out(server, _folder())
    output.note(f"{'logged out of' if was_there else 'there is no login to'} {server.place}")


def login_options(seconds: float, port: int, output: Output, *, opens: bool) -> LoginOptions:
    """Return the options of a login.

    Args:
        seconds: Time for the user.
        port: Port of the redirect URI, 0 for any.
        output: Where the address goes when no browser can be opened.
        opens: Whether a browser may be opened.

    Raises:
        UsageError: A number makes no sense.
    """
    if not (math.isfinite(seconds) and 0 < seconds <= _LONGEST):
        message = f"{seconds:g} s is out of range"
        remedy = f"give seconds above 0, up to {_LONGEST}"
        raise UsageError(message, place="--timeout", remedy=remedy)
    if not 0 <= port <= _MOST_PORT:
        remedy = f"give a number from 1 to {_MOST_PORT}, or 0 for any"
        raise UsageError(f"{port} is no port", place="--port", remedy=remedy)
    return LoginOptions(_shower(output, opens=opens), port, seconds)


def _shower(output: Output, *, opens: bool) -> Callable[[str], None]:
    def show(address: str) -> None:
        if opens:
            output.note("a browser is opened: log in there")
            if _open_browser(address):
                return
            output.note("no browser can be opened")
        output.note("open this address in a browser on this machine:")
        output.text(one_line(address))
        output.flush()

    return show


def _open_browser(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _folder() -> str:
    folder = login_folder()
    if folder is None:
        message = "there is no folder for logins"
        raise UsageError(message, remedy=f"name one with {VARIABLE}")
    return folder


def _find_configured_server(name: str, configuration: str) -> Server:
    text = read_text(Path(configuration), configuration)
    found, diagnostics = read_client_configuration(text, configuration, os.environ)
    server = next((one for one in found if one.name == name), None)
    if server is not None:
        return server
    place = f"{configuration}: {name}"
    fault = next((one for one in diagnostics if one.place == place), None)
    if fault is not None:
        raise SourceError(fault.message, place=place, remedy="see to its entry")
    raise _unknown(name, [one.name or "" for one in found], configuration)


def _of_settings(name: str, settings: Settings) -> Server:
    entries = [one for one in settings.sources() or () if one.is_server]
    entry = next((one for one in entries if name in {one.entry.id, one.name}), None)
    if entry is None:
        place = "mcpg.toml" if entries else None
        raise _unknown(name, [one.name for one in entries], place)
    return entry.server(os.environ)


def _unknown(name: str, known: Collection[str], place: str | None) -> NotFoundError:
    near = suggest(name, known)
    remedy = "name an address, or the file that names the server"
    if known:
        remedy = f"it names {', '.join(sorted(known)[:10])}"
    return NotFoundError(
        f"there is no server {name!r}",
        place=place,
        remedy=f"did you mean {near[0]!r}?" if near else remedy,
    )


def register(app: typer.Typer) -> None:
    """Add `login` and `logout` to *app*."""
    register_login(app)
    register_logout(app)
