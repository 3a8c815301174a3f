"""The command line put together: the program's own options and one module per command."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg import __version__
from mcpg.cli.commands import (
    bundle,
    cache,
    doctor,
    explain,
    generate,
    graph,
    invoke,
    login,
    publish,
    route,
    search,
    serve,
    show,
    tune,
)
from mcpg.cli.commands import eval as eval_command
from mcpg.cli.commands import list as list_command
from mcpg.cli.options import HELP_NAMES, ColorChoice, Debug, HelpfulGroup, Quiet, Verbose, output_of

EXAMPLES = """\
mcpg bundle manifests/ -o graph.mdld
mcpg search shipment status
mcpg explain shipment status"""


app = typer.Typer(
    name="mcpg",
    cls=HelpfulGroup,
    help="Bundle the tools of MCP servers into one graph file, find the right ones, see why.",
    epilog=EXAMPLES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
)

for module in (
    generate,
    bundle,
    search,
    explain,
    route,
    list_command,
    show,
    eval_command,
    tune,
    graph,
    publish,
    invoke,
    serve,
    login,
    doctor,
    cache,
):
    module.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        output_of().text(f"mcpg {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def program(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    color: ColorChoice = None,
    debug: Debug = False,
) -> None:
    """Show the help when no command is named."""
    if ctx.invoked_subcommand is None:
        said = {"quiet": quiet, "verbose": verbose, "color": color, "debug": debug}
        output_of(said).text(ctx.get_help())
