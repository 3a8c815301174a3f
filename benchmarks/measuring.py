"""Clocks, processes and tables that the benchmarks share. All times are medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from catalogues import Catalogue

HERE = Path(__file__).resolve().parent
FLOOR = [sys.executable, "-c", "pass"]
AWAY = tempfile.gettempdir()
"""Where processes run: in this project they would read its settings, as no other user's do."""
EVAL = os.environ.get("MCPG_EVAL")

# A process counts the peak of the one that started it as its own until it has become another
# program; this one is small, whatever the benchmark itself holds in memory.
PEAK = """
import os, sys
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that *action* takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def environment() -> Mapping[str, str]:
    """Return the environment of measured processes: compiled modules are kept, settings are not."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MCPG_") or name == "MCPG_CACHE_DIR"
    }
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def run(command: Sequence[str]) -> None:
    """Run a process and throw away what it says, also that it has found nothing."""
    void = subprocess.DEVNULL
    done = subprocess.run(
        command, check=False, stdout=void, stderr=void, env=environment(), cwd=AWAY
    )
    if done.returncode > 1:
        done.check_returncode()


def cold_seconds(command: Sequence[str]) -> float:
    """Return the seconds that a whole process takes."""
    return timed(lambda: run(command))


def processor_seconds(command: Sequence[str]) -> float:
    """Return the seconds that the processor spends on a whole process; POSIX systems only."""
    import resource

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    run(command)
    return spent() - before


def instructions(command: Sequence[str]) -> int:
    """Return the instructions that a whole process executes in the user's mode."""
    counted = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"]
    with tempfile.TemporaryDirectory() as folder:
        run([*counted, f"--cachegrind-out-file={folder}/%p", *command])
        # The last line of each file sums it up; a process that became another left one for both.
        sums = [int(file.read_text().split()[-1]) for file in Path(folder).iterdir()]
    return max(sums)


def peak_bytes(command: Sequence[str]) -> int:
    """Return the most memory that a process had resident; POSIX systems only."""
    counting = [sys.executable, "-c", PEAK, *command]
    answer = subprocess.run(counting, check=True, capture_output=True, env=environment(), cwd=AWAY)
    return int(answer.stdout) * PEAK_UNIT


def program() -> list[str]:
    """Return the installed command `mcpg`, or how to run the package where there is none."""
    script = Path(sys.executable).with_name("mcpg")
    return [str(script)] if script.exists() else [sys.executable, "-m", "mcpg"]


def cold_command(name: str, folder: Path, query: str) -> list[str]:
    """Return the command that answers *query* with the engine called *name*."""
    if name == "mcpg":
        return [*program(), "search", query, "-b", str(folder / "graph.mdld")]
    start = f"import sys; sys.path.insert(0, {str(HERE)!r}); import peers; peers.main()"
    return [sys.executable, "-c", start, name, str(folder), query]


@contextmanager
def workshop(keep: Path | None) -> Iterator[Path]:
    """Return a folder for indexes: *keep*, or one that is removed afterwards."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def indexed(catalogue: Catalogue, names: Sequence[str], root: Path) -> Path:
    """Build the index of each engine in a folder below *root*, unless it was kept there."""
    folder = root / f"{catalogue.name}-{len(catalogue.tools)}"
    for name in names:
        done = folder / f"{name}.done"
        if not done.exists():
            folder.mkdir(exist_ok=True)
            peers.ENGINES[name].build(catalogue, str(folder))
            done.touch()
    return folder


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that *share* of *values* does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def row(*cells: str | float, first: int = 32, width: int = 9) -> str:
    """Return a line of a table: two texts to the left, then figures to the right."""
    shown = [cell if isinstance(cell, str) else figure(cell) for cell in cells]
    return f"{shown[0]:<{first}}" + "".join(f"{cell:>{width}}" for cell in shown[1:])


def figure(value: float) -> str:
    """Write a figure with three significant digits and no more decimals than these need."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 1 else f"{value:.2g}"
