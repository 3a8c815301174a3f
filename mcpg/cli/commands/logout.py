"""`mcpg logout`."""

from __future__ import annotations

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.loginoptions import LoginConfiguration, LoginServer
from mcpg.cli.output import Output

EXAMPLES = """\
mcpg logout https://tracker.example.com/mcp
mcpg logout tracker mcp.json"""


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "logout", examples=EXAMPLES)(logout)


def logout(
    output: Output,
    *,
    server: LoginServer,
    configuration: LoginConfiguration = None,
) -> int:
    """Forget a login that `mcpg login` made.

    Its file is removed from this machine. The server is not told: what it granted ends there by
    itself, or where its own pages let you end it.
    """
    from mcpg.cli import loggingin  # noqa: PLC0415 - help needs none of it

    found = loggingin.named_server(server, configuration, options.settings_of())
    loggingin.log_out(found, output)
    return ExitCode.DONE
