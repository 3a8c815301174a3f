"""Rewritten queries: what good rewrites gain, and what bad ones cost.

    python benchmarks/bench_rewrite.py [FOLDER] [--queries 200] [--sets a,b]

FOLDER is laid out as for `bench_quality.py`. No model is asked: rewrites are made from the sets, so
that the table is the same in every run.

`right` rewrites a misspelt query as the query that it is a misspelling of, and a query in another
language as an English one with the same relevant tools. Bad rewrites are another query of the set
(`other`), the first third (`third`), the latter half (`half`) or one word (`word`) of the query.

Every figure is nDCG@5: `alone` of the query as it is, then of both searches merged. Plain English
is rewritten as well, which no search does; `skipped` is the share of queries that a search would
not have had rewritten, and `searched` is `right` with these left as they are. `first` is the share
of matches that a query by itself has in the first place with a score of .5 or more and that another
query for a rewrite leaves among the first three.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measuring

import mcpg
from mcpg.evaluation.metrics import ndcg_at
from mcpg.rewrite import DEPTH, SURE, language_in, merge, select_literals, trust_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcpg.engine import Engine, Match
    from mcpg.rewrite import LanguageTest

    Query = Mapping[str, Any]

BAD = ("other", "third", "half", "word")
CUT, FIRST = 5, 3
MISSPELT = " misspelt"
COLUMNS = ("alone", "right", "searched", *BAD, "skipped", "first")
LITERAL = re.compile(r"[A-Za-z0-9][\w.:-]+")
COMMON_LITERALS = 2


def read(path: Path) -> list[Query]:
    """Read judged queries, none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def drawn(queries: Sequence[Query], count: int) -> list[Query]:
    """Return the first *count* of the shuffled *queries*."""
    order = list(range(len(queries)))
    random.Random(0).shuffle(order)
    return [queries[place] for place in order[:count]]


class Set:
    """One catalogue, searched once for every text."""

    def __init__(self, folder: Path) -> None:
        self.engine: Engine = mcpg.load(folder / "tools.json", embeddings=None)
        self._found: dict[str, tuple[Match, ...]] = {}

    def found(self, text: str) -> tuple[Match, ...]:
        """Return the matches of *text*."""
        if text not in self._found:
            self._found[text] = self.engine.search(text, limit=DEPTH).matches
        return self._found[text]

    def language(self, query: str) -> LanguageTest:
        """Say in which language *query* is."""
        return language_in(query, select_literals(query), self.engine.index)

    def merged(self, query: str, rewrite: str) -> list[str]:
        """Return the tools of both searches merged, whether or not a search would ask for it."""
        trust = trust_in(query, rewrite, self.language(query).foreign)
        both = merge(self.found(query), self.found(rewrite), trust)
        return [key(one.match) for one in both]


def key(match: Match) -> str:
    """Return the name of a tool as sets have it."""
    return f"{match.source_id}::{match.tool_name}"


def bad_rewrites(query: str, other: str, rng: random.Random) -> dict[str, str]:
    """Make the bad rewrites of *query*, with *other* as another query."""
    words = query.split() or [query]
    return {
        "other": other,
        "third": " ".join(words[: max(1, len(words) // 3)]),
        "half": " ".join(words[len(words) // 2 :]),
        "word": rng.choice(words),
    }


def gain(kind: Set, pairs: Sequence[tuple[Query, str]]) -> float:
    """Return the mean nDCG@5 of queries with these rewrites."""
    figures = []
    for query, rewrite in pairs:
        relevant = {*query["relevant"]}
        hits = [name in relevant for name in kind.merged(query["query"], rewrite)]
        figures.append(ndcg_at(hits, len(relevant), CUT))
    return statistics.mean(figures)


def alone(kind: Set, queries: Sequence[Query]) -> float:
    """Return the mean nDCG@5 of queries by themselves."""
    return gain(kind, [(query, query["query"]) for query in queries])


def row(kind: Set, queries: Sequence[Query], right: Sequence[str]) -> dict[str, float]:
    """Return the figures of *queries*; *right* are their good rewrites, if there are any."""
    rng = random.Random(1)
    others = [queries[(place + 7) % len(queries)]["query"] for place in range(len(queries))]
    others = [right[(place + 7) % len(right)] for place in range(len(right))] or others
    bad = [bad_rewrites(q["query"], o, rng) for q, o in zip(queries, others, strict=True)]
    figures = {"alone": alone(kind, queries)}
    if right:
        figures["right"] = gain(kind, list(zip(queries, right, strict=True)))
        figures["searched"] = searched(kind, queries, right)
    for name in BAD:
        figures[name] = gain(kind, [(q, one[name]) for q, one in zip(queries, bad, strict=True)])
    plain = [kind.language(query["query"]).is_plain_english for query in queries]
    figures["skipped"] = statistics.mean(plain)
    figures["first"] = first_kept(kind, [q["query"] for q in queries], others)
    return figures


def searched(kind: Set, queries: Sequence[Query], right: Sequence[str]) -> float:
    """Return the mean nDCG@5 where plain English is searched as it is."""
    pairs = [
        (query, query["query"] if kind.language(query["query"]).is_plain_english else rewrite)
        for query, rewrite in zip(queries, right, strict=True)
    ]
    return gain(kind, pairs)


def first_kept(kind: Set, queries: Sequence[str], others: Sequence[str]) -> float:
    """Give how often a sure first match stays among the first three, whatever the rewrite says."""
    kept = [
        key(kind.found(query)[0]) in kind.merged(query, other)[:FIRST]
        for query, other in zip(queries, others, strict=True)
        if kind.found(query) and kind.found(query)[0].score >= SURE
    ]
    return statistics.mean(kept) if kept else 1.0


def translations(foreign: Sequence[Query], english: Sequence[Query]) -> list[tuple[Query, str]]:
    """Pair queries with English ones of the same answers, told apart by their literals."""
    found = []
    for query in foreign:
        same = [one for one in english if {*one["relevant"]} == {*query["relevant"]}]
        literals = {*LITERAL.findall(query["query"])}
        near = [
            one
            for one in same
            if len(literals & {*LITERAL.findall(one["query"])}) >= COMMON_LITERALS
        ]
        best = near if len(near) == 1 else same
        if len(best) == 1:
            found.append((query, best[0]["query"]))
    return found


def rows(folder: Path, wanted: Sequence[str], count: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Measure each set: as it is, misspelt, and in another language where English is there too."""
    folders = [path for path in sorted(folder.iterdir()) if (path / "queries.jsonl").exists()]
    english = [q for path in folders for q in read(path / "queries.jsonl") if q["lang"] == "en"]
    for path in folders:
        if wanted and path.name not in wanted:
            continue
        kind = Set(path)
        queries = drawn(read(path / "queries.jsonl"), count)
        if queries[0]["lang"] != "en":
            pairs = translations(read(path / "queries.jsonl"), english)[:count]
            yield path.name, row(kind, [q for q, _ in pairs], [text for _, text in pairs])
            continue
        yield path.name, row(kind, queries, [])
        misspelt = drawn(read(path / "queries.typo.jsonl"), count)
        if misspelt:
            right = [query["query"] for query in queries]
            yield f"{path.name}{MISSPELT}", row(kind, misspelt, right)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default=measuring.EVAL, type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sets", default="")
    asked = parser.parse_args()
    if asked.folder is None:
        print("no judged sets: give their folder, or set MCPG_EVAL")
        return
    print(f"{'nDCG@5':<24}" + "".join(f"{name:>9}" for name in COLUMNS))
    wanted = [name for name in asked.sets.split(",") if name]
    found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for name, figures in rows(asked.folder, wanted, asked.queries):
        print(shown(name, figures), flush=True)
        if "right" not in figures or name.endswith(MISSPELT):
            found[name.endswith(MISSPELT)].append(figures)
    for is_misspelt, those in found.items():
        if those:
            mean = {one: statistics.mean(row[one] for row in those) for one in those[0]}
            print(shown(f"mean{MISSPELT if is_misspelt else ''}", mean))


def shown(name: str, figures: Mapping[str, float]) -> str:
    """Write a row."""
    cells = (f"{figures[one]:>9.3f}" if one in figures else f"{'-':>9}" for one in COLUMNS)
    return f"{name:<24}" + "".join(cells)


if __name__ == "__main__":
    main()
