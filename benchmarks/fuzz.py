"""Fuzz the readers of mcpg, guided by coverage: they read whatever they are given, or refuse it.

    python benchmarks/fuzz.py TARGET ...|all [--executions 20000] [--folder FOLDER] [--seed 0]
    python benchmarks/fuzz.py TARGET --replay FILE ...

A target is a reader of one kind of input; `benchmarks/fuzzing/targets.py` has the table. Each is
run in a process of its own by atheris (`pip install --group fuzzing`), which keeps an input that
reaches new code, and changes it again: by its structure, or by bytes. With `all`, the executions
are divided by the shares of the targets.

A reader returns a value or raises `McpgError`. Faults are any other exception, more than a second
of the processor, more than 500 MB of further memory, and a change of a file outside of its folder.
Each kind of fault is counted once and kept with its smallest input in FOLDER/TARGET/faults; a later
run with the same folder continues with the inputs found before. `--replay` runs files without
atheris and prints what happens. The table has the executions and those a second, the branches
reached, the inputs kept, the share of executions whose input was accepted, the slowest execution,
and the kinds of faults.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

REPLAY = "--replay"

if REPLAY not in sys.argv:
    import atheris

    # It stays, for functions that import later. Processes of targets are forks of this one, since
    # counting branches makes the imports take 20 seconds.
    atheris.instrument_imports(include=["mcpg"], enable_loader_override=False).__enter__()

from fuzzing.running import Runner, collect_words, mutate  # noqa: E402 - behind the hook
from fuzzing.targets import TARGETS  # noqa: E402

_BY_NAME = {one.name: one for one in TARGETS}
_BY_BYTES = 0.25
"""The share of mutations that are left to atheris, which knows what code compares bytes with."""
_BY_SEEDS = 0.3
"""The share of the others that change a first input."""

_DONE = re.compile(r"cov: (\d+).*?corp: (\d+)")
_HEADS = (
    *("target", "executions", "a second", "branches", "inputs", "accepted", "slowest", "faults"),
)
_COLUMNS = "{:<13} {:>10} {:>8} {:>8} {:>7} {:>9} {:>8} {:>7}"


def run_target(name: str, executions: int, folder: Path, seed: int) -> None:
    """Run a target by atheris, which ends the process."""
    target = _BY_NAME[name]
    place = folder / name
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    runner = Runner(target, place).__enter__()  # for the rest of the process
    atexit.register(runner.__exit__)
    inputs = target.read_seeds()
    words = collect_words(inputs)
    for number, data in enumerate(inputs):
        (corpus / f"seed-{number}").write_bytes(data[: target.largest])
    start = time.monotonic()

    def read(data: bytes) -> None:
        fault = runner.run(data)
        if fault is not None:
            save_faults(runner)
        if runner.executions % 500 == 0 or runner.executions >= executions:
            save_report(runner, time.monotonic() - start)

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < _BY_BYTES:
            return bytes(atheris.Mutate(data, most))
        # Most inputs that reach new code are broken, and so are most changes of these.
        start = rng.choice(inputs) if rng.random() < _BY_SEEDS else data
        return mutate(start, target, words, rng)[:most]

    options = [f"-runs={executions}", f"-max_len={target.largest}", f"-seed={seed + 1}"]
    quiet = ["-timeout=600", "-rss_limit_mb=0", "-reload=0", f"-artifact_prefix={place}/"]
    atheris.Setup([sys.argv[0], *options, *quiet, str(corpus)], read, custom_mutator=change)
    atheris.Fuzz()


def save_report(runner: Runner, seconds: float) -> None:
    """Write the figures of a run for the process that prints them."""
    figures = {
        "executions": runner.executions,
        "seconds": seconds,
        "accepted": runner.accepted,
        "slowest": runner.slowest,
        "faults": {key: one.count for key, one in runner.faults.items()},
    }
    place = runner.folder / "report.json"
    place.with_suffix(".new").write_text(json.dumps(figures))
    place.with_suffix(".new").replace(place)


def save_faults(runner: Runner) -> None:
    """Write the input and the trace of each kind of fault."""
    folder = runner.folder / "faults"
    folder.mkdir(exist_ok=True)
    for one in runner.faults.values():
        (folder / one.file_name).write_bytes(one.data)
        (folder / f"{one.file_name}.txt").write_text(f"{one.key}\n\n{one.trace}", errors="replace")


def start_target(name: str, executions: int, folder: Path, seed: int) -> dict[str, Any]:
    """Run a target in a process of its own, and return its figures."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "report.json").unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        with (place / "log.txt").open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        try:
            run_target(name, executions, folder, seed)
        except BaseException:  # noqa: BLE001 - the log of the target has it
            traceback.print_exc()
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        figures: dict[str, Any] = json.loads((place / "report.json").read_text())
    except FileNotFoundError:
        figures = {"executions": 0, "seconds": 1, "accepted": 0, "slowest": 0, "faults": {}}
    found = _DONE.findall((place / "log.txt").read_text(errors="replace"))
    figures["edges"], figures["inputs"] = found[-1] if found else ("", "")
    if code:
        figures["faults"][f"the process ended with {code}: {place / 'log.txt'}"] = 1
    return figures


def format_row(name: str, figures: dict[str, Any]) -> str:
    """Return the row of a target."""
    executions = figures["executions"]
    return _COLUMNS.format(
        name,
        f"{executions:,}",
        f"{executions / max(figures['seconds'], 0.001):,.0f}",
        figures["edges"],
        figures["inputs"],
        f"{figures['accepted'] / max(executions, 1):.0%}",
        f"{figures['slowest'] * 1000:.0f} ms",
        len(figures["faults"]),
    )


def replay(name: str, files: list[str], folder: Path) -> None:
    """Read files again, and print what happens and the smallest input that does the same."""
    with Runner(_BY_NAME[name], folder / name) as runner:
        for file in files:
            start = time.perf_counter()
            fault = runner.run(Path(file).read_bytes())
            print(f"{file}: {time.perf_counter() - start:.3f} s")
            if fault is not None:
                print(fault.trace or fault.key)
                print(f"smallest: {runner.minimize(fault)!r}")


def main() -> None:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="+", choices=[*_BY_NAME, "all"], metavar="TARGET")
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(REPLAY, nargs="+", metavar="FILE")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="mcpg-fuzz-"))
    names = [*_BY_NAME] if "all" in given.targets else given.targets
    if given.replay:
        replay(names[0], given.replay, folder)
        return
    shares = sum(_BY_NAME[name].share for name in names)
    print(_COLUMNS.format(*_HEADS))
    total: dict[str, int] = {}
    for name in names:
        executions = round(given.executions * _BY_NAME[name].share / shares)
        figures = start_target(name, executions, folder, given.seed)
        print(format_row(name, figures), flush=True)
        total |= {f"{name}: {key}": count for key, count in figures["faults"].items()}
    for key, count in total.items():
        print(f"{count:>7} x {key}")
    print(f"inputs and faults: {folder}")


if __name__ == "__main__":
    main()
