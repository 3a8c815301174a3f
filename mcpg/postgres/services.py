"""The services in PostgreSQL, as settings name them; all of a run share one database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcpg.postgres as room
from mcpg.cli.environment import POSTGRES_VARIABLE
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
    if room.__name__ not in request.shared:
        request.shared[room.__name__] = _connect_database(request)
    found: Database = request.shared[room.__name__]
    return found


def _connect_database(request: ServiceRequest) -> Database:
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
        to: request.value(f"postgres.{name}")
        for to, name in _SETTINGS.items()
        if name not in stated
    }
    told = {name: value for name, value in given.items() if value is not None}
    return room.Database(room.PostgresSettings(dsn, **told))


def make_store(request: ServiceRequest) -> PostgresStore:
    """Return the store of vectors in the database; see `find_database`."""
    kind = room.PostgresStore  # without its packages, that is the error
    return kind(find_database(request))


def make_cache(request: ServiceRequest, **bounds: Any) -> PostgresCache:
    """Return the search cache in the database with *bounds*; see `find_database`."""
    kind = room.PostgresCache
    return kind(find_database(request), **bounds)


def make_candidates(request: ServiceRequest) -> PostgresCandidates:
    """Return the candidate source in the database; see `find_database`."""
    kind = room.PostgresCandidates
    return kind(find_database(request))
