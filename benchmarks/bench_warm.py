"""A warm search: one query in a process that has everything loaded.

    python benchmarks/bench_warm.py [FOLDER] [--sizes 20000] [--large] [--queries 200]

Catalogues are the judged set bfcl where FOLDER (or MCPG_EVAL) has it, else 1,900 made tools, and
made ones of the given sizes; --large adds 100,000 tools. All engines answer the same queries with
their best five, each query by every engine in turn, and no query twice.

Columns: p50 and p95 of the milliseconds a query takes; x mcpg is p50 divided by mcpg's.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import gc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring
import peers
from measuring import middle, percentile, row, timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catalogues import Catalogue

NAMES = ("mcpg", "ratel-ai", "tantivy", "bm25s", "FTS5")
WARMING = 10


def measure(catalogue: Catalogue, engines: Sequence[Any], count: int, root: Path) -> Iterator[str]:
    """Measure one catalogue and give a row for each engine."""
    folder = measuring.indexed(catalogue, [engine.name for engine in engines], root)
    searches = {engine.name: engine.open(str(folder)) for engine in engines}
    gc.collect()
    gc.freeze()  # or the garbage of one engine would cost the others time
    times: dict[str, list[float]] = {name: [] for name in searches}
    for query in catalogue.queries[: count + WARMING]:
        for name, search in searches.items():
            times[name].append(timed(partial(search, query, 5)) * 1e3)
    gc.unfreeze()
    least = middle(times["mcpg"][WARMING:])
    for name, found in times.items():
        p50, p95 = middle(found[WARMING:]), percentile(found[WARMING:], 0.95)
        yield row(f"{catalogue.name:<6} {len(catalogue.tools):>7}  {name}", p50, p95, p50 / least)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    engines = peers.present(NAMES)
    judged = list(catalogues.chosen(arguments.folder, "bfcl", []))
    sizes = [*([] if judged else [1_900]), *arguments.sizes]
    sizes += [100_000] if arguments.large else []
    print(row("catalogue tools  engine", "p50 ms", "p95 ms", "x mcpg"))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in (*judged, *map(catalogues.made, sizes)):
            for line in measure(catalogue, engines, arguments.queries, root):
                print(line, flush=True)


if __name__ == "__main__":
    main()
