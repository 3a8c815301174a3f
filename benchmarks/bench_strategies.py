"""Measure what vectors add: nDCG@5 of every strategy and fusion beside the graph's.

    python benchmarks/bench_strategies.py FOLDER [--queries 200] [--sets a,b] [--with local]

FOLDER is laid out as for `bench_quality.py`. `--with` names who makes vectors, as `--embed-with` of
the program does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import fmean, median

from catalogues import judged_sets
from samplings import VARIANTS, read

import mcpg
from mcpg.evaluation.metrics import ndcg_at

WAYS = {
    "graph": ("graph", ""),
    "embeddings": ("embeddings", ""),
    "auto, cosine": ("auto", "cosine"),
    "auto, rrf": ("auto", "rrf"),
    "auto, learned": ("auto", "learned"),
}
DEPTH = 5


def load(folder: Path, provider: str) -> mcpg.Engine:
    """Make the engine of a set."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "tools.json")
        path.write_text(json.dumps({"tools": tools}, ensure_ascii=False), encoding="utf-8")
        return mcpg.load(path, embeddings=provider)


def gain(engine: mcpg.Engine, query: str, relevant: set[str], way: str) -> float:
    """Return the nDCG@5 of one answer."""
    strategy, fusion = WAYS[way]
    matches = engine.search(query, limit=DEPTH, strategy=strategy, fusion=fusion).matches
    found = [f"{one.source_id}::{one.tool_name}" for one in matches]
    return ndcg_at([key in relevant for key in found], len(relevant), DEPTH)


def measured(folder: Path, provider: str, count: int) -> dict[str, list[float]]:
    """Give, for each way, nDCG@5 clean and misspelt, and the median time in milliseconds."""
    engine = load(folder, provider)
    rows: dict[str, list[float]] = {}
    for way in WAYS:
        times: list[float] = []
        rows[way] = []
        for variant in VARIANTS:
            gains = []
            for query in read(folder / variant, count):
                start = time.perf_counter()
                gains.append(gain(engine, query["query"], set(query["relevant"]), way))
                times.append((time.perf_counter() - start) * 1e3)
            rows[way].append(fmean(gains))
        rows[way].append(median(times))
    return rows


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default="")
    parser.add_argument("--with", dest="provider", default="local")
    arguments = parser.parse_args()
    chosen = judged_sets(arguments.folder, arguments.sets)
    print(f"{'nDCG@5 clean/misspelt, ms':<28}" + "".join(f"{way:>22}" for way in WAYS))
    found = []
    for folder in chosen:
        rows = measured(folder, arguments.provider, arguments.queries)
        found.append(rows)
        print(f"{folder.name:<28}" + "".join(map(cell, rows.values())), flush=True)
    means = [
        [fmean(values) for values in zip(*(r[way] for r in found), strict=True)] for way in WAYS
    ]
    print(f"{'mean':<28}" + "".join(map(cell, means)))


def cell(row: list[float]) -> str:
    """Give one cell of the table."""
    return f"{row[0]:>10.4f}/{row[1]:.4f}{row[2]:>5.1f}"


if __name__ == "__main__":
    main()
