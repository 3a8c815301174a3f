"""Skills found by requests: by name and description, and by the text below, beside bm25s.

    python benchmarks/bench_skills.py [--skills FILE]

FILE has skills and requests, each with the skill that is right, as `benchmarks/skills.toml` does.
Half of the requests share no content word with the name or description of their skill, which is
checked. Columns: the share of requests whose first match is right, for all, for those with and
those without such words, and the share with the right skill among the first five. "Without body"
indexes the same skills without the text below their front matter, and without their other files.

At the end stands how many answers about the tools of `examples/` are equal with the skills beside
them, over the requests and the queries of `examples/queries.yaml`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import peers

import mcpg
from mcpg.lint.context import stems
from mcpg.text.safeyaml import load_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEPTH = 5
SKILLS = Path(__file__).with_name("skills.toml")
EXAMPLES = Path(__file__).parent.parent / "examples"
TOOLS, QUERIES = EXAMPLES / "tools", EXAMPLES / "queries.yaml"


class Request(NamedTuple):
    """A request, and the skill that is right for it."""

    query: str
    skill: str
    shares: bool


def write_skills(skills: dict[str, Any], folder: Path, *, has_body: bool) -> None:
    """Write *skills* as folders, their further files empty."""
    for name, one in skills.items():
        own = folder / name
        own.mkdir(parents=True)
        front = f"---\nname: {name}\ndescription: {json.dumps(one['description'])}\n---\n"
        (own / "SKILL.md").write_text(front + (one["body"] if has_body else ""), encoding="utf-8")
        for file in one["files"] if has_body else ():
            (own / file).parent.mkdir(parents=True, exist_ok=True)
            (own / file).write_text("", encoding="utf-8")


def open_mcpg(folder: Path) -> Callable[[str], list[str]]:
    """Return what ranks the skills in a *folder*."""
    engine = mcpg.load([str(folder)]).kind_engine("skill")
    assert engine is not None, "the folder has skills"

    def rank(query: str) -> list[str]:
        found = engine.search(query, limit=DEPTH).matches
        return [match.descriptor.name for match in found]

    return rank


def open_bm25s(skills: dict[str, Any]) -> Callable[[str], list[str]]:
    """Return what ranks *skills* by one text each, with the words of all that they have."""
    import bm25s

    names = [*skills]
    texts = [
        " ".join((name, one["description"], one["body"], *one["files"]))
        for name, one in skills.items()
    ]
    retriever = bm25s.BM25()
    retriever.index(peers.Bm25s.tokens(texts), show_progress=False)

    def rank(query: str) -> list[str]:
        tokens = peers.Bm25s.tokens([query])
        found, scores = retriever.retrieve(tokens, k=DEPTH, show_progress=False)
        pairs = zip(found[0], scores[0], strict=True)
        return [names[int(number)] for number, score in pairs if score]

    return rank


def measure(rank: Callable[[str], list[str]], requests: Iterable[Request]) -> tuple[float, float]:
    """Return the shares of *requests* with the right skill first, and among the first five."""
    found = [(one.skill, rank(one.query)) for one in requests]
    first = fmean(ranked[:1] == [skill] for skill, ranked in found)
    return first, fmean(skill in ranked for skill, ranked in found)


def count_equal(folder: Path, requests: Iterable[Request]) -> tuple[int, int]:
    """Return how many searches of the examples answer the same with skills beside, of how many."""
    alone, beside = mcpg.load([str(TOOLS)]), mcpg.load([str(TOOLS), str(folder)])
    stated = load_yaml(QUERIES.read_text("utf-8"), str(QUERIES))
    assert isinstance(stated, dict), "it maps queries to tools"
    queries = [*stated, *(one.query for one in requests)]
    return sum(alone.search(one) == beside.search(one) for one in queries), len(queries)


def check(skills: dict[str, Any], requests: Iterable[Request]) -> None:
    """Check that requests share content words with name and description where they say so."""
    for one in requests:
        known = stems(one.skill.replace("-", " ")) | stems(skills[one.skill]["description"])
        shared = stems(one.query) & known
        assert bool(shared) == one.shares, f"{one.query!r} shares {sorted(shared)}"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skills", type=Path, default=SKILLS)
    parser.add_argument("--misses", action="store_true", help="print the requests that are missed")
    chosen = parser.parse_args()
    stated = tomllib.loads(chosen.skills.read_text("utf-8"))
    skills, requests = stated["skills"], [Request(**one) for one in stated["requests"]]
    check(skills, requests)
    with tempfile.TemporaryDirectory() as place:
        engines: dict[str, Callable[[str], list[str]]] = {}
        for label, has_body in (("mcpg", True), ("mcpg, without body", False)):
            folder = Path(place, f"{has_body}", "skills")
            write_skills(skills, folder, has_body=has_body)
            engines[label] = open_mcpg(folder)
        if find_spec("bm25s"):
            engines["bm25s"] = open_bm25s(skills)
        print(f"{len(skills)} skills, {len(requests)} requests\n")
        print(f"{'first right':20} {'all':>6} {'words':>6} {'none':>6} {'of 5':>6}")
        equal, total = count_equal(Path(place, "True"), requests)
        for label, rank in engines.items():
            groups = [requests, *([r for r in requests if r.shares is s] for s in (True, False))]
            firsts = [measure(rank, group)[0] for group in groups]
            five = measure(rank, requests)[1]
            print(f"{label:20}", *(f"{one:6.3f}" for one in (*firsts, five)))
            for one in requests if chosen.misses else ():
                if (ranked := rank(one.query))[:1] != [one.skill]:
                    print(f"    {one.query}: {ranked}, not {one.skill}")
        print(f"\n{equal} of {total} answers about tools are equal with the skills beside them")


if __name__ == "__main__":
    main()
