"""Retrieval quality and calibration on judged sets, beside other engines.

    python benchmarks/bench_quality.py [FOLDER] [--queries 200] [--sets a,b] [--peers a,b]

FOLDER holds one folder per set: `tools.json` (`{"tools": [...]}`, each tool with a `server`),
`queries.jsonl` and, where there is one, `queries.typo.jsonl`, with a JSON object per line:
`{"query": "...", "relevant": ["server::name", ...]}`. Without FOLDER, MCPG_EVAL names it.

Columns: R@1 and R@5 are mcpg's recall, ECE the expected calibration error of its best match's
score over ten bins of equal mass; then nDCG@5 of mcpg and of each peer. All are means over the
first N queries, shuffled with seed 0. A peer that takes about a second a query on thousands of
tools is asked only where there are 500 or fewer, and has no mean then.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import catalogues
import measuring
import peers

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
PEERS = ("bm25s", "tantivy", "FTS5", "rapidfuzz", "ratel-ai", "FastMCP", "graph-tool-call")
SLOW, MOST_TOOLS = ("graph-tool-call",), 500
DEPTH = 10


class Grade(NamedTuple):
    """How one search did."""

    ndcg5: float
    recall1: float
    recall5: float
    score: float
    correct: bool


class Line(NamedTuple):
    """A row of the table."""

    set: str
    variant: str
    ours: tuple[float, float, float]
    ndcg5: dict[str, float]


def grade(found: Sequence[str], query: dict[str, Any], score: float = 0.0) -> Grade:
    """Compare what was found with the judgement."""
    relevant = set(query["relevant"])
    hits = [key in relevant for key in found]
    return Grade(
        catalogues.ndcg(hits, len(relevant)),
        sum(hits[:1]) / len(relevant),
        sum(hits[:5]) / len(relevant),
        score,
        any(hits[:1]),
    )


def calibration_error(grades: Sequence[Grade], bins: int = 10) -> float:
    """Return the expected calibration error (Naeini et al., 2015) over bins of equal mass."""
    ordered = sorted(grades, key=lambda one: one.score)
    edges = [round(len(ordered) * part / bins) for part in range(bins + 1)]
    parts = [ordered[low:high] for low, high in pairwise(edges) if low < high]
    return sum(
        abs(sum(one.score for one in part) - sum(one.correct for one in part)) for part in parts
    ) / len(ordered)


def ask(engine: mcpg.Engine, query: dict[str, Any], strategy: str) -> Grade:
    """Search with mcpg."""
    matches = engine.search(query["query"], limit=DEPTH, strategy=strategy).matches
    found = [f"{match.source_id}::{match.tool_name}" for match in matches]
    return grade(found, query, matches[0].score if matches else 0.0)


def opened(folder: Path, others: Sequence[Any]) -> Iterator[tuple[str, peers.Search]]:
    """Index the set in *folder* with each of the peers that can bear it."""
    catalogue = catalogues.judged(folder)
    for peer in others:
        if peer.name not in SLOW or len(catalogue.tools) <= MOST_TOOLS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                peer.build(catalogue, place)
                yield peer.name, peer.open(place)


def lines(folder: Path, others: Sequence[Any], count: int, strategy: str) -> Iterator[Line]:
    """Measure every variant of one set."""
    engine = mcpg.load(folder / "tools.json")
    files = [folder / name for name in VARIANTS if (folder / name).exists()]
    judged = {file.stem: catalogues.judged_queries(file, count) for file in files}
    ndcg5: dict[str, dict[str, float]] = {variant: {} for variant in judged}
    for name, search in opened(folder, others):
        for variant, queries in judged.items():
            ndcg5[variant][name] = mean_ndcg(search, queries)
    for variant, queries in judged.items():
        grades = [ask(engine, query, strategy) for query in queries]
        mean = [statistics.mean(column) for column in list(zip(*grades, strict=True))[:3]]
        ours = (mean[1], mean[2], calibration_error(grades))
        yield Line(folder.name, variant, ours, {"mcpg": mean[0], **ndcg5[variant]})


def mean_ndcg(search: Callable[[str, int], list[str]], queries: Sequence[dict[str, Any]]) -> float:
    """Return a peer's mean nDCG@5."""
    grades = [grade(search(query["query"], DEPTH), query) for query in queries]
    return statistics.mean(one.ndcg5 for one in grades)


def shown(line: Line, names: Sequence[str]) -> str:
    """Write a row."""
    ours = "".join(f"{value:>7.3f}" for value in line.ours)
    return f"{line.set:<16}{line.variant:<14}{ours}" + "".join(
        f"{line.ndcg5[name]:>{width(name)}.3f}" if name in line.ndcg5 else f"{'-':>{width(name)}}"
        for name in names
    )


def header(names: Sequence[str]) -> str:
    """Write the head of the table."""
    ours = "".join(f"{name:>7}" for name in ("R@1", "R@5", "ECE"))
    return f"{'set':<16}{'queries':<14}{ours}" + "".join(f"{n:>{width(n)}}" for n in names)


def width(name: str) -> int:
    """Return the width of an engine's column."""
    return max(7, len(name) + 2)


def means(found: Sequence[Line], variant: str) -> Line:
    """Return the mean over sets; an engine that was not asked in every one has none."""
    those = [line for line in found if line.variant == variant]
    everywhere = set.intersection(*(set(line.ndcg5) for line in those))
    ours = [statistics.mean(column) for column in zip(*(line.ours for line in those), strict=True)]
    ndcg5 = {name: statistics.mean(line.ndcg5[name] for line in those) for name in everywhere}
    return Line(f"mean of {len(those)}", variant, (ours[0], ours[1], ours[2]), ndcg5)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--strategy", default="graph")
    parser.add_argument("--sets", default="")
    parser.add_argument("--peers", default=",".join(PEERS), help="names; none where empty")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    others = peers.present(name for name in arguments.peers.split(",") if name)
    names = ["mcpg", *(peer.name for peer in others)]
    print(header(names))
    found: list[Line] = []
    for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
        for line in lines(folder, others, arguments.queries, arguments.strategy):
            found.append(line)
            print(shown(line, names), flush=True)
    for variant in dict.fromkeys(line.variant for line in found):
        print(shown(means(found, variant), names))


if __name__ == "__main__":
    main()
