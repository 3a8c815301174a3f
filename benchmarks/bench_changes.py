"""Whether the changes that `mcpg explain --tool` suggests keep their promise.

    python benchmarks/bench_changes.py [FOLDER] [--cases 200] [--sets a,b] [--typos]

FOLDER is laid out as for `bench_quality.py`. From each set the same number of cases is drawn with
seed 0: a judged query and a tool that answers it but is not first. What is suggested is written
into a hints file, `mcpg bundle` makes a bundle of the set's manifest and that file, and the query
is searched in it.

Columns: how many cases; in how many a change was suggested that shall make the tool first; in how
many the rank that was promised came true, and in how many the tool is first; the mean number of
words added, and how often aliases were needed; median and longest seconds that it took.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import catalogues
import measuring

import mcpg
from mcpg.cli import main as program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.search.trace import HintSuggestion


class Case(NamedTuple):
    """What came of one suggestion."""

    suggested: bool
    kept: bool
    first: bool
    words: int
    alias: bool
    seconds: float


def drawn(engine: mcpg.Engine, file: Path, count: int) -> Iterator[tuple[str, str]]:
    """Give *count* queries, each with the id of a tool that answers it and is not first."""
    catalog = engine.catalog
    rng = random.Random(0)
    for judged in catalogues.judged_queries(file, 100 * count):
        if not count:
            return
        tools = catalog.matching(rng.choice(judged["relevant"]))
        first = engine.search(judged["query"], limit=1).matches[:1]
        if len(tools) == 1 and first and first[0].tool_id != tools[0].id:
            count -= 1
            yield judged["query"], tools[0].id


def tried(engine: mcpg.Engine, manifest: Path, query: str, tool: str) -> Case:
    """Ask for a change, make it, and look."""
    start = time.perf_counter()
    standing = engine.explain(query, tool=tool).tool
    seconds = time.perf_counter() - start
    change = standing.change if standing else None
    if change is None:
        return Case(suggested=False, kept=True, first=False, words=0, alias=False, seconds=seconds)
    rank = rank_with(manifest, query, tool, change)
    added = (*change.hints.keywords, *change.hints.aliases)
    return Case(
        suggested=change.rank_after == 1,
        kept=rank == change.rank_after,
        first=rank == 1,
        words=len(" ".join(added).split()),
        alias=bool(change.hints.aliases),
        seconds=seconds,
    )


def rank_with(manifest: Path, query: str, tool: str, change: HintSuggestion) -> int:
    """Return the rank of *tool* in a bundle that is made with *change*, 0 when it is not found."""
    hints = {"keywords": list(change.hints.keywords), "aliases": list(change.hints.aliases)}
    with tempfile.TemporaryDirectory() as folder:
        file, bundle = Path(folder, "more.hints.yaml"), Path(folder, "graph.mdld")
        file.write_text(json.dumps({"tools": {tool: hints}}), encoding="utf-8")
        with contextlib.redirect_stderr(io.StringIO()):
            program(["bundle", str(manifest), str(file), "-o", str(bundle), "-q"])
        matches = mcpg.load(bundle).search(query, limit=mcpg.search.results.MAX_LIMIT).matches
        found = [match.tool_id for match in matches]
    return found.index(tool) + 1 if tool in found else 0


def line(name: str, cases: Sequence[Case]) -> str:
    """Write a row."""
    suggested = [case for case in cases if case.suggested]
    seconds = [case.seconds for case in cases]
    cells: list[Any] = [
        f"{len(cases)}",
        f"{len(suggested)}",
        f"{sum(case.kept for case in cases)}",
        f"{sum(case.first for case in cases)}",
        f"{sum(case.first for case in cases) / max(1, len(cases)):.3f}",
        f"{sum(case.words for case in suggested) / max(1, len(suggested)):.2f}",
        f"{sum(case.alias for case in cases)}",
        f"{measuring.middle(seconds) if seconds else 0:.2f}",
        f"{max(seconds, default=0):.2f}",
    ]
    return measuring.row(name, *cells, first=18)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--cases", type=int, default=200, help="in all sets together")
    parser.add_argument("--sets", default="")
    parser.add_argument("--typos", action="store_true", help="draw from the misspelt queries")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    heads = ("cases", "suggest", "kept", "first", "share", "words", "aliases", "median s", "max s")
    print(measuring.row("set", *heads, first=18))
    every: list[Case] = []
    folders = catalogues.judged_sets(arguments.folder, arguments.sets)
    variant = "queries.typo.jsonl" if arguments.typos else "queries.jsonl"
    for folder in folders:
        engine = mcpg.load(folder / "tools.json")
        pairs = drawn(engine, folder / variant, -(-arguments.cases // len(folders)))
        cases = [tried(engine, folder / "tools.json", query, tool) for query, tool in pairs]
        every += cases
        print(line(folder.name, cases), flush=True)
    print(line("all", every))


if __name__ == "__main__":
    main()
