"""An embedding store in one SQLite file: durable, and shared by the processes of one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mcpg.embeddings.provider import (
    EmbeddingKey,
    StoreError,
    Vectors,
    key_parts,
    own_copy,
    written_parts,
)
from mcpg.errors import os_reason

MOST_KEPT = 200_000
"""Default number of vectors in a file: 300 MB of 384 dimensions each."""

PATIENCE = 30.0
"""Seconds that a process waits for another to finish writing."""

_APPLICATION = 0x6D637067  # "mcpg": distinguishes our files from others
_VERSION = 1  # of the schema; a file of another version is rejected
_CHUNK = 200  # keys in one statement: four variables each, and SQLite may take no more than 999
_PAUSE = 0.05
_LITTLE_ENDIAN = np.dtype("<f4")

_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "wait until no other process uses it, or name another file",
    sqlite3.SQLITE_FULL: "free some space, or name a file on another disk",
    sqlite3.SQLITE_IOERR: "free some space, or name a file on another disk",
    sqlite3.SQLITE_READONLY: "name a file in a place that can be written",
}

_SCHEMA = """
CREATE TABLE vectors (
    written INTEGER PRIMARY KEY AUTOINCREMENT,
    tool_id TEXT NOT NULL,
    document_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (tool_id, document_hash, fingerprint)
)
"""
_PUT = """
INSERT OR REPLACE INTO vectors
    (tool_id, document_hash, fingerprint, dimensions, checksum, vector)
VALUES (?, ?, ?, ?, ?, ?)
"""
_DROP = """
DELETE FROM vectors WHERE written IN (
    SELECT written FROM vectors ORDER BY written
    LIMIT max(0, (SELECT count(*) FROM vectors) - ?)
)
"""
# The join order is fixed, so that each key is one look into the index.
_GET = """
WITH asked (number, tool_id, document_hash, fingerprint) AS (VALUES {rows})
SELECT asked.number, kept.dimensions, kept.checksum, kept.vector
FROM asked CROSS JOIN vectors AS kept
ON kept.tool_id = asked.tool_id AND kept.document_hash = asked.document_hash
WHERE asked.fingerprint IS NULL OR kept.fingerprint = asked.fingerprint
ORDER BY kept.written
"""


class SqliteStore:
    """Stores at most *limit* vectors in the file at *path*, which is made with its folders.

    Any number of processes and threads of one machine may use the file at once; the folder must not
    be shared over a network. Vectors survive a crash of the process once `put` has returned. If the
    file is full, the oldest vectors are removed. A damaged row counts as absent.
    """

    def __init__(self, path: Path | str, limit: int = MOST_KEPT) -> None:
        self._path = path
        self._limit = limit
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection | None] = []
        with self._report_errors():
            self._connect()

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, Vectors]:
        found: dict[int, Vectors] = {}
        self._own()
        with self._lock, self._report_errors():
            connection = self._connect()
            for start in range(0, len(keys), _CHUNK):
                found.update(_read_vectors(connection, start, keys[start : start + _CHUNK]))
        return {keys[number]: found[number] for number in sorted(found)}

    def put(self, entries: Mapping[EmbeddingKey, Vectors]) -> None:
        if not entries:
            return
        rows = []
        for key, vector in entries.items():
            data = own_copy(key, vector).astype(_LITTLE_ENDIAN).tobytes()
            size = len(data) // _LITTLE_ENDIAN.itemsize
            rows.append((*written_parts(key), size, zlib.crc32(data), data))
        self._own()
        with self._lock, self._report_errors():
            connection = self._connect()
            with _transaction(connection):
                connection.executemany(_PUT, rows)
                connection.execute(_DROP, (self._limit,))

    def close(self) -> None:
        self._own()
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _own(self) -> None:
        """Replace the resources from before a fork: a connection must not cross a fork.

        The connection is kept and never used: closing it here would release locks of the parent. A
        thread of the parent may have had the lock of the store.
        """
        if self._owner != os.getpid():
            self._inherited.append(self._connection)
            self._connection, self._lock, self._owner = None, threading.Lock(), os.getpid()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            path = Path(self._path).absolute()
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection, str(self._path))
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as fault:
            # Without what SQLite adds in detail.
            code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
            if code in _DAMAGED:
                message = "is not an embedding store, or is damaged"
                remedy = "delete it, or name another file: its vectors can be computed again"
            else:
                message = f"cannot be used as an embedding store: {os_reason(fault)}"
                remedy = _REMEDIES.get(code, "name a file in a place that can be written")
            raise StoreError(message, place=str(self._path), remedy=remedy) from fault


def _prepare(connection: sqlite3.Connection, place: str) -> None:
    with _transaction(connection, "DEFERRED"):  # the marks and the tables are of one moment
        ready = _is_ready(connection, place)
    if not ready:
        with _transaction(connection):
            if not _is_ready(connection, place):  # another process may have been first
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
    # While another process enables the log, SQLite fails at once instead of waiting.
    until, is_on = time.monotonic() + PATIENCE, False
    while not is_on:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            is_on = True
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
    # With a write-ahead log this loses nothing when a process dies, and costs no wait for the disk.
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_ready(connection: sqlite3.Connection, place: str) -> bool:
    """Return whether there are tables; `StoreError` is raised for foreign ones."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (application or found or tables):
        return False
    if application != _APPLICATION:
        message = "is a database of another program"
        raise StoreError(message, place=place, remedy="name another file")
    if found != _VERSION:
        raise StoreError(
            f"is an embedding store of version {found}; this mcpg supports version {_VERSION}",
            place=place,
            remedy="name another file, or delete this one: its vectors can be computed again",
        )
    return True


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _read_vectors(
    connection: sqlite3.Connection, start: int, keys: Sequence[EmbeddingKey]
) -> dict[int, Vectors]:
    """Return the vectors of *keys*, by their numbers from *start* on; the last written wins."""
    statement = _GET.format(rows=", ".join(["(?, ?, ?, ?)"] * len(keys)))
    asked = [part for number, key in enumerate(keys, start) for part in (number, *key_parts(key))]
    found: dict[int, Vectors] = {}
    for number, dimensions, checksum, data in connection.execute(statement, asked):
        is_whole = isinstance(data, bytes) and data and zlib.crc32(data) == checksum
        if is_whole and dimensions == len(data) / _LITTLE_ENDIAN.itemsize:
            numbers = np.frombuffer(data, dtype=_LITTLE_ENDIAN).astype(np.float32)
            if np.isfinite(numbers).all():
                found[number] = numbers
    return found
