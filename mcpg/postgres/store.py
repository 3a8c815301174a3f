"""Vectors kept in PostgreSQL, by tool, document and who made them."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from pgvector import Vector

from mcpg.embeddings.stores.protocol import StoreError, key_parts, own_copy, written_parts
from mcpg.postgres.errors import PostgresError
from mcpg.postgres.locks import LONGEST_WAIT, building

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import LiteralString, TypeVar

    import numpy as np
    from numpy.typing import NDArray

    from mcpg.embeddings.stores.protocol import EmbeddingKey
    from mcpg.postgres.connection import Connection, Database

    Answer = TypeVar("Answer")
    Item = TypeVar("Item")

MOST_DIMENSIONS = 16_000
"""As many as pgvector keeps in one vector."""

# Vectors of one statement: a few megabytes at most.
_BATCH = 256


class PostgresStore:
    """Keeps vectors in a database that many processes share.

    A `put` is seen whole or not at all, and once it returns it is kept, whatever happens to the
    process. May be shared between threads.
    """

    def __init__(self, database: Database) -> None:
        """Prepare to use *database*."""
        self._database = database

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        asked = {key: _digest(key_parts(key)) for key in keys}

        def read(connection: Connection) -> dict[bytes, Vector]:
            exact = {digest for key, digest in asked.items() if key.fingerprint is not None}
            latest = set(asked.values()) - exact
            return dict(
                (*_rows(connection, _GET_EXACT, exact), *_rows(connection, _GET_LATEST, latest))
            )

        found = self._run(read) if asked else {}
        return {
            key: found[digest].to_numpy().copy() for key, digest in asked.items() if digest in found
        }

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        made = (_row(place, *entry) for place, entry in enumerate(entries.items()))
        rows = {row[0]: row for row in made}
        # All writers go in one order, so that no two wait for each other.
        ordered = [rows[digest] for digest in sorted(rows)]

        def write(connection: Connection) -> None:
            number = connection.execute("select nextval('writings')").fetchone() or ()
            for batch in _batches(ordered):
                columns = [list(column) for column in zip(*batch, strict=True)]
                connection.execute(_PUT, (*number, *columns))

        if ordered:
            self._run(write)

    @contextmanager
    def building(self, key: str, wait: float = LONGEST_WAIT) -> Iterator[bool]:
        """Let one process at a time make the vectors that *key* names.

        Args:
            key: What is made, in any words: a fingerprint.
            wait: Most seconds to wait for another process.

        Yields:
            Whether it is this one's turn: `False` when the wait was too long, to make them all the
            same.

        Raises:
            StoreError: The database cannot be reached, or refuses.
        """
        with ExitStack() as held:
            try:
                turn = held.enter_context(building(self._database, f"embeddings {key}", wait))
            except PostgresError as fault:
                raise _store_error(fault) from fault
            yield turn

    def close(self) -> None:
        self._database.close()

    def _run(self, work: Callable[[Connection], Answer]) -> Answer:
        try:
            return self._database.run(work)
        except PostgresError as fault:
            raise _store_error(fault) from fault


def _store_error(fault: PostgresError) -> StoreError:
    return StoreError(fault.message, place=fault.place, remedy=fault.remedy)


def _rows(
    connection: Connection, query: LiteralString, digests: Iterable[bytes]
) -> Iterator[tuple[bytes, Vector]]:
    for batch in _batches(sorted(digests)):
        for digest, vector in connection.execute(query, (batch,), binary=True):
            yield bytes(digest), vector


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _row(
    place: int, key: EmbeddingKey, vector: NDArray[np.float32]
) -> tuple[bytes, bytes, int, str, str, str, Vector]:
    """Give what the table keeps of an entry, in the order of its columns.

    Raises:
        StoreError: The key names no fingerprint, or the vector cannot be kept.
    """
    parts = written_parts(key)
    copy = own_copy(key, vector)
    if len(copy) > MOST_DIMENSIONS:
        message = f"the vector of {parts[0]!r} has {len(copy)} dimensions"
        raise StoreError(message, remedy=f"PostgreSQL keeps vectors of up to {MOST_DIMENSIONS}")
    return (_digest(parts), _digest((*parts[:2], None)), place, *parts, Vector(copy))


def _digest(parts: Iterable[str | None]) -> bytes:
    """Give 32 bytes that no other *parts* have: ids may be longer than an index entry can be."""
    encoded = ["" if part is None else f"{len(part)}:{part}" for part in parts]
    return hashlib.sha256("\0".join(encoded).encode()).digest()


_GET_EXACT: LiteralString = "select key, vector from embeddings where key = any(%b)"

_GET_LATEST: LiteralString = """
select distinct on (pair) pair, vector from embeddings where pair = any(%b)
order by pair, written desc, place desc
"""

_PUT: LiteralString = """
insert into embeddings
  (written, key, pair, place, tool_id, document_hash, fingerprint, vector)
select %b, * from unnest(
  %b::bytea[], %b::bytea[], %b::int[], %b::text[], %b::text[], %b::text[], %b::vector[]
)
on conflict (key) do update
  set vector = excluded.vector, written = excluded.written, place = excluded.place
"""
