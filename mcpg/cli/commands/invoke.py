"""`mcpg invoke`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.output import Output, OutputFormat

EXAMPLES = """\
mcpg invoke git_status --from mcp.json --arg repo_path=.
mcpg invoke time::convert_time --from mcp.json --arguments @call.json
echo '{"city": "Lisbon"}' | mcpg invoke forecast --arguments - --format json
mcpg invoke isleap --from python:calendar:isleap --arg year=2024"""

Name = Annotated[
    str,
    typer.Argument(
        metavar="TOOL",
        help="The tool: its id as search has it, SOURCE::NAME, or the name its server knows it by.",
    ),
]
From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="Where the tool lives: the configuration file of an MCP client, "
        "'stdio:COMMAND ARGUMENT ...', https://HOST/PATH, python:MODULE, or an OpenAPI document. "
        "Repeatable. Otherwise [[sources]] of mcpg.toml.",
    ),
]
Arguments = Annotated[
    str | None,
    typer.Option(
        "--arguments",
        metavar="JSON|@FILE|-",
        help="The arguments as a JSON object, in a file, or from standard input.",
    ),
]
Arg = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        metavar="NAME=VALUE",
        help="One argument, beside --arguments: a text where the tool accepts a text, else "
        "JSON where it is JSON. Repeatable.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Time that the call has. Otherwise limits.invoke in mcpg.toml, or 60.",
    ),
]
Disabled = Annotated[
    bool,
    typer.Option("--include-disabled", help="Invoke a tool that is off by default, too."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "invoke", examples=EXAMPLES)(invoke)


def invoke(
    output: Output,
    tool: Name,
    *,
    sources: From = None,
    arguments: Arguments = None,
    arg: Arg = None,
    timeout: Timeout = None,
    include_disabled: Disabled = False,
    header: options.Header = None,
    server_timeout: options.ServerTimeout = None,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Call a tool, on its server or in its module, and show what it answers.

    Arguments are checked against the tool's schema before anything is called. Exits 1 when the tool
    fails or its server does, 2 when there is no such tool or the arguments are wrong.
    """
    from mcpg.cli.gatewaying import Wanted  # noqa: PLC0415 - help needs none of it
    from mcpg.cli.invoking import Call, invoke_tool  # noqa: PLC0415

    wanted = Wanted(tuple(sources or ()), header=header, server_timeout=server_timeout)
    call = Call(tool, arguments, tuple(arg or ()), timeout, include_disabled)
    return invoke_tool(wanted, options.settings_of(), call, form, output)
