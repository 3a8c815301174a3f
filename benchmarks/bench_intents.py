"""Requests of several intents: of how many is a tool among the first five.

    python benchmarks/bench_intents.py [FOLDER] [--requests 100] [--sets a,b] [--peers bm25s]

FOLDER is laid out as for `bench_quality.py`. Of each set, queries with one relevant tool are drawn
in twos and threes with a fixed seed, such as have different answers, and joined into one request:
as sentences, by commas, on lines, or with nothing but a space between them.

Every figure is intent recall@5: the share of the joined queries whose tool is among the first five
for the whole request. `alone` is what mcpg finds when each is asked by itself, which no joining can
much exceed; `in turns` is what remains of that in five places, the best of each intent first.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring
import peers

import mcpg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from peers import Search

JOINTS = {"sentences": ". ", "commas": ", ", "lines": "\n", "spaces": " "}
SIZES = (2, 3)
DEPTH = 5

Request = list[dict[str, Any]]


def requests(folder: Path, size: int, count: int) -> list[Request]:
    """Draw *count* times *size* queries with one relevant tool each, all different."""
    text = (folder / "queries.jsonl").read_text(encoding="utf-8")
    queries = [json.loads(line) for line in text.splitlines() if line]
    single = [query for query in queries if len(query["relevant"]) == 1]
    if len({query["relevant"][0] for query in single}) < size:
        return []
    rng = random.Random(size)
    found: list[Request] = []
    while len(found) < count:
        drawn = rng.sample(single, size)
        if len({query["relevant"][0] for query in drawn}) == size:
            found.append(drawn)
    return found


def joined(request: Request, joint: str) -> str:
    """Write the queries of *request* as one."""
    return joint.join(query["query"].strip().rstrip(".?!\u3002") for query in request)


def recall(found: Sequence[Sequence[str]], request: Request) -> float:
    """Return the share of the queries whose tool was found; one list for each."""
    hits = [query["relevant"][0] in keys for keys, query in zip(found, request, strict=True)]
    return statistics.mean(hits)


def together(search: Search, drawn: Sequence[Request], joint: str) -> float:
    """Return the mean recall of joined requests."""
    return statistics.mean(
        recall([search(joined(request, joint), DEPTH)] * len(request), request) for request in drawn
    )


def ceilings(search: Search, drawn: Sequence[Request]) -> tuple[float, float]:
    """Return the mean recall of queries asked alone, and of their answers taken in turns."""
    alone, turns = [], []
    for request in drawn:
        found = [search(query["query"], DEPTH) for query in request]
        ranks = [[keys[rank] for keys in found if rank < len(keys)] for rank in range(DEPTH)]
        first = list(dict.fromkeys(key for rank in ranks for key in rank))[:DEPTH]
        alone.append(recall(found, request))
        turns.append(recall([first] * len(request), request))
    return statistics.mean(alone), statistics.mean(turns)


def engines(folder: Path, others: Sequence[Any]) -> Iterator[tuple[str, Search]]:
    """Index the set in *folder* with mcpg and each of the peers."""
    engine = mcpg.load(folder / "tools.json")

    def search(query: str, limit: int) -> list[str]:
        matches = engine.search(query, limit=limit).matches
        return [f"{match.source_id}::{match.tool_name}" for match in matches]

    yield "mcpg", search
    catalogue = catalogues.judged(folder)
    for peer in others:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            peer.build(catalogue, place)
            yield peer.name, peer.open(place)


def measured(folder: Path, others: Sequence[Any], count: int) -> dict[int, dict[str, float]]:
    """Return the figures of one set by number of intents and column."""
    rows: dict[int, dict[str, float]] = {size: {} for size in SIZES}
    drawn = {size: requests(folder, size, count) for size in SIZES}
    for name, search in engines(folder, others):
        for size, those in drawn.items():
            if those and name == "mcpg":
                rows[size]["alone"], rows[size]["in turns"] = ceilings(search, those)
            for joint, text in JOINTS.items() if those else ():
                rows[size][f"{name} {joint}"] = together(search, those, text)
    return {size: row for size, row in rows.items() if row}


def shown(name: str, size: int, row: Mapping[str, float]) -> str:
    """Write a row."""
    cells = (f"{value:>{len(column) + 2}.3f}" for column, value in row.items())
    return f"{name:<16}{size:>8}" + "".join(cells)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--sets", default="")
    parser.add_argument("--peers", default="bm25s", help="names; none where empty")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    others = peers.present(name for name in arguments.peers.split(",") if name)
    names = ["mcpg", *(peer.name for peer in others)]
    columns = ["alone", "in turns", *(f"{name} {joint}" for name in names for joint in JOINTS)]
    print(f"{'set':<16}{'intents':>8}" + "".join(f"  {column}" for column in columns))
    found: dict[int, list[dict[str, float]]] = {size: [] for size in SIZES}
    for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
        for size, row in measured(folder, others, arguments.requests).items():
            found[size].append(row)
            print(shown(folder.name, size, row), flush=True)
    for size, rows in found.items():
        if rows:
            mean = {column: statistics.mean(row[column] for row in rows) for column in columns}
            print(shown(f"mean of {len(rows)}", size, mean))


if __name__ == "__main__":
    main()
