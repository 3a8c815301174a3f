"""What the benchmarks search: judged sets from a folder, and catalogues made from a seed.

A judged set is a folder with `tools.json` (`{"tools": [...]}`, each tool with a `server`),
`queries.jsonl` and, where there is one, `queries.typo.jsonl`, with a JSON object per line:
`{"query": "...", "relevant": ["server::name", ...]}`.
"""

from __future__ import annotations

import json
import math
import random
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from texts import document, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Tool = dict[str, Any]

VERBS = ("get", "list", "create", "update", "delete", "search", "send", "export", "merge", "sync")
CONSONANTS, VOWELS = "bcdfghklmnprst", "aeiou"
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
QUERIES = 300

EVERYDAY = ("everyday", "everyday_es", "everyday_de", "multilingual_zh")
"""The judged sets of short requests and of other languages; they count in no mean over sets."""


class Catalogue:
    """Tools and queries asked of them.

    Attributes:
        name: What a table calls it.
        tools: As a manifest has them, each with a `server`.
        queries: Texts to search for.
    """

    def __init__(self, name: str, tools: Sequence[Tool], queries: Sequence[str]) -> None:
        self.name, self.tools, self.queries = name, list(tools), list(queries)

    @cached_property
    def keys(self) -> list[str]:
        """Give `server::name` of every tool."""
        return [key(tool) for tool in self.tools]

    @cached_property
    def documents(self) -> list[str]:
        """Give every tool as one text, for engines that know no fields."""
        return [document(tool) for tool in self.tools]

    @property
    def manifest(self) -> str:
        """Return the catalogue as a manifest."""
        return json.dumps({"tools": self.tools}, ensure_ascii=False)


def judged_sets(root: Path, only: str = "") -> list[Path]:
    """Return the folders of the sets below *root* that are named in *only*.

    Where it names none, these are all but those in `EVERYDAY`.
    """
    found = sorted(path.parent for path in root.glob("*/tools.json"))
    names = only.split(",") if only else {path.name for path in found}.difference(EVERYDAY)
    return [path for path in found if path.name in names]


def judged_queries(file: Path, count: int) -> list[dict[str, Any]]:
    """Read the first *count* judged queries of *file*, shuffled with seed 0."""
    queries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    random.Random(0).shuffle(queries)
    return queries[:count]


def judged(folder: Path, variants: Sequence[str] = ("queries.jsonl",)) -> Catalogue:
    """Return the catalogue of a set with its queries."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    found = [one for name in variants for one in judged_queries(folder / name, QUERIES)]
    return Catalogue(folder.name, tools, [one["query"] for one in found])


def made(count: int) -> Catalogue:
    """Make a catalogue of *count* tools and queries for some of them, always the same."""
    tools = make_tools(count)
    return Catalogue("made", tools, make_queries(tools))


def make_nouns(rng: random.Random, count: int) -> list[str]:
    """Make *count* words that no language has."""
    return ["".join(rng.choices(SYLLABLES, k=2 + number % 3)) for number in range(count)]


def make_tools(count: int, seed: int = 0) -> list[Tool]:
    """Make *count* tools with names, texts and arguments over a skewed vocabulary.

    The vocabulary grows with the catalogue as Heaps' law has it and its words are drawn by the law
    of Zipf and Mandelbrot, with constants under which words are as many and as frequent as in
    public tool catalogues: the most frequent subject stands in two tools of five, the
    hundredth in one of fifty.
    """
    rng = random.Random(seed)
    nouns = make_nouns(rng, int(50 * count**0.6))
    shares = list(accumulate(1 / (place + 3) for place in range(len(nouns))))
    return [make_tool(rng, rng.choices(nouns, cum_weights=shares, k=16), n) for n in range(count)]


def make_tool(rng: random.Random, words: Sequence[str], number: int) -> Tool:
    """Make a tool of *words*."""
    verb, (one, other, *rest) = rng.choice(VERBS), words
    properties = {
        word: {"type": "string", "description": f"The {word} of the {one} to {verb}"}
        for word in rest[:3]
    }
    text = "{} the {} of a {} with its {} and {}. Returns the {} {} {} and the {} for each {}"
    return {
        "name": f"{verb}_{one}_{other}_{number}",
        "description": text.format(verb.title(), one, other, *rest[3:10]) + f", by {rest[10]}.",
        "inputSchema": {"type": "object", "properties": properties},
        "server": f"{rest[11]}{number // 50}",
    }


def make_queries(tools: Sequence[Tool], count: int = QUERIES, seed: int = 1) -> list[str]:
    """Ask for tools in other words than theirs; every third request has a misspelt word."""
    rng = random.Random(seed)
    return [make_query(rng, rng.choice(tools), number) for number in range(count)]


def make_query(rng: random.Random, tool: Tool, number: int) -> str:
    """Ask for *tool* by its subjects, one parameter and one word of its text."""
    verb, one, other, _ = tool["name"].split("_")
    asked = [one, other, *rng.sample(sorted(tool["inputSchema"]["properties"]), 1)]
    if number % 3 == 0:
        asked[0] = misspell(rng, asked[0])
    extra = tool["description"].rstrip(".").rsplit(" ", 1)[1]
    return f"I want to {verb} the {asked[0]} of my {asked[1]} with this {asked[2]} by {extra}"


def misspell(rng: random.Random, word: str) -> str:
    """Exchange two neighbouring letters."""
    place = rng.randrange(len(word) - 1)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def ndcg(hits: Sequence[bool], relevant: int, depth: int = 5) -> float:
    """Return the normalised discounted cumulative gain (Järvelin & Kekäläinen, 2002) at *depth*."""
    gain = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:depth]) if hit)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(depth, relevant)))


def chosen(folder: Path | None, name: str, sizes: Sequence[int]) -> Iterator[Catalogue]:
    """Return the judged set called *name* where *folder* has it, then made ones of *sizes*."""
    if folder is not None and (folder / name / "tools.json").exists():
        yield judged(folder / name)
    yield from map(made, sizes)
