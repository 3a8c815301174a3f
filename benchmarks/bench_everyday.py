"""Short requests as people type them, in English and in other languages, beside other engines.

    python benchmarks/bench_everyday.py [FOLDER] [--queries 200] [--sets a,b] [--peers a,b]

FOLDER is laid out as for `bench_quality.py`. Without FOLDER, MCPG_EVAL names it.

Columns: for each set nDCG@5 and the share of requests whose first match is right, over the first N
queries, shuffled with seed 0, and the median time of a search in milliseconds in the first set.
Beside the graph stands mcpg with the packaged English and multilingual models, where they are
installed. MiniLM and USE are these models alone. A peer that takes about a second a query on
thousands of tools is asked only where there are 500 or fewer.
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
from bench_quality import MOST_TOOLS, PEERS, SLOW

import mcpg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEPTH = 5
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
