"""`mcpg publish`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import settings_of
from mcpg.cli.output import Output, OutputFormat
from mcpg.values import counted

if TYPE_CHECKING:
    from mcpg.cli.publishing import Published

EXAMPLES = """\
mcpg publish                       # to the database of MCPG_POSTGRES
mcpg publish -b graph.mdld --keep 0
mcpg search shipment status --candidates postgres"""

Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        metavar="N",
        min=0,
        help="How many older publications stay, for replicas that still search them.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "publish", examples=EXAMPLES)(publish)


def publish(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    keep: Keep = 1,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Put the words and vectors of a bundle into PostgreSQL, to choose tools there.

    Searches with --candidates postgres then take the tools that they look at closely from the
    indexes of the database that MCPG_POSTGRES names. Vectors are those that `mcpg bundle --embed`
    has made. A publication is seen whole or not at all; what stands there already is left alone.
    """
    from mcpg.cli.publishing import publish_bundle  # noqa: PLC0415 - help needs no database

    published = publish_bundle(settings_of(bundle=bundle), keep, output)
    if form is OutputFormat.JSON:
        output.json({"schema": "mcpg/publish/1", **published.facts})
    else:
        output.text(_told(published))
    return ExitCode.DONE


def _told(published: Published) -> str:
    how = "published" if published.is_new else "published already:"
    maker = f" with vectors by {published.fingerprint}" if published.fingerprint else ""
    return f"{how} {counted(published.tools, 'tool')}{maker} at {published.address}"
