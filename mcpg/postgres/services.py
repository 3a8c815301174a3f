"""The services in PostgreSQL, as settings name them, and the check of `mcpg doctor`.

All services of a run share one database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcpg.postgres as room
from mcpg.cli.checks import Check, Status, time_call
from mcpg.cli.environment import POSTGRES_VARIABLE
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.errors import UsageError
from mcpg.plugins.hooks import ServiceRequest

if TYPE_CHECKING:
    from mcpg.postgres import Database, PostgresCache, PostgresCandidates, PostgresStore

_SETTINGS = {
    "schema": "schema",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "connections": "pool",
}


def find_database(request: ServiceRequest) -> Database:
    """Return the database that everything shares.

    Raises:
        UsageError: None is set.
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
    # What stands in the address is said by the environment, which goes before files.
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


def check_postgres(settings: Settings, factory: ServiceFactory) -> Check:
    """Connect, bring the tables up to date, and ask for versions."""
    name = "postgres"
    if not settings.environment.get(POSTGRES_VARIABLE):
        return Check(name, Status.OFF, f"{POSTGRES_VARIABLE} is not set")
    database = find_database(factory.request)

    (server, vector), took = time_call(lambda: database.run(_ask_versions))
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


def _ask_versions(connection: Any) -> tuple[str, str | None]:
    (server,) = connection.execute("show server_version").fetchone()
    row = connection.execute(
        "select extversion from pg_extension where extname = 'vector'"
    ).fetchone()
    return str(server), row[0] if row else None
