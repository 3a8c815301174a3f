"""`mcpg login`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.loginoptions import LoginConfiguration, LoginServer
from mcpg.cli.output import Output

EXAMPLES = """\
mcpg login https://tracker.example.com/mcp
mcpg login tracker mcp.json
mcpg login tracker --no-browser --port 8765       # over ssh -L 8765:127.0.0.1:8765"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "login", examples=EXAMPLES)(login)


def login(
    output: Output,
    *,
    server: LoginServer,
    configuration: LoginConfiguration = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address instead of opening a browser.")
    ] = False,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", help="The port where the browser comes back to; 0 is any."
        ),
    ] = 0,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="How long to wait for the browser."),
    ] = 300.0,
) -> int:
    """Log in to a server that wants OAuth, once, in a browser.

    The login is kept in a file that only you can read (MCPG_TOKENS names another folder), and
    renewed without a browser for as long as the server allows. `mcpg logout` removes it. Every
    command that asks servers uses it.
    """
    from mcpg.cli import loggingin  # noqa: PLC0415 - help needs none of it

    manner = loggingin.manner_of(timeout, port, output, opens=not no_browser)
    found = loggingin.named_server(server, configuration, options.settings_of())
    loggingin.log_in(found, manner, output)
    return ExitCode.DONE
