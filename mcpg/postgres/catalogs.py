"""Whole catalogs in PostgreSQL, in parts: replicas that search them have no bundle and no index.

A part is a bundle: its tools, the postings of its terms and its names are partitions of three
tables. A catalog is a list of parts and the vocabulary of all. Parts never change: the next catalog
shares those that are the same, so only changed bundles are written.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any, LiteralString, NamedTuple
from zlib import crc32

import numpy as np
from psycopg import sql

from mcpg.documents.model import ToolDocument, decode_record
from mcpg.errors import PostgresError, UsageError
from mcpg.index import Index
from mcpg.index.layout import (
    NO_KEY,
    NONE,
    StaleIndexError,
    compress_record,
    decompress_record,
)
from mcpg.index.partial import Answer
from mcpg.postgres.connection import Connection, Database, building
from mcpg.postgres.vocabulary import merge_vocabulary
from mcpg.text.meaning import DIMENSIONS

TABLES = ("part_tools", "part_terms", "part_names")

_BUILD = "catalogs"
_CHECKSUM_SIZE = 4
_DAMAGE = (StaleIndexError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class Publication(NamedTuple):
    """The result of `publish_catalog`.

    Attributes:
        digest: The SHA-256 of the catalog's vocabulary, in hexadecimal.
        parts: The number of parts.
        written: The number of those that were not there yet.
        tools: The number of tools of all parts.
        is_new: Whether another catalog was the newest before.
    """

    digest: str
    parts: int
    written: int
    tools: int
    is_new: bool


def publish_catalog(database: Database, indexes: Sequence[Index], keep: int = 1) -> Publication:
    """Publish the bundles of *indexes* as one catalog, part by part.

    Searches go on meanwhile, over the catalog before; *keep* older catalogs stay. If it is
    interrupted, parts that were written are not written again.

    Raises:
        UsageError: There is no index, one is not of one bundle, two are of the same, they rank by
            different models, or *keep* is below 0.
        PostgresError: The database cannot be reached, or refuses.
    """
    if not indexes or keep < 0:
        what = "there is no bundle to publish" if not indexes else f"keep is {keep}, below 0"
        raise UsageError(what)
    keys = [_identify_part(index) for index in indexes]
    if len(set(keys)) < len(keys):
        raise UsageError("a bundle is named twice")
    total = sum(map(len, indexes))
    with building(database, _BUILD):
        known = dict(database.run(lambda one: one.execute(_KNOWN, [keys]).fetchall()))
        written = [one for one in zip(keys, indexes, strict=True) if one[0] not in known]
        for key, index in written:
            known[key] = _write_part(database, key, index)
        numbers = [known[key] for key in keys]
        newest = database.run(lambda one: one.execute(_NEWEST_PARTS).fetchone())
        is_new = newest is None or newest[0] != numbers
        digest = "" if newest is None else newest[1]
        if is_new:
            vocabulary = merge_vocabulary(indexes)
            digest = hashlib.sha256(vocabulary).hexdigest()
            values = (digest, total, numbers, list(map(len, indexes)), vocabulary)
            database.run(lambda one: one.execute(ANNOUNCE, values, binary=True))
        database.run(lambda one: _drop_old(one, keep))
    return Publication(digest, len(keys), len(written), total, is_new)


def _identify_part(index: Index) -> str:
    if index.header.key == NO_KEY:
        raise UsageError(
            "only bundles can be published",
            remedy="make each with `mcpg bundle`, and name it with --bundle",
        )
    return f"{index.header.key.hex()}:{index.header.recipe}"


def _write_part(database: Database, key: str, index: Index) -> int:
    """Write one part in a transaction, and return its number."""

    def write(connection: Connection) -> int:
        connection.execute("set local statement_timeout to 0")
        connection.execute(_FORGET_PART, (key,))  # whose tables are gone
        (number,) = connection.execute(_ADD_PART, (key, len(index))).fetchone() or (0,)
        rows = (iter_tools(index), iter_terms(index), iter_names(index))
        for table, types, content in zip(TABLES, _TYPES, rows, strict=True):
            names = {"parent": sql.Identifier(table), "table": sql.Identifier(f"{table}_{number}")}
            connection.execute(sql.SQL(LIKE).format(**names))
            query = sql.SQL("copy {table} from stdin (format binary)").format(**names)
            with connection.cursor().copy(query) as copy:
                copy.set_types(types)
                for row in content:
                    copy.write_row((number, *row))
            # The constraint spares a scan when the partition is attached.
            for statement in (CHECK, *INDEXES[table], ATTACH, "analyze {table}"):
                connection.execute(sql.SQL(statement).format(number=sql.Literal(number), **names))
        return int(number)

    return database.run(write)


def iter_tools(index: Index) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the tools of *index*."""
    flags, categories = index.read_only_flags(), defaultdict[int, list[bytes]](list)
    for number, category in enumerate(index.categories):
        for tool in index.rows("categories.tools")[number]:
            categories[tool].append(_encode(category.casefold()))
    for tool in range(len(index)):
        yield (
            tool,
            _encode(index.source_id(tool).casefold()),
            categories[tool],
            flags[tool],
            index.is_enabled(tool),
            [-1 if target == NONE else target for target in index.targets(tool)],
            bytes(index.read_meanings([tool])[0]),
            _pack_record(index.read_record(tool)),
        )


def iter_terms(index: Index) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the terms of *index*."""
    kinds = index.section("terms.kind")
    for number, text in enumerate(index.texts("terms")):
        tools, impacts, _ = index.postings(number)
        yield _encode(text), kinds[number], tools.tobytes(), impacts.tobytes()


def iter_names(index: Index) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the joined names and of the phrases of *index*."""
    found: dict[str, set[int]] = {}
    for table in ("keys", "phrases"):
        rows = index.rows(f"{table}.tools")
        for number, text in enumerate(index.texts(table)):
            found.setdefault(text, set()).update(rows[number])
    for text, tools in found.items():
        yield _encode(text), sorted(tools)


def _pack_record(record: bytes) -> bytes:
    return compress_record(record, b"") + crc32(record).to_bytes(_CHECKSUM_SIZE)


def _unpack_record(data: bytes) -> bytes:
    checksum = int.from_bytes(data[-_CHECKSUM_SIZE:])
    return decompress_record(data[:-_CHECKSUM_SIZE], b"", checksum)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _drop_old(connection: Connection, keep: int) -> None:
    """Drop the catalogs before the last *keep*, and the parts that no catalog has."""
    connection.execute(_DROP_CATALOGS, (keep + 1,))
    for (number,) in connection.execute(_DROP_PARTS).fetchall():
        for table in TABLES:
            name = sql.Identifier(f"{table}_{number}")
            connection.execute(sql.SQL("drop table if exists {}").format(name))


class CatalogRow(NamedTuple):
    """A published tool, by its number in the catalog.

    Attributes:
        links: For each link of the document, the number of the tool that it leads to, or -1.
        meaning: The vector of its meaning.
    """

    number: int
    links: tuple[int, ...]
    meaning: bytes
    document: ToolDocument


@dataclass(frozen=True)
class PublishedCatalog:
    """A catalog in a database, read by the terms, names and numbers of its tools.

    Tools are numbered through all parts. May be shared between threads. Every method raises a
    `PostgresError` if the database cannot be reached, or no longer has the catalog.

    Attributes:
        number: The number of the publication.
        digest: The SHA-256 of its vocabulary, in hexadecimal.
        parts: The number of each part.
        sizes: The number of tools of each part.
    """

    database: Database
    number: int
    digest: str
    parts: Sequence[int]
    sizes: Sequence[int]

    @staticmethod
    def newest(database: Database) -> PublishedCatalog:
        """Return the catalog that was published last.

        Raises:
            PostgresError: There is none.
        """
        found = database.run(lambda one: one.execute(_NEWEST).fetchone(), attempts=2, is_brief=True)
        if found is None:
            raise PostgresError(
                "no catalog is published",
                place=database.address,
                remedy="publish one with `mcpg publish --whole`",
            )
        return PublishedCatalog(database, *found)

    @property
    def starts(self) -> dict[int, int]:
        """The number of the first tool of each part."""
        return dict(zip(self.parts, accumulate(self.sizes, initial=0), strict=False))

    def read_vocabulary(self) -> bytes:
        """Return the file of the vocabulary."""
        query = "select vocabulary from catalogs where number = %s"
        return bytes(self._ask(query, [self.number], is_brief=False)[0][0])

    def list_disabled(self) -> frozenset[int]:
        """Return the tools that are not offered by default."""
        rows = self._ask(_DISABLED, {"parts": list(self.parts)})
        return frozenset(chain.from_iterable(self._number(part, tools) for part, tools in rows))

    def find_terms(self, terms: Collection[str]) -> dict[str, Answer]:
        """Return the kind and the postings of those of the *terms* that occur."""
        given = {"parts": list(self.parts), "terms": list(map(_encode, terms))}
        found = defaultdict[bytes, list[tuple[int, int, bytes, bytes]]](list)
        for term, *row in self._ask(_TERMS, given):
            found[bytes(term)].append((row[0], row[1], row[2], row[3]))
        return {
            term.decode("utf-8", "surrogatepass"): self._join(rows) for term, rows in found.items()
        }

    def _join(self, rows: list[tuple[int, int, bytes, bytes]]) -> Answer:
        starts, sizes, kind = self.starts, dict(zip(self.parts, self.sizes, strict=True)), 0
        rows.sort(key=lambda row: starts[row[0]])
        tools, impacts = [], []
        for part, of_part, numbers, steps in rows:
            kind |= of_part
            held = np.frombuffer(numbers, np.uint32)
            if 2 * len(steps) != len(numbers) or held.max(initial=0) >= sizes[part]:
                raise self.report_damage(f"postings of part {part} are damaged")
            tools.append(held + np.uint32(starts[part]))
            impacts.append(np.frombuffer(steps, np.uint16))
        return Answer(kind, (np.concatenate(tools).data, np.concatenate(impacts).data))

    def find_names(self, names: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Return the tools of those of the joined *names*, and of phrases, that occur."""
        given = {"parts": list(self.parts), "names": list(map(_encode, names))}
        found = defaultdict[str, list[int]](list)
        for name, part, tools in self._ask(_NAMES, given):
            found[bytes(name).decode("utf-8", "surrogatepass")] += self._number(part, tools)
        return {name: tuple(sorted(tools)) for name, tools in found.items()}

    def list_passing(
        self, sources: Iterable[str], categories: Iterable[str], *, read_only: bool
    ) -> frozenset[int]:
        """Return the tools of one of the *sources*, with one of the *categories*, as filters do."""
        given = {
            "parts": list(self.parts),
            "sources": [_encode(one.casefold()) for one in sources] or None,
            "categories": [_encode(one.casefold()) for one in categories] or None,
            "read_only": read_only,
        }
        rows = self._ask(_PASSING, given)
        return frozenset(chain.from_iterable(self._number(part, tools) for part, tools in rows))

    def read_tools(self, numbers: Collection[int]) -> list[CatalogRow]:
        """Return the tools with these *numbers*.

        Raises:
            PostgresError: A tool is missing, or is damaged.
        """
        if not numbers:
            return []
        starts = [*accumulate(self.sizes, initial=0)]
        if not 0 <= min(numbers) <= max(numbers) < starts[-1]:
            raise self.report_damage("a name or a link leads to no tool")
        places = np.searchsorted(starts, list(numbers), "right") - 1
        parts = [self.parts[place] for place in places]
        tools = [number - starts[place] for number, place in zip(numbers, places, strict=True)]
        given = {"parts": parts, "tools": tools, "among": sorted(set(parts))}
        found = []
        for part, tool, links, meaning, record in self._ask(_TOOLS, given):
            try:
                document, _ = decode_record(_unpack_record(record))
                if len(meaning) != DIMENSIONS or len(links) != len(document.links):
                    raise ValueError("its meaning or its links have another length")
            except _DAMAGE as fault:
                raise self.report_damage(
                    f"tool {tool} of part {part} is damaged",
                    f"drop the table part_tools_{part} and publish again",
                ) from fault
            start = self.starts[part]
            targets = [-1 if link < 0 else start + link for link in links]
            found.append(CatalogRow(start + tool, tuple(targets), bytes(meaning), document))
        if len(found) < len(numbers):
            raise self.report_damage(f"{len(numbers) - len(found)} tools are missing")
        return found

    def report_damage(
        self, message: str, remedy: str = "publish it again with `mcpg publish --whole`"
    ) -> PostgresError:
        message = f"the published catalog is incomplete: {message}"
        return PostgresError(message, place=self.database.address, remedy=remedy)

    def _number(self, part: int, tools: Iterable[int]) -> list[int]:
        start = self.starts[part]
        return [start + tool for tool in tools]

    def _ask(
        self,
        query: LiteralString,
        given: Sequence[Any] | Mapping[str, Any],
        *,
        is_brief: bool = True,
    ) -> list[tuple[Any, ...]]:
        def ask(connection: Connection) -> list[tuple[Any, ...]]:
            known = [self.number, list(self.parts)]
            is_kept, count = connection.execute(_COMPLETE, known).fetchone() or (False, 0)
            if not is_kept:  # even if the newest has all its parts
                raise self.report_damage("another one took its place")
            if count < len(self.parts):
                raise self.report_damage(f"{len(self.parts) - count} parts are missing")
            return connection.execute(query, given, binary=True).fetchall()

        return self.database.run(ask, attempts=2, is_brief=is_brief)


_NEWEST_PARTS: LiteralString = "select parts, digest from catalogs order by number desc limit 1"
_NEWEST: LiteralString = (
    "select number, digest, parts, sizes from catalogs order by number desc limit 1"
)
_ADD_PART: LiteralString = "insert into parts (key, tools) values (%s, %s) returning number"
_FORGET_PART: LiteralString = "delete from parts where key = %s"
ANNOUNCE: LiteralString = """
insert into catalogs (digest, tools, parts, sizes, vocabulary)
values (%s, %s, %s::int[], %s::int[], %s)
"""
_DROP_CATALOGS: LiteralString = """
delete from catalogs where number in
(select number from catalogs order by number desc offset %s)
"""
_DROP_PARTS: LiteralString = """
delete from parts one where not exists (select from catalogs c where one.number = any(c.parts))
returning one.number
"""

LIKE: LiteralString = "create table {table} (like {parent} including storage)"
CHECK: LiteralString = "alter table {table} add check (part = {number})"
ATTACH: LiteralString = "alter table {parent} attach partition {table} for values in ({number})"
_TYPES = (
    ("int4", "int4", "bytea", "bytea[]", "int2", "bool", "int4[]", "bytea", "bytea"),
    ("int4", "bytea", "int2", "bytea", "bytea"),
    ("int4", "bytea", "int4[]"),
)
# Indexes come last, for they are made faster at once.
INDEXES: Mapping[str, tuple[LiteralString, ...]] = {
    "part_tools": (
        "alter table {table} add primary key (part, tool)",
        "create index on {table} (source)",
    ),
    "part_terms": ("alter table {table} add primary key (part, term)",),
    "part_names": ("alter table {table} add primary key (part, name)",),
}

_KNOWN: LiteralString = "select key, number from whole_parts where key = any(%s)"
_COMPLETE: LiteralString = """
select exists (select from catalogs where number = %s), count(*)
from whole_parts where number = any(%s)
"""
_DISABLED: LiteralString = """
select part, array_agg(tool) from part_tools
where part = any(%(parts)s::int[]) and not enabled group by part
"""
_TERMS: LiteralString = """
select term, part, kind, tools, impacts from part_terms
where part = any(%(parts)s::int[]) and term = any(%(terms)s::bytea[])
"""
_NAMES: LiteralString = """
select name, part, tools from part_names
where part = any(%(parts)s::int[]) and name = any(%(names)s::bytea[])
"""
_PASSING: LiteralString = """
select part, array_agg(tool) from part_tools
where part = any(%(parts)s::int[])
  and (%(sources)s::bytea[] is null or source = any(%(sources)s::bytea[]))
  and (%(categories)s::bytea[] is null or categories && %(categories)s::bytea[])
  and (not %(read_only)s::bool or read_only = 1)
group by part
"""
_TOOLS: LiteralString = """
select part, tool, links, meaning, record from part_tools
join unnest(%(parts)s::int[], %(tools)s::int[]) asked (part, tool) using (part, tool)
where part = any(%(among)s::int[])
"""
