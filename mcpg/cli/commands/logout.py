"""`mcpg logout`."""

from __future__ import annotations

from mcpg.cli.commands.login import Configuration, ServerName, find_server, need_login_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.output import Output
from mcpg.sources import live as servers

EXAMPLES = """\
mcpg logout https://tracker.example.com/mcp
mcpg logout tracker mcp.json"""
MORE = "docs/how-to/live-servers.md"


def run(output: Output, *, server: ServerName, configuration: Configuration = None) -> int:
    """Remove a login that `mcpg login` stored.

    The server is not notified; revoke the grant there.
    """
    found = find_server(server, configuration)
    was_there = servers.log_out(found, need_login_folder())
    output.note(f"{'logged out of' if was_there else 'no login to'} {found.place}")
    return ExitCode.DONE
