"""A catalog in PostgreSQL, searched by a process that has no bundle and no index.

    python benchmarks/bench_published.py --keep DIR [--size 100000] [--made 2] [--parts 10]
    python benchmarks/bench_published.py --keep DIR --judged judged.mdld --sets DIR [--whole ...]

DIR has the parts that bench_parts.py built (`--keep`). `--made` of them are published as a user
would; the others, up to `--parts`, are copies of these within the database, whose search takes as
long as that of others of their size. With `--judged`, the bundle of all tools of judged sets is one
more part, and `--whole` the bundle of the same and of the made tools, which is searched by its own
index.

All times are of the processor: of this process, and of the server's for it. First table: seconds
of publishing one part and of merging the vocabulary, MB of 2**20 bytes of the database, of the
vocabulary, and the most of this process. Second: milliseconds of choosing and reading candidates,
and of a whole search; MB that the process has more than before it opened the catalog. Third:
milliseconds and peak MB of `mcpg search -b postgres:`, whose vocabulary is cached.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring
from bench_parts import BUNDLE, MIB, resident
from measuring import middle, percentile, row
from psycopg import sql

import mcpg
from mcpg.index.file import open_index
from mcpg.postgres import Database, PublishedEngine, catalog_engine, catalogs, publish_catalog
from mcpg.postgres.vocabulary import merge_vocabulary

sys.path.insert(0, str(measuring.HERE.parent / "tests"))
import pgserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcpg.engine import Engine
    from mcpg.index import Index

SERVER = ("shared_buffers=512MB", "maintenance_work_mem=256MB")
TICKS = os.sysconf("SC_CLK_TCK")
SHOWN = (1, 5, 10)


def server_seconds(database: Database) -> float:
    """Return the processor time of the server's processes for our connections."""
    query = "select pid from pg_stat_activity where backend_type = 'client backend'"
    total = 0
    for (pid,) in database.run(lambda one: one.execute(query).fetchall()):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def copy_part(database: Database, number: int) -> None:
    """Copy a part within the database."""

    def copy(connection: Any) -> None:
        connection.execute("set local statement_timeout to 0")
        add = "insert into parts (key, tools) select key || clock_timestamp(), tools from parts"
        (made,) = connection.execute(
            f"{add} where number = %s returning number", [number]
        ).fetchone()
        for table in catalogs.TABLES:
            names = {"parent": sql.Identifier(table), "table": sql.Identifier(f"{table}_{made}")}
            fields = {"number": sql.Literal(made), **names}
            connection.execute(sql.SQL(catalogs.LIKE).format(**names))
            columns = "select column_name from information_schema.columns where table_name = %s "
            found = connection.execute(columns + "order by ordinal_position", [table]).fetchall()
            listed = sql.SQL(", ").join(
                sql.Identifier(name) for (name,) in dict.fromkeys(found) if name != "part"
            )
            insert = (
                "insert into {table} select {number}, {listed} from {parent} where part = {one}"
            )
            connection.execute(
                sql.SQL(insert).format(listed=listed, one=sql.Literal(number), **fields)
            )
            for statement in (catalogs.CHECK, *catalogs.INDEXES[table], catalogs.ATTACH):
                connection.execute(sql.SQL(statement).format(**fields))

    database.run(copy)


def announce(database: Database, indexes: Sequence[Index], count: int) -> float:
    """Publish the first *count* parts as a catalog, and return the seconds of its vocabulary."""
    query = "select number from parts order by number"
    numbers = [one for (one,) in database.run(lambda one: one.execute(query).fetchall())][:count]
    among = [indexes[place % len(indexes)] for place in range(count)]
    start = time.process_time()
    data = merge_vocabulary(among)
    seconds = time.process_time() - start
    sizes = list(map(len, among))
    values = (f"{count}", sum(sizes), numbers, sizes, data)
    database.run(lambda one: one.execute(catalogs.ANNOUNCE, values, binary=True))
    return seconds


class Stages:
    """Adds up the processor time of the stages that choose and read candidates."""

    def __init__(self) -> None:
        self.seconds = 0.0
        for name in ("_analyse", "_look_up", "retrieve_for_each"):
            setattr(catalog_engine, name, self._timed(getattr(catalog_engine, name)))
        snapshot = catalog_engine.Snapshot
        snapshot.read = self._timed(snapshot.read)

    def _timed(self, action: Callable[..., Any]) -> Callable[..., Any]:
        def act(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return action(*given, **named)
            finally:
                self.seconds += time.process_time() - start

        return act


def publish(database: Database, indexes: Sequence[Index], count: int) -> Iterator[str]:
    """Publish *indexes*, and copies of them up to *count* parts."""
    for place in range(len(indexes)):
        start, before = time.process_time(), server_seconds(database)
        publish_catalog(database, indexes[: place + 1])
        own, other = time.process_time() - start, server_seconds(database) - before
        yield row(f"part {place}", own, other, *sizes(database), peak())
    for place in range(len(indexes), count):
        copy_part(database, place % len(indexes) + 1)
    for parts in dict.fromkeys(min(one, count) for one in SHOWN):
        seconds = announce(database, indexes, parts)
        yield row(f"vocabulary of {parts} parts", seconds, "", *sizes(database), peak())


def sizes(database: Database) -> list[float]:
    """Return the MB of the database, and of the last vocabulary."""
    query = (
        "select pg_database_size(current_database()), "
        "(select length(vocabulary) from catalogs order by number desc limit 1)"
    )
    return [one / MIB for one in database.run(lambda one: one.execute(query).fetchone()) or ()]


def peak() -> float:
    """Return the most MB that this process had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def search(database: Database, queries: Sequence[str], name: str) -> str:
    """Search the newest catalog."""
    before = resident()
    engine = PublishedEngine(database)
    stages = Stages()
    for query in queries[-10:]:
        engine.search(query)
    chosen, whole = [], []
    begin = server_seconds(database)
    for query in queries:
        stages.seconds, start = 0.0, time.process_time()
        engine.search(query)
        whole.append((time.process_time() - start) * 1e3)
        chosen.append(stages.seconds * 1e3)
    server = (server_seconds(database) - begin) * 1e3 / len(queries)
    figures = (middle(chosen), percentile(chosen, 0.95), server, middle(whole))
    return row(name, *figures, percentile(whole, 0.95), resident() - before)


def cold(dsn: str, query: str, name: str) -> str:
    """Search once in a process of its own, whose vocabulary is cached."""
    command = [*measuring.program(), "search", query, "-b", "postgres:"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(MCPG_CACHE_DIR=folder)
        command = ["env", f"MCPG_POSTGRES={dsn}", *command]
        measuring.run(command)
        spent = [measuring.processor_seconds(command) * 1e3 for _ in range(5)]
        return row(name, middle(spent), measuring.peak_bytes(["/usr/bin/env", *command[1:]]) / MIB)


def judge(
    engine: Callable[[str], Sequence[mcpg.Match]], sets: Path, count: int
) -> dict[str, float]:
    """Return the nDCG@5 of each judged set."""
    found = {}
    for folder in catalogues.judged_sets(sets):
        total = []
        for one in catalogues.judged_queries(folder / "queries.jsonl", count):
            relevant = {key.rpartition("::")[2] for key in one["relevant"]}
            matches = engine(one["query"])[:5]
            hits = [
                match.source_id.startswith(folder.name) and match.tool_name in relevant
                for match in matches
            ]
            total.append(catalogues.ndcg(hits, len(relevant)))
        found[folder.name] = sum(total) / len(total)
    return found


def quality(
    engines: dict[str, Callable[[str], Sequence[mcpg.Match]]], sets: Path, count: int
) -> Iterator[str]:
    """Compare the engines on judged sets."""
    rows = {name: judge(engine, sets, count) for name, engine in engines.items()}
    names = list(next(iter(rows.values())))
    yield row("nDCG@5", *names, "mean")
    for name, found in rows.items():
        yield row(name, *(found[one] for one in names), sum(found.values()) / len(found))


def merged(engines: Sequence[Engine]) -> Callable[[str], Sequence[mcpg.Match]]:
    """Return the search of all *engines* whose matches are merged by their scores."""

    def find(query: str) -> Sequence[mcpg.Match]:
        found = [match for engine in engines for match in engine.search(query).matches]
        return sorted(found, key=lambda match: -match.score)[:5]

    return find


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--made", type=int, default=2)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--whole", type=Path)
    parser.add_argument("--sets", type=Path)
    given = parser.parse_args()
    paths = [given.keep / f"part-{given.size}-{number}" / BUNDLE for number in range(given.made)]
    if given.judged:
        paths.insert(0, given.judged)
    indexes = [open_index(f"{path}.idx") for path in paths]
    with pgserver.server(*SERVER) as dsn, Database(dsn) as database:
        if given.judged:
            publish_catalog(database, indexes)
            for place in range(given.made, given.parts):
                copy_part(database, place % given.made + 2)
            if given.parts > given.made:
                query = "select number from parts order by number"
                numbers = [
                    one for (one,) in database.run(lambda one: one.execute(query).fetchall())
                ]
                among = [
                    indexes[0],
                    *(indexes[1 + place % given.made] for place in range(given.parts)),
                ]
                held = list(map(len, among))
                values = ("judged", sum(held), numbers, held, merge_vocabulary(among))
                database.run(lambda one: one.execute(catalogs.ANNOUNCE, values, binary=True))
            engines = {"published": lambda query: published.search(query).matches}
            published = PublishedEngine(database)
            if given.whole:
                whole = mcpg.load(given.whole)
                engines["one index"] = lambda query: whole.search(query).matches
            engines["merged by score"] = merged([mcpg.load(path) for path in paths])
            for line in quality(engines, given.sets, given.queries):
                print(line, flush=True)
            return
        print(row("published", "s", "server s", "MB", "words MB", "peak MB"), flush=True)
        for line in publish(database, indexes, given.parts):
            print(line, flush=True)
        print("\n" + row("searched", "chosen", "p95", "server", "whole", "p95", "MB"), flush=True)
        queries = catalogues.make_queries(
            json.loads(paths[0].with_name("tools.json").read_text(encoding="utf-8"))["tools"]
        )[: given.queries]
        name = f"{given.parts} parts of {given.size:,} tools"
        print(search(database, queries, name), flush=True)
        print("\n" + row("cold", "ms", "peak MB"), flush=True)
        print(cold(dsn, queries[0], name), flush=True)


if __name__ == "__main__":
    main()
