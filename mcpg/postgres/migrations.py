"""The tables, brought up to date step by step, by one process at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import errors, sql

from mcpg.postgres.errors import PostgresError

if TYPE_CHECKING:
    from mcpg.postgres.connection import Connection

# Whoever changes the schema holds the advisory lock of this number: "mcpg" as ASCII.
_LOCK = 0x6D637067
_LONGEST_WAIT = "120s"

STEPS = (
    # 1: vectors. Keys are digests, because ids may be longer than an index entry can be. Which of
    # two was written last tell the number of the writing and the place in it.
    """
    create sequence writings;
    create table embeddings (
      key bytea primary key,
      pair bytea not null,
      tool_id text not null,
      document_hash text not null,
      fingerprint text not null,
      written bigint not null,
      place int not null,
      vector vector not null
    );
    create index embeddings_latest on embeddings (pair, written desc, place desc);
    """,
    # 2: a cache, which need not survive a crash of the server.
    """
    create unlogged table cache (
      kind text not null,
      key bytea not null,
      value bytea not null,
      used double precision not null,
      sleeps double precision not null,
      dies double precision not null,
      primary key (kind, key)
    );
    create index cache_used on cache (used);
    """,
    # 3: which catalogues are published; each has tables of its own beside.
    """
    create table publications (
      number int generated always as identity primary key,
      key text not null,
      fingerprint text not null,
      dimensions int not null,
      tools int not null
    );
    """,
)
"""Each makes the next version of the schema out of the one before; none is ever changed."""


def migrate(connection: Connection, schema: str, place: str) -> int:
    """Bring the tables in *schema* up to date and give their version.

    Nothing is written when they are, so that a role that may only read can do this as well. Safe
    when many processes start at once: one changes, the others wait and find it done.

    Args:
        connection: In autocommit.
        schema: Where the tables are.
        place: Where the database is, for errors.

    Raises:
        PostgresError: pgvector is missing, or the tables were made by a newer mcpg.
        psycopg.Error: The database cannot be reached, or refuses.
    """
    version = _version(connection, schema)
    if version < len(STEPS):
        with connection.transaction():
            connection.execute("select set_config('lock_timeout', %s, true)", (_LONGEST_WAIT,))
            connection.execute("select pg_catalog.pg_advisory_xact_lock(%s)", (_LOCK,))
            version = _advance(connection, schema, place)
    if version > len(STEPS):
        raise PostgresError(
            f"the tables in the schema {schema!r} have version {version}, made by a newer mcpg",
            place=place,
            remedy="update mcpg, or name another schema",
        )
    return version


def _advance(connection: Connection, schema: str, place: str) -> int:
    """Take every step that is left, and give the version."""
    need(connection, "vector", place)
    name = sql.Identifier(schema)
    if not _exists(connection, schema):
        connection.execute(sql.SQL("create schema if not exists {}").format(name))
    version = _version(connection, schema)
    home = connection.execute(_HOME).fetchone()
    path = sql.SQL("set local search_path to {}, {}").format(name, sql.Identifier(*(home or ())))
    connection.execute(path)
    if not version:
        connection.execute("create table if not exists migrations (version int primary key)")
    for number, step in enumerate(STEPS[version:], version + 1):
        connection.execute(step)
        connection.execute("insert into migrations values (%s)", (number,))
    return max(version, len(STEPS))


_HOME = """
select nspname from pg_catalog.pg_extension
join pg_catalog.pg_namespace n on n.oid = extnamespace where extname = 'vector'
"""


def _exists(connection: Connection, schema: str) -> bool:
    found = connection.execute("select 1 from pg_catalog.pg_namespace where nspname = %s", [schema])
    return found.fetchone() is not None


def _version(connection: Connection, schema: str) -> int:
    """Give the version of the tables in *schema*, 0 when there are none."""
    table = sql.Identifier(schema, "migrations").as_string(connection)
    found = connection.execute("select pg_catalog.to_regclass(%s)", (table,)).fetchone()
    if found is None or found[0] is None:
        return 0
    query = sql.SQL("select coalesce(max(version), 0) from {}").format(
        sql.Identifier(schema, "migrations")
    )
    newest = connection.execute(query).fetchone()
    return int(newest[0]) if newest else 0


def need(connection: Connection, extension: str, place: str) -> None:
    """Make sure that the database has *extension*, and create it where the role may.

    Raises:
        PostgresError: The server does not have it, or the role may not create it.
    """
    known = connection.execute(
        "select 1 from pg_catalog.pg_extension where extname = %s", (extension,)
    )
    if known.fetchone():
        return
    try:
        with connection.transaction():
            connection.execute(sql.SQL("create extension {}").format(sql.Identifier(extension)))
    except errors.InsufficientPrivilege:
        raise PostgresError(
            f"the extension {extension!r} is not in this database, and the role may not create it",
            place=place,
            remedy=f"let the owner of the database run: create extension {extension}",
        ) from None
    except (errors.FeatureNotSupported, errors.UndefinedFile):
        raise PostgresError(
            f"the server does not have the extension {extension!r}",
            place=place,
            remedy="install it on the server; pgvector is the package of 'vector'",
        ) from None
