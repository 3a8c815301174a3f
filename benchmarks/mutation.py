"""How many mutants of the code the tests kill: a sample of each floor, by mutmut.

    python benchmarks/mutation.py [--sample 50] [--seed 0] [--floors engine,index] [--children 2]

Run it in a clean checkout: mutmut copies the sources to `mutants/`, with every mutant beside its
original, and first runs the tests of these floors once to learn which of them reach which function.
A mutant is killed by a test that fails, or by one that no longer ends; it survives where all pass.

There are some 20,000 mutants, too many to try them all. The sample is drawn by a hash of the seed
and the mutant's name, so that two versions of the code are measured on mostly the same mutants.
mutmut makes the mutants and records the tests of each function. The sample is then tried here, each
mutant in a process of its own, because `mutmut run NAMES` would first run all its tests again.
`[tool.mutmut]` in `pyproject.toml` has the floors and the tests. Survivors are listed below the
table; `mutmut show NAME` prints one as a difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "mutants"
KILLED, SURVIVED, UNREACHED = "killed", "survived", "reached by no test"
# A mutant that needs this much longer than its tests need without it does not end.
PATIENCE = 10


def make_mutants(children: int) -> None:
    """Write the mutants and the record of the tests that reach each function."""
    # Nothing has this name: mutmut stops when all is made.
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(children), "none"]
    environment = {**os.environ, "CI": "true"}
    made = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if "nothing matches" not in made.stdout + made.stderr:
        sys.exit(made.stdout[-4000:] + made.stderr[-4000:])


def made_mutants() -> list[str]:
    """Name all mutants."""
    metas = (json.loads(path.read_text("utf-8")) for path in MUTANTS.glob("mcpg/**/*.meta"))
    return [name for meta in metas for name in meta["exit_code_by_key"]]


def verdict(name: str, reached: Mapping[str, list[str]], seconds: Mapping[str, float]) -> str:
    """Run the tests that reach the function of the mutant *name*, the quickest first."""
    tests = sorted(reached.get(name.rpartition("__mutmut_")[0], ()), key=seconds.__getitem__)
    if not tests:
        return UNREACHED
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "CI": "true", "MUTANT_UNDER_TEST": name}
    patience = 60 + PATIENCE * sum(map(seconds.__getitem__, tests))
    try:
        done = subprocess.run(
            command,
            cwd=MUTANTS,
            env=environment,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return KILLED
    # All tests passed without a mutant, so one that cannot even be collected tells of it as well.
    return KILLED if done.returncode else SURVIVED


def floor_of(name: str) -> str:
    """Name the folder of a mutant, such as `engine` of `mcpg.engine.model.x_f__mutmut_1`."""
    return name.split(".")[1]


def sample(names: Iterable[str], floors: Iterable[str], size: int, seed: int) -> list[str]:
    """Draw *size* of the mutants *names* of each floor, the same ones in every run."""

    def drawn(name: str) -> bytes:
        return hashlib.sha256(f"{seed}:{name}".encode()).digest()

    by_floor: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=drawn):
        by_floor[floor_of(name)].append(name)
    return [name for floor in floors for name in by_floor[floor][:size]]


def table(made: Iterable[str], verdicts: Mapping[str, str]) -> str:
    """Lay out what became of the mutants tried, a line a floor."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name in made:
        for line in (floor_of(name), "all"):
            totals[line]["made"] += 1
    for name, what in verdicts.items():
        for line in (floor_of(name), "all"):
            totals[line][what] += 1
    lines = ["| floor | mutants | tried | killed | survived | reached by no test | share killed |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    for line, of in sorted(totals.items(), key=lambda item: item[0] == "all"):
        tried = of[KILLED] + of[SURVIVED] + of[UNREACHED]
        if tried:
            lines.append(
                f"| {line} | {of['made']} | {tried} | {of[KILLED]} | {of[SURVIVED]} "
                f"| {of[UNREACHED]} | {of[KILLED] / tried:.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Make the mutants, try a sample, print the table and who is left."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floors = [Path(folder).parent.name for folder in settings["tool"]["mutmut"]["only_mutate"]]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=50, help="mutants of each floor")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floors", default=",".join(floors))
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    make_mutants(options.children)
    record: dict[str, Any] = json.loads((MUTANTS / "mutmut-stats.json").read_text("utf-8"))
    reached, seconds = record["tests_by_mangled_function_name"], record["duration_by_test"]
    made = made_mutants()
    names = sample(made, options.floors.split(","), options.sample, options.seed)
    with ThreadPoolExecutor(options.children) as pool:
        verdicts = dict(
            zip(names, pool.map(lambda name: verdict(name, reached, seconds), names), strict=True)
        )
    print(table(made, verdicts))
    for what in (SURVIVED, UNREACHED):
        print(f"\n{what}:", *(name for name in names if verdicts[name] == what), sep="\n  ")


if __name__ == "__main__":
    main()
