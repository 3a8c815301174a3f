"""Measure what re-ranking by degree would gain, as query orchestrators over code graphs do it.

    python benchmarks/bench_degree.py FOLDER...

Each folder has `tools.json` and `queries.jsonl`, whose lines have `query` and `relevant` (ids
`source::name`). The score of a match is blended with a prior of its tool, which grows with the
logarithm of its edges, incoming ones counted twice, up to `SATURATED` of them.
"""

from __future__ import annotations

import json
import sys
from math import log1p
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from mcpg.engine import load
from mcpg.evaluation.metrics import ndcg_at

if TYPE_CHECKING:
    from mcpg.index import Index

SATURATED = 20
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.3)
_QUERIES = 200
_DEPTH = 5


def priors(index: Index) -> list[float]:
    """Return the prior of each tool, in [0, 1]."""
    tools = range(len(index))
    degrees = [len(index.edges(one)) + 2 * len(index.edges_to(one)) for one in tools]
    return [min(1.0, log1p(degree) / log1p(SATURATED)) for degree in degrees]


def measure(folder: Path) -> list[float]:
    """Return the mean nDCG@5 with each of `WEIGHTS`."""
    engine = load(folder / "tools.json", embeddings=None)
    index = engine.index
    prior = priors(index)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()[:_QUERIES]
    gains: list[list[float]] = [[] for _ in WEIGHTS]
    for row in map(json.loads, lines):
        found = engine.search(row["query"], limit=50).matches
        numbers = {one.tool_id: index.find_tool(one.tool_id) for one in found}
        right = set(row["relevant"])
        for place, weight in enumerate(WEIGHTS):
            scores = {
                one.tool_id: (1 - weight) * one.score + weight * prior[numbers[one.tool_id]]
                for one in found
            }
            ranked = sorted(found, key=lambda one, scores=scores: -scores[one.tool_id])
            hits = [f"{one.source_id}::{one.tool_name}" in right for one in ranked]
            gains[place].append(ndcg_at(hits, len(right), _DEPTH) if right else 0.0)
    return [fmean(one) for one in gains]


def main() -> None:
    """Print a table of the folders that are given."""
    print("set", *WEIGHTS, sep="\t")
    for folder in map(Path, sys.argv[1:]):
        print(folder.name, *(f"{one:.3f}" for one in measure(folder)), sep="\t")


if __name__ == "__main__":
    main()
