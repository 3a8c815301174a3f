"""A cold search: a whole process from start to end, with the index on disk.

    python benchmarks/bench_cold.py [FOLDER] [--sizes 1000 10000] [--large] [--runs 15]
    python benchmarks/bench_cold.py [FOLDER] --commands [--instructions]

Catalogues are the judged set bfcl where FOLDER (or MCPG_EVAL) has it, and made ones of the given
sizes; --large adds 100,000 tools. Each run starts every engine's process once, each in turn with
`python -c pass`, and asks all of them the same; every run asks something else.

Columns: ms is the median of the runs, floor that of the `python -c pass` run in turn with it,
x floor the median of the ratios within the pairs.

--commands measures the common commands of mcpg in place of other engines, by the processor's time.
--instructions counts, once, what the processor executes in the user's mode, in millions, by
cachegrind of valgrind: the figure is the same on a busy machine, so that 5 % more is seen.
`--keep DIR` keeps catalogues and indexes there for the next benchmark.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import catalogues
import measuring
import peers
from measuring import FLOOR, cold_seconds, middle, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catalogues import Catalogue

NAMES = ("mcpg", "tantivy", "FTS5", "bm25s", "ratel-ai")
MODULE = "python -m mcpg"


def command(name: str, folder: Path, query: str) -> list[str]:
    """Return the command of an engine, or of mcpg run as a module."""
    if name == MODULE:
        return [sys.executable, "-m", "mcpg", "search", query, "-b", str(folder / "graph.mdld")]
    return measuring.cold_command(name, folder, query)


def measure(catalogue: Catalogue, names: list[str], runs: int, root: Path) -> Iterator[str]:
    """Measure one catalogue and give a row for each engine."""
    folder = measuring.indexed(catalogue, [name for name in names if name != MODULE], root)
    for name in names:
        cold_seconds(command(name, folder, catalogue.queries[0]))
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for query in catalogue.queries[:runs]:
        for name in names:
            pairs[name].append((cold_seconds(FLOOR), cold_seconds(command(name, folder, query))))
    for name, found in pairs.items():
        floor, whole = (middle(column) * 1e3 for column in zip(*found, strict=True))
        ratio = middle([search / least for least, search in found])
        yield row(f"{catalogue.name:<6} {len(catalogue.tools):>7}  {name}", whole, floor, ratio)


def common(folder: Path, query: str) -> dict[str, list[str]]:
    """Return common commands on the bundle in *folder*, by name."""
    graph = ["-b", str(folder / "graph.mdld")]
    search = [*measuring.program(), "search"]
    configured = folder / "configured"
    configured.mkdir(exist_ok=True)
    (configured / "mcpg.toml").write_text("limit = 5\n", encoding="utf-8")
    tool = subprocess.run(
        [*measuring.program(), "list", "-n", "1", "--format", "ids", *graph],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    return {
        "search": [*search, query, *graph],
        "search, nothing found": [*search, "zqxv blorptik", *graph],
        "search --format json": [*search, query, "--format", "json", *graph],
        "search --min-score 0.1": [*search, query, "--min-score", "0.1", *graph],
        "search -n 10": [*search, query, "-n", "10", *graph],
        "search with mcpg.toml": ["env", "-C", str(configured), *search, query, *graph],
        "list": [*measuring.program(), "list", *graph],
        "show": [*measuring.program(), "show", tool, *graph],
        "explain": [*measuring.program(), "explain", query, *graph],
    }


def measure_commands(
    catalogue: Catalogue, runs: int, root: Path, *, counted: bool
) -> Iterator[str]:
    """Measure the common commands on one catalogue and give a row for each."""
    commands = common(measuring.indexed(catalogue, ["mcpg"], root), catalogue.queries[0])
    for given in commands.values():
        measuring.processor_seconds(given)
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, given in commands.items():
            floor = measuring.processor_seconds(FLOOR)
            pairs[name].append((floor, measuring.processor_seconds(given)))
    for name, found in pairs.items():
        floor, whole = (middle(column) * 1e3 for column in zip(*found, strict=True))
        ratio = middle([used / least for least, used in found])
        more = [measuring.instructions(commands[name]) / 1e6] if counted else []
        yield row(f"{len(catalogue.tools):>7}  {name}", whole, floor, ratio, *more)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--commands", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    names = [engine.name for engine in peers.present(NAMES)]
    sizes = [*arguments.sizes, *([100_000] if arguments.large else [])]
    counted = arguments.instructions
    if arguments.commands:
        print(row("tools  command", "CPU ms", "floor", "x floor", *["M instr."] * counted))
    else:
        print(row("catalogue tools  engine", "ms", "floor", "x floor"))
    with measuring.workshop(arguments.keep) as root:
        for catalogue in catalogues.chosen(arguments.folder, "bfcl", sizes):
            if arguments.commands:
                for line in measure_commands(catalogue, arguments.runs, root, counted=counted):
                    print(line, flush=True)
                continue
            every = [names[0], MODULE, *names[1:]]
            for line in measure(catalogue, every, arguments.runs, root):
                print(line, flush=True)


if __name__ == "__main__":
    main()
