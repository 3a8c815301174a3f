"""Connections: a bounded pool, tried again where trying again can help.

Nothing connects before something is asked for. The first question also brings the tables up to
date.
"""

from __future__ import annotations

import logging
import os
import random
import time
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from mcpg.postgres.errors import PostgresError
from mcpg.postgres.migrations import migrate

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Self, TypeAlias

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

Answer = TypeVar("Answer")

# A pool tells of lost connections in the log of whoever keeps one, and of nobody else.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

_BACK_OFF = 0.05
_TRANSIENT = frozenset(
    {
        "40001",  # serialization failure
        "40P01",  # deadlock
        "53300",  # too many connections
        "57P01",  # the server is told to stop
        "57P02",  # the server crashed
        "57P03",  # the server is starting
    }
)
_CONNECTION_LOST = "08"
_LONGEST_NAME = 63


def options_of(dsn: str) -> frozenset[str]:
    """Return the names of the options that a connection string states; none if it is misshapen."""
    try:
        return frozenset(conninfo_to_dict(dsn))
    except psycopg.Error:
        return frozenset()


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """Where the database is, and how it is used.

    Attributes:
        dsn: A connection string or URI of libpq; never shown, because it may hold a password.
        schema: The schema that holds all tables of mcpg.
        sslmode: How TLS is used, as libpq has it (`verify-full`), instead of what *dsn* says.
        sslrootcert: File with the certificates of trusted authorities, instead of *dsn*'s.
        connections: Most connections of one process at once, at least 1.
        connect_timeout: Seconds to wait for a connection; libpq counts in whole ones, at least 2.
        statement_timeout: Seconds after which a statement is given up.
        attempts: How often what failed by chance is tried, at least 1.
    """

    dsn: str = field(repr=False)
    schema: str = "mcpg"
    sslmode: str | None = None
    sslrootcert: str | None = None
    connections: int = 4
    connect_timeout: float = 5.0
    statement_timeout: float = 30.0
    attempts: int = 4


class Database:
    """One database for everything that mcpg keeps in PostgreSQL.

    May be shared between threads, and by a store, a cache and candidates. Closing frees its
    connections; whoever asks again opens new ones. A process that forks opens its own.

    Attributes:
        settings: Where it is.
        address: Where it is, for people, without user and password.
    """

    def __init__(
        self, settings: PostgresSettings | str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Prepare to connect.

        Args:
            settings: Where the database is; a text is its connection string.
            sleep: Waits between attempts.

        Raises:
            PostgresError: The connection string or a setting makes no sense.
        """
        self.settings = PostgresSettings(settings) if isinstance(settings, str) else settings
        self._conninfo, self.address, self._password = _checked(self.settings)
        self._sleep = sleep
        self._lock = Lock()
        self._pool: ConnectionPool[Connection] | None = None
        self._owner = os.getpid()
        self._inherited: list[ConnectionPool[Connection] | None] = []

    def run(self, work: Callable[[Connection], Answer], attempts: int | None = None) -> Answer:
        """Do *work* in a transaction of its own, and once more where it failed by chance.

        Args:
            work: Asks the connection; may be called several times.
            attempts: How often it is tried at most, instead of what the settings say.

        Raises:
            PostgresError: The database cannot be reached, or refuses.
        """
        most = attempts or self.settings.attempts
        attempt = 1
        while True:
            pool = None
            try:
                pool = self._opened()
                with pool.connection() as connection:
                    return work(connection)
            except psycopg.Error as fault:
                if pool is not None and is_lost(fault):
                    self._discard(pool)
                if attempt >= most or not is_transient(fault):
                    raise self.error(fault) from fault
                self._sleep(_BACK_OFF * 2**attempt * random.uniform(0.5, 1))  # noqa: S311 - no secret
            attempt += 1

    def connect(self) -> Connection:
        """Give a connection of the caller's own, in autocommit, that he closes.

        Raises:
            PostgresError: The database cannot be reached, or refuses.
        """
        self.run(lambda _: None)  # brings the tables up to date, and waits for a starting server
        try:
            connection = self._connect()
            self._configure(connection)
        except psycopg.Error as fault:
            raise self.error(fault) from fault
        return connection

    def close(self) -> None:
        """Close all connections that nobody uses; those in use close when they come back."""
        self._own()
        self._discard(self._pool)

    def error(self, fault: psycopg.Error) -> PostgresError:
        """Say what went wrong, without the password."""
        if isinstance(fault, (PoolTimeout, TooManyRequests)):
            message = f"no connection was free within {self.settings.connect_timeout:g} seconds"
            return PostgresError(message, place=self.address, remedy="allow more connections")
        told = " ".join((fault.diag.message_primary or str(fault)).split())
        message = told or type(fault).__name__
        if self._password:
            message = message.replace(self._password, "***")
        return PostgresError(message, place=self.address, remedy=_remedy_of(fault))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _own(self) -> None:
        """Let go of what the process had before it forked: two must not talk over one connection.

        The pool is kept and never used, for closing it would end the connections of the parent; a
        thread of the parent's may have held the lock.
        """
        if self._owner != os.getpid():
            self._inherited.append(self._pool)
            self._pool, self._lock, self._owner = None, Lock(), os.getpid()

    def _opened(self) -> ConnectionPool[Connection]:
        self._own()
        with self._lock:
            if self._pool is None:
                # A connection of its own fails at once and says why; a pool would only wait.
                with self._connect() as connection:
                    migrate(connection, self.settings.schema, self.address)
                self._pool = self._new_pool()
            return self._pool

    def _new_pool(self) -> ConnectionPool[Connection]:
        return ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": False},
            min_size=1,
            max_size=self.settings.connections,
            timeout=self.settings.connect_timeout,
            configure=self._configure_for_pool,
            open=True,
        )

    def _connect(self) -> Connection:
        return psycopg.connect(self._conninfo, autocommit=True)

    def _configure_for_pool(self, connection: Connection) -> None:
        self._configure(connection)
        connection.commit()

    def _configure(self, connection: Connection) -> None:
        """Let statements find tables and operators by their plain names, and come to an end."""
        timeout = str(int(self.settings.statement_timeout * 1000))
        connection.execute(_CONFIGURE, (self.settings.schema, timeout))
        register_vector(connection)

    def _discard(self, pool: ConnectionPool[Connection] | None) -> None:
        """Close *pool*, unless another thread has done so."""
        with self._lock:
            if pool is None or self._pool is not pool:
                return
            self._pool = None
        pool.close()


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
    """Tell whether the connection is gone, rather than that a statement failed on it."""
    if isinstance(fault, (PoolTimeout, TooManyRequests)):
        return False
    code = fault.sqlstate or ""
    is_nameless = isinstance(fault, psycopg.OperationalError) and not code
    return is_nameless or code.startswith((_CONNECTION_LOST, "57P"))


def is_transient(fault: psycopg.Error) -> bool:
    """Tell whether the same may succeed when it is tried again."""
    return is_lost(fault) or fault.sqlstate in _TRANSIENT


def _checked(settings: PostgresSettings) -> tuple[str, str, str]:
    """Give what libpq is told, the address for people, and the password.

    Raises:
        PostgresError: A setting makes no sense; what libpq says of it may show the password.
    """
    options: dict[str, str | int] = {
        "connect_timeout": max(2, round(settings.connect_timeout)),
        "application_name": "mcpg",
        "keepalives_idle": 30,
    }
    asked = {"sslmode": settings.sslmode, "sslrootcert": settings.sslrootcert}
    given = {name: value for name, value in asked.items() if value is not None}
    try:
        parts = conninfo_to_dict(settings.dsn)
    except psycopg.Error:
        raise _misshapen() from None
    told = {**options, **parts, **given}
    host = str(parts.get("host") or parts.get("hostaddr") or "")
    if "@" in host or not 0 < len(settings.schema.encode()) <= _LONGEST_NAME:
        raise _misshapen()
    if min(settings.connections, settings.attempts) < 1:
        raise PostgresError("a pool needs at least one connection and one attempt")
    port, name = parts.get("port"), parts.get("dbname") or ""
    address = f"postgresql://{host}{f':{port}' if port else ''}/{name}"
    return make_conninfo("", **told), address, str(parts.get("password") or "")


def _misshapen() -> PostgresError:
    return PostgresError(
        "the connection string or the schema's name is not well formed",
        remedy="write postgresql://user:password@host:port/database, with @ : / ? # % in user and "
        "password percent-encoded",
    )


def _remedy_of(fault: psycopg.Error) -> str | None:
    if isinstance(fault, psycopg.errors.InsufficientPrivilege):
        return "see what the role needs in docs/how-to/postgres.md"
    if is_lost(fault):
        return "check that the server runs, and the connection string"
    return None
