"""`mcpg publish`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

import mcpg.postgres as room
from mcpg.cli import options
from mcpg.cli.checks import Check, Status, time_call
from mcpg.cli.environment import POSTGRES_VARIABLE, cache_folder
from mcpg.cli.exit_codes import ExitCode
from mcpg.cli.open_bundle import open_engine, read_settings
from mcpg.cli.options import OutputFormat
from mcpg.cli.output import Output
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.engine import Engine, load
from mcpg.errors import UsageError
from mcpg.index.field_texts import field_texts
from mcpg.index.layout import NO_KEY
from mcpg.index.recipe import FIELDS
from mcpg.plugins.hooks import ServiceRequest
from mcpg.search.results import NONE
from mcpg.show.json import diagnostics_json
from mcpg.values import format_count

if TYPE_CHECKING:
    from mcpg.postgres import (
        Database,
        PostgresCache,
        PostgresCandidates,
        PostgresStore,
        PublishedEngine,
        PublishedTool,
    )
    from mcpg.vectors.file import VectorFile


_SETTINGS = {
    "schema": "schema",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "connections": "pool",
}


def find_database(request: ServiceRequest) -> Database:
    """Return the database that everything shares.

    Raises:
        UsageError: No database is set.
        PostgresError: A package that it needs is not installed, or a setting makes no sense.
    """
    known: Database | None = request.shared.get(room.__name__)
    if known is not None:
        return known
    dsn = request.environment.get(POSTGRES_VARIABLE, "")
    if not dsn:
        raise UsageError(
            "no database is set",
            place=POSTGRES_VARIABLE,
            remedy="set the variable to its address, such as postgresql://host/database",
        )
    # Options in the address come from the environment, which takes precedence over files.
    stated = room.parse_option_names(dsn)
    given = {
        to: value
        for to, name in _SETTINGS.items()
        if name not in stated and (value := request.value(f"postgres.{name}")) is not None
    }
    found = request.shared[room.__name__] = room.Database(room.PostgresSettings(dsn, **given))
    return found


def make_store(request: ServiceRequest) -> PostgresStore:
    """Return the store of vectors in the database; see `find_database`."""
    return room.PostgresStore(find_database(request))


def make_cache(request: ServiceRequest, **bounds: Any) -> PostgresCache:
    """Return the search cache in the database with *bounds*; see `find_database`."""
    return room.PostgresCache(find_database(request), **bounds)


def make_candidates(request: ServiceRequest) -> PostgresCandidates:
    """Return the candidate source in the database; see `find_database`."""
    return room.PostgresCandidates(find_database(request))


def open_catalog(
    request: ServiceRequest, cache_dir: str | None = None, **services: Any
) -> PublishedEngine:
    """Open the catalog in the database, with *services* of `EngineServices`; see `find_database`.

    Raises:
        PostgresError: None is published, or the database cannot be reached.
    """
    return room.PublishedEngine(
        find_database(request), cache_dir=cache_dir, services=NONE._replace(**services)
    )


def check_postgres(settings: Settings, factory: ServiceFactory) -> Check:
    """Connect, bring the tables up to date, and ask for versions."""
    name = "postgres"
    if not settings.environment.get(POSTGRES_VARIABLE):
        return Check(name, Status.OFF, f"{POSTGRES_VARIABLE} is not set")
    database = find_database(factory.request)

    def ask(connection: Any) -> tuple[str, str | None]:
        (server,) = connection.execute("show server_version").fetchone()
        query = "select extversion from pg_extension where extname = 'vector'"
        row = connection.execute(query).fetchone()
        return str(server), row[0] if row else None

    (server, vector), took = time_call(lambda: database.run(ask))
    database.close()
    details = {
        "address": database.address,
        "schema": database.settings.schema,
        "server": server,
        "pgvector": vector,
        "durationMs": took,
    }
    message = (
        f"{database.address} responded in {took:g} ms: PostgreSQL {server}, pgvector {vector}, "
        f"tables up to date in the schema {database.settings.schema!r}"
    )
    return Check(name, Status.OK, message, details=details)


EXAMPLES = """\
mcpg publish                       # to the database of MCPG_POSTGRES
mcpg publish -b graph.mdld --keep 0
mcpg search shipment status --candidates postgres
mcpg publish --whole -b commerce.mdld -b workspace.mdld
mcpg search shipment status -b postgres:"""

_NAMES = frozenset({"name", "title", "aliases"})

Keep = Annotated[
    int,
    typer.Option(
        "--keep",
        metavar="N",
        min=0,
        help="Number of older publications to keep for replicas.",
    ),
]


Whole = Annotated[
    bool,
    typer.Option(
        "--whole",
        help="Publish one or more bundles whole, for searches without them: -b postgres:",
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
    whole: Whole = False,
    form: options.Format = OutputFormat.TEXT,
) -> int:
    """Write a bundle to PostgreSQL, for searches from there.

    Searches with --candidates postgres use the database in MCPG_POSTGRES. Vectors come from
    `mcpg bundle --embed`. With --whole, searches of -b postgres: need no bundle.
    """
    settings = read_settings(bundle=bundle)
    factory = ServiceFactory(settings)
    database = find_database(factory.request)
    if whole:
        return _publish_whole(settings, database, keep, form, output)
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


def _publish_whole(
    settings: Settings, database: Database, keep: int, form: OutputFormat, output: Output
) -> int:
    """Publish the bundles of *settings* as one catalog, and report it."""
    from mcpg.postgres.catalogs import publish_catalog  # noqa: PLC0415 - an extra

    paths = [str(one.value) for one in settings.bundles()]
    engines = [load(path, embeddings=None, cache_dir=cache_folder()) for path in paths]
    with closing(database), output.progress("publishing"):
        found = publish_catalog(database, [engine.index for engine in engines], keep)
    diagnostics = [one for engine in engines for one in engine.diagnostics]
    if form is OutputFormat.JSON:
        output.json(
            {
                "schema": "mcpg/publish/1",
                "published": found.is_new,
                "tools": found.tools,
                "parts": found.parts,
                "writtenParts": found.written,
                "key": found.digest,
                "fingerprint": None,
                "database": database.address,
                "diagnostics": diagnostics_json(diagnostics),
            }
        )
    else:
        output.note_opening(diagnostics)
        tools, parts = format_count(found.tools, "tool"), format_count(found.parts, "part")
        output.text(f"published {tools} in {parts}, {found.written} new, at {database.address}")
    return ExitCode.DONE


def _find_vectors(path: str, engine: Engine) -> VectorFile | None:
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
    for number, document in enumerate(engine.documents.values()):
        fields = list(field_texts(document))
        names = " ".join(text for field, text in fields if FIELDS[field] in _NAMES)
        texts = " ".join(text for _, text in fields)
        vector = vectors.vectors.vector(number) if vectors else None
        yield room.PublishedTool(document.tool.id, names, texts, vector, document.tool.enabled)
