"""A search cache that many replicas share."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcpg.caches.memory import ABSOLUTE, SLIDING, check_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcpg.postgres.connection import Connection, Database

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
        """Give what is kept, and keep it for longer; `None` when it has expired.

        Raises:
            PostgresError: The database cannot be reached, or refuses.
        """
        asked = self._parameters(kind, key)

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
        kept = {**self._parameters(kind, key), "value": value, "most": self._most}
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

    def _parameters(self, kind: str, key: str) -> dict[str, object]:
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
