"""The memory of a cold search: the most that the whole process had resident.

    python benchmarks/bench_memory.py [--sizes 10000] [--large] [--runs 5]

Catalogues are made; --large adds 100,000 tools. The peak is what the system counted for the
process when it ended, pages of mapped files included. It needs a POSIX system.

Columns: MB (of 2**20 bytes) is the median of the runs, x floor its ratio to `python -c pass`.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
import peers
from measuring import FLOOR, cold_command, middle, peak_bytes, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from catalogues import Catalogue

NAMES = ("mcpg", "tantivy", "FTS5", "bm25s", "ratel-ai")
MIB = 2**20


def measure(catalogue: Catalogue, names: Sequence[str], runs: int, root: Path) -> Iterator[str]:
    """Measure one catalogue and give a row for each engine."""
    folder = measuring.indexed(catalogue, names, root)
    least = middle([peak_bytes(FLOOR) / MIB for _ in range(runs)])
    for name in names:
        commands = [cold_command(name, folder, query) for query in catalogue.queries[:runs]]
        peak = middle([peak_bytes(command) / MIB for command in commands])
        yield row(f"{catalogue.name:<6} {len(catalogue.tools):>7}  {name}", peak, peak / least)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    if not hasattr(os, "wait4"):
        print("this system does not tell how much memory a process had")
        return
    names = [engine.name for engine in peers.present(NAMES)]
    sizes = [*arguments.sizes, *([100_000] if arguments.large else [])]
    print(row("catalogue tools  engine", "MB", "x floor"))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in map(catalogues.made, sizes):
            for line in measure(catalogue, names, arguments.runs, root):
                print(line, flush=True)


if __name__ == "__main__":
    main()
