"""Candidates: the few tools of a large catalogue that are worth a closer look, chosen by indexes.

A publication holds the terms of every tool under an inverted index (GIN), the vocabulary under a
trigram index, and the vectors under a graph of neighbours (HNSW). A term of the query that no tool
has is replaced by those that are like it. The rarest terms choose, all of them order; terms of a
tool's name count twice. Texts are never ranked by the full-text search of PostgreSQL.

Source: Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using
hierarchical navigable small world graphs", IEEE TPAMI 42(4), 2020; Sparck Jones, "A statistical
interpretation of term specificity", Journal of Documentation 28(1), 1972 (why rare terms choose).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql

from mcpg.errors import PostgresError
from mcpg.index.recipe import RULES
from mcpg.postgres.connection import Connection, Database, compute_lock_number, ensure_extension
from mcpg.text import iter_words

READS = 2_000
"""Rows that the terms of a query may choose together: more find little more, and take longer."""

MOST_CANDIDATES = 1_000
"""As many as the search in a graph of neighbours can give."""

# The most dimensions that pgvector indexes in half precision; longer vectors are not published.
_MOST_INDEXED = 4_000
_ANY_LENGTH = sql.SQL("halfvec")
# The tables of a publication are gone once another one has replaced it.
_REPLACED = ("42P01",)


@dataclass(frozen=True, slots=True)
class PublishedTool:
    """What is published of a tool.

    Attributes:
        tool_id: Its id.
        name: What it is called, in words or as an identifier.
        text: What it does.
        vector: Its vector, shape (dimensions,), of length 1, or `None`.
        is_offered: Whether searches offer it without being asked for disabled tools.
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

    May be shared between threads.

    Attributes:
        database: Where catalogues are published.
        key: The publication to choose from, as it was published; `None` for that of the bundle
            that an engine searches, or the newest.
        reads: Rows that the terms of a query may choose together.
        maker: The fingerprint of who makes the vectors of queries; they are refused where those
            of another are published. "" where that is not known.
        is_offering: Whether to pass over tools that are published as not offered.
    """

    database: Database
    key: str | None = None
    reads: int = READS
    maker: str = field(default="", kw_only=True)
    is_offering: bool = field(default=False, kw_only=True)

    def of(self, key: str) -> PostgresCandidates:
        """Return what chooses from the publication called *key*, unless another was named."""
        return replace(self, key=self.key or key)

    def by(self, maker: str) -> PostgresCandidates:
        """Return what refuses vectors of the fingerprint *maker* where others are published."""
        return replace(self, maker=maker)

    def offered(self) -> PostgresCandidates:
        """Return what passes over tools that are published as not offered."""
        return replace(self, is_offering=True)

    @property
    def fingerprint(self) -> str:
        """What sources that choose alike have in common: what is published, and how it is read.

        Raises:
            PostgresError: Nothing is published, or the database cannot be reached or refuses.
        """
        found = self.database.run(self._find_publication, attempts=2)
        which = f"{found.key}:{found.number}:{found.fingerprint}"
        return f"postgres:{which}:{self.reads}:{self.is_offering}"

    def candidates(self, query: str, vector: NDArray[np.float32] | None, count: int) -> list[str]:
        """Return the ids of up to *count* tools, those by terms and by vector in turns, best first.

        Args:
            query: The words that are looked for.
            vector: The vector of the query, shape (dimensions,), or `None`.
            count: Most candidates to give, up to `MOST_CANDIDATES`.

        Raises:
            PostgresError: Nothing is published under the key, the vector has another maker or
                other dimensions than what is published, or the database cannot be reached or
                refuses.
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

        return self.database.run(choose, attempts=2, retried=_REPLACED)

    def publish(
        self, tools: Iterable[PublishedTool], key: str, fingerprint: str = "", keep: int = 1
    ) -> bool:
        """Publish a catalogue, whole or not at all; whoever searches meanwhile is not held up.

        Args:
            tools: The tools with distinct ids; of equals, those that come first go first. Either
                all have vectors of one length or those that have none are not found by vector.
            key: What says which catalogue this is: the hash of its content.
            fingerprint: Who made the vectors.
            keep: How many older publications stay, for replicas that still search them.

        Returns:
            Whether it was published: `False` when the same stands there already.

        Raises:
            PostgresError: The role may not create tables, pg_trgm is missing, the vectors have
                different lengths, or the database cannot be reached or refuses.
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
        """Free the connections; what is published stays."""
        self.database.close()

    def _find_publication(self, connection: Connection) -> _Publication:
        found = connection.execute(_NEWEST, {"key": self.key}).fetchone()
        if found is None:
            what = "this catalogue is" if self.key else "no catalogue is"
            negation = " not" if self.key else ""
            raise PostgresError(
                f"{what}{negation} published",
                place=self.database.address,
                remedy="publish it with `mcpg publish`",
            )
        return _Publication(*found)


def _read_terms(text: str) -> list[str]:
    return sorted({word.term for word in iter_words(text)})


def _check_vector(publication: _Publication, vector: NDArray[np.float32], maker: str) -> None:
    """Make sure that a query's *vector* by *maker* can be compared with what is published.

    Raises:
        PostgresError: It cannot.
    """
    remedy = "publish with the model used for search"
    if maker and publication.fingerprint and maker != publication.fingerprint:
        message = (
            f"the query vector is from {maker}, but vectors from {publication.fingerprint} are "
            "published"
        )
        raise PostgresError(message, remedy=remedy)
    if len(vector) != publication.dimensions:
        message = (
            f"the query vector has {len(vector)} dimensions, but {publication.dimensions} are "
            "published"
        )
        raise PostgresError(message, remedy=remedy)


def _read_ids(rows: Iterable[tuple[bytes, ...]]) -> list[str]:
    return [bytes(row[0]).decode("utf-8", "surrogatepass") for row in rows]


def _format_query(
    query: LiteralString, number: int, vector: sql.Composable = _ANY_LENGTH
) -> sql.Composed:
    """Return *query* with the names of the tables of a publication, and the type of its vectors."""
    return sql.SQL(query).format(
        tools=sql.Identifier(f"candidates_{number}"),
        vocabulary=sql.Identifier(f"vocabulary_{number}"),
        vector=vector,
    )


def _fill(
    connection: Connection, rows: Sequence[PublishedTool], key: str, fingerprint: str
) -> None:
    """Make the tables of a publication; indexes come last, for they are made faster at once."""
    dimensions = _count_dimensions(rows)
    values = (key, fingerprint, dimensions, len(rows))
    number, *_ = connection.execute(_ANNOUNCE, values).fetchone() or ()
    kind = sql.SQL("halfvec({})").format(dimensions) if dimensions else _ANY_LENGTH
    connection.execute(_format_query(_CREATE, number, kind))
    rules = sql.SQL("comment on table {} is {}")
    table = sql.Identifier(f"candidates_{number}")
    connection.execute(rules.format(table, sql.Literal(str(RULES))))
    with connection.cursor().copy(_format_query(_COPY, number)) as copy:
        copy.set_types(["int4", "bytea", "text[]", "text[]", "bool", "halfvec", "halfvec"])
        for row in _make_rows(rows):
            copy.write_row(row)
    for statement in (*_FINISH, *(_INDEX_VECTORS if dimensions else ())):
        connection.execute(_format_query(statement, number))


def _count_dimensions(rows: Iterable[PublishedTool]) -> int:
    """Return the dimensions of the vectors, 0 when there are none.

    Raises:
        PostgresError: They differ, or are too many.
    """
    lengths = {len(row.vector) for row in rows if row.vector is not None}
    if len(lengths) > 1 or max(lengths, default=0) > _MOST_INDEXED:
        raise PostgresError(
            "the vectors have different lengths or are too long",
            remedy=f"publish vectors of one model, of up to {_MOST_INDEXED} dimensions",
        )
    return max(lengths, default=0)


def _make_rows(rows: Iterable[PublishedTool]) -> Iterator[tuple[object, ...]]:
    for place, row in enumerate(rows):
        named = _read_terms(row.name)
        vector = None if row.vector is None else HalfVector(row.vector)
        tool_id = row.tool_id.encode("utf-8", "surrogatepass")
        vectors = (vector, None) if row.is_offered else (None, vector)
        terms = sorted({*named, *_read_terms(row.text)})
        yield place, tool_id, named, terms, row.is_offered, *vectors


# Publications of older versions do not tell what is offered, nor by which rules texts were cut.
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

# Neighbours are looked for among those that are offered, or else among both kinds: a graph gives
# so many neighbours, and what is left out afterwards takes the place of others.
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
