"""A catalogue of a million tools, built and searched in parts.

    python benchmarks/bench_parts.py [--size 100000] [--parts 10] [--made 10] [--queries 60]

Each part is a bundle of made tools with words of its own. `--made` parts are built, one after the
other; the others are copies of these on disk, whose search takes as long as that of others of their
size. One process loads all, warms up, and asks each part in turn; the matches of all are merged by
their scores. `--keep DIR` keeps the bundles for the next run.

Columns of the first table: s and MB (of 2**20 bytes) are the time and the most memory of the
largest process of `mcpg bundle`, then the MB of bundle and index. Of the second: the milliseconds
of a query in so many parts, by the clock and by the processor; MB that the parts have added to the
process, pages of mapped files included; first is the share of queries whose first match in the part
that they are made for is the first of all.
"""

from __future__ import annotations

import argparse
import json
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
from bench_warm import clocks
from measuring import middle, percentile, row

import mcpg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine import Engine, Match

MIB = 2**20
BUNDLE = "graph.mdld"
SHOWN = (1, 2, 5, 10)


def build(folder: Path, size: int, seed: int) -> str:
    """Build one part, and return its row."""
    folder.mkdir(parents=True)
    tools = catalogues.make_tools(size, seed)
    manifest, bundle = folder / "tools.json", folder / BUNDLE
    manifest.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    make = [*measuring.program(), "bundle", str(manifest), "-o", str(bundle), "--quiet"]
    peaks: list[int] = []
    seconds = measuring.timed(lambda: peaks.append(measuring.peak_bytes(make)))
    sizes = [one.stat().st_size / MIB for one in (bundle, folder / f"{BUNDLE}.idx")]
    return row(f"part {seed}, {size:,} tools", seconds, peaks[0] / MIB, *sizes)


def parts(root: Path, size: int, count: int, made: int) -> Iterator[str]:
    """Build what is missing of *count* parts, and yield the rows of those that are *made*."""
    for number in range(count):
        folder = root / f"part-{size}-{number}"
        if (folder / BUNDLE).exists():
            continue
        if number < made:
            yield build(folder, size, number)
        else:
            folder.mkdir()
            for file in (root / f"part-{size}-{number % made}").glob(f"{BUNDLE}*"):
                shutil.copy(file, folder)


def search(engines: Sequence[Engine], query: str, limit: int = 5) -> list[Match]:
    """Return the best matches of all *engines*: scores are probabilities, so they compare."""
    found = [match for engine in engines for match in engine.search(query, limit=limit).matches]
    return sorted(found, key=lambda match: -match.score)[:limit]


def resident() -> float:
    """Return the MB that this process has resident."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measure(root: Path, size: int, count: int, queries: Sequence[str]) -> Iterator[str]:
    """Search 1 to *count* parts with *queries* of the first one."""
    before = resident()
    engines: list[Engine] = []
    alone: list[str] = []
    for number in range(count):
        engines.append(mcpg.load(root / f"part-{size}-{number}" / BUNDLE))
        engines[-1].warm_up()
        if len(engines) not in {*SHOWN, count}:
            continue
        for query in queries[-10:]:
            search(engines, query)
        times = [clocks(partial(search, engines, query)) for query in queries]
        firsts = [found[0].tool_id if (found := search(engines, q)) else "" for q in queries]
        alone = alone or firsts
        wall, cpu = zip(*times, strict=True)
        same = sum(map(str.__eq__, alone, firsts)) / len(queries)
        figures = (middle(wall), middle(cpu), percentile(cpu, 0.95), resident() - before, same)
        yield row(f"{len(engines)} of {size:,} tools", *figures)


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--made", type=int, default=10)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    size, count = arguments.size, arguments.parts
    with measuring.workshop(arguments.keep) as root:
        print(row("built", "s", "MB", "bundle", "index"))
        for line in parts(root, size, count, min(arguments.made, count)):
            print(line, flush=True)
        print("\n" + row("searched", "p50 ms", "cpu p50", "cpu p95", "MB", "first"))
        queries = catalogues.made(size).queries[: arguments.queries]
        for line in measure(root, size, count, queries):
            print(line, flush=True)


if __name__ == "__main__":
    main()
