"""Connections to PostgreSQL: a bounded pool, retries, migrations, locks.

Nothing connects before the first query, which also migrates the tables. One builder works at a
time; the next finds the result of the first.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, Timer
from typing import Any, TypeAlias, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from mcpg.errors import PostgresError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


# A process that changes the schema locks the advisory lock of this number: "mcpg" as ASCII.
_LOCK = 0x6D637067
_LONGEST_WAIT = "120s"

STEPS = (
    # 1: vectors. Keys are digests, because ids may be longer than an index entry can be. Of two
    # vectors, the number of the writing and the place in it show which is newer.
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
    # 3: the published catalogs; each also has tables of its own.
    """
    create table publications (
      number int generated always as identity primary key,
      key text not null,
      fingerprint text not null,
      dimensions int not null,
      tools int not null
    );
    """,
    # 4: whole catalogs, in parts. Each part is a partition of three tables; postings and records
    # are compact as they are.
    """
    create table parts (
      number int generated always as identity primary key,
      key text not null unique,
      tools int not null
    );
    create table catalogs (
      number int generated always as identity primary key,
      digest text not null,
      tools int not null,
      parts int[] not null,
      sizes int[] not null,
      vocabulary bytea not null
    );
    alter table catalogs alter vocabulary set storage external;
    create table part_tools (
      part int not null,
      tool int not null,
      source bytea not null,
      categories bytea[] not null,
      read_only smallint not null,
      enabled boolean not null,
      links int[] not null,
      meaning bytea not null,
      record bytea not null
    ) partition by list (part);
    create table part_terms (
      part int not null,
      term bytea not null,
      kind smallint not null,
      tools bytea not null,
      impacts bytea not null
    ) partition by list (part);
    create table part_names (
      part int not null,
      name bytea not null,
      tools int[] not null
    ) partition by list (part);
    create view whole_parts as select number, key from parts
    where to_regclass('part_tools_' || number) is not null
      and to_regclass('part_terms_' || number) is not null
      and to_regclass('part_names_' || number) is not null;
    alter table part_tools alter record set storage external;
    alter table part_terms alter tools set storage external, alter impacts set storage external;
    """,
)
"""Each step turns the previous version of the schema into the next; steps never change."""


def migrate(connection: Connection, schema: str, place: str) -> int:
    """Bring the tables in *schema* up to date and give their version; *place* is for errors.

    The connection is in autocommit. Nothing is written if they are up to date, so a role that
    may only read can also do this. Safe when many processes start at once: one changes, the others
    wait and find it done.

    Raises:
        PostgresError: pgvector is missing, or the tables were made by a newer mcpg.
        psycopg.Error: The database cannot be reached, or refuses.
    """
    version = _read_version(connection, schema)
    if version < len(STEPS):
        with connection.transaction():
            connection.execute("select set_config('lock_timeout', %s, true)", (_LONGEST_WAIT,))
            connection.execute("select pg_catalog.pg_advisory_xact_lock(%s)", (_LOCK,))
            ensure_extension(connection, "vector", place)
            name = sql.Identifier(schema)
            query = "select 1 from pg_catalog.pg_namespace where nspname = %s"
            if connection.execute(query, [schema]).fetchone() is None:
                connection.execute(sql.SQL("create schema if not exists {}").format(name))
            version = _read_version(connection, schema)
            home = connection.execute(_HOME).fetchone()
            path = sql.SQL("set local search_path to {}, {}")
            connection.execute(path.format(name, sql.Identifier(*(home or ()))))
            if not version:
                connection.execute(
                    "create table if not exists migrations (version int primary key)"
                )
            for number, step in enumerate(STEPS[version:], version + 1):
                connection.execute(step)
                connection.execute("insert into migrations values (%s)", (number,))
            version = max(version, len(STEPS))
    if version > len(STEPS):
        raise PostgresError(
            f"the tables in the schema {schema!r} have version {version}, made by a newer mcpg",
            place=place,
            remedy="update mcpg, or name another schema",
        )
    return version


_HOME = """
select nspname from pg_catalog.pg_extension
join pg_catalog.pg_namespace n on n.oid = extnamespace where extname = 'vector'
"""


def _read_version(connection: Connection, schema: str) -> int:
    table = sql.Identifier(schema, "migrations")
    found = connection.execute("select pg_catalog.to_regclass(%s)", (table.as_string(connection),))
    if (found.fetchone() or (None,))[0] is None:
        return 0
    query = sql.SQL("select coalesce(max(version), 0) from {}").format(table)
    newest = connection.execute(query).fetchone()
    return int(newest[0]) if newest else 0


def ensure_extension(connection: Connection, extension: str, place: str) -> None:
    """Make sure that the database has *extension*, and create it if the role may.

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
            remedy=f"ask the database owner to run: create extension {extension}",
        ) from None
    except (errors.FeatureNotSupported, errors.UndefinedFile):
        raise PostgresError(
            f"the server does not have the extension {extension!r}",
            place=place,
            remedy="install it on the server; pgvector is the package of 'vector'",
        ) from None


Answer = TypeVar("Answer")

# A pool logs lost connections only for applications that configure logging.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

_BACK_OFF = 0.05
_TRANSIENT = frozenset(
    {
        "40001",  # serialization failure
        "40P01",  # deadlock
        "53300",  # too many connections
        "57P01",  # the server is shutting down
        "57P02",  # the server crashed
        "57P03",  # the server is starting
    }
)
_CONNECTION_LOST = "08"
_LONGEST_NAME = 63


def parse_option_names(dsn: str) -> frozenset[str]:
    """Return the option names in a connection string; none if it is malformed."""
    try:
        return frozenset(conninfo_to_dict(dsn))
    except psycopg.Error:
        return frozenset()


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """The address of the database, and its use.

    Attributes:
        dsn: A connection string or URI of libpq; never shown, because it may contain a password.
        schema: The schema with all tables of mcpg.
        sslmode: The use of TLS, as libpq has it (`verify-full`), instead of the value in *dsn*.
        sslrootcert: File with the certificates of trusted authorities, instead of *dsn*'s.
        connections: Most connections of one process at once, at least 1.
        connect_timeout: Seconds to wait for a connection; libpq counts in whole ones, at least 2.
        statement_timeout: Seconds after which a statement is given up.
        attempts: How often a transient failure is tried, at least 1.
    """

    dsn: str = field(repr=False)
    schema: str = "mcpg"
    sslmode: str | None = None
    sslrootcert: str | None = None
    connections: int = 4
    connect_timeout: float = 5.0
    statement_timeout: float = 30.0
    attempts: int = 4


class Database(AbstractContextManager["Database"]):
    """One database for everything that mcpg keeps in PostgreSQL; *address* is for people.

    May be shared between threads, and by a store, a cache and candidates. Closing frees its
    connections; later calls open new ones. A process that forks opens its own. A database
    that cannot be reached, or refuses, is a `PostgresError`.
    """

    def __init__(
        self, settings: PostgresSettings | str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Prepare to connect; a text is a connection string, and *sleep* waits between attempts.

        Raises:
            PostgresError: The connection string or a setting makes no sense.
        """
        self.settings = PostgresSettings(settings) if isinstance(settings, str) else settings
        self._conninfo, self.address, self._password = _check_settings(self.settings)
        self._sleep = sleep
        self._lock = Lock()
        self._pool: ConnectionPool[Connection] | None = None
        self._owner = os.getpid()
        self._inherited: list[ConnectionPool[Connection] | None] = []

    def run(
        self,
        work: Callable[[Connection], Answer],
        attempts: int | None = None,
        *,
        retried: Collection[str] = (),
        is_brief: bool = False,
    ) -> Answer:
        """Do *work*, which may be called several times, in a transaction of its own.

        It is retried, up to *attempts* times, after a transient failure or one of the SQLSTATE
        codes *retried*. If it *is_brief*, it may take as long as one statement may, and the
        connection is cut a second later: the server may be frozen.
        """
        seconds = self.settings.statement_timeout + 1 if is_brief else None
        most = attempts or self.settings.attempts
        attempt = 1
        while True:
            pool = None
            try:
                pool = self._open_pool()
                with pool.connection() as connection, _cut_after(seconds, connection):
                    answer = work(connection)
                    connection.commit()
                    return answer
            except psycopg.Error as fault:
                if pool is not None and is_lost(fault):
                    self._discard(pool)
                may_succeed = is_lost(fault) or fault.sqlstate in {*_TRANSIENT, *retried}
                if attempt >= most or not may_succeed:
                    raise self.error(fault) from fault
                self._sleep(_BACK_OFF * 2**attempt * random.uniform(0.5, 1))  # noqa: S311 - no secret
            attempt += 1

    def connect(self) -> Connection:
        """Return a connection of the caller's own, in autocommit, that he closes."""
        self.run(lambda _: None)  # brings the tables up to date, and waits for a starting server
        try:
            connection = psycopg.connect(self._conninfo, autocommit=True)
            self._configure(connection)
        except psycopg.Error as fault:
            raise self.error(fault) from fault
        return connection

    def close(self) -> None:
        """Close all idle connections; those in use close when they come back."""
        self._own()
        self._discard(self._pool)

    def error(self, fault: psycopg.Error) -> PostgresError:
        """Return the reason, without the password."""
        if isinstance(fault, (PoolTimeout, TooManyRequests)):
            message = f"no connection was free within {self.settings.connect_timeout:g} seconds"
            return PostgresError(message, place=self.address, remedy="allow more connections")
        text = " ".join((fault.diag.message_primary or str(fault)).split())
        message = text or type(fault).__name__
        if self._password:
            message = message.replace(self._password, "***")
        remedy = "check that the server runs, and the connection string" if is_lost(fault) else None
        if isinstance(fault, errors.InsufficientPrivilege):
            remedy = "see what the role needs in docs/how-to/postgres.md"
        return PostgresError(message, place=self.address, remedy=remedy)

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own(self) -> None:
        """Drop the pool from before the process forked: two must not share a connection.

        The pool is kept and never used, for closing it would end the connections of the parent; a
        thread of the parent may have had the lock.
        """
        if self._owner != os.getpid():
            self._inherited.append(self._pool)
            self._pool, self._lock, self._owner = None, Lock(), os.getpid()

    def _open_pool(self) -> ConnectionPool[Connection]:
        self._own()
        if (opened := self._pool) is not None:
            return opened
        # A single connection fails at once with a reason; a pool would only wait. No thread waits
        # for the failing connection of another.
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            migrate(connection, self.settings.schema, self.address)
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    kwargs={"autocommit": False},
                    min_size=1,
                    max_size=self.settings.connections,
                    timeout=self.settings.connect_timeout,
                    configure=self._configure,
                    open=True,
                )
            return self._pool

    def _configure(self, connection: Connection) -> None:
        """Let statements find tables and operators by their plain names, and come to an end."""
        timeout = str(int(self.settings.statement_timeout * 1000))
        connection.execute(_CONFIGURE, (self.settings.schema, timeout))
        register_vector(connection)
        if not connection.autocommit:
            connection.commit()

    def _discard(self, pool: ConnectionPool[Connection] | None) -> None:
        with self._lock:
            if pool is None or self._pool is not pool:
                return
            self._pool = None
        pool.close()


@contextmanager
def _cut_after(seconds: float | None, connection: Connection) -> Iterator[None]:
    """Cut the *connection* if the block takes longer than *seconds*; `None` for no limit."""
    if seconds is None:
        yield
        return
    with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as copy:

        def cut() -> None:
            with suppress(OSError):
                copy.shutdown(socket.SHUT_RDWR)

        timer = Timer(seconds, cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


_CONFIGURE = """
select
  set_config('search_path', concat_ws(', ', quote_ident(%s), (
    select string_agg(distinct quote_ident(nspname), ', ')
    from pg_catalog.pg_extension join pg_catalog.pg_namespace n on n.oid = extnamespace
    where extname in ('vector', 'pg_trgm')
  )), false),
  set_config('statement_timeout', %s, false)
"""


def is_lost(fault: psycopg.Error) -> bool:
    """Return whether the connection is gone, rather than that a statement failed on it."""
    if isinstance(fault, (PoolTimeout, TooManyRequests)):
        return False
    code = fault.sqlstate or ""
    is_nameless = isinstance(fault, psycopg.OperationalError) and not code
    return is_nameless or code.startswith((_CONNECTION_LOST, "57P"))


def _check_settings(settings: PostgresSettings) -> tuple[str, str, str]:
    options: dict[str, str | int] = {
        "connect_timeout": max(2, round(settings.connect_timeout)),
        "application_name": "mcpg",
        "keepalives_idle": 30,
    }
    asked = {"sslmode": settings.sslmode, "sslrootcert": settings.sslrootcert}
    given = {name: value for name, value in asked.items() if value is not None}
    misshapen = PostgresError(
        "invalid connection string or schema name of PostgreSQL",
        remedy="set MCPG_POSTGRES to postgresql://user:password@host:port/database, with @ : / ? #"
        " % in user and password percent-encoded",
    )
    try:
        parts = conninfo_to_dict(settings.dsn)
    except psycopg.Error:
        raise misshapen from None
    stated = {**options, **parts, **given}
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    if "@" in host or not 0 < len(settings.schema.encode()) <= _LONGEST_NAME:
        raise misshapen
    if min(settings.connections, settings.attempts) < 1:
        raise PostgresError("a pool needs at least one connection and one attempt")
    port, name = parts.get("port"), parts.get("dbname") or ""
    address = f"postgresql://{host}{f':{port}' if port else ''}/{name}"
    return make_conninfo("", **stated), address, str(parts.get("password") or "")


LONGEST_WAIT = 600.0
"""Seconds after which a builder no longer waits for another."""

_WAIT = "select set_config('lock_timeout', %s, false), set_config('statement_timeout', '0', false)"


@contextmanager
def building(database: Database, key: str, wait: float = LONGEST_WAIT) -> Iterator[bool]:
    """Let one process at a time, of all that share *database*, build what *key* names.

    The lock is an advisory one of a session of its own: it goes with its process, however that
    ends. It is polite, not safe: if the session is lost, another process may also build, and
    the result must be written so that this does no harm.

    Yields:
        Whether the lock was acquired: `False` after *wait* seconds, to build all the same.

    Raises:
        PostgresError: The database cannot be reached, or refuses.
    """
    with closing(database.connect()) as connection:
        try:
            connection.execute(_WAIT, (str(max(1, round(wait * 1000))),))
            number = compute_lock_number(database.settings.schema, key)
            connection.execute("select pg_advisory_lock(%s)", (number,))
            is_held = True
        except errors.LockNotAvailable:
            is_held = False
        except psycopg.Error as fault:
            raise database.error(fault) from fault
        yield is_held


def compute_lock_number(schema: str, key: str) -> int:
    """Return the number of the advisory lock of *key*: 64 bits, signed."""
    text = f"{schema}\0{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big", signed=True)
