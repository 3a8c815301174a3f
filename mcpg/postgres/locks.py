"""One builder at a time: whoever comes second finds what the first has made."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcpg.postgres.connection import Connection, Database

LONGEST_WAIT = 600.0
"""Seconds after which a builder no longer waits for another."""


@contextmanager
def building(database: Database, key: str, wait: float = LONGEST_WAIT) -> Iterator[bool]:
    """Let one process at a time, of all that share *database*, build what *key* names.

    The lock is an advisory one of a session of its own: it goes with the process that holds it,
    however that ends. It is polite, not safe: should the session be lost, another may build too,
    and what is built must be written so that this does no harm.

    Args:
        database: What the builders share.
        key: What is built, in any words.
        wait: Most seconds to wait for another builder.

    Yields:
        Whether the lock is held: `False` when the wait was too long, to build all the same.

    Raises:
        PostgresError: The database cannot be reached, or refuses.
    """
    connection = database.connect()
    try:
        try:
            held = _acquired(connection, number_of(database.settings.schema, key), wait)
        except psycopg.Error as fault:
            raise database.error(fault) from fault
        yield held
    finally:
        connection.close()


def number_of(schema: str, key: str) -> int:
    """Give the number of the advisory lock of *key*: 64 bits, signed."""
    text = f"{schema}\0{key}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big", signed=True)


def _acquired(connection: Connection, number: int, wait: float) -> bool:
    longest = str(max(1, round(wait * 1000)))
    settings = (
        "select set_config('lock_timeout', %s, false), set_config('statement_timeout', '0', false)"
    )
    connection.execute(settings, (longest,))
    try:
        connection.execute("select pg_advisory_lock(%s)", (number,))
    except psycopg.errors.LockNotAvailable:
        return False
    return True
