"""`mcpg graph validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exits import ExitCode
from mcpg.cli.opening import open_sources
from mcpg.cli.output import Output, OutputFormat

if TYPE_CHECKING:
    from mcpg.bundle import Assembly
    from mcpg.catalog.sources import SourceBatch
    from mcpg.graph.validation import Validation

EXAMPLES = """\
mcpg graph validate
mcpg graph validate -b documents/ --shapes house-rules.ttl
mcpg graph validate --strict --format json | jq '.findings[].place'"""

DEFAULT_TIMEOUT = 300.0

Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shapes",
        metavar="FILE",
        help="Check SHACL shapes of your own as well, in Turtle. May be given again.",
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, max=3_600, help="How long it may take."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings, too.")]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "validate", examples=EXAMPLES)(validate)


def validate(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    shapes: Shapes = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    strict: Strict = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Check the graph of the tools against SHACL shapes.

    Shapes for tools, documents and edges come with mcpg. A finding names the file and line that is
    at fault. Exits 1 when something violates a shape.
    """
    from mcpg.cli.validationview import validation_json, validation_text  # noqa: PLC0415

    texts = {name: _read(name) for name in shapes or []}
    batch = open_sources(options.settings_of(bundle=bundle), output)
    found, assembly = _validated(batch, texts, timeout, output)
    noticed = (*assembly.diagnostics, *found.diagnostics)
    if form is OutputFormat.JSON:
        output.json(validation_json(found, list(texts), noticed))
    else:
        output.diagnostics(noticed)
        output.text(validation_text(found, output))
    counted = found.count("violation") + (found.count("warning") if strict else 0)
    return ExitCode.FINDINGS if counted else ExitCode.DONE


def _validated(
    batch: SourceBatch, shapes: dict[str, str], timeout: float, output: Output
) -> tuple[Validation, Assembly]:
    from mcpg.bundle import assemble  # noqa: PLC0415 - help needs none of it
    from mcpg.graph.validation import validate_documents  # noqa: PLC0415

    with output.progress("validating"):
        assembly = assemble(batch)
        found = validate_documents(
            (*assembly.documents, *assembly.pages),
            originals=_originals(batch, assembly),
            shapes=shapes,
            timeout=timeout,
        )
    return found, assembly


def _originals(batch: SourceBatch, assembly: Assembly) -> dict[str, tuple[str, str]]:
    """Give place and text of what authors wrote; a bundle's texts stand for themselves."""
    texts = (*(assembly.texts if batch.bundles else ()), *batch.documents)
    written = [(text.path, text.place or text.path, text.content) for text in texts]
    by_place = {place: (place, content) for _, place, content in written}
    return by_place | {path: (place, content) for path, place, content in written}


def _read(name: str) -> str:
    from pathlib import Path  # noqa: PLC0415 - as above

    from mcpg.catalog.sources.textfile import read_text  # noqa: PLC0415

    return read_text(Path(name), name)
