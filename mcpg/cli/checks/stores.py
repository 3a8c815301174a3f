"""What keeps things: the store of vectors, the search cache, PostgreSQL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcpg.cli.checks.check import Check, Status, timed
from mcpg.cli.settingkeys import POSTGRES_VARIABLE

if TYPE_CHECKING:
    from mcpg.cli.equipping import Equipping
    from mcpg.cli.settings import Settings

_MARK = "mcpg doctor"
_MEMORY = "memory"


def check_store(settings: Settings, equipping: Equipping) -> Check:
    """Put a vector into the store and take it out again."""
    name, found = "store", settings.find("store.kind")
    kind, path = (found.value if found else "sqlite"), equipping.store_path()
    is_set = found is not None or settings.find("store.path") is not None
    if not (is_set or equipping.needs_vectors or (path and os.path.exists(path))):  # noqa: PTH110
        return Check(name, Status.OFF, "nothing asks for vectors yet")
    store = equipping.store()
    if store is None:
        return Check(name, Status.OFF, "vectors are not kept between runs")
    import numpy as np  # noqa: PLC0415 - help needs no vectors

    from mcpg.embeddings.stores.protocol import EmbeddingKey  # noqa: PLC0415 - as above

    key, vector = EmbeddingKey(_MARK, _MARK, _MARK), np.ones(2, dtype=np.float32)

    def trip() -> Any:
        store.put({key: vector})
        return store.get([key]).get(key)

    back, took = timed(trip)
    store.close()
    where = {"sqlite": path, "postgres": f"PostgreSQL, by {POSTGRES_VARIABLE}"}.get(kind, kind)
    if back is None or not np.array_equal(back, vector):
        return Check(name, Status.FAILED, f"{where} does not give back what was put into it")
    message = f"{where} is written and read in {took:g} ms"
    return Check(name, Status.OK, message, details={"kind": kind, "durationMs": took})


def check_cache(settings: Settings, equipping: Equipping) -> Check:
    """Put an entry into the search cache and take it out again."""
    from mcpg.caches.protocol import QUERY  # noqa: PLC0415 - help needs no cache
    from mcpg.engine.cache_entries import key_of  # noqa: PLC0415 - as above

    name, found = "search cache", settings.find("cache.kind")
    cache = equipping.cache()
    if cache is None or found is None:
        return Check(name, Status.OFF, "searches are not kept")
    key, value = key_of(_MARK), _MARK.encode()

    def trip() -> bytes | None:
        cache.put(QUERY, key, value)
        return cache.get(QUERY, key)

    back, took = timed(trip)
    cache.close()
    if back != value:
        return Check(name, Status.FAILED, "it does not give back what was put into it")
    details = {"kind": found.value, "durationMs": took}
    message = f"{found.value}: written and read in {took:g} ms"
    if found.value == _MEMORY:
        message = f"{message}; it ends with the process, so that it helps hosts, not single runs"
        return Check(name, Status.NOTE, message, details=details)
    return Check(name, Status.OK, message, details=details)


def check_postgres(settings: Settings, equipping: Equipping) -> Check:
    """Connect, bring the tables up to date, and ask for versions."""
    name = "postgres"
    if not settings.environment.get(POSTGRES_VARIABLE):
        return Check(name, Status.OFF, f"{POSTGRES_VARIABLE} is not set")
    database = equipping.database

    def ask() -> tuple[str, str | None]:
        return database.run(_versions)

    (server, vector), took = timed(ask)
    database.close()
    details = {
        "address": database.address,
        "schema": database.settings.schema,
        "server": server,
        "pgvector": vector,
        "durationMs": took,
    }
    message = (
        f"{database.address} answers in {took:g} ms: PostgreSQL {server}, pgvector {vector}, "
        f"tables up to date in the schema {database.settings.schema!r}"
    )
    return Check(name, Status.OK, message, details=details)


def _versions(connection: Any) -> tuple[str, str | None]:
    (server,) = connection.execute("show server_version").fetchone()
    row = connection.execute(
        "select extversion from pg_extension where extname = 'vector'"
    ).fetchone()
    return str(server), row[0] if row else None
