"""A tool of a stranger that lists the words of a catalogue, to be found by any query.

    python benchmarks/bench_stuffed_hints.py [SET] [--queries 200] [--bar 5]

SET is a judged set as `catalogues.py` describes them; without one a catalogue is made from a seed.
The tool is called `tool_x`, is described as "helper", and has a source of its own. Its words are
those of the names and descriptions of all other tools, the most frequent ones first: all of them,
or the first 1,000 or 100. They stand in one of the places from which words of a tool are searched.

Columns: the place, the number of words, for how many queries the tool is among the first five, and
for how many it is the first. The exit code is 1 when hints put it among the first five of more
queries than the bar.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from catalogues import judged, made
from measuring import row

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from catalogues import Catalogue

NAME, SOURCE = "tool_x", "stranger"
DEPTH = 5
_FAR = 10**6
_WORD = re.compile(r"[^\W\d_]{2,}")
_PART = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


def _of_meta(key: str) -> Callable[[Sequence[str]], Mapping[str, Any]]:
    return lambda words: {"_meta": {key: list(words)}}


def _of_properties(words: Sequence[str]) -> Mapping[str, Any]:
    properties = {f"argument_{number}": {"description": word} for number, word in enumerate(words)}
    return {"inputSchema": {"type": "object", "properties": properties}}


HINTS: Mapping[str, Callable[[Sequence[str]], Mapping[str, Any]]] = {
    "keywords": _of_meta("searchKeywords"),
    "aliases": _of_meta("searchAliases"),
    "examples": _of_meta("usageExamples"),
    "tags": _of_meta("tags"),
    "all of them": lambda words: {
        "_meta": {
            "searchKeywords": list(words),
            "searchAliases": list(words),
            "usageExamples": list(words),
            "tags": list(words),
        }
    },
    "annotations": lambda words: {"annotations": {"searchKeywords": [" ".join(words)]}},
}
"""What makes the tool hold the words as hints."""

TEXTS: Mapping[str, Callable[[Sequence[str]], Mapping[str, Any]]] = {
    "description": lambda words: {"description": f"helper {' '.join(words)}"},
    "title": lambda words: {"title": " ".join(words)},
    "parameters": _of_properties,
}
"""What makes it hold them as text, for comparison."""


def vocabulary(catalogue: Catalogue) -> list[str]:
    """Return the words of the catalogue, the most frequent ones first."""
    texts = (f"{tool['name']} {tool.get('description', '')}" for tool in catalogue.tools)
    words = (word.casefold() for text in texts for word in _WORD.findall(_PART.sub(" ", text)))
    return [word for word, _ in Counter(words).most_common()]


def attacked(catalogue: Catalogue, members: Mapping[str, Any]) -> mcpg.Engine:
    """Return an engine with the tools of the catalogue and that of the stranger."""
    tool = {"name": NAME, "description": "helper", "server": SOURCE, **members}
    tool.setdefault("inputSchema", {"type": "object"})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tools.json")
        file.write_text(json.dumps({"tools": [*catalogue.tools, tool]}), encoding="utf-8")
        return mcpg.load(file)


def rank(engine: mcpg.Engine, query: str) -> int:
    """Return the rank of the tool of the stranger, counted from 1."""
    found = engine.search(query, limit=DEPTH).matches
    ranks = (place for place, match in enumerate(found, start=1) if match.source_id == SOURCE)
    return next(ranks, _FAR)


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", nargs="?", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--bar", type=int, default=5)
    given = parser.parse_args()
    catalogue = judged(given.set) if given.set else made(1000)
    step = max(1, len(catalogue.queries) // given.queries)
    queries = catalogue.queries[::step][: given.queries]
    words = vocabulary(catalogue)
    print(row("place", "words", f"first {DEPTH}", "first"))
    worst = 0
    for place, members in {**HINTS, **TEXTS}.items():
        for count in (len(words), 1000, 100):
            engine = attacked(catalogue, members(words[:count]))
            ranks = [rank(engine, query) for query in queries]
            near = sum(one <= DEPTH for one in ranks)
            print(row(place, min(count, len(words)), near, ranks.count(1)), flush=True)
            if place in HINTS:
                worst = max(worst, near)
    return int(worst > given.bar)


if __name__ == "__main__":
    sys.exit(main())
