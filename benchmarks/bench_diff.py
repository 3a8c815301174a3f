"""Whether `mcpg diff` names the queries that a change takes, and how long it takes.

    python benchmarks/bench_diff.py [FOLDER] [--plants 10] [--sets a,b] [--sizes 2000,20000]

FOLDER is laid out as for `bench_quality.py`. In each set thefts are planted with seed 0. A judged
query is drawn whose right tool is first, and another tool among the first ten. Half of these
thieves get the query before their description, the others the first sentence of the right tool in
place of it. A theft is real where the thief then is first for the query or the sentence; searches
alone decide that.

Columns: thefts that are planted; how many with judged queries are real, and how many of these are
named with thief and victim where the queries are judged; how many with sentences are real, and how
many of these are named by the texts of the tools alone, all of them and a sample of 100; how many
reported queries a search does not confirm; how many are reported of the same tools in another
order, which should be none; seconds of the whole comparison, without loading.

Then catalogues made from a seed, of which ten tools change: seconds of a process that compares two
bundles with fresh indexes, and the peak of its memory.

Then definitions of 8 kB and 1 MB, made to be slow to compare: seconds that the processor spends on
the comparison and on the lines that `mcpg lock --diff` shows.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import catalogues
import measuring

import mcpg
from mcpg.catalog.model import Tool
from mcpg.evaluation.judged import parse_judged
from mcpg.review.impact import RANK_LOSSES, ImpactStudy, first_sentence
from mcpg.review.lock import ApprovedTools, change_diff, lock_changes, stated_by_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.review.impact import Impact

Tools = list[dict[str, Any]]
SAMPLE = 100
HEADS = ("planted", "judged", "named", "texts", "named", "of 100", "false", "same", "seconds")


class Theft(NamedTuple):
    """A theft that was planted: the thief has what the query asks for in its description."""

    query: str
    is_judged: bool
    victim: str
    thief: str


def planted(
    engine: mcpg.Engine, tools: Tools, file: Path, count: int
) -> Iterator[tuple[Theft, Tools]]:
    """Plant thefts into one copy of *tools* and yield each with that copy; no tool is in two."""
    rng = random.Random(0)
    copy = [dict(tool) for tool in tools]
    by_key = {
        f"{tool.get('server', '')}::{tool['name']}": one
        for tool, one in zip(tools, copy, strict=True)
    }
    taken: set[str] = set()
    for judged in catalogues.judged_queries(file, 100 * count):
        if count == 0:
            return
        matches = engine.search(judged["query"], limit=10).matches
        if (
            len(matches) < 2
            or f"{matches[0].source_id}::{matches[0].tool_name}" not in judged["relevant"]
        ):
            continue
        victim, thief = matches[0], rng.choice(matches[1:])
        names = [f"{one.source_id}::{one.tool_name}" for one in (victim, thief)]
        if (
            taken & {*names}
            or any(name not in by_key for name in names)
            or names[1] in judged["relevant"]
        ):
            continue
        is_judged = count % 2 == 0
        text = judged["query"] if is_judged else first_sentence(victim.descriptor.description)
        if not text:
            continue
        taken |= {*names}
        described = by_key[names[1]]
        own = f" {described.get('description', '')}" if is_judged else ""
        described["description"] = f"{text}{own}"
        count -= 1
        yield Theft(text, is_judged, victim.tool_id, thief.tool_id), copy


def is_real(theft: Theft, after: mcpg.Engine) -> bool:
    """Return whether the thief is first for the query now."""
    return [one.tool_id for one in after.search(theft.query, limit=1).matches] == [theft.thief]


def names(impact: Impact, theft: Theft) -> bool:
    """Return whether *impact* names the query with its victim and its thief."""
    return any(
        " ".join(theft.query.split()).startswith(one.query[:60])
        and one.lost is not None
        and one.won is not None
        and (one.lost.tool, one.won.tool) == (theft.victim, theft.thief)
        for one in impact.with_effects(RANK_LOSSES)
    )


def false_reports(impact: Impact, before: mcpg.Engine, after: mcpg.Engine) -> int:
    """Return how many reported losses a search of both catalogues does not confirm."""
    wrong = 0
    for one in impact.with_effects(RANK_LOSSES):
        ranks = [
            next((rank for rank, match in enumerate(found, 1) if match.tool_id in one.tools), 99)
            for found in (engine.search(one.query, limit=10).matches for engine in (before, after))
        ]
        wrong += ranks[0] >= ranks[1]
    return wrong


def measured(folder: Path, count: int) -> str:
    """Plant *count* thefts in the set in *folder* and write a row."""
    tools: Tools = json.loads((folder / "tools.json").read_text("utf-8"))["tools"]
    before = mcpg.load(folder / "tools.json")
    plants = [*planted(before, tools, folder / "queries.jsonl", count)]
    changed = plants[0][1]
    with tempfile.TemporaryDirectory() as place:
        after, again = (
            mcpg.load(written(Path(place, name), part))
            for name, part in (("after.json", changed), ("again.json", tools[::-1]))
        )
        real = [theft for theft, _ in plants if is_real(theft, after)]
        lines = [{"query": one.query, "relevant": [one.victim]} for one in real if one.is_judged]
        lines = lines or [{"query": "nothing", "relevant": []}]
        judged = parse_judged("\n".join(map(json.dumps, lines)).encode(), "planted.jsonl")
        start = time.perf_counter()
        whole = ImpactStudy(before, after).impact(judged, sample=10**6)
        seconds = time.perf_counter() - start
        few = ImpactStudy(before, after).impact(sample=SAMPLE)
        same = ImpactStudy(before, again).impact(judged)
        wrong = false_reports(whole, before, after)
    asked, said = ([one for one in real if one.is_judged is kind] for kind in (True, False))
    cells = (
        f"{len(plants)}",
        f"{len(asked)}",
        f"{sum(names(whole, one) for one in asked)}",
        f"{len(said)}",
        f"{sum(names(whole, one) for one in said)}",
        f"{sum(names(few, one) for one in said)}",
        f"{wrong}",
        f"{len(same.queries) + len(same.unreachable)}",
        f"{seconds:.1f}",
    )
    return measuring.row(folder.name, *cells, first=18)


def written(path: Path, tools: Sequence[dict[str, Any]]) -> Path:
    """Write a manifest and return its path."""
    path.write_text(json.dumps({"tools": tools}), "utf-8")
    return path


def timed(size: int) -> str:
    """Compare two catalogues of *size* tools, of which ten differ, in a process of its own."""
    tools = catalogues.made(size).tools
    with tempfile.TemporaryDirectory() as place:
        bundles = []
        for name, step in (("before", 0), ("after", size // 10)):
            for number in range(0, size if step else 0, step or 1):
                other = tools[(number + 1) % size]["description"]
                tools[number] = tools[number] | {"description": other}
            manifest = written(Path(place, f"{name}.json"), tools)
            bundles.append(str(Path(place, f"{name}.mdld")))
            measuring.run(
                [sys.executable, "-m", "mcpg", "bundle", str(manifest), "-o", bundles[-1], "-q"]
            )
        command = [sys.executable, "-m", "mcpg", "diff", *bundles, "-q"]
        cells = [
            f"{measuring.processor_seconds(command):.1f}",
            f"{measuring.processor_seconds([*command, '--sample', '0']):.1f}",
            f"{measuring.peak_bytes(command) / 1e6:.0f}",
        ]
    return measuring.row(f"{size:,} tools", *cells, first=18)


def make_references(schema: dict[str, Any], size: int) -> dict[str, Any]:
    """Return an object of about *size* bytes of which every property refers to *schema*."""
    count = max(1, (size - len(json.dumps(schema))) // 32)
    return {
        "properties": {f"p{n}": {"$ref": "#/$defs/d"} for n in range(count)},
        "$defs": {"d": schema},
    }


def make_slow_schemas(size: int, rng: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield schemas of about *size* bytes that are slow to compare, by what they have much of."""

    def text(length: int) -> str:
        return " ".join(rng.choices("ab.,", k=length // 2))

    def names(length: int) -> list[str]:
        return [f"v{rng.randrange(10**6)}" for _ in range(length // 11)]

    half, branch = size // 2, size // 24
    described = {f"p{n}": {"description": text(600)} for n in range(max(1, size // 640))}
    yield "one text", {"properties": {"p": {"description": text(size)}}}
    yield "texts", {"properties": described}
    yield "references to a text", make_references({"description": text(half)}, size)
    yield "references to values", make_references({"enum": names(half)}, size)
    yield (
        "references to names",
        make_references({"properties": {name: {} for name in names(half)}}, size),
    )
    yield "alternatives", {"anyOf": [{"required": names(branch)} for _ in range(24)]}
    yield "parts", {"allOf": [{"properties": {one: {}}, "required": [one]} for one in names(half)]}
    yield "lines", {"properties": {"p": {"enum": [rng.randrange(99) for _ in range(size // 4)]}}}


def measure_comparisons(size: int) -> Iterator[str]:
    """Compare definitions of about *size* bytes that are slow to compare."""
    sides = (make_slow_schemas(size, random.Random(seed)) for seed in (0, 1))
    for (name, old), (_, new) in zip(*sides, strict=True):
        before, after = (
            stated_by_source(
                Tool(id="t", source_id="s", name="t", description="", input_schema=one)
            )
            for one in (old, new)
        )
        start = time.process_time()
        (change,) = lock_changes(ApprovedTools((before,)), [after])
        middle = time.process_time()
        change_diff(change)
        cells = (middle - start, time.process_time() - middle)
        yield measuring.row(f"{size:,} B: {name}", *(f"{one:.2f}" for one in cells))


def main() -> None:
    """Print three tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--plants", type=int, default=10)
    parser.add_argument("--sets", default="")
    parser.add_argument("--sizes", default="2000,20000")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
    else:
        print(measuring.row("set", *HEADS, first=18))
        for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
            print(measured(folder, arguments.plants), flush=True)
    sizes = [int(one) for one in arguments.sizes.split(",") if one]
    if sizes:
        print(measuring.row("", "CPU s", "without", "peak MB", first=18))
    for size in sizes:
        print(timed(size), flush=True)
    print(measuring.row("", "compare", "lines"))
    for size in (8_000, 1_000_000):
        for row in measure_comparisons(size):
            print(row, flush=True)


if __name__ == "__main__":
    main()
