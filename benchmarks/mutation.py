"""How many mutants of the code the tests kill: a sample of each folder, by mutmut.

    python benchmarks/mutation.py [--sample 50] [--seed 0] [--folders engine,index] [--children 2]

Run it in a clean checkout: mutmut copies the sources to `mutants/`, with every mutant beside its
original. The tests of these folders then run once, to learn which of them reach which function.
Tests that fail there without a mutant are left out: some count the modules or calls of a process,
to which mutmut adds its own. A mutant is killed by a test that fails, or by one that no longer
ends; it survives if all tests that reach it pass. Those of its own folder run first, and no others
beyond a minute of tests.

There are some 60,000 mutants, too many to try them all. The sample is drawn by a hash of the seed
and the mutant's name, so that two versions of the code are measured on mostly the same mutants.
mutmut makes the mutants; they are tried here, each in a process of its own, because `mutmut run
NAMES` would first run all tests again, and stop at one that fails. `[tool.mutmut]` in
`pyproject.toml` has the folders. Survivors are listed below the table; `mutmut show NAME` prints
one as a difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Reach = Mapping[str, set[str]]

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "mutants"
KILLED, SURVIVED, UNREACHED = "killed", "survived", "reached by no test"
MOST_SECONDS = 60.0
# A mutant that needs this much longer than its tests need without it does not end.
PATIENCE = 10


def make_mutants(children: int) -> None:
    """Write the mutants."""
    # Nothing has this name: mutmut stops when all is made.
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(children), "none"]
    environment = {**os.environ, "CI": "true"}
    made = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if not any((ROOT / "mutants").rglob("*.py.meta")):
        sys.exit(made.stdout[-4000:] + made.stderr[-4000:])


def read_reach(folders: Iterable[str], children: int) -> tuple[Reach, dict[str, float]]:
    """Run the tests of *folders* without a mutant.

    Returns:
        The tests that reach each function, but for those that fail, and the seconds of each.
    """
    tests = [f"tests/{one}" for one in folders if (MUTANTS / "tests" / one).exists()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "mutation_reach",
    ]
    with TemporaryDirectory() as place:
        environment = {
            **os.environ,
            "CI": "true",
            "MUTANT_UNDER_TEST": "stats",
            "MUTATION_REACH": place,
            "PYTHONPATH": str(ROOT / "benchmarks"),
        }
        subprocess.run(
            [*command, "-n", str(children), *tests],
            cwd=MUTANTS,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        parts = [json.loads(one.read_text("utf-8")) for one in Path(place).iterdir()]
    reach: Reach = defaultdict(set)
    failed = {name for part in parts for name in part["failed"]}
    for part in parts:
        for test, functions in part["reached"].items():
            for function in functions if test not in failed else ():
                reach[function].add(test)
    print(f"{len(failed)} tests fail without a mutant, and are left out")
    return reach, {test: time for part in parts for test, time in part["seconds"].items()}


def made_mutants() -> list[str]:
    """Name all mutants."""
    metas = (json.loads(path.read_text("utf-8")) for path in MUTANTS.glob("mcpg/**/*.meta"))
    return [name for meta in metas for name in meta["exit_code_by_key"]]


def verdict(name: str, reach: Reach, seconds: Mapping[str, float]) -> str:
    """Run the tests that reach the function of the mutant *name*."""
    tests = choose_tests(name, reach.get(name.rpartition("__mutmut_")[0], ()), seconds)
    if not tests:
        return UNREACHED
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "CI": "true", "MUTANT_UNDER_TEST": name}
    patience = 60 + PATIENCE * sum(map(seconds.__getitem__, tests))
    with subprocess.Popen(
        command,
        cwd=MUTANTS,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            with suppress(ProcessLookupError):  # whatever the tests have started ends with them
                os.killpg(process.pid, signal.SIGKILL)
    # All tests passed without a mutant, so one that cannot even be collected tells of it as well.
    return KILLED if code else SURVIVED


def choose_tests(name: str, tests: Iterable[str], seconds: Mapping[str, float]) -> list[str]:
    """Return the tests to run for the mutant *name*: those of its folder, the quickest first."""
    own = f"tests/{folder_of(name)}/"
    ordered = sorted(tests, key=lambda test: (not test.startswith(own), seconds[test], test))
    spent, found = 0.0, []
    for test in ordered:
        spent += seconds[test]
        if spent <= MOST_SECONDS or test.startswith(own):
            found.append(test)
    return found


def folder_of(name: str) -> str:
    """Name the folder of a mutant, such as `engine` of `mcpg.search.model.x_f__mutmut_1`."""
    return name.split(".")[1]


def sample(names: Iterable[str], folders: Iterable[str], size: int, seed: int) -> list[str]:
    """Draw *size* of the mutants *names* of each folder, the same ones in every run."""

    def drawn(name: str) -> bytes:
        return hashlib.sha256(f"{seed}:{name}".encode()).digest()

    by_folder: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=drawn):
        by_folder[folder_of(name)].append(name)
    return [name for folder in folders for name in by_folder[folder][:size]]


def table(made: Iterable[str], verdicts: Mapping[str, str]) -> str:
    """Lay out what became of the mutants tried, a line a folder."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name in made:
        for line in (folder_of(name), "all"):
            totals[line]["made"] += 1
    for name, what in verdicts.items():
        for line in (folder_of(name), "all"):
            totals[line][what] += 1
    lines = ["| folder | mutants | tried | killed | survived | reached by no test | share killed |"]
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
    folders = [Path(folder).parent.name for folder in settings["tool"]["mutmut"]["only_mutate"]]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=50, help="mutants of each folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folders", default=",".join(folders))
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    make_mutants(options.children)
    tried = options.folders.split(",")
    reach, seconds = read_reach(tried, options.children)
    made = made_mutants()
    names = sample(made, tried, options.sample, options.seed)
    with ThreadPoolExecutor(options.children) as pool:
        verdicts = dict(
            zip(names, pool.map(lambda name: verdict(name, reach, seconds), names), strict=True)
        )
    print(table(made, verdicts))
    for what in (SURVIVED, UNREACHED):
        print(f"\n{what}:", *(name for name in names if verdicts[name] == what), sep="\n  ")


if __name__ == "__main__":
    main()
