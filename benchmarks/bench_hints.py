"""What texts that a language model wrote do to a search, for tools that have them and for others.

    python benchmarks/bench_hints.py [FOLDER] [HINTS] [--sets a,b] [--queries 600] [--as a,b]
        [--only quality|parts] [--peers a,b] [--chart FILE]

FOLDER is laid out as for `bench_quality.py`; without it, MCPG_EVAL names it. HINTS is a folder with
a file `SET.hints.yaml` for each set that counts, else `hints` beside FOLDER.

Ways: no texts; all texts as hints of an author; all texts in a file `SET.generated.hints.json`.
Columns of the first table: nDCG@5 and the share of requests whose first match is right, over the
first N queries, shuffled with seed 0, as they are and misspelt; and the share of answerless
requests whose first match has a score above 0.35. A request is answerless where its tools were
taken out of the catalogue, which is done in five folds, each with a fifth of the requests at most.

Peers, where --peers names any, get the same texts at the end of the descriptions. --chart draws
nDCG@5 of the first set, of mcpg and of peers, as an SVG file.

The second table enriches a part of the catalogue: servers, or the tools of each server, sorted and
shuffled with seed 3. Both halves, each quarter and the rest of each quarter are enriched in turn.
It shows how the first places of requests change, by way: those none of whose tools has texts, and
those all of whose tools have.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import peers
import yaml
from catalogues import Catalogue, judged_queries, ndcg
from chart import draw_bars
from measuring import row

import mcpg
from mcpg.search.calibration import LOW_CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from peers import Search

DEPTH, FOLDS, LEAST = 5, 5, 20
WAYS = {"none": "", "hints": "{}.hints.json", "generated": "{}.generated.hints.json"}
"""The name of the file with the texts, by way."""

SHARES = {"half": 2, "quarter": 4, "three quarters": -4}
"""Into how many parts a catalogue is cut, one of which is enriched; negative for all but one."""

Query = dict[str, Any]


class JudgedSet(NamedTuple):
    """A catalogue, its requests, and texts for its tools by `server::name`."""

    name: str
    folder: Path
    tools: Sequence[dict[str, Any]]
    texts: Mapping[str, Any]

    def queries(self, count: int, file: str = "queries.jsonl") -> list[Query]:
        """Return the first *count* requests."""
        return judged_queries(self.folder / file, count)


def key(tool: Mapping[str, Any]) -> str:
    """Return `server::name` of a tool."""
    return f"{tool['server']}::{tool['name']}"


def load_engine(tools: Sequence[dict[str, Any]], texts: Mapping[str, Any], way: str) -> mcpg.Engine:
    """Return an engine over *tools* with the *texts* of those that are there."""
    present = {key(tool) for tool in tools}
    kept = {name: one for name, one in texts.items() if name in present}
    with tempfile.TemporaryDirectory() as folder:
        manifest = {"tools": list(tools)}
        Path(folder, "tools.json").write_text(json.dumps(manifest), encoding="utf-8")
        if WAYS[way] and kept:
            file = Path(folder, WAYS[way].format("set"))
            file.write_text(json.dumps({"tools": kept}), encoding="utf-8")
        return mcpg.load(folder)


def search_with(engine: mcpg.Engine) -> Search:
    """Return a search of *engine* that gives keys, as those of peers do."""

    def search(query: str, limit: int) -> list[str]:
        matches = engine.search(query, limit=limit).matches
        return [f"{one.source_id}::{one.tool_name}" for one in matches]

    return search


def hits(search: Search, query: Query) -> list[bool]:
    """Return for each of the first matches whether it is right."""
    return [one in query["relevant"] for one in search(query["query"], DEPTH)]


def quality(search: Search, queries: Sequence[Query]) -> tuple[float, float]:
    """Return the mean nDCG@5 and the share of requests whose first match is right."""
    found = [(hits(search, query), len(query["relevant"])) for query in queries]
    return fmean(ndcg(*one) for one in found), fmean(any(one[:1]) for one, _ in found)


def with_texts(judged: JudgedSet) -> list[dict[str, Any]]:
    """Return the tools of a set, each with its texts at the end of the description."""
    found = []
    for tool in judged.tools:
        stated = judged.texts.get(key(tool), {})
        texts = [
            text for name in ("aliases", "keywords", "examples") for text in stated.get(name, ())
        ]
        description = " ".join((tool.get("description") or "", *(f"{one}." for one in texts)))
        found.append(tool | {"description": description})
    return found


def print_peers(
    judged: JudgedSet, files: Sequence[Sequence[Query]], names: Sequence[str]
) -> Iterator[tuple[str, str, list[float]]]:
    """Print the quality of each peer, without texts and with them, and yield it."""
    for peer in peers.present(names):
        for way, tools in (("none", judged.tools), ("texts", with_texts(judged))):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                queries = [one["query"] for one in files[0]]
                peer.build(Catalogue(judged.name, tools, queries), place)
                search = peer.open(place)
                found = [figure for one in files for figure in quality(search, one)]
                cells = [f"{figure:.3f}" for figure in found]
                print(row(f"{judged.name}, {peer.name}, {way}", *cells, first=44), flush=True)
                yield peer.name, way, found


def chart(figures: Sequence[tuple[str, str, Sequence[float]]]) -> str:
    """Draw nDCG@5 by engine: as typed and misspelt, without texts and with them."""
    groups: dict[str, dict[str, float]] = {}
    for title, at in (("as typed", 0), ("misspelt", 2)):
        for bare in (True, False):
            group = groups.setdefault(title if bare else f"{title}, with generated texts", {})
            for name, way, found in figures:
                if (way == "none") is bare and way != "hints":
                    group[name] = found[at]
    return draw_bars("Right tools among the first five (nDCG@5), everyday requests", groups)


def answerless(queries: Sequence[Query], fold: int) -> tuple[list[Query], set[str]]:
    """Return requests to take the tools of, and these tools; most others keep theirs."""
    order = [*queries[fold::FOLDS], *(one for at, one in enumerate(queries) if at % FOLDS != fold)]
    gone: set[str] = set()
    found: list[Query] = []
    for query in order[: len(order) // FOLDS]:
        more = gone | set(query["relevant"])
        if sum(bool(more & set(one["relevant"])) for one in queries) <= len(queries) / 3:
            gone, found = more, [*found, query]
    return found, gone


def overconfident(judged: JudgedSet, queries: Sequence[Query], way: str) -> float:
    """Return the share of answerless requests whose first match has a score that is not low."""
    scores: list[float] = []
    for fold in range(FOLDS):
        asked, gone = answerless(queries, fold)
        tools = [tool for tool in judged.tools if key(tool) not in gone]
        if len(tools) < LEAST:
            continue
        engine = load_engine(tools, judged.texts, way)
        for query in asked:
            matches = engine.search(query["query"], limit=1).matches
            scores.append(matches[0].score if matches else 0.0)
    return fmean(score > LOW_CONFIDENCE for score in scores) if scores else float("nan")


def enriched_parts(
    tools: Sequence[dict[str, Any]], unit: str, parts: int
) -> Iterator[frozenset[str]]:
    """Yield the tools that are enriched, part by part: whole servers, or tools of each."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for tool in tools:
        groups["" if unit == "servers" else tool["server"]].append(
            tool["server"] if unit == "servers" else key(tool)
        )
    count = abs(parts)
    chosen: list[set[str]] = [set() for _ in range(count)]
    for _, members in sorted(groups.items()):
        order = sorted(set(members))
        random.Random(3).shuffle(order)
        for number in range(count):
            chosen[number].update(order[number::count])
    for one in chosen:
        named = (tool["server"] if unit == "servers" else key(tool) for tool in tools)
        yield frozenset(
            key(tool)
            for tool, name in zip(tools, named, strict=True)
            if (name in one) is (parts > 0)
        )


class Sides(NamedTuple):
    """Whether first matches are right, of requests no tool of which has texts, and all of which."""

    others: list[bool]
    own: list[bool]

    def add(self, engine: mcpg.Engine, queries: Sequence[Query], part: Collection[str]) -> None:
        """Search for *queries* where the tools in *part* have texts."""
        for query in queries:
            among = [one in part for one in query["relevant"]]
            if any(among) and not all(among):
                continue
            side = self.own if among[0] else self.others
            side.append(any(hits(search_with(engine), query)[:1]))


def print_parts(judged: JudgedSet, queries: Sequence[Query], ways: Sequence[str]) -> None:
    """Print how first places change where a part of the catalogue is enriched."""
    bare = load_engine(judged.tools, {}, "none")
    for unit in ("servers", "tools"):
        for share, parts in SHARES.items():
            before = Sides([], [])
            after = {way: Sides([], []) for way in ways}
            for part in enriched_parts(judged.tools, unit, parts):
                if not 0 < len(part) < len(judged.tools):
                    continue
                texts = {name: one for name, one in judged.texts.items() if name in part}
                before.add(bare, queries, part)
                for way in ways:
                    after[way].add(load_engine(judged.tools, texts, way), queries, part)
            changes = [
                f"{fmean(now) - fmean(then):+.3f}" if then else "-"
                for way in ways
                for then, now in zip(before, after[way], strict=True)
            ]
            print(row(f"{judged.name}, {share} of the {unit}", *changes, first=44), flush=True)


def read_sets(folder: Path, hints: Path, names: str) -> Iterator[JudgedSet]:
    """Yield the sets that have texts."""
    for file in sorted(hints.glob("*.hints.yaml")):
        name = file.name.partition(".")[0]
        if (not names or name in names.split(",")) and (folder / name).is_dir():
            tools = json.loads((folder / name / "tools.json").read_text("utf-8"))["tools"]
            texts = yaml.safe_load(file.read_text("utf-8"))["tools"]
            yield JudgedSet(name, folder / name, tools, texts)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("hints", nargs="?", type=Path)
    parser.add_argument("--sets", default="")
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--as", dest="ways", default=",".join(WAYS))
    parser.add_argument("--peers", default="", help="names of peers that get the same texts")
    parser.add_argument("--chart", type=Path, help="an SVG file that is written")
    parser.add_argument("--only", choices=("quality", "parts"), default="")
    given = parser.parse_args()
    folder = given.folder or Path(os.environ["MCPG_EVAL"])
    hints = given.hints or folder.parent / "hints"
    sets = list(read_sets(folder, hints, given.sets))
    ways = given.ways.split(",")
    if given.only != "parts":
        print(row("set, texts", "nDCG@5", "first", "misspelt", "first", "answerless", first=44))
        for one in sets:
            figures: list[tuple[str, str, Sequence[float]]] = []
            queries = one.queries(given.queries)
            misspelt = one.queries(given.queries, "queries.typo.jsonl")
            for way in ways:
                engine = load_engine(one.tools, one.texts, way)
                search = search_with(engine)
                found = (*quality(search, queries), *quality(search, misspelt))
                cells = [f"{cell:.3f}" for cell in (*found, overconfident(one, queries, way))]
                print(row(f"{one.name}, {way}", *cells, first=44), flush=True)
                figures.append(("mcpg", way, found))
            names = [name for name in given.peers.split(",") if name]
            figures += print_peers(one, (queries, misspelt), names)
            if given.chart and one is sets[0]:
                given.chart.write_text(chart(figures), encoding="utf-8")
    if given.only != "quality":
        ways = [way for way in ways if WAYS[way]]
        titles = [f"{way[:3]} {side}" for way in ways for side in ("others", "own")]
        print(row("set, enriched", *titles, first=44))
        for one in sets:
            print_parts(one, one.queries(given.queries), ways)


if __name__ == "__main__":
    main()
