"""An explanation beside the search that it explains.

    python benchmarks/bench_explain.py [FOLDER] [--sizes 20000] [--queries 200]

Catalogues are the judged set bfcl where FOLDER (or MCPG_EVAL) has it, else 1,900 made tools, and
made ones of the given sizes. Every query is searched and explained once, and they take turns in
going first.

Columns: the medians of the processor's milliseconds of `Engine.search` and `Engine.explain`, and
their ratio; last the whole process, `mcpg explain` beside `mcpg search`, both with
`--format json`, as the median of five runs.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
from measuring import middle, row

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WARMING = 10
_PROCESSES = 5


def milliseconds(ask: Callable[[str], object], query: str) -> float:
    """Return the processor's milliseconds that *ask* takes."""
    start = time.process_time()
    ask(query)
    return (time.process_time() - start) * 1e3


def warm(engine: mcpg.Engine, queries: Sequence[str]) -> tuple[float, float, float]:
    """Return the median milliseconds of a search and of an explanation, and their ratio."""
    asks: list[Callable[[str], object]] = [engine.search, engine.explain]
    times: list[list[float]] = [[], []]
    for number, query in enumerate(queries):
        # Whoever comes second finds some of the work done, so they take turns.
        for which in (number % 2, 1 - number % 2):
            times[which].append(milliseconds(asks[which], query))
    search, explanation = (middle(found[_WARMING:]) for found in times)
    return search, explanation, explanation / search


def cold(bundle: Path, query: str) -> float:
    """Return how many times as long as `mcpg search` the process of `mcpg explain` runs."""
    times: dict[str, list[float]] = {"search": [], "explain": []}
    for _ in range(_PROCESSES):
        for name, taken in times.items():
            command = [*measuring.program(), name, query, "-b", str(bundle), "--format", "json"]
            taken.append(measuring.timed(partial(measuring.run, command)))
    return middle(times["explain"]) / middle(times["search"])


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    judged = list(catalogues.chosen(arguments.folder, "bfcl", []))
    sizes = [*([] if judged else [1_900]), *arguments.sizes]
    print(row("catalogue tools", "search ms", "explain", "x search", "process"))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in (*judged, *map(catalogues.made, sizes)):
            bundle = measuring.indexed(catalogue, ["mcpg"], root) / "graph.mdld"
            queries = catalogue.queries[: arguments.queries]
            figures = (*warm(mcpg.load(bundle), queries), cold(bundle, queries[0]))
            print(row(f"{catalogue.name:<6} {len(catalogue.tools):>7}", *figures), flush=True)


if __name__ == "__main__":
    main()
