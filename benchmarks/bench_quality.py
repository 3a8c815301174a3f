"""Retrieval quality and calibration on judged sets.

    python benchmarks/bench_quality.py [FOLDER] [--queries N] [--strategy NAME]

FOLDER holds one folder per set: `tools.json` (`{"tools": [...]}`, each tool with a `server`),
`queries.jsonl` and, where there is one, `queries.typo.jsonl`, with a JSON object per line:
`{"query": "...", "relevant": ["server::name", ...]}`. Without FOLDER, MCPG_EVAL names it.

Columns: nDCG@5, recall@1 and recall@5 are means over the first N queries, shuffled with seed 0;
ms is the median time of a search; ECE is the expected calibration error of the best match's score
over ten bins of equal mass.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mcpg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VARIANTS = ("queries.jsonl", "queries.typo.jsonl")


class Grade(NamedTuple):
    """How one search did."""

    ndcg5: float
    recall1: float
    recall5: float
    milliseconds: float
    score: float
    correct: bool


def judged(file: Path, count: int) -> list[dict[str, Any]]:
    """Read the first *count* judged queries of *file*, shuffled with a fixed seed."""
    queries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    random.Random(0).shuffle(queries)
    return queries[:count]


def ndcg(hits: Sequence[bool], relevant: int, depth: int = 5) -> float:
    """Give the normalised discounted cumulative gain (Järvelin & Kekäläinen, 2002) at *depth*."""
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:depth]) if hit)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, relevant)))


def grade(engine: mcpg.Engine, query: dict[str, Any], strategy: str) -> Grade:
    """Search once and compare with the judgement."""
    start = time.perf_counter()
    matches = engine.search(query["query"], limit=10, strategy=strategy).matches
    elapsed = (time.perf_counter() - start) * 1e3
    relevant = set(query["relevant"])
    hits = [f"{match.source_id}::{match.tool_name}" in relevant for match in matches]
    return Grade(
        ndcg(hits, len(relevant)),
        sum(hits[:1]) / len(relevant),
        sum(hits[:5]) / len(relevant),
        elapsed,
        matches[0].score if matches else 0.0,
        any(hits[:1]),
    )


def calibration_error(grades: Sequence[Grade], bins: int = 10) -> float:
    """Give the expected calibration error (Naeini et al., 2015) over bins of equal mass."""
    ordered = sorted(grades, key=lambda one: one.score)
    edges = [round(len(ordered) * part / bins) for part in range(bins + 1)]
    parts = [ordered[low:high] for low, high in pairwise(edges) if low < high]
    return sum(
        abs(sum(one.score for one in part) - sum(one.correct for one in part)) for part in parts
    ) / len(ordered)


def rows(root: Path, count: int, strategy: str) -> Iterator[tuple[str, str, list[Grade]]]:
    """Measure every set and variant below *root*."""
    for folder in sorted(path for path in root.iterdir() if (path / "tools.json").exists()):
        engine = mcpg.load(folder / "tools.json")
        for file in (folder / name for name in VARIANTS if (folder / name).exists()):
            queries = judged(file, count)
            yield folder.name, file.stem, [grade(engine, query, strategy) for query in queries]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("MCPG_EVAL"), type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--strategy", default="graph")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    print(f"{'set':<18} {'queries':<14} {'nDCG@5':>7} {'R@1':>6} {'R@5':>6} {'ms':>7} {'ECE':>6}")
    means: dict[str, list[float]] = {}
    for name, variant, grades in rows(arguments.folder, arguments.queries, arguments.strategy):
        columns = list(zip(*grades, strict=True))
        ndcg5, recall1, recall5 = (statistics.mean(column) for column in columns[:3])
        print(
            f"{name:<18} {variant:<14} {ndcg5:7.4f} {recall1:6.3f} {recall5:6.3f}"
            f" {statistics.median(columns[3]):7.2f} {calibration_error(grades):6.3f}"
        )
        means.setdefault(variant, []).append(ndcg5)
    for variant, values in means.items():
        print(f"{'mean':<18} {variant:<14} {statistics.mean(values):7.4f} over {len(values)} sets")


if __name__ == "__main__":
    main()
