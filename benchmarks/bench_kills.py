"""Kills of generate, tune and publish, each followed by a run that must find nothing amiss.

    python benchmarks/bench_kills.py [--kills 300] [--seed 0]

Every other kill comes at a file operation, drawn from those of a whole run, and the others at a
moment, drawn from its duration. The run after it must succeed and leave what a run leaves that was
never interrupted: the same files, in the database the same tables, and no temporary file.

Columns: kills, those of them that came before the end of the run, seconds, and how many were
followed by an accusation (the next run fails), by a phantom (something that nothing stands for) or
by temporary files. The exit code is 1 when any was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from measuring import HERE, row

sys.path.insert(0, str(HERE.parent / "tests"))
import kills
import lopsided
import pgserver

from mcpg.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSIONS = 3


@dataclass
class Command:
    """A command that is killed, and what must be true after the next run.

    Attributes:
        name: The command.
        prepare: Makes everything ready for a round.
        work: The run that is killed, by the number of the round.
        again: The run after it.
        phantom: Whether something is left that nothing stands for.
        seen: What became of the kills.
    """

    name: str
    prepare: Callable[[int], object]
    work: Callable[[int], list[str]]
    again: Callable[[int], list[str]]
    phantom: Callable[[int], bool]
    seen: Counter[str] = field(default_factory=Counter)

    def measure(self) -> tuple[int, float]:
        """Return the file operations and the seconds of a whole run."""
        self.prepare(0)
        operations = kills.operations(lambda: quiet(self.work(0)))
        self.prepare(1)
        start = time.perf_counter()
        kills.ended(lambda: quiet(self.work(1)))
        return operations, time.perf_counter() - start

    def kill(self, number: int, operations: int, seconds: float, draw: random.Random) -> None:
        """Kill a run, look what the next one does, and count it."""
        self.prepare(number)
        if number % 2:
            step = draw.randint(1, operations)
            was_killed = kills.killed(lambda: quiet(self.work(number)), step)
        else:
            was_killed = killed_after(draw.random() * seconds, self.work(number))
        self.seen["killed"] += was_killed
        failed = not kills.ended(lambda: quiet(self.again(number)))
        self.seen["accused"] += failed
        self.seen["phantom"] += not failed and self.phantom(number)
        self.seen["temporary"] += any(Path.cwd().rglob("*.tmp"))


def quiet(arguments: list[str]) -> None:
    """Run the program without a word; whatever it finds amiss is an error."""
    with Path(os.devnull).open("w") as void:
        os.dup2(void.fileno(), 1)
        os.dup2(void.fileno(), 2)
    if main(arguments):
        raise OSError(arguments)


def killed_after(seconds: float, arguments: list[str]) -> bool:
    """Run the program and kill it after so many *seconds*; return whether it was running."""
    process = os.fork()
    if not process:
        quiet(arguments)
        os._exit(0)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def generating() -> Command:
    """Return `mcpg generate --prune`, where each round has other tools than the one before."""
    for version in range(VERSIONS):
        names = ["same", *(f"only_{version}_{number}" for number in range(20))]
        tools = [{"name": name, "description": f"Version {version}."} for name in names]
        Path(f"shop{version}.json").write_text(json.dumps({"server": "shop", "tools": tools}))

    def command(version: int, target: str = "out") -> list[str]:
        source = f"shop{version % VERSIONS}.json"
        return ["generate", source, "--source-id", "shop", "-o", target, "--prune"]

    for version in range(VERSIONS):
        kills.ended(lambda version=version: quiet(command(version, f"clean{version}")))
    return Command(
        "generate",
        prepare=lambda _: None,
        work=lambda number: command(2 * number),
        again=lambda number: command(2 * number + 1),
        phantom=lambda number: files_in("out") != files_in(f"clean{(2 * number + 1) % VERSIONS}"),
    )


def files_in(folder: str) -> dict[str, bytes]:
    """Return the files below *folder*, and its folders, which are empty without them."""
    return {
        str(path.relative_to(folder)): b"" if path.is_dir() else path.read_bytes()
        for path in Path(folder).rglob("*")
    }


def tuning() -> Command:
    """Return `mcpg tune` on a bundle without a ranking."""
    tools = [{"name": one.name, "description": one.description} for one in lopsided.tools()]
    judged = lopsided.by_name(80).queries
    lines = [json.dumps({"query": one.query, "relevant": list(one.relevant)}) for one in judged]
    Path("tools.json").write_text(json.dumps({"server": "commerce", "tools": tools}))
    Path("queries.jsonl").write_text("\n".join(lines))
    Path("tune").mkdir()
    kills.ended(lambda: quiet(["bundle", "tools.json", "-o", "untuned.mdld"]))
    shutil.copy("untuned.mdld", "clean.mdld")
    command = ["tune", "queries.jsonl", "--folds", "2"]
    kills.ended(lambda: quiet([*command, "-b", "clean.mdld"]))

    def prepare(_: int) -> None:
        shutil.rmtree("tune")
        Path("tune").mkdir()
        shutil.copy("untuned.mdld", "tune/graph.mdld")

    def phantom(_: int) -> bool:
        is_same = Path("tune/graph.mdld").read_bytes() == Path("clean.mdld").read_bytes()
        return not is_same or files_in("tune").keys() != {"graph.mdld", "graph.mdld.idx"}

    run = [*command, "-b", "tune/graph.mdld"]
    return Command("tune", prepare, lambda _: run, lambda _: run, phantom)


def publishing(dsn: str) -> Command:
    """Return `mcpg publish` of one bundle after another, without their indexes."""
    Path("publish").mkdir()
    for version in range(VERSIONS):
        target = f"publish/{version}.mdld"
        kills.ended(lambda v=version, t=target: quiet(["bundle", f"shop{v}.json", "-o", t]))

    def prepare(_: int) -> None:
        for index in Path("publish").glob("*.idx"):
            index.unlink()

    def command(number: int) -> list[str]:
        return ["publish", "-b", f"publish/{number % VERSIONS}.mdld", "--keep", "1"]

    def phantom(_: int) -> bool:
        with psycopg.connect(dsn) as connection:
            found = connection.execute(
                "select count(*) from pg_tables where tablename like 'candidates%' "
                "union all select count(*) from pg_tables where tablename like 'vocabulary%' "
                "union all select count(*) from mcpg.publications"
            )
            return {count for (count,) in found} != {2}

    os.environ["MCPG_POSTGRES"] = dsn
    for number in range(VERSIONS):
        kills.ended(lambda number=number: quiet(command(number)))
    return Command(
        "publish",
        prepare,
        work=lambda number: command(2 * number),
        again=lambda number: command(2 * number + 1),
        phantom=phantom,
    )


def commands(dsn: str) -> Iterator[Command]:
    """Yield the commands, each made ready in the working folder."""
    yield generating()
    yield tuning()
    yield publishing(dsn)


def run(total: int, seed: int) -> bool:
    """Print the table; return whether nothing was amiss."""
    print(row("command", "kills", "killed", "seconds", "accused", "phantom", "files"))
    is_clean, draw = True, random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, pgserver.server() as dsn:
        os.chdir(folder)
        os.environ["MCPG_CACHE_DIR"] = str(Path(folder, "cache"))
        for command in commands(dsn):
            start = time.perf_counter()
            operations, seconds = command.measure()
            for number in range(1, total // 3 + 1):
                command.kill(number, operations, seconds, draw)
            seen = command.seen
            faults = [seen[name] for name in ("accused", "phantom", "temporary")]
            took = f"{time.perf_counter() - start:.0f}"
            print(row(command.name, total // 3, seen["killed"], took, *faults))
            is_clean = is_clean and not any(faults)
        os.chdir(HERE)
    return is_clean


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    given = parser.parse_args()
    sys.exit(0 if run(given.kills, given.seed) else 1)
