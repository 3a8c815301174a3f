"""`mcpg publish`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from mcpg.cli import options
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.engine import Engine
from mcpg.errors import UsageError
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import NO_KEY
from mcpg.index.scoring import FIELDS
from mcpg.postgres.services import find_database, make_candidates
from mcpg.show.json import diagnostics_json
from mcpg.values import format_count

if TYPE_CHECKING:
    from mcpg.postgres import PublishedTool
    from mcpg.vectors.file import VectorFile

EXAMPLES = """\
mcpg publish                       # to the database of MCPG_POSTGRES
mcpg publish -b graph.mdld --keep 0
mcpg search shipment status --candidates postgres"""

_NAMES = frozenset({"name", "title", "aliases"})

Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        metavar="N",
        min=0,
        help="Number of older publications to keep for replicas that still use them.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    options.command(app, "publish", examples=EXAMPLES, more="docs/how-to/postgres.md")(publish)


def publish(
    output: Output,
    *,
    bundle: options.BundlePaths = None,
    keep: Keep = 1,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Write the words and vectors of a bundle to PostgreSQL.

    Searches with --candidates postgres then take their candidates from the database in
    MCPG_POSTGRES. Vectors are those of `mcpg bundle --embed`.
    """
    settings = read_settings(bundle=bundle)
    factory = ServiceFactory(settings)
    database = find_database(factory.request)
    engine = open_engine(settings, output)
    key, tools = engine.index.header.key, len(engine.index)
    if key == NO_KEY:
        raise UsageError(
            "only a single bundle can be published",
            remedy="make one with `mcpg bundle`, and name it with --bundle",
        )
    vectors = _find_vectors(str(settings.bundles()[0].value), engine)
    maker = vectors.fingerprint if vectors else ""
    with closing(make_candidates(factory.request)) as source, output.progress("publishing"):
        is_new = source.publish(_describe_tools(engine, vectors), key.hex(), maker, keep)
    if form is OutputFormat.JSON:
        found = {"diagnostics": diagnostics_json(engine.diagnostics)}
        facts = {"published": is_new, "tools": tools, "key": key.hex()}
        origin = {"fingerprint": maker or None, "database": database.address}
        output.json({"schema": "mcpg/publish/1", **facts, **origin, **found})
    else:
        output.note_opening(engine.diagnostics)
        how = "published" if is_new else "published already:"
        by = f" with vectors by {maker}" if maker else ""
        output.text(f"{how} {format_count(tools, 'tool')}{by} at {database.address}")
    return ExitCode.DONE


def _find_vectors(path: str, engine: Engine) -> VectorFile | None:
    """Return the vectors of the bundle at *path*, where a file of them fits it."""
    from mcpg.cli.embedding import VectorTarget  # noqa: PLC0415 - an extra
    from mcpg.vectors.file import UnusableVectorsError, open_vectors  # noqa: PLC0415

    key, tools = engine.index.header.key, len(engine.index)
    for place in VectorTarget(path, key, tools).places:
        try:
            found = open_vectors(place)
        except UnusableVectorsError:
            continue
        if found.is_fresh(key, tools, found.fingerprint):
            return found
    return None


def _describe_tools(engine: Engine, vectors: VectorFile | None) -> Iterator[PublishedTool]:
    """Yield the tools with their names, and all their texts, as they are indexed."""
    from mcpg.postgres import PublishedTool  # noqa: PLC0415 - as above

    for number, document in enumerate(engine.documents.values()):
        fields = list(field_texts(document))
        names = " ".join(text for field, text in fields if FIELDS[field] in _NAMES)
        texts = " ".join(text for _, text in fields)
        vector = vectors.vectors.vector(number) if vectors else None
        yield PublishedTool(document.tool.id, names, texts, vector, document.tool.enabled)
