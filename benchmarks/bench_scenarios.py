"""Replay recorded retrieval scenarios of the .NET gateway and count which hold, by kind.

    python benchmarks/bench_scenarios.py [FILE] [--verbose]

FILE is a JSON object with `catalogs` (tools, with `hints`, `source` and perhaps a `document`) and
`cases` (`catalog`, `query`, `strategy`, `expect`). Without FILE, MCPG_SCENARIOS names it. Every
case is answered by the graph strategy unless it asks for `auto` or `embeddings`. A case that needs
a part mcpg does not have yet (a normaliser, an embedder, a SPARQL profile) is counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcpg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Case = dict[str, Any]
Check = Any

OUTCOMES = ("holds", "fails", "waits")
NEEDS = ("embedder", "normalizer", "profile", "route", "federation", "jsonld", "graph_source")


def names(matches: tuple[mcpg.Match, ...]) -> list[str]:
    """Give the raw names of *matches*, as the scenarios have them."""
    return [match.tool_name for match in matches]


def codes(result: mcpg.SearchResult) -> set[str]:
    """Give the codes of a result's diagnostics."""
    return {str(diagnostic.code) for diagnostic in result.diagnostics}


def scores(result: mcpg.SearchResult) -> list[float]:
    """Give the scores of the primary matches."""
    return [match.score for match in result.matches]


CHECKS: dict[str, Callable[[mcpg.SearchResult, Check], bool]] = {
    "top1": lambda r, v: names(r.matches)[:1] == [v],
    "top1_any_of": lambda r, v: bool(r.matches) and r.matches[0].tool_name in v,
    "top1_prefix": lambda r, v: bool(r.matches) and r.matches[0].tool_name.startswith(v),
    "in_top": lambda r, v: set(v) <= set(names(r.matches)),
    "excludes": lambda r, v: not set(v) & set(names(r.matches)),
    "mode": lambda r, v: r.ranking_mode == v,
    "mode_in": lambda r, v: r.ranking_mode in v,
    "result_count": lambda r, v: len(r.matches) == v,
    "result_count_min": lambda r, v: len(r.matches) >= v,
    "result_count_max": lambda r, v: len(r.matches) <= v,
    "diagnostics_include": lambda r, v: set(v) <= codes(r),
    "diagnostics_exclude": lambda r, v: not set(v) & codes(r),
    "related_includes": lambda r, v: set(v) <= set(names(r.related_matches)),
    "related_excludes": lambda r, v: not set(v) & set(names(r.related_matches)),
    "related_count_max": lambda r, v: len(r.related_matches) <= v,
    "next_includes": lambda r, v: set(v) <= set(names(r.next_step_matches)),
    "next_excludes": lambda r, v: not set(v) & set(names(r.next_step_matches)),
    "next_count_max": lambda r, v: len(r.next_step_matches) <= v,
    "score_above": lambda r, v: scores(r)[:1] > [v],
    "all_scores_below": lambda r, v: all(score < v for score in scores(r)),
    "all_scores_above": lambda r, v: all(score > v for score in scores(r)),
    "scores_descending": lambda r, _: scores(r) == sorted(scores(r), reverse=True),
    "focused_graph_nodes_above": lambda r, v: r.focused_graph.nodes > v,
    "focused_graph_edges_above": lambda r, v: r.focused_graph.edges > v,
    "focused_graph_nodes_max": lambda r, v: r.focused_graph.nodes <= v,
    "k": lambda _, __: True,
}


def entry(tool: dict[str, Any]) -> dict[str, Any]:
    """Give a recorded tool as a manifest has it."""
    return {**tool.get("hints", {}), **tool, "sourceId": tool["source"]}


def write_sources(tools: list[dict[str, Any]], root: Path, folder: Path) -> list[Path]:
    """Write a recorded catalogue as files: documents where it has them, else a manifest."""
    files = []
    plain = [entry(tool) for tool in tools if "document" not in tool]
    if plain:
        files.append(folder / "tools.json")
        files[-1].write_text(json.dumps({"tools": plain}, ensure_ascii=False), encoding="utf-8")
    for tool in tools:
        if document := tool.get("document"):
            files.append(folder / f"{tool['name']}.md")
            files[-1].write_text(document_text(document, root), encoding="utf-8")
    return files


def document_text(document: dict[str, Any], root: Path) -> str:
    """Give a recorded document's Markdown."""
    if "content" in document:
        return str(document["content"])
    body = (root / document["body_file"]).read_text(encoding="utf-8")
    return f"---\n{document['front_matter'].strip()}\n---\n{body}"


def make_engines(scenarios: dict[str, Any], root: Path) -> Callable[[str], mcpg.Engine]:
    """Give a function that makes the engine of a recorded catalogue, once."""

    @cache
    def engine_of(name: str) -> mcpg.Engine:
        with tempfile.TemporaryDirectory() as folder:
            return mcpg.load(write_sources(scenarios["catalogs"][name], root, Path(folder)))

    return engine_of


def replay(engine: mcpg.Engine, case: Case) -> list[str]:
    """Answer *case* and name the expectations that fail."""
    strategy = case["strategy"] if case["strategy"] in {"auto", "embeddings"} else "graph"
    result = engine.search(
        case["query"],
        limit=min(case["expect"]["k"], 50),
        strategy=strategy,
        context=case.get("context_summary"),
        include_disabled=case.get("include_disabled", False),
    )
    expected = case["expect"].items()
    return [f"{name}={value}" for name, value in expected if not holds(result, name, value)]


def holds(result: mcpg.SearchResult, name: str, value: Check) -> bool:
    """Tell whether an expectation holds; those about other parts are not judged here."""
    return CHECKS.get(name, lambda _, __: True)(result, value)


def verdict(case: Case, engine_of: Callable[[str], mcpg.Engine]) -> tuple[str, str]:
    """Give `holds`, `fails` or `waits`, and why."""
    missing = [need for need in NEEDS if need in case]
    if missing:
        return "waits", ", ".join(missing)
    failed = replay(engine_of(case["catalog"]), case)
    return ("fails", "; ".join(failed)) if failed else ("holds", "")


def table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Give the rows of the table: a kind each, then all of them."""
    yield f"{'kind':<20}" + "".join(f"{outcome:>7}" for outcome in OUTCOMES)
    for kind in sorted({kind for kind, _ in counts}):
        yield f"{kind:<20}" + "".join(f"{counts[kind, outcome]:>7}" for outcome in OUTCOMES)
    totals = Counter(outcome for (_, outcome) in counts.elements())
    yield f"{'all':<20}" + "".join(f"{totals[outcome]:>7}" for outcome in OUTCOMES)


def main() -> None:
    """Print one table, and the failures when asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", default=os.environ.get("MCPG_SCENARIOS"), type=Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.file is None:
        print("no scenarios: give their file, or set MCPG_SCENARIOS")
        return
    scenarios = json.loads(arguments.file.read_text(encoding="utf-8"))
    engine_of = make_engines(scenarios, arguments.file.parent)
    counts: Counter[tuple[str, str]] = Counter()
    for case in scenarios["cases"]:
        outcome, why = verdict(case, engine_of)
        counts[case["kind"], outcome] += 1
        if arguments.verbose and outcome == "fails":
            print(f"{case['id']} [{case['kind']}/{case['strategy']}] {case['query']!r}: {why}")
    print(*table(counts), sep="\n")


if __name__ == "__main__":
    main()
