"""Short requests as people type them, in English and in other languages, beside other engines.

    python benchmarks/bench_everyday.py [FOLDER] [--queries 200] [--sets a,b] [--peers a,b]

FOLDER is laid out as for `bench_quality.py`. Without FOLDER, MCPG_EVAL names it.

Columns: for each set nDCG@5 and the share of requests whose first match is right, over the first N
queries, shuffled with seed 0, and the median time of a search in milliseconds in the first set.
Beside the graph stands mcpg with the packaged English and multilingual models, where they are
installed. MiniLM and USE are these models alone. A peer that takes about a second a query on
thousands of tools is asked only where there are 500 or fewer.

A second table is about the graph alone: the share of requests whose first match is right, and of
those with a right match among the first five, by set, spelling, length, and the score of the first
match.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import catalogues
import measuring
import peers
from bench_quality import MOST_TOOLS, PEERS, SLOW, VARIANTS

import mcpg
from mcpg.search.calibration import LOW_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEPTH = 5
LENGTHS = ((1, 3), (4, 6), (7, 0))
"""Groups of requests by the least and the most words; 0 for no bound."""
MODELS = {
    "mcpg": "",
    "mcpg, auto, MiniLM": "local:english",
    "mcpg, auto, USE": "local:multilingual",
}
"""The ways to search with mcpg, and the embedding provider of each."""


class Figures(NamedTuple):
    """What one engine reaches on one set."""

    ndcg5: float
    first: float
    milliseconds: float


def measured(search: peers.Search, folder: Path, count: int) -> Figures:
    """Search for every query of a set."""
    gains, firsts, times = [], [], []
    for query in catalogues.judged_queries(folder / "queries.jsonl", count):
        relevant = set(query["relevant"])
        start = time.perf_counter()
        found = search(query["query"], DEPTH)
        times.append(1e3 * (time.perf_counter() - start))
        hits = [key in relevant for key in found]
        gains.append(catalogues.ndcg(hits, len(relevant)))
        firsts.append(any(hits[:1]))
    return Figures(fmean(gains), fmean(firsts), measuring.middle(times))


class Outcome(NamedTuple):
    """What the graph makes of one request."""

    words: int
    score: float
    hits: list[bool]


def outcomes(folder: Path, variant: str, count: int) -> list[Outcome]:
    """Search for every query of a file of a set by the graph."""
    engine = mcpg.load(folder / "tools.json")
    found = []
    for query in catalogues.judged_queries(folder / variant, count):
        matches = engine.search(query["query"], limit=DEPTH).matches
        keys = [f"{match.source_id}::{match.tool_name}" for match in matches]
        hits = [key in query["relevant"] for key in keys]
        score = matches[0].score if matches else 0.0
        found.append(Outcome(len(query["query"].split()), score, hits))
    return found


def expectations(folders: Sequence[Path], count: int) -> Iterator[tuple[str, list[Outcome]]]:
    """Yield kinds of requests with what the graph makes of them; most are of the first set."""
    clean, misspelt = (outcomes(folders[0], variant, count) for variant in VARIANTS)
    yield folders[0].name, clean
    yield f"{folders[0].name}, misspelt", misspelt
    for least, most in LENGTHS:
        label = f"{least} to {most} words" if most else f"{least} words and more"
        yield label, [one for one in clean if least <= one.words <= (most or one.words)]
    yield f"score below {LOW_CONFIDENCE}", [one for one in clean if one.score < LOW_CONFIDENCE]
    yield f"score of {LOW_CONFIDENCE} and above", [o for o in clean if o.score >= LOW_CONFIDENCE]
    for folder in folders[1:]:
        yield folder.name, outcomes(folder, VARIANTS[0], count)


def with_mcpg(folder: Path, provider: str) -> peers.Search:
    """Return a search with mcpg, by the graph alone where there is no *provider*."""
    engine = mcpg.load(folder / "tools.json", embeddings=provider or None)
    way = {"strategy": "auto", "fusion": "learned"} if provider else {"strategy": "graph"}

    def search(query: str, limit: int) -> list[str]:
        matches = engine.search(query, limit=limit, **way).matches
        return [f"{match.source_id}::{match.tool_name}" for match in matches]

    return search


def engines(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, peers.Search]]:
    """Open mcpg and each of the peers that can bear the set in *folder*."""
    installed = {peers.MiniLm.model: peers.MiniLm.module, peers.Use.model: peers.Use.module}
    for name, provider in MODELS.items():
        if not provider or find_spec(installed[provider]):
            yield name, with_mcpg(folder, provider)
    catalogue = catalogues.judged(folder)
    for peer in peers.present(names):
        if peer.name not in SLOW or len(catalogue.tools) <= MOST_TOOLS:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                peer.build(catalogue, place)
                yield peer.name, peer.open(place)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default=",".join(catalogues.EVERYDAY))
    names = [*PEERS, peers.MiniLm.name, peers.Use.name]
    parser.add_argument("--peers", default=",".join(names), help="names; none where empty")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    rows: dict[str, dict[str, Figures]] = {}
    found = {path.name: path for path in catalogues.judged_sets(arguments.folder, arguments.sets)}
    folders = [found[name] for name in arguments.sets.split(",") if name in found]
    for folder in folders:
        for name, search in engines(folder, [one for one in arguments.peers.split(",") if one]):
            rows.setdefault(name, {})[folder.name] = measured(search, folder, arguments.queries)
    print_engines(rows, folders)
    print()
    print(measuring.row("requests", "number", "first", "in five", first=28))
    for label, results in expectations(folders, arguments.queries):
        if results:
            first = fmean(any(one.hits[:1]) for one in results)
            five = fmean(any(one.hits) for one in results)
            number = f"{len(results)}"
            print(measuring.row(label, number, f"{first:.2f}", f"{five:.2f}", first=28))


def print_engines(rows: Mapping[str, Mapping[str, Figures]], folders: Sequence[Path]) -> None:
    """Print what each engine reaches on each set."""
    print(measuring.row("engine", *(folder.name for folder in folders), "ms", first=22, width=17))
    for name, figures in rows.items():
        cells = [cell(figures.get(folder.name)) for folder in folders]
        first = figures[folders[0].name].milliseconds
        print(measuring.row(name, *cells, first, first=22, width=17))


def cell(figures: Figures | None) -> str:
    """Write nDCG@5 and the share of right first matches."""
    return f"{figures.ndcg5:.3f} / {figures.first:.2f}" if figures else "-"


if __name__ == "__main__":
    main()
