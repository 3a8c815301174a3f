"""Time and memory, on catalogues made from a seed.

    python benchmarks/bench_speed.py [--sizes 100 1000 10000] [--runs 5]

For each size: building the bundle, a cold `mcpg search` as a whole process with the ratio to
`python -c pass` run in turn with it, its peak memory, and the median of warm searches.
All times are medians.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable

VERBS = ("get", "list", "create", "update", "delete", "search", "send", "export", "merge", "sync")
SYLLABLES = ("ba", "co", "du", "fe", "gi", "ho", "ka", "li", "mo", "nu", "pe", "ra", "si", "to")


def noun(rng: random.Random) -> str:
    """Make a word that no language has."""
    return "".join(rng.choices(SYLLABLES, k=3))


def make_tools(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Make *count* tools with names, texts and arguments over a skewed vocabulary."""
    rng = random.Random(seed)
    nouns = [noun(rng) for _ in range(max(50, count // 4))]
    ranks = [1 / (place + 1) for place in range(len(nouns))]
    tools = []
    for number in range(count):
        verb, (one, other, *rest) = rng.choice(VERBS), rng.choices(nouns, ranks, k=14)
        properties = {
            word: {"type": "string", "description": f"The {word} of the {one}"} for word in rest[:3]
        }
        tools.append(
            {
                "name": f"{verb}_{one}_{other}_{number}",
                "description": f"{verb.title()} the {one} of a {other}: {' '.join(rest)}.",
                "inputSchema": {"type": "object", "properties": properties},
                "server": f"server{number % max(1, count // 50)}",
            }
        )
    return tools


def timed(action: Callable[[], object]) -> float:
    """Give the seconds that *action* takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run(*command: str) -> None:
    """Run a Python process and throw its output away."""
    subprocess.run([sys.executable, *command], check=True, capture_output=True)


def measure(count: int, runs: int, folder: Path) -> str:
    """Measure one size and give its row."""
    manifest, bundle = folder / "tools.json", folder / "graph.mdld"
    tools = make_tools(count)
    manifest.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    build = timed(lambda: run("-m", "mcpg", "bundle", str(manifest), "-o", str(bundle), "--quiet"))
    search = ("-m", "mcpg", "search", tools[0]["description"][:40], "-b", str(bundle))
    pairs = [(timed(lambda: run(*search)), timed(lambda: run("-c", "pass"))) for _ in range(runs)]
    cold = statistics.median(one for one, _ in pairs)
    ratio = statistics.median(one / floor for one, floor in pairs)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    engine = mcpg.load(bundle)
    rng = random.Random(1)
    queries = [rng.choice(tools)["description"][:40] for _ in range(200)]
    warm = statistics.median(timed(lambda query=query: engine.search(query)) for query in queries)
    return f"{count:>7} {build:>9.2f} {cold:>8.2f} {ratio:>8.1f} {peak:>8.0f} {warm * 1e3:>9.2f}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print("  tools   build s   cold s  x floor  peak MB   warm ms")
    for count in arguments.sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(count, arguments.runs, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
