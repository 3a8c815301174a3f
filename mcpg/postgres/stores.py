"""A search cache and an embedding store that many replicas share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import LiteralString, TypeVar

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector, Vector
from psycopg import sql

from mcpg.embeddings.provider import EmbeddingKey, StoreError, key_parts, own_copy, written_parts
from mcpg.errors import PostgresError
from mcpg.index.recipe import RULES
from mcpg.postgres.connection import (
    LONGEST_WAIT,
    Connection,
    Database,
    building,
    compute_lock_number,
    ensure_extension,
)
from mcpg.search.caches import ABSOLUTE, SLIDING, check_bounds
from mcpg.text import iter_words

Answer = TypeVar("Answer")
Item = TypeVar("Item")

# Entries that are kept by default, and bytes of the largest.
ENTRIES, LARGEST_VALUE = 100_000, 1 << 20

# A search must not wait long for something that it can do without.
_ATTEMPTS = 2
# The use of an entry is written only when this share of its sliding time has passed, so that
# frequent reads are not frequent writes.
_WORTH_MARKING = 1 / 16
# The table is swept once in so many writes, or oftener when it is small.
_SWEEP_EVERY = 256


class PostgresCache:
    """Keeps a bounded number of entries in a database that many processes share.

    Expired entries are never returned. Entries beyond the number are removed in sweeps, the least
    recently used first, so that for a while there may be a little more. May be shared between
    threads. A database that cannot be reached, or refuses, is a `PostgresError`.
    """

    def __init__(
        self,
        database: Database,
        entries: int = ENTRIES,
        absolute: float = ABSOLUTE,
        sliding: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Prepare to use *database* for at most so many *entries*, of all kinds together.

        One lives at most *absolute* seconds, and at most *sliding* seconds unused, `None` for those
        of `MemoryCache`. A *clock* returns the time in seconds instead of the database's.

        Raises:
            UsageError: A bound makes no sense.
        """
        check_bounds(entries, absolute, sliding)
        self._database, self._clock = database, clock
        self._most, self._absolute = entries, absolute
        self._sliding = SLIDING if sliding is None else dict.fromkeys(SLIDING, sliding)
        self._every = max(1, min(_SWEEP_EVERY, entries // 16))
        self._writes = 0

    def get(self, kind: str, key: str) -> bytes | None:
        """Return the kept value, and keep it for longer; `None` if it has expired."""
        asked = self._make_parameters(kind, key)

        def read(connection: Connection) -> bytes | None:
            found = connection.execute(_GET, asked, binary=True).fetchone()
            if found is None:
                return None
            value, is_to_mark = found
            if is_to_mark:
                connection.execute(_MARK, asked)
            return bytes(value)

        return self._database.run(read, attempts=_ATTEMPTS, is_brief=True)

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Keep *value* unless it is larger than `LARGEST_VALUE`."""
        if len(value) > LARGEST_VALUE:
            return
        kept = {**self._make_parameters(kind, key), "value": value, "most": self._most}
        self._writes += 1
        is_to_sweep = self._writes % self._every == 0

        def write(connection: Connection) -> None:
            connection.execute(_PUT, kept)
            if is_to_sweep:
                connection.execute(_SWEEP, kept)

        self._database.run(write, attempts=_ATTEMPTS, is_brief=True)

    def close(self) -> None:
        """Free the connections; entries stay."""
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


# Every statement reads the clock once: the caller's if there is one, else the database's.
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

# Rows that another sweep has locked are left to it: no two sweeps wait for each other.
_SWEEP = """
with clock as (
  select coalesce(%(now)s::float8, extract(epoch from clock_timestamp())::float8) as now
), surplus as (
  select kind, key from cache order by used desc, kind, key offset %(most)s
), stale as (
  select kind, key from cache, clock
  where now >= least(sleeps, dies) or now < used -- the clock was set back
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
        exact = {digest for key, digest in asked.items() if key.fingerprint is not None}
        queries = {_GET_EXACT: exact, _GET_LATEST: {*asked.values()} - exact}

        def read(connection: Connection) -> dict[bytes, Vector]:
            return {
                bytes(digest): vector
                for query, digests in queries.items()
                for batch in _split_batches(sorted(digests))
                for digest, vector in connection.execute(query, (batch,), binary=True)
            }

        found = self._run(read) if asked else {}
        return {
            key: found[digest].to_numpy().copy() for key, digest in asked.items() if digest in found
        }

    def put(self, entries: Mapping[EmbeddingKey, NDArray[np.float32]]) -> None:
        rows = {}
        for place, (key, vector) in enumerate(entries.items()):
            parts, copy = written_parts(key), own_copy(key, vector)
            if len(copy) > MOST_DIMENSIONS:
                message = f"the vector of {parts[0]!r} has {len(copy)} dimensions"
                remedy = f"PostgreSQL keeps vectors of up to {MOST_DIMENSIONS}"
                raise StoreError(message, remedy=remedy)
            digest, latest = _digest(parts), _digest((*parts[:2], None))
            rows[digest] = (digest, latest, place, *parts, Vector(copy))
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
        """Let one process at a time make the vectors that *key*, a fingerprint, names.

        Yields:
            Whether it is this one's turn: `False` when *wait* seconds were too short.

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


def _split_batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


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


READS = 2_000
"""Rows that the terms of a query may choose together: more find little more, and take longer."""

MOST_CANDIDATES = 1_000
"""The most results that the search in a graph of neighbors can give."""

# The most dimensions that pgvector indexes in half precision; longer vectors are not published.
_MOST_INDEXED = 4_000
_ANY_LENGTH = sql.SQL("halfvec")
# The tables of a publication are gone once another one has replaced it.
_REPLACED = ("42P01",)


@dataclass(frozen=True, slots=True)
class PublishedTool:
    """A tool as it is published.

    Attributes:
        name: Its name, in words or as an identifier.
        text: Its description.
        vector: Its vector, shape (dimensions,), of length 1, or `None`.
        is_offered: Whether searches offer it without a request for disabled tools.
    """

    tool_id: str
    name: str
    text: str
    vector: NDArray[np.float32] | None = None
    is_offered: bool = True


@dataclass(frozen=True, slots=True)
class _Publication:
    number: int
    key: str
    fingerprint: str
    tools: int
    dimensions: int
    tells_offered: bool
    rules: str | None


@dataclass(frozen=True, eq=False)
class PostgresCandidates:
    """Chooses candidates in a database that many processes share.

    May be shared between threads. It is a `PostgresError` that the database cannot be reached or
    refuses, and that nothing is published that a question is about.

    Attributes:
        database: The database with the published catalogs.
        key: The publication to choose from, as it was published; `None` for the publication of the
            bundle that an engine searches, or the newest.
        reads: Rows that the terms of a query may choose together.
        maker: The fingerprint of the provider of query vectors; they are refused if the published
            ones come from another. "" if unknown.
        is_offering: Whether to pass over tools that are published as not offered.
    """

    database: Database
    key: str | None = None
    reads: int = READS
    maker: str = field(default="", kw_only=True)
    is_offering: bool = field(default=False, kw_only=True)

    def of(self, key: str) -> PostgresCandidates:
        """Return the source for the publication called *key*, unless another was named."""
        return replace(self, key=self.key or key)

    def by(self, maker: str) -> PostgresCandidates:
        """Return a source that refuses vectors unless the published ones are by *maker*."""
        return replace(self, maker=maker)

    def offered(self) -> PostgresCandidates:
        """Return a source that passes over tools that are published as not offered."""
        return replace(self, is_offering=True)

    @property
    def fingerprint(self) -> str:
        """The common identity of sources that choose alike: the publication, and how it is read."""
        found = self.database.run(self._find_publication, attempts=2, is_brief=True)
        which = f"{found.key}:{found.number}:{found.fingerprint}"
        return f"postgres:{which}:{self.reads}:{self.is_offering}"

    def candidates(self, query: str, vector: NDArray[np.float32] | None, count: int) -> list[str]:
        """Return the ids of up to *count* tools, those by terms and by vector in turns, best first.

        *vector* belongs to the query, shape (dimensions,), or is `None`; a vector of another
        provider, or of other dimensions than the published ones, is a `PostgresError`. There are
        at most `MOST_CANDIDATES`.
        """
        count = min(count, MOST_CANDIDATES)
        terms = _read_terms(query)

        def choose(connection: Connection) -> list[str]:
            publication = self._find_publication(connection)
            is_offering = self.is_offering and publication.tells_offered
            worded: list[str] = []
            near: list[str] = []
            if terms:
                asked = {"terms": terms, "size": publication.tools, "reads": self.reads}
                by_terms = _BY_TERMS_OFFERED if is_offering else _BY_TERMS
                query = _format_query(by_terms, publication.number)
                worded = _read_ids(connection.execute(query, {**asked, "count": count}))
            if vector is not None and publication.dimensions:
                _check_vector(publication, vector, self.maker)
                connection.execute("select set_config('hnsw.ef_search', %s, true)", (str(count),))
                is_divided = publication.tells_offered and not is_offering
                by_vector = _BY_VECTOR_HIDDEN if is_divided else _BY_VECTOR
                query = _format_query(by_vector, publication.number)
                asked = {"vector": HalfVector(vector), "count": count}
                near = _read_ids(connection.execute(query, asked))
            turns = chain(*zip_longest(worded, near))
            return list(dict.fromkeys(one for one in turns if one is not None))[:count]

        return self.database.run(choose, attempts=2, retried=_REPLACED, is_brief=True)

    def publish(
        self, tools: Iterable[PublishedTool], key: str, fingerprint: str = "", keep: int = 1
    ) -> bool:
        """Publish a catalog, whole or not at all; searches meanwhile are not delayed.

        Args:
            tools: The tools with distinct ids; of equals, those that come first go first. Either
                all have vectors of one length or those that have none are not found by vector.
            key: The identity of the catalog: the hash of its content.
            fingerprint: Who made the vectors.
            keep: How many older publications stay, for replicas that still search them.

        Returns:
            Whether it was published: `False` if the same catalog is already there.

        Raises:
            PostgresError: The role may not create tables, pg_trgm is missing, or the vectors have
                different lengths.
        """
        rows = list(tools)

        def write(connection: Connection) -> bool:
            connection.execute("set local statement_timeout to 0")
            lock = compute_lock_number(self.database.settings.schema, "publish")
            connection.execute("select pg_advisory_xact_lock(%s)", (lock,))
            newest = connection.execute(_NEWEST, {"key": None}).fetchone()
            if newest is not None:
                found = _Publication(*newest)
                is_of_now = found.tells_offered and found.rules == str(RULES)
                if is_of_now and (found.key, found.fingerprint) == (key, fingerprint):
                    return False
            ensure_extension(connection, "pg_trgm", self.database.address)
            _fill(connection, rows, key, fingerprint)
            old = connection.execute(
                "delete from publications where number in "
                "(select number from publications order by number desc offset %s) returning number",
                (keep + 1,),
            )
            for (number,) in old.fetchall():
                connection.execute(
                    _format_query("drop table if exists {tools}, {vocabulary}", number)
                )
            return True

        return self.database.run(write)

    def close(self) -> None:
        """Free the connections; publications stay."""
        self.database.close()

    def _find_publication(self, connection: Connection) -> _Publication:
        found = connection.execute(_NEWEST, {"key": self.key}).fetchone()
        if found is None:
            raise PostgresError(
                f"{'this catalog is not' if self.key else 'no catalog is'} published",
                place=self.database.address,
                remedy="publish it with `mcpg publish`",
            )
        return _Publication(*found)


def _read_terms(text: str) -> list[str]:
    return sorted({word.term for word in iter_words(text)})


def _check_vector(publication: _Publication, vector: NDArray[np.float32], maker: str) -> None:
    message = ""
    if maker and publication.fingerprint and maker != publication.fingerprint:
        message = (
            f"the query vector is from {maker}, but vectors from {publication.fingerprint} are "
            "published"
        )
    elif len(vector) != publication.dimensions:
        message = (
            f"the query vector has {len(vector)} dimensions, but {publication.dimensions} are "
            "published"
        )
    if message:
        raise PostgresError(message, remedy="publish with the model used for search")


def _read_ids(rows: Iterable[tuple[bytes, ...]]) -> list[str]:
    return [bytes(row[0]).decode("utf-8", "surrogatepass") for row in rows]


def _format_query(
    query: LiteralString, number: int, vector: sql.Composable = _ANY_LENGTH
) -> sql.Composed:
    return sql.SQL(query).format(
        tools=sql.Identifier(f"candidates_{number}"),
        vocabulary=sql.Identifier(f"vocabulary_{number}"),
        vector=vector,
    )


def _fill(
    connection: Connection, rows: Sequence[PublishedTool], key: str, fingerprint: str
) -> None:
    lengths = {len(row.vector) for row in rows if row.vector is not None}
    dimensions = max(lengths, default=0)
    if len(lengths) > 1 or dimensions > _MOST_INDEXED:
        raise PostgresError(
            "the vectors have different lengths or are too long",
            remedy=f"publish vectors of one model, of up to {_MOST_INDEXED} dimensions",
        )
    values = (key, fingerprint, dimensions, len(rows))
    number, *_ = connection.execute(_ANNOUNCE, values).fetchone() or ()
    kind = sql.SQL("halfvec({})").format(dimensions) if dimensions else _ANY_LENGTH
    connection.execute(_format_query(_CREATE, number, kind))
    rules = sql.SQL("comment on table {} is {}")
    table = sql.Identifier(f"candidates_{number}")
    connection.execute(rules.format(table, sql.Literal(str(RULES))))
    with connection.cursor().copy(_format_query(_COPY, number)) as copy:
        copy.set_types(["int4", "bytea", "text[]", "text[]", "bool", "halfvec", "halfvec"])
        for place, row in enumerate(rows):
            named = _read_terms(row.name)
            vector = None if row.vector is None else HalfVector(row.vector)
            tool_id = row.tool_id.encode("utf-8", "surrogatepass")
            vectors = (vector, None) if row.is_offered else (None, vector)
            terms = sorted({*named, *_read_terms(row.text)})
            copy.write_row((place, tool_id, named, terms, row.is_offered, *vectors))
    # Indexes come last, for they are made faster at once.
    for statement in (*_FINISH, *(_INDEX_VECTORS if dimensions else ())):
        connection.execute(_format_query(statement, number))


# Publications of older versions lack `is_offered`, and the rules by which texts were cut.
_NEWEST = """
select number, key, fingerprint, tools, dimensions, exists(
  select from pg_catalog.pg_attribute
  where attrelid = to_regclass('candidates_' || number) and attname = 'is_offered'
), obj_description(to_regclass('candidates_' || number), 'pg_class')
from publications
where key = coalesce(%(key)s, key) order by number desc limit 1
"""

_ANNOUNCE = """
insert into publications (key, fingerprint, dimensions, tools) values (%s, %s, %s, %s)
returning number
"""

_CREATE: LiteralString = """
create table {tools} (
  place int primary key,
  tool_id bytea not null,
  named text[] not null,
  terms text[] not null,
  is_offered boolean not null,
  vector {vector},
  hidden_vector {vector}
)
"""

_COPY: LiteralString = (
    "copy {tools} (place, tool_id, named, terms, is_offered, vector, hidden_vector) "
    "from stdin (format binary)"
)

_FINISH: tuple[LiteralString, ...] = (
    "create index on {tools} using gin (terms)",
    """
    create table {vocabulary} as
    select term, count(*)::int as tools from {tools}, unnest(terms) term group by term
    """,
    "create unique index on {vocabulary} (term)",
    "create index on {vocabulary} using gin (term gin_trgm_ops)",
    "analyze {tools}",
    "analyze {vocabulary}",
)

# Neighbors are searched among the offered ones, or else among both kinds: a graph gives
# so many neighbors, and those left out afterwards take the place of others.
_INDEX_VECTORS: tuple[LiteralString, ...] = (
    "create index on {tools} using hnsw (vector halfvec_cosine_ops)",
    "create index on {tools} using hnsw (hidden_vector halfvec_cosine_ops)",
)

# Of each term that the vocabulary has not, the three that are most like it are taken.
_WORDED: LiteralString = """
with asked as (
  select term from unnest(%(terms)s::text[]) asked(term)
), known as (
  select v.term, v.tools, 1::float8 as likeness from asked join {vocabulary} v using (term)
  union all
  select like_it.* from asked, lateral (
    select v.term, v.tools, similarity(v.term, asked.term)::float8 as likeness
    from {vocabulary} v where v.term %% asked.term
    order by likeness desc, v.tools desc, v.term limit 3
  ) like_it
  where not exists (select from {vocabulary} v where v.term = asked.term)
), weighed as (
  select
    term,
    max(likeness) * ln(1 + %(size)s::float8 / tools) as weight,
    sum(tools) over rarest as reads,
    row_number() over rarest as rank
  from known group by term, tools
  window rarest as (order by tools, term)
)
select tool_id from {tools} tool, lateral (
  select sum(weight * (1 + (term = any(tool.named))::int)) as score
  from weighed where term = any(tool.terms)
) scored
where terms && (select array_agg(term) from weighed where reads <= %(reads)s or rank = 1)
"""
_BEST: LiteralString = "order by score desc, place limit %(count)s"
_BY_TERMS: LiteralString = _WORDED + _BEST
_BY_TERMS_OFFERED: LiteralString = _WORDED + "and is_offered " + _BEST

_BY_VECTOR: LiteralString = """
select tool_id from {tools} where vector is not null
order by vector <=> %(vector)b limit %(count)s
"""

_BY_VECTOR_HIDDEN: LiteralString = """
select tool_id from (
  (
    select tool_id, vector <=> %(vector)b as distance from {tools}
    where vector is not null order by vector <=> %(vector)b limit %(count)s
  ) union all (
    select tool_id, hidden_vector <=> %(vector)b as distance from {tools}
    where hidden_vector is not null order by hidden_vector <=> %(vector)b limit %(count)s
  )
) near order by distance limit %(count)s
"""
