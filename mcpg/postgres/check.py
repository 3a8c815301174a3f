"""The check of PostgreSQL in `mcpg doctor`."""

from __future__ import annotations

from typing import Any

from mcpg.cli.checks import Check, Status, time_call
from mcpg.cli.environment import POSTGRES_VARIABLE
from mcpg.cli.providers import ServiceFactory
from mcpg.cli.settings import Settings
from mcpg.postgres.services import find_database


def check_postgres(settings: Settings, factory: ServiceFactory) -> Check:
    """Connect, bring the tables up to date, and ask for versions."""
    name = "postgres"
    if not settings.environment.get(POSTGRES_VARIABLE):
        return Check(name, Status.OFF, f"{POSTGRES_VARIABLE} is not set")
    database = find_database(factory.request)

    def ask() -> tuple[str, str | None]:
        return database.run(_versions)

    (server, vector), took = time_call(ask)
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


def _versions(connection: Any) -> tuple[str, str | None]:
    (server,) = connection.execute("show server_version").fetchone()
    row = connection.execute(
        "select extversion from pg_extension where extname = 'vector'"
    ).fetchone()
    return str(server), row[0] if row else None
