"""Routing: how often the right category is first, and what routing shows beside a plain search.

    python benchmarks/bench_route.py [FOLDER] [--queries 200] [--sets a,b]

FOLDER is as for bench_quality.py; a tool's category is its server. Columns: how many sources; the
share of queries with a right tool's source for the first category, where a category scores as the
noisy-or of its tools (what ships), and where it is the source of the search's first tool; the Brier
score of the first category's score, and of its best tool's; the mean share of right tools among
those that 5 categories of 3 tools show, and among as many of the best of a plain search; the time
of a routing, in milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import catalogues
import measuring

import mcpg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpg.engine import Match
    from mcpg.gateway import RouteResult

VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
HEADS = ("ships", "tool", "brier", "of tool", "routed", "searched", "ms")


class Grade(NamedTuple):
    """How one routing did."""

    ships: float
    tool: float
    brier: float
    tool_brier: float
    routed: float
    searched: float
    milliseconds: float


def labels(matches: Sequence[Match]) -> set[str]:
    """Name the tools of *matches* as judgements do."""
    return {f"{match.source_id}::{match.tool_name}" for match in matches}


def grade(engine: mcpg.Engine, query: dict[str, Any]) -> Grade:
    """Route one query, and search it."""
    start = time.perf_counter()
    result: RouteResult = engine.route(query["query"])
    took = (time.perf_counter() - start) * 1e3
    found = engine.search(query["query"], limit=50).matches
    relevant = set(query["relevant"])
    sources = {label.partition("::")[0] for label in relevant}
    shipped = result.categories[0].name if result.categories else ""
    scores = (one.score for one in result.categories[:1])
    is_right = shipped in sources
    shown = [one.match for one in result.suggested_matches]
    return Grade(
        is_right,
        bool(found) and found[0].source_id in sources,
        (is_right - next(scores, 0.0)) ** 2,
        (is_right - max((one.score for one in result.suggested_matches), default=0.0)) ** 2,
        len(labels(shown) & relevant) / len(relevant),
        len(labels(found[: len(shown)]) & relevant) / len(relevant),
        took,
    )


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default="")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    print(f"{'set':<16}{'queries':<14}{'sources':>8}" + "".join(f"{name:>9}" for name in HEADS))
    for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
        engine = mcpg.load(folder / "tools.json")
        sources = len({tool.source_id for tool in engine.tools})
        for file in (
            folder / name for name in VARIANTS if sources > 1 and (folder / name).exists()
        ):
            queries = catalogues.judged_queries(file, arguments.queries)
            columns = zip(*(grade(engine, query) for query in queries), strict=True)
            row = "".join(f"{statistics.mean(column):>9.3f}" for column in columns)
            print(f"{folder.name:<16}{file.stem:<14}{sources:>8}{row}", flush=True)


if __name__ == "__main__":
    main()
