"""A search cache and an embedding store that many replicas share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import LiteralString, TypeVar

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from mcpg.embeddings.provider import EmbeddingKey, StoreError, key_parts, own_copy, written_parts
from mcpg.errors import PostgresError
from mcpg.postgres.connection import LONGEST_WAIT, Connection, Database, building
from mcpg.search.caches import ABSOLUTE, SLIDING, check_bounds

Answer = TypeVar("Answer")
Item = TypeVar("Item")

ENTRIES = 100_000
"""Entries that are kept unless more or fewer are asked for."""

LARGEST_VALUE = 1 << 20
"""Bytes of the largest value that is kept."""

# A search must not wait long for what it can do without.
_ATTEMPTS = 2
# That an entry was used is written only when this share of its sliding time has passed, so that
# what is asked for often is not written often.
_WORTH_MARKING = 1 / 16
# The table is swept once in so many writes, or oftener when it is small.
_SWEEP_EVERY = 256


class PostgresCache:
    """Keeps a bounded number of entries in a database that many processes share.

    What has expired is never given. What goes beyond the number is removed in sweeps, the least
    recently used first, so that for a while there may be a little more. May be shared between
    threads.
    """

    def __init__(
        self,
        database: Database,
        entries: int = ENTRIES,
        absolute: float = ABSOLUTE,
        sliding: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Prepare to use *database*.

        Args:
            database: Where the entries are.
            entries: The most that are kept, of all kinds together; at least 1.
            absolute: Seconds that an entry lives at most; above 0.
            sliding: Seconds that an entry lives unused, above 0; `None` for those of `MemoryCache`.
            clock: Tells the time in seconds instead of the clock of the database.

        Raises:
            UsageError: A bound makes no sense.
        """
        check_bounds(entries, absolute, sliding)
        self._database = database
        self._most = entries
        self._absolute = absolute
        self._sliding = SLIDING if sliding is None else dict.fromkeys(SLIDING, sliding)
        self._clock = clock
        self._every = max(1, min(_SWEEP_EVERY, entries // 16))
        self._writes = 0

    def get(self, kind: str, key: str) -> bytes | None:
        """Return what is kept, and keep it for longer; `None` when it has expired.

        Raises:
            PostgresError: The database cannot be reached, or refuses.
        """
        asked = self._make_parameters(kind, key)

        def read(connection: Connection) -> bytes | None:
            found = connection.execute(_GET, asked, binary=True).fetchone()
            if found is None:
                return None
            value, is_to_mark = found
            if is_to_mark:
                connection.execute(_MARK, asked)
            return bytes(value)

        return self._database.run(read, attempts=_ATTEMPTS)

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep *value* unless it is larger than `LARGEST_VALUE`.

        Raises:
            PostgresError: The database cannot be reached, or refuses.
        """
        if len(value) > LARGEST_VALUE:
            return
        kept = {**self._make_parameters(kind, key), "value": value, "most": self._most}
        self._writes += 1
        is_to_sweep = self._writes % self._every == 0

        def write(connection: Connection) -> None:
            connection.execute(_PUT, kept)
            if is_to_sweep:
                connection.execute(_SWEEP, kept)

        self._database.run(write, attempts=_ATTEMPTS)

    def close(self) -> None:
        """Free the connections; what is kept stays."""
        self._database.close()

    def _make_parameters(self, kind: str, key: str) -> dict[str, object]:
        sliding = self._sliding.get(kind, self._absolute)
        return {
            "kind": kind,
            "key": hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(),
            "now": self._clock() if self._clock else None,
            "absolute": self._absolute,
            "sliding": sliding,
            "marking": sliding * _WORTH_MARKING,
        }


# Every statement reads the clock once: the caller's where there is one, else the database's.
_GET = """
with clock as (
  select coalesce(%(now)s::float8, extract(epoch from clock_timestamp())::float8) as now
)
select value, used <= now - %(marking)s from cache, clock
where kind = %(kind)s and key = %(key)s and now < sleeps and now < dies
"""

_MARK = """
with clock as (
  select coalesce(%(now)s::float8, extract(epoch from clock_timestamp())::float8) as now
)
update cache set used = now, sleeps = now + %(sliding)s from clock
where kind = %(kind)s and key = %(key)s
"""

_PUT = """
with clock as (
  select coalesce(%(now)s::float8, extract(epoch from clock_timestamp())::float8) as now
)
insert into cache (kind, key, value, used, sleeps, dies)
select %(kind)s, %(key)s, %(value)s, now, now + %(sliding)s, now + %(absolute)s from clock
on conflict (kind, key) do update set
  value = excluded.value, used = excluded.used, sleeps = excluded.sleeps, dies = excluded.dies
"""

# Rows that another sweep holds are left to it: no two sweeps wait for each other.
_SWEEP = """
with clock as (
  select coalesce(%(now)s::float8, extract(epoch from clock_timestamp())::float8) as now
), surplus as (
  select kind, key from cache order by used desc, kind, key offset %(most)s
), stale as (
  select kind, key from cache, clock where now >= least(sleeps, dies)
), chosen as (
  select kind, key from cache
  where (kind, key) in (select * from surplus union select * from stale)
  for update skip locked
)
delete from cache using chosen where cache.kind = chosen.kind and cache.key = chosen.key
"""


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
        self._database = database

    def get(self, keys: Sequence[EmbeddingKey]) -> dict[EmbeddingKey, NDArray[np.float32]]:
        asked = {key: _digest(key_parts(key)) for key in keys}

        def read(connection: Connection) -> dict[bytes, Vector]:
            exact = {digest for key, digest in asked.items() if key.fingerprint is not None}
            latest = set(asked.values()) - exact
            return dict(
                (
                    *_fetch_vectors(connection, _GET_EXACT, exact),
                    *_fetch_vectors(connection, _GET_LATEST, latest),
                )
            )

        found = self._run(read) if asked else {}
        return {
            key: found[digest].to_numpy().copy() for key, digest in asked.items() if digest in found
        }

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        made = (_make_row(place, *entry) for place, entry in enumerate(entries.items()))
        rows = {row[0]: row for row in made}
        # All writers go in one order, so that no two wait for each other.
        ordered = [rows[digest] for digest in sorted(rows)]

        def write(connection: Connection) -> None:
            number = connection.execute("select nextval('writings')").fetchone() or ()
            for batch in _split_batches(ordered):
                columns = [list(column) for column in zip(*batch, strict=True)]
                connection.execute(_PUT_VECTORS, (*number, *columns))

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
                raise _make_store_error(fault) from fault
            yield turn

    def close(self) -> None:
        self._database.close()

    def _run(self, work: Callable[[Connection], Answer]) -> Answer:
        try:
            return self._database.run(work)
        except PostgresError as fault:
            raise _make_store_error(fault) from fault


def _make_store_error(fault: PostgresError) -> StoreError:
    return StoreError(fault.message, place=fault.place, remedy=fault.remedy)


def _fetch_vectors(
    connection: Connection, query: LiteralString, digests: Iterable[bytes]
) -> Iterator[tuple[bytes, Vector]]:
    for batch in _split_batches(sorted(digests)):
        for digest, vector in connection.execute(query, (batch,), binary=True):
            yield bytes(digest), vector


def _split_batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _make_row(
    place: int, key: EmbeddingKey, vector: NDArray[np.float32]
) -> tuple[bytes, bytes, int, str, str, str, Vector]:
    """Return what the table keeps of an entry, in the order of its columns.

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
    """Return 32 bytes that no other *parts* have: ids may be longer than an index entry can be."""
    encoded = ["" if part is None else f"{len(part)}:{part}" for part in parts]
    return hashlib.sha256("\0".join(encoded).encode()).digest()


_GET_EXACT: LiteralString = "select key, vector from embeddings where key = any(%b)"

_GET_LATEST: LiteralString = """
select distinct on (pair) pair, vector from embeddings where pair = any(%b)
order by pair, written desc, place desc
"""

_PUT_VECTORS: LiteralString = """
insert into embeddings
  (written, key, pair, place, tool_id, document_hash, fingerprint, vector)
select %b, * from unnest(
  %b::bytea[], %b::bytea[], %b::int[], %b::text[], %b::text[], %b::text[], %b::vector[]
)
on conflict (key) do update
  set vector = excluded.vector, written = excluded.written, place = excluded.place
"""
