"""`mcpg doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from mcpg.cli import options
from mcpg.cli.checks import checks as catalogue
from mcpg.cli.checks import checks as extras
from mcpg.cli.checks import checks as models
from mcpg.cli.checks import checks as stores
from mcpg.cli.checks import checks as telling
from mcpg.cli.checks import sources
from mcpg.cli.checks.checks import Check, Status, tried
from mcpg.cli.exits import ExitCode
from mcpg.cli.open_bundle import settings_of
from mcpg.cli.output import Output, OutputFormat
from mcpg.cli.providers import Equipping
from mcpg.cli.settings import Settings
from mcpg.cli.terminal import one_line
from mcpg.json_types import JsonObject
from mcpg.values import to_json

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
    settings = settings_of(
        bundle=bundle, strategy=strategy, embed_with=embed_with, normalize=normalize
    )
    with output.progress("trying out what is configured"):
        checks = list(examine(settings, starts_sources=not no_sources))
    if form is OutputFormat.JSON:
        output.json(doctor_json(checks))
    else:
        output.text("\n".join(doctor_text(check, output) for check in checks))
    return ExitCode.DONE if is_healthy(checks) else ExitCode.FINDINGS


# All trials of `mcpg doctor`, in the order in which one part needs the other.


_STYLES = {Status.OK: "green", Status.NOTE: "yellow", Status.OFF: "dim", Status.FAILED: "red"}


def examine(settings: Settings, *, starts_sources: bool = True) -> Iterator[Check]:
    """Try out every part that *settings* configure, one after the other.

    Settings that make no sense end it, because nobody knows what they were to mean.

    Args:
        settings: What is configured.
        starts_sources: Whether the sources of the configuration file are started and read.
    """
    read = tried("settings", lambda: catalogue.check_settings(settings))
    yield read
    yield from (extras.check_extra(extra) for extra in extras.EXTRAS)
    yield catalogue.check_cache_folder()
    if read.status is Status.FAILED:
        return
    equipping = Equipping(settings)
    yield from _catalogue(settings, equipping)
    for name, trial in (
        ("embeddings", models.check_provider),
        ("normalization", models.check_normalizer),
        ("postgres", stores.check_postgres),
        ("store", stores.check_store),
        ("search cache", stores.check_cache),
        ("telemetry", telling.check_telemetry),
    ):
        yield tried(name, lambda trial=trial: trial(settings, equipping))  # type: ignore[misc]
    yield from sources.check_sources(settings, starts=starts_sources)


def _catalogue(settings: Settings, equipping: Equipping) -> Iterator[Check]:
    found, engine = catalogue.check_bundle(settings)
    yield found
    if engine is None:
        return
    yield tried("index", lambda: catalogue.check_index(settings))
    yield tried("vectors", lambda: catalogue.check_vectors(engine, equipping))


def doctor_json(checks: Sequence[Check]) -> JsonObject:
    """Return the object that `doctor` prints."""
    return {
        "schema": "mcpg/doctor/1",
        "healthy": is_healthy(checks),
        "checks": [to_json(check) for check in checks],
    }


def doctor_text(check: Check, output: Output) -> str:
    """Return the lines that tell one check."""
    label = output.paint(f"{check.status.value:<6}", _STYLES[check.status])
    line = f"{label}  {one_line(check.name)}: {one_line(check.message)}"
    return f"{line}\n        {one_line(check.remedy)}" if check.remedy else line


def is_healthy(checks: Sequence[Check]) -> bool:
    """Return whether everything that is configured works."""
    return all(check.status is not Status.FAILED for check in checks)
