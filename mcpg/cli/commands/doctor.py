"""`mcpg doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.output import Output, OutputFormat

EXAMPLES = """\
mcpg doctor
mcpg doctor --strategy auto --embed-with local:multilingual
mcpg doctor --format json | jq '.checks[] | select(.status == "failed")'"""


NoSources = Annotated[
    bool,
    typer.Option("--no-sources", help="Start and read none of the sources in mcpg.toml."),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "doctor", examples=EXAMPLES)(doctor)


def doctor(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    strategy: options.StrategyName = None,
    embed_with: options.EmbedWith = None,
    normalize: options.Normalize = None,
    no_sources: NoSources = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Try out every part that is configured, and say what is wrong and what to do about it.

    Settings, extras, cache folder, bundle, index, vectors, embedding provider, language model,
    PostgreSQL, store, search cache, telemetry, and each of the [[sources]] in mcpg.toml: servers
    are started or reached, asked for their tools, and ended again. Only what is configured is asked
    over a network. Exits with 1 when something that is configured does not work.
    """
    from mcpg.cli import doctoring  # noqa: PLC0415 - help needs none of it

    settings = options.settings_of(
        bundle=bundle, strategy=strategy, embed_with=embed_with, normalize=normalize
    )
    with output.progress("trying out what is configured"):
        checks = list(doctoring.examine(settings, starts_sources=not no_sources))
    if form is OutputFormat.JSON:
        output.json(doctoring.doctor_json(checks))
    else:
        output.text("\n".join(doctoring.doctor_text(check, output) for check in checks))
    return ExitCode.DONE if doctoring.is_healthy(checks) else ExitCode.FINDINGS
