"""Catalogues to fit a calibration on: that of a judged set, and it together with another one.

There are few sets, and what is learnt of one kind of tools is not to depend on their being alone.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple

import texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Tools = list[dict[str, Any]]
    Queries = list[dict[str, Any]]

VARIANTS = ("queries.jsonl", "queries.typo.jsonl")
WHOLE, COMPANY = "whole", "company"
# The answers of every fifth query are taken away, from the first or from the third.
EVERY, FOLDS, COMPANY_FOLD = 5, (0, 2), 1
MOST_IN_COMPANY = 150


class Catalogue(NamedTuple):
    """Some tools, and what is asked of them.

    Attributes:
        name: What it is; those of a set that are called the same count as one.
        company: The set whose tools are in it as well, "" for none.
        tools: All its tools.
        fold: Every fifth query from this one has no answer there.
        most: The most queries with, and without, an answer that are asked; `None` for all.
        is_asked_noise: Whether it is asked what no tool answers.
    """

    name: str
    company: str
    tools: Tools
    fold: int
    most: int | None
    is_asked_noise: bool

    def takes(self, place: int, judged: int, kept: int) -> bool:
        """Tell whether the query at a *place* is asked, given how many of its answers are *kept*.

        All that were *judged* are, or it is of those whose answers were taken away.
        """
        return kept == judged or place % EVERY == self.fold


def read(file: Path, count: int | None = None) -> Queries:
    """Read the queries of *file*, shuffled with a fixed seed when only *count* are wanted."""
    if not file.exists():
        return []
    queries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    if count is not None:
        random.Random(0).shuffle(queries)
    return queries[:count]


def example_sentences(wordnet: Path) -> list[str]:
    """Return the example sentences in the glosses of WordNet, whose files are in a folder."""
    found = {
        text.strip()
        for file in sorted(wordnet.glob("data.*"))
        for line in file.read_text(encoding="latin-1").splitlines()
        for text in line.partition("|")[2].split('"')[1::2]
    }
    return sorted(one for one in found if " " in one)


def tools_of(folder: Path) -> Tools:
    """Read the tools of a set."""
    tools: Tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))["tools"]
    return tools


def catalogues_of(folder: Path, beside: Path, count: int) -> Iterator[Catalogue]:
    """Make the catalogues of a set for *count* of its queries; one holds the set *beside* too."""
    tools = tools_of(folder)
    queries = [read(folder / variant, count) for variant in VARIANTS]
    for fold in FOLDS:
        kept = _without(tools, queries, fold)
        yield Catalogue(WHOLE, "", kept, fold, None, fold == FOLDS[-1])
    kept = _without(tools, queries, COMPANY_FOLD)
    both = [*kept, *tools_of(beside)]
    yield Catalogue(COMPANY, beside.name, both, COMPANY_FOLD, MOST_IN_COMPANY, False)


def _without(tools: Tools, queries: list[Queries], fold: int) -> Tools:
    gone = {key for some in queries for query in some[fold::EVERY] for key in query["relevant"]}
    return [tool for tool in tools if texts.key(tool) not in gone]
