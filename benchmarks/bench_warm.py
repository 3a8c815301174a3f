"""A warm search: one query in a process that has everything loaded.

    python benchmarks/bench_warm.py [FOLDER] [--sizes 20000] [--large] [--queries 200] [--words N]
    python benchmarks/bench_warm.py [FOLDER] --instructions --queries 40

Catalogues are the judged set bfcl where FOLDER (or MCPG_EVAL) has it, else 1,900 made tools, and
made ones of the given sizes; --large adds 100,000 tools. All engines answer the same queries with
their best five, twenty by every engine in turn, and no query twice. `--words N` joins and cuts
them to queries of N words.

Columns: p50 and p95 of the milliseconds that a query takes; cpu is the median of the processor's
milliseconds, which other work on the machine disturbs less; x mcpg is cpu divided by mcpg's.
--instructions counts, in place of all these, the millions of instructions of mcpg per query, by
cachegrind of valgrind, for queries that the engine meets for the first time and for the same again.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring
import peers
from measuring import middle, percentile, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from catalogues import Catalogue

NAMES = ("mcpg", "ratel-ai", "tantivy", "bm25s", "FTS5")
WARMING, TURN = 10, 20


def measure(catalogue: Catalogue, engines: Sequence[Any], count: int, root: Path) -> Iterator[str]:
    """Measure one catalogue and give a row for each engine."""
    folder = measuring.indexed(catalogue, [engine.name for engine in engines], root)
    searches = {engine.name: engine.open(str(folder)) for engine in engines}
    gc.collect()
    gc.freeze()  # or the garbage of one engine would cost the others time
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in searches}
    for search in searches.values():
        for query in catalogue.queries[-WARMING:]:
            search(query, 5)
    for start in range(0, count, TURN):
        for name, search in searches.items():
            for query in catalogue.queries[start : min(start + TURN, count)]:
                times[name].append(clocks(partial(search, query, 5)))
    gc.unfreeze()
    least = middle([cpu for _, cpu in times["mcpg"]])
    for name, found in times.items():
        wall, cpu = zip(*found, strict=True)
        cells = (middle(wall), percentile(wall, 0.95), middle(cpu), middle(cpu) / least)
        yield row(f"{catalogue.name:<6} {len(catalogue.tools):>7}  {name}", *cells)


def counted(catalogue: Catalogue, count: int, root: Path) -> str:
    """Return the row of the instructions that a query of one catalogue takes."""
    folder = measuring.indexed(catalogue, ["mcpg"], root)
    code = "; ".join(
        (
            "import json, sys",
            f"sys.path.insert(0, {str(measuring.HERE)!r})",
            "import peers",
            "search = peers.ENGINES['mcpg'].open(sys.argv[1])",
            "[search(query, 5) for query in json.loads(sys.argv[2]) * int(sys.argv[3])]",
        )
    )
    queries = json.dumps(catalogue.queries[:count])
    command = [sys.executable, "-c", code, str(folder), queries]
    sums = [measuring.instructions([*command, str(rounds)]) for rounds in range(3)]
    first, again = ((more - less) / 1e6 / count for less, more in pairwise(sums))
    return row(f"{catalogue.name:<6} {len(catalogue.tools):>7}", first, again)


def clocks(action: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds that pass while *action* runs, and those of the processor."""
    cpu, wall = time.process_time(), time.perf_counter()
    action()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3


def rejoined(queries: Sequence[str], count: int) -> Iterator[str]:
    """Yield the words of *queries* in texts of *count* words each."""
    words = " ".join(queries).split()
    for start in range(0, len(words) - count + 1, count):
        yield " ".join(words[start : start + count])


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--words", type=int)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    engines = peers.present(NAMES)
    judged = list(catalogues.chosen(arguments.folder, "bfcl", []))
    sizes = [*([] if judged else [1_900]), *arguments.sizes]
    sizes += [100_000] if arguments.large else []
    if arguments.instructions:
        print(row("catalogue tools", "M first", "M again"))
    else:
        print(row("catalogue tools  engine", "p50 ms", "p95 ms", "cpu ms", "x mcpg"))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in (*judged, *map(catalogues.made, sizes)):
            if arguments.words:
                catalogue.queries = list(rejoined(catalogue.queries, arguments.words))
            if arguments.instructions:
                print(counted(catalogue, arguments.queries, root), flush=True)
                continue
            for line in measure(catalogue, engines, arguments.queries, root):
                print(line, flush=True)


if __name__ == "__main__":
    main()
