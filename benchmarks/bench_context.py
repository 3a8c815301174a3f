"""What a context that has nothing to do with the query costs, and what one that has gives.

    python benchmarks/bench_context.py [FOLDER] [--sets a,b] [--queries 200] [--sizes 20000]

FOLDER is laid out as for `bench_quality.py`. Each query is asked alone, with a context, and with
the context joined to the query as the .NET gateway does. `foreign` is the text of another query of
the set with other relevant tools, drawn with a fixed seed; `own` is how the description of a
relevant tool begins, as a summary of the conversation might have it.

Columns: the mean nDCG@5, and of how many queries with a right tool in first place alone another
tool comes first.

Below are the seconds of a search of made tools with as many misspelt context tools as are reported.
"""

from __future__ import annotations

import argparse
import random
import statistics
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import catalogues
import measuring

import mcpg
from mcpg.search.scope import MOST_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcpg.engine import Engine

DEPTH = 5
WORDS = 8
WAYS = ("alone", "foreign context", "foreign joined", "own context", "own joined")


def foreign(queries: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each query the text of another one, with other relevant tools."""
    rng = random.Random(2)
    found = []
    for query in queries:
        others = [one for one in queries if not {*one["relevant"]} & {*query["relevant"]}]
        found.append(rng.choice(others)["query"] if others else "")
    return found


def own(engine: Engine, queries: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each query the first words of the description of its first relevant tool."""
    texts = {f"{tool.source_id}::{tool.name}": tool.description for tool in engine.tools}
    return [" ".join(texts.get(one["relevant"][0], "").split()[:WORDS]) for one in queries]


def gain(found: Sequence[str], relevant: Sequence[str]) -> float:
    """Return nDCG@5 with relevance 0 or 1."""
    return catalogues.ndcg([key in relevant for key in found], len(relevant))


def rows(engine: Engine, queries: Sequence[dict[str, Any]]) -> Iterator[tuple[str, float, int]]:
    """Yield the name of each way to ask, its nDCG@5, and the first places that it loses."""

    def found(query: str, context: str = "") -> list[str]:
        matches = engine.search(query, context=context, limit=DEPTH).matches
        return [f"{match.source_id}::{match.tool_name}" for match in matches]

    def joined(query: str, context: str) -> list[str]:
        return found(f"{query} | context summary: {context}")

    relevant = [one["relevant"] for one in queries]
    alone = [found(query["query"]) for query in queries]
    yield WAYS[0], statistics.mean(map(gain, alone, relevant)), 0
    for name, contexts in (("foreign", foreign(queries)), ("own", own(engine, queries))):
        for way, ask in (("context", found), ("joined", joined)):
            lists = [
                ask(query["query"], context)
                for query, context in zip(queries, contexts, strict=True)
            ]
            lost = sum(
                before[:1] != after[:1] and before[0] in right
                for right, before, after in zip(relevant, alone, lists, strict=True)
                if before
            )
            yield f"{name} {way}", statistics.mean(map(gain, lists, relevant)), lost


def time_unknown(engine: Engine, query: str) -> float:
    """Return the seconds of a search with misspelt context tools, after one for the caches."""
    rng = random.Random(3)
    chosen = rng.sample(engine.tools, MOST_TOOLS)
    names = [catalogues.misspell(rng, tool.id) for tool in chosen]
    search = partial(engine.search, query, context_tools=names)
    search()
    return measuring.timed(search)


def main() -> None:
    """Print one table, and a line for each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default="")
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000])
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
    else:
        print_table(arguments)
    with measuring.workshop(None) as root:
        for catalogue in map(catalogues.made, arguments.sizes):
            engine = mcpg.load(measuring.indexed(catalogue, ["mcpg"], root) / "graph.mdld")
            taken = time_unknown(engine, catalogue.queries[0])
            print(f"{MOST_TOOLS} unknown context tools of {len(catalogue.tools):,}: {taken:.2f} s")


def print_table(arguments: argparse.Namespace) -> None:
    """Print what each way to ask gives on the judged sets."""
    print(f"{'set':<18}" + "".join(f"{way:>24}" for way in WAYS))
    for folder in catalogues.judged_sets(arguments.folder, arguments.sets):
        queries = catalogues.judged_queries(folder / "queries.jsonl", arguments.queries)
        found = rows(mcpg.load(folder / "tools.json"), [one for one in queries if one["relevant"]])
        cells = (f"{mean:.3f} ({lost:>3} lost)" for _, mean, lost in found)
        print(f"{folder.name:<18}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
